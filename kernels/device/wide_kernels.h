// The kernels over lanes of the wide route: rows to evaluate are written out for DenseBlocks or for
// a scorer, and what the scores say is accumulated as in kernels/core/lane_tiles.h. An index is a
// row or a lane of a chunk.
#pragma once

#include "kernels/device/dense_blocks.h"
#include "kernels/device/tile_kernels.h"

namespace fairlane {

/// Lanes that the wide route works on together.
/// x        [columns] codes, `stride` apart
/// list     [n] places of the lanes, null: lane i is place i
/// n        lanes; arrays over a chunk's lanes are `lanes` long, a multiple of four, the last lane
///          repeated
struct LaneChunk {
  std::int32_t const* x = nullptr;
  long stride = 0;
  std::int32_t const* list = nullptr;
  int n = 0;
  int lanes = 0;

  FL_HD long place(int lane) const {
    int const i = lane < n ? lane : n - 1;
    return list == nullptr ? i : list[i];
  }
};

/// Which inputs the members of a lane are.
enum class MemberKind : std::uint8_t {
  kOwn,       // the lane itself
  kVariants,  // variants first, first + 1, ...
  kOrdered,   // the same of the subject's order of variants
  kSides,     // the variants of a pair
  kTries,     // the lane itself, then what the tries of its partner's draw name
  kMoves,     // the lane itself, then with one movable column after the other moved by `step`
  kSteps,     // the same with each moved to a neighbouring code, see neighbour_step
  kPair,      // the lane itself, and its partner's row half a stride behind
};

/// A step to a neighbouring code inside the domain.
FL_HD std::int32_t neighbour_step(Subject const& s, int column, std::int32_t code) {
  return code < s.high[column] ? 1 : -1;
}

/// Writes the inputs of columns [first_column, last_column) of rows out: row r is member r / lanes
/// of lane r % lanes.
/// out  [inputs of the columns][out_stride] of row `first_row` on
/// lot, pair  of the chunk's places
struct LoadMembers {
  Subject subject;
  LaneChunk chunk;
  MemberKind kind;
  int first_member;
  int first_column;
  int last_column;
  int first_row;
  float* out;
  long out_stride;
  float step;
  LaneTiles<ScalarPack, 1>::PartnerLot lot;
  MemberPair pair;

  FL_HD void operator()(std::int64_t i) const {
    int const first_input = subject.input_of(first_column);
    load(i, out_stride,
         [&](int c) { return out + (subject.input_of(c) - first_input) * out_stride + i; });
  }

  /// at(c): where the inputs of column c of row `first_row` + i begin; stride: from one of them to
  /// the next
  template <class At>
  FL_HD void load(std::int64_t i, long stride, At const& at) const {
    int const row = first_row + static_cast<int>(i);
    int const member = row / chunk.lanes;
    long const place = chunk.place(row % chunk.lanes);
    long const behind = kind == MemberKind::kPair ? member * (chunk.stride / 2) : 0;
    for (int c = first_column; c < last_column; ++c) {
      std::int32_t const code = chunk.x[c * chunk.stride + place + behind];
      if (subject.encoding == nullptr) {
        *at(c) = static_cast<float>(code);
      } else {
        encode_column<ScalarPack>(subject.encoding[c], code, at(c), stride);
      }
    }
    if (kind == MemberKind::kSteps && member > 0) {
      int const c = subject.movable[member - 1];
      std::int32_t const code = chunk.x[c * chunk.stride + place];
      std::int32_t const there = code + neighbour_step(subject, c, code);
      if (subject.encoding == nullptr) {
        *at(c) = static_cast<float>(there);
      } else {
        encode_column<ScalarPack>(subject.encoding[c], there, at(c), stride);
      }
    }
    if (kind == MemberKind::kMoves && member > 0) {
      int const c = subject.movable[member - 1];
      move_column<ScalarPack>(subject, c, chunk.x[c * chunk.stride + place], step, at(c), stride);
    }
    int const variant = variant_of(member, place);
    if (variant < 0) return;
    float const* value =
        subject.variant_value + static_cast<long>(variant) * subject.selected_inputs;
    for (int a = 0; a < subject.selected; ++a) {
      int const c = subject.selected_column[a];
      float* const in = at(c);
      for (int k = 0; k < subject.input_of(c + 1) - subject.input_of(c); ++k)
        in[k * stride] = *value++;
    }
  }

  /// -1: the lane's own.
  FL_HD int variant_of(int member, long place) const {
    if (kind == MemberKind::kVariants) return first_member + member;
    if (kind == MemberKind::kOrdered) return subject.variant_order[first_member + member];
    if (kind == MemberKind::kSides) return (member == 0 ? pair.first : pair.second)[place];
    if (kind == MemberKind::kTries && member > 0) {
      return lot.candidate(static_cast<int>(place), static_cast<std::uint32_t>(member),
                           subject.variants);
    }
    return -1;
  }
};

/// The same rows as a scorer takes them: side by side, in its order of inputs. members.out
/// [..][inputs]
/// model_input  [columns] where a column's inputs begin in the scorer's
struct LoadRows {
  LoadMembers members;
  int const* model_input;

  FL_HD void operator()(std::int64_t i) const {
    float* const row = members.out + i * members.subject.inputs;
    members.load(i, 1, [&](int c) { return row + model_input[c]; });
  }
};

/// Drops stored scores of members that may not exist. Index i is lane i % lanes of member
/// i / lanes.
/// z  [members][outputs][lanes]
struct DropInfeasible {
  LoadMembers members;
  float* z;

  FL_HD void operator()(std::int64_t i) const {
    Subject const& s = members.subject;
    auto const member = static_cast<int>(i / members.chunk.lanes);
    auto const lane = static_cast<int>(i % members.chunk.lanes);
    long const place = members.chunk.place(lane);
    std::int32_t const* const x = members.chunk.x + place;
    int const variant = members.variant_of(member, place);
    bool const feasible = variant < 0
                              ? Feasible<ScalarPack>::own(s, x, members.chunk.stride)
                              : Feasible<ScalarPack>::variant(s, x, members.chunk.stride, variant);
    long const row = static_cast<long>(member) * s.network.outputs() * members.chunk.lanes;
    Feasible<ScalarPack>::drop_all(feasible, z + row + lane, s.network.outputs(),
                                   members.chunk.lanes);
  }
};

/// Puts a scorer's answers where stored scores lie. from [..][outputs] of row `first_row` on; z
/// [members][outputs][lanes]
struct StoreScores {
  float const* from;
  int outputs;
  int lanes;
  int first_row;
  float* z;

  FL_HD void operator()(std::int64_t i) const {
    int const row = first_row + static_cast<int>(i);
    float* const to = z + static_cast<long>(row / lanes) * outputs * lanes + row % lanes;
    for (int c = 0; c < outputs; ++c) to[static_cast<long>(c) * lanes] = from[i * outputs + c];
  }
};

/// The variant that a row is. A lane's own combination is one of the variants: the engine sees to
/// it.
FL_HD int variant_at(Subject const& s, std::int32_t const* x, long stride) {
  for (int v = 0; v < s.variants; ++v) {
    std::int32_t const* const code = s.variant_code + static_cast<long>(v) * s.selected;
    bool same = true;
    for (int a = 0; a < s.selected && same; ++a) same = x[s.selected_column[a] * stride] == code[a];
    if (same) return v;
  }
  return 0;
}

/// One lane's logits where they were stored; a source for LaneTiles<ScalarPack, 1>, like its
/// NetworkLogits. Members are numbered from `first` on in the order that the kind of LoadMembers
/// says.
/// z  [members][outputs], `lanes` apart
struct StoredLogits {
  float* z = nullptr;
  int lanes = 0;
  int outputs = 0;
  int first = 0;
  int own_member = 0;

  FL_HD int stride() const { return lanes; }
  FL_HD void load(int) const {}
  FL_HD float* at(int member) const {
    return z + static_cast<long>(member - first) * outputs * lanes;
  }
  FL_HD float* own() const { return at(own_member); }
  FL_HD float* variant(int v) const { return at(v); }
  FL_HD float* ordered(int i) const { return at(i); }
  FL_HD float* candidate(std::uint32_t t, std::int32_t const*) const {
    return at(static_cast<int>(t));
  }
};

/// The same with one column moved; a source for differences, like NetworkMoves. x [columns],
/// `x_stride` apart
struct StoredMoves {
  StoredLogits logits;
  Subject const& s;
  std::int32_t const* x;
  long x_stride;
  float step;

  FL_HD int stride() const { return logits.stride(); }
  FL_HD float* own() const { return logits.own(); }
  FL_HD float* moved(int i) const { return logits.at(i + 1); }
  FL_HD float distance(int i, int) const {
    return difference_step<ScalarPack>(s, s.movable[i], x[s.movable[i] * x_stride], step);
  }
};

/// The stored logits of a chunk.
/// logits  [members][outputs][lanes]
/// terms   [..][lanes] scratch
/// first   the first member stored
struct StoredChunk {
  Subject subject;
  LaneChunk chunk;
  float* logits;
  float* terms;
  int first;

  FL_HD long place(std::int64_t lane) const { return chunk.place(static_cast<int>(lane)); }
  FL_HD StoredLogits of(std::int64_t lane, int own_member = 0) const {
    return {logits + lane, chunk.lanes, subject.network.outputs(), first, own_member};
  }
  /// The same of a lane all of whose variants are stored, itself among them.
  FL_HD StoredLogits with_own(std::int64_t lane) const {
    return of(lane, variant_at(subject, chunk.x + place(lane), chunk.stride));
  }
};

/// The Stored kernels do what their namesakes in tile_kernels.h do, on lanes whose logits are
/// stored. Results lie at the lanes' places.
struct ProbeStored {
  StoredChunk c;
  ProbeResult out;

  FL_HD void operator()(std::int64_t i) const {
    long const place = c.place(i);
    LaneTiles<ScalarPack, 1>::probe_by(c.subject, c.with_own(i), 1, c.terms + i,
                                       decisions_from(out, place));
    Feasible<ScalarPack>::leave_out(c.subject, c.chunk.x + place, c.chunk.stride, out.label + place,
                                    out.pair + place);
  }
};

struct ClassifyStored {
  StoredChunk c;
  std::uint32_t* packed;
  std::int32_t* flags;

  FL_HD void operator()(std::int64_t i) const {
    long const place = c.place(i);
    LaneTiles<ScalarPack, 1>::classify_by(c.subject, c.of(i), 1, packed + place, flags + place);
  }
};

/// Variants [c.first, last) of the subject's order are stored.
struct ClassifySomeStored {
  StoredChunk c;
  int last;
  std::int32_t* found;
  std::int32_t* flags;

  FL_HD void operator()(std::int64_t i) const {
    long const place = c.place(i);
    LaneTiles<ScalarPack, 1>::classify_some_by(c.subject, c.of(i), 1, c.first, last, found + place,
                                               flags + place);
  }
};

struct MarginStored {
  StoredChunk c;
  MarginResult out;

  FL_HD void operator()(std::int64_t i) const {
    long const place = c.place(i);
    LaneTiles<ScalarPack, 1>::margins_by(c.subject, c.with_own(i), 1, out.from(place));
    Feasible<ScalarPack>::leave_out(c.subject, c.chunk.x + place, c.chunk.stride, out.label + place,
                                    nullptr);
  }
};

/// pair [n], which is stored.
struct PairMarginStored {
  StoredChunk c;
  MemberPair pair;
  MarginResult out;

  FL_HD void operator()(std::int64_t i) const {
    long const place = c.place(i);
    LaneTiles<ScalarPack, 1>::pair_margins_by(c.subject, c.of(i), 1, pair.from(place),
                                              out.from(place));
    Feasible<ScalarPack>::leave_out_member(c.subject, c.chunk.x + place, c.chunk.stride,
                                           pair.first + place, out.label + place);
  }
};

/// Partners by trial: the lane and its tries are stored. open [n]: whether none was found
struct TryPartnerStored {
  StoredChunk c;
  LaneTiles<ScalarPack, 1>::PartnerLot lot;
  std::int32_t* chosen;
  std::uint8_t* open;

  FL_HD void operator()(std::int64_t i) const {
    std::int32_t own = 0;
    bool const none = LaneTiles<ScalarPack, 1>::pick_by_trial(
        c.subject, c.of(i), static_cast<int>(i), lot, &own, chosen + i);
    open[i] = none ? 1 : 0;
  }
};

/// Partners by count, of lanes that tries left without one.
struct CountPartnerStored {
  StoredChunk c;
  LaneTiles<ScalarPack, 1>::PartnerLot lot;
  std::int32_t* chosen;

  FL_HD void operator()(std::int64_t i) const {
    auto const logits = c.with_own(i);
    auto const place = static_cast<int>(c.place(i));
    std::int32_t const own =
        label_of<ScalarPack>(logits.own(), logits.outputs, logits.lanes, c.subject.threshold);
    std::int32_t pick = -1;
    LaneTiles<ScalarPack, 1>::pick_by_count(c.subject, logits, place, &own, lot, &pick);
    chosen[place] = pick;
  }
};

/// Gradients by differences: the lane and its moves are stored; for those of the margin, its steps.
struct DifferenceStored {
  StoredChunk c;
  GradientSpec spec;
  float* gradient;
  long stride;

  FL_HD void operator()(std::int64_t i) const {
    if (spec.kind == GradientKind::kMargin) {
      margin_differences(i);
      return;
    }
    StoredMoves const moves{c.of(i), c.subject, c.chunk.x + c.place(i), c.chunk.stride, spec.step};
    LaneTiles<ScalarPack, 1>::difference_tile_by(c.subject, moves, c.terms + i, gradient + i,
                                                 stride);
  }

  /// Of the margin of the lane's own label.
  FL_HD void margin_differences(std::int64_t i) const {
    Subject const& s = c.subject;
    auto const logits = c.of(i);
    std::int32_t const label =
        label_of<ScalarPack>(logits.own(), logits.outputs, logits.lanes, s.threshold);
    auto const margin = [&](int member) {
      return class_margin<ScalarPack>(label, logits.at(member), logits.outputs, logits.lanes,
                                      s.threshold);
    };
    float const here = margin(0);
    for (int column = 0; column < s.columns; ++column) gradient[column * stride + i] = 0.0F;
    for (int m = 0; m < s.movable_count; ++m) {
      int const column = s.movable[m];
      std::int32_t const code = c.chunk.x[column * c.chunk.stride + c.place(i)];
      float const change = margin(m + 1) - here;
      gradient[column * stride + i] = neighbour_step(s, column, code) > 0 ? change : -change;
    }
  }
};

/// Ends a product whose sums a library has made, as DenseBlocks ends its own. Index i is row i %
/// rows of output i / rows.
/// sums  [outputs][stride], may be where the product's result goes
struct FinishDense {
  Dense d;
  float const* sums;
  long stride;

  FL_HD void operator()(std::int64_t i) const {
    int const output = static_cast<int>(i / d.rows);
    int const row = static_cast<int>(i % d.rows);
    float const start = d.bias != nullptr ? d.bias[output] : *d.start.at(row, output);
    float* const y = d.out.at(row, output);
    *y = start + sums[output * stride + row];
    if (d.finish == DenseFinish::kActivation) {
      activate<ScalarPack>(d.activation, d.alpha, y, 1);
    } else {
      activate_gradient<ScalarPack>(d.activation, d.alpha, d.gate + output * d.gate_stride + row, y,
                                    1);
    }
  }
};

/// Results of a layer whose activation is gated, of which backpropagation keeps the sums.
struct ActivateSums {
  Activation activation;
  float const* sums;
  float* results;

  FL_HD void operator()(std::int64_t i) const {
    detail::activate_gated<ScalarPack>(activation, sums + i, results + i, 1);
  }
};

/// After an evaluation that is not exact: marks the places whose groups seem to have two labels, or
/// an undefined one.
struct MarkSuspects {
  std::int32_t const* flags;
  std::uint8_t* mark;

  FL_HD void operator()(std::int64_t i) const { mark[i] = flags[i] != 0 ? 1 : 0; }
};

/// Makes listed places ready for classification from the first variant on.
struct ForgetLabels {
  std::int32_t const* list;
  std::int32_t* found;
  std::int32_t* flags;

  FL_HD void operator()(std::int64_t i) const {
    found[list[i]] = kUndefinedLabel;
    flags[list[i]] = 0;
  }
};

/// Gradients of columns that step, from those at the first layer's sums; see
/// LaneTiles::backward_tile. Rows are a chunk's lanes, then their partners, half a stride behind.
/// sums      [first layer's outputs], `rows` apart
/// gradient  [columns][stride]
struct StepGradients {
  Subject subject;
  LaneChunk chunk;
  float const* sums;
  int rows;
  float* gradient;
  long stride;

  FL_HD void operator()(std::int64_t i) const {
    bool const partner = i >= chunk.lanes;
    int const lane = static_cast<int>(partner ? i - chunk.lanes : i);
    long const behind = partner ? chunk.stride / 2 : 0;
    long const to = lane + (partner ? stride / 2 : 0);
    int const units = subject.network.layer[0].forward.outputs;
    for (int c = 0; c < subject.columns; ++c) {
      auto const& e = subject.encoding[c];
      if (e.rise == nullptr) continue;
      std::int32_t const code = chunk.x[c * chunk.stride + chunk.place(lane) + behind];
      gradient[c * stride + to] = step_gradient<ScalarPack>(e, code, sums + i, units, rows);
    }
  }
};

/// Gradients at the logits, where backpropagation begins. Rows [..], `rows` apart
/// logits [outputs] in, gradients out; terms [3 * outputs]
struct LogitGradients {
  Subject subject;
  GradientKind kind;
  float* logits;
  float* terms;
  int rows;

  FL_HD void operator()(std::int64_t i) const {
    logit_gradient<ScalarPack>(kind, subject.threshold, logits + i, subject.network.outputs(), rows,
                               terms + i);
  }
};

}  // namespace fairlane
