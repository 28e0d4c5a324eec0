// The kernels that evaluate the network: one struct each, with its work on one tile of lanes. A
// warp runs a tile on a GPU, with a pack spread over its threads.
//
// operator()<P, kV>(subject, at, m): lanes [at, at + LaneTiles<P, kV>::kTile); subject: the one to
// read, whose weights may lie on chip; m: scratch as kNeeds asks for.
#pragma once

#include "kernels/layout/tile_plan.h"

namespace fairlane {

/// The results of lanes from `lane` on, without scores: the host describes what was found.
FL_HD ProbeResult decisions_from(ProbeResult const& out, long lane) {
  return {out.label + lane,  out.pair + lane,  out.partner + lane,
          out.packed + lane, out.flags + lane, nullptr,
          nullptr,           nullptr};
}

/// Full evaluation of the similar sets of rows x [columns], `stride` apart.
/// exact  whatever the arithmetic of the wide route
struct ProbeTiles {
  static constexpr ScratchNeeds kNeeds{true, true, true, false, 6};
  std::int32_t const* x;
  long stride;
  ProbeResult out;
  bool exact = false;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    LaneTiles<P, kV>::probe(s, x + at, stride, 1, m, decisions_from(out, at));
  }
};

/// Labels of the rows' groups: packed, flags.
struct ClassifyTiles {
  static constexpr ScratchNeeds kNeeds{true, true, true, false, 0};
  std::int32_t const* x;
  long stride;
  std::uint32_t* packed;
  std::int32_t* flags;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    LaneTiles<P, kV>::classify(s, x + at, stride, 1, m, packed + at, flags + at);
  }
};

/// One stage of classification, variants [first, last) of the subject's order.
struct ClassifySomeTiles {
  static constexpr ScratchNeeds kNeeds = ClassifyTiles::kNeeds;
  std::int32_t const* x;
  long stride;
  int first;
  int last;
  std::int32_t* found;
  std::int32_t* flags;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    LaneTiles<P, kV>::classify_some(s, x + at, stride, 1, m, first, last, found + at, flags + at);
  }
};

/// Partners by lot among members with another label, where labels are not kept; -1 where there is
/// none.
/// open_mark, open_list, open_count  scratch of the wide route: [n], [n], one
struct DrawPartnerTiles {
  static constexpr ScratchNeeds kNeeds = ClassifyTiles::kNeeds;
  std::int32_t const* x;
  long stride;
  std::uint32_t const* seed;
  std::uint32_t const* iteration;
  Phase phase;
  std::uint64_t run_seed;
  std::int32_t* chosen;
  std::uint8_t* open_mark;
  std::int32_t* open_list;
  std::int32_t* open_count;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    LaneTiles<P, kV>::draw_partner(s, x + at, stride, 1, m,
                                   {seed + at, phase, iteration + at, run_seed}, chosen + at);
  }
};

/// Margins within the similar sets of rows. exact: as in ProbeTiles
struct MarginTiles {
  static constexpr ScratchNeeds kNeeds = ClassifyTiles::kNeeds;
  std::int32_t const* x;
  long stride;
  MarginResult out;
  bool exact = false;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    LaneTiles<P, kV>::margins(s, x + at, stride, 1, m, out.from(at));
  }
};

/// The same of two members of each similar set alone.
struct PairMarginTiles {
  static constexpr ScratchNeeds kNeeds = ClassifyTiles::kNeeds;
  std::int32_t const* x;
  long stride;
  MemberPair pair;
  MarginResult out;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    LaneTiles<P, kV>::pair_margins(s, x + at, stride, 1, m, pair.from(at), out.from(at));
  }
};

/// Gradients at rows x [columns], `stride` apart, and at their partners, half a stride behind each.
struct GradientTiles {
  static constexpr ScratchNeeds kNeeds{false, false, false, true, 0, 3};
  GradientSpec spec;
  std::int32_t const* x;
  long stride;
  float* gradient;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    for (int partner = 0; partner < 2; ++partner) rows<P, kV>(s, at + partner * (stride / 2), m);
  }

  /// A tile of rows alone, whose packs lie `apart` places apart.
  template <Pack P, int kV>
  FL_HOST_DEVICE void rows(Subject const& s, long at, Scratch const& m,
                           long apart = P::kLanes) const {
    FirstLayer<P, kV>::load(s, x + at, stride, 0, s.columns, m.kept, apart);
    LaneTiles<P, kV>::backward_tile(s, spec, x + at, stride, m, gradient + at, stride, apart);
  }
};

/// The same by differences, which keep no activations.
struct DifferenceTiles {
  static constexpr ScratchNeeds kNeeds{true, true, true, false, 0, 3};
  GradientSpec spec;
  std::int32_t const* x;
  long stride;
  float* gradient;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    for (int partner = 0; partner < 2; ++partner) rows<P, kV>(s, at + partner * (stride / 2), m);
  }

  template <Pack P, int kV>
  FL_HOST_DEVICE void rows(Subject const& s, long at, Scratch const& m,
                           long apart = P::kLanes) const {
    FirstLayer<P, kV>::load(s, x + at, stride, 0, s.columns, m.in, apart);
    LaneTiles<P, kV>::difference_tile(s, spec, x + at, stride, m, gradient + at, stride, apart);
  }
};

}  // namespace fairlane
