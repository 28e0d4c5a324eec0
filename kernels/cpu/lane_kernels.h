// The CPU's loops over the lane core: one table of functions per instruction set.
//
// Arrays over lanes are structure-of-arrays, row r of an array at r * stride. Strides and the
// memory behind n are padded to whole tiles (tile_lanes), so that a kernel may read and write past
// n up to the next multiple.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/boxes/box_kernels.h"
#include "kernels/core/lane_tiles.h"
#include "kernels/core/lattice.h"
#include "kernels/core/open_units.h"
#include "kernels/core/visit_flags.h"
#include "kernels/core/walk/walk.h"

namespace fairlane {

/// One input of a visit table; see kernels/cpu/visit_table.h for the word and the finder.
struct VisitSlot {
  std::uint64_t word;
  std::uint64_t finder;
};
inline constexpr int kSlotsPerLine = 64 / sizeof(VisitSlot);

/// A visit table as match_visits reads it. shift: bits of a word below the key (flags and labels).
struct VisitSlots {
  VisitSlot* slots = nullptr;
  std::uint64_t variants = 1;
  int shift = kVisitFlagBits;
};

/// Inputs to look up, [n] each: where the search starts, group key, variant, and the visit's seed
/// and iteration; phase is the finder's top bit.
struct VisitQuery {
  std::uint64_t* home;
  std::uint64_t const* group;
  std::uint32_t const* variant;
  std::uint32_t const* seed;
  std::uint32_t const* iteration;
  std::uint64_t phase;
};

/// What match_visits and list_visits say of each input. The former's answers are
/// hit, labels  [n] of the input's group; hit is -1 where neither it nor a sibling was met
/// place        [n] the input's slot, or else the first free one of its line, or else the one
///              behind
/// own          bits, whether the input's own slot was met; a byte for as many inputs as a register
///              takes
/// The latter's are
/// finder       [n] packed finder of this visit
/// and numbers of inputs, ascending, in arrays with a tile of room behind:
/// unknown      whose group nobody evaluated
/// sibling      that were not visited themselves, but whose group is known
/// lower        that were visited, but later than now
/// far          that the first line does not settle
struct VisitFound {
  std::int32_t* hit;
  std::uint32_t* labels;
  std::uint64_t* place;
  std::uint8_t* own;
  std::uint64_t* finder;
  std::uint64_t* unknown;
  std::uint64_t* sibling;
  std::uint64_t* lower;
  std::uint64_t* far;
};

/// Lengths of VisitFound's lists.
struct VisitCounts {
  std::size_t unknown = 0;
  std::size_t sibling = 0;
  std::size_t lower = 0;
  std::size_t far = 0;
};

/// Working memory of a walk, beside Scratch:
/// sums [levels][first layer's outputs] and logits [members][outputs] tiles; words as in WalkTally;
/// codes [columns] tiles
struct WalkScratch {
  float* sums = nullptr;
  float* logits = nullptr;
  std::uint64_t* words = nullptr;
  std::int32_t* codes = nullptr;
};

inline constexpr int kTallyLanes = 64;  // the bits of a word

/// Functions of one instruction set. x [columns][stride] holds integer codes in kernel column
/// order.
struct LaneKernels {
  char const* isa = "";
  int tile_lanes = 0;    // lanes per tile
  int tile_outputs = 0;  // widest register tile of outputs

  /// Labels of each lane's group: packed [n] labels of all variants (zero when label_bits is 0),
  /// flags [n].
  void (*classify)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                   std::uint32_t* packed, std::int32_t* flags);
  /// One pass of classify over variants [first, last) of variant_order. found [n] first label met
  /// so far (kUndefinedLabel at the start), flags [n]: read and updated.
  void (*classify_some)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                        int first, int last, std::int32_t* found, std::int32_t* flags);
  /// Labels of every variant of each lane's group: labels [variants][label_stride].
  void (*variant_labels)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                         std::uint8_t* labels, long label_stride);
  /// Full evaluation of each lane's similar set.
  void (*probe)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                ProbeResult const&);
  /// Margins within each lane's similar set, for the margin method.
  void (*margins)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                  MarginResult const&);
  /// The same of a pair of members alone; see LaneTiles::pair_margins.
  void (*pair_margins)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                       MemberPair const&, MarginResult const&);
  /// gradient [columns][gradient_stride] at x; zero for columns that may not move when kind is a
  /// difference.
  void (*gradients)(Subject const&, GradientSpec, std::int32_t const* x, long stride, int n,
                    Scratch const&, float* gradient, long gradient_stride);
  /// logits [outputs][out_stride] of x itself.
  void (*logits)(Subject const&, std::int32_t const* x, long stride, int n, Scratch const&,
                 float* out, long out_stride);
  /// Counts heads [first, first + count) of a walk; mixed and counters as in Walker::count.
  void (*walk)(Subject const&, Walk const&, std::int64_t first, std::int64_t count, Scratch const&,
               WalkScratch const&, std::uint64_t* mixed, std::uint64_t* counters);
  /// Logits [members][outputs] of members [begin, end) of walk_lanes heads in a network of relus.
  /// The heads' inputs are in Scratch::in [inputs][walk_lanes], those of the tail only where heads
  /// have their own. logits have kTallyLanes floats from one to the next, sums walk_lanes.
  void (*walk_logits)(Subject const&, Walk const&, int begin, int end, Scratch const&, float* sums,
                      float* logits);
  /// Counts the heads of `valid`'s bits, whose logits walk_logits wrote: mixed [groups] bits.
  /// terms [4 * outputs] scratch with the stride of the logits
  void (*walk_tally)(Subject const&, Walk const&, std::uint64_t valid, float* logits, float* terms,
                     std::uint64_t* words, std::uint64_t* mixed, std::uint64_t* counters);
  /// OpenUnits::enclose, and pack_open_layer.
  bool (*enclose)(BoundLayer const* layer, int layers, float const* low, float const* high,
                  OpenMemory);
  void (*pack_open)(BoundLayer const& layer, int const* list, int listed, float const* keep,
                    int outputs, int tile, float* rows, float* weights, float* bias);
  int walk_lanes = 0;    // heads of walk_logits, of which kTallyLanes is a multiple
  int walk_members = 0;  // members it takes at once: Scratch has a place for each
  int walk_first = 0;    // widest register tile of its first layer's outputs
  int walk_upper = 0;    // the same of the other layers
  /// words [4][stride] of philox(lane, phase, iteration, draw).
  void (*random_words)(std::uint32_t const* lane, Phase phase, std::uint32_t const* iteration,
                       std::uint32_t draw, std::uint64_t seed, int n, std::uint32_t* words,
                       long stride);
  /// Momentum and sign step: m1 = decay m1 + g1, m2 = decay m2 + g2; every movable column of x
  /// moves where the signs agree, clipped.
  void (*advance)(Subject const&, AdvanceSpec, float const* g1, float const* g2,
                  long gradient_stride, float* m1, float* m2, std::int32_t* x, long stride, int n);
  /// weights [movable][stride] and total [n] of the local draw, from gradients [columns][stride] at
  /// x and partner.
  void (*attribute_weights)(Subject const&, float epsilon, float const* g1, float const* g2,
                            long gradient_stride, int n, float* weights, long stride, float* total);
  /// The local draw and step: index [n] into movable, drawn with the weights and words' row 0, and
  /// by how much that column of x moved: `step` up or down by row 1, clipped. weights, words and x
  /// have one stride.
  void (*perturb)(Subject const&, std::int32_t step, float const* weights, float const* total,
                  std::uint32_t const* words, std::int32_t* x, long stride, int n,
                  std::int32_t* index, std::int32_t* moved);
  /// The same by odds: attribute by words' row 0, direction by row 1, and choice [n] as event_of()
  /// takes it.
  void (*perturb_by_odds)(Subject const&, std::int32_t step, StepOdds odds,
                          std::uint32_t const* words, std::int32_t* x, long stride, int n,
                          std::int32_t* choice, std::int32_t* moved);
  /// Chooses the tests of n origins. memory: KeptColumns::words() for each lane of a tile
  void (*plan_trials)(Subject const&, MoveTable const&, PlanLanes const&, int n,
                      std::int32_t* memory);
  /// Looks inputs [first, last) up in the lines of a visit table at their homes; `first` is a
  /// multiple of a register's inputs. Arrays are read and written up to a tile past `last`.
  void (*match_visits)(VisitSlots const&, int first, int last, VisitQuery const&,
                       VisitFound const&);
  /// Sorts inputs [first, last) after match_visits. By itself, since a list written between
  /// look-ups would hold up their loads: a processor does not know which addresses a masked store
  /// leaves alone.
  VisitCounts (*list_visits)(VisitSlots const&, int first, int last, VisitQuery const&,
                             VisitFound const&);
  /// Multiply-adds of a loop that does nothing else, for measuring a core's peak: returns how many
  /// were done.
  std::int64_t (*multiply_adds)(std::int64_t rounds, float* sink);
  /// Numbers of the lanes whose value [n] lies in [low, high], ascending; returns how many.
  int (*list)(std::int32_t const* value, std::int32_t low, std::int32_t high, int n,
              std::int32_t* lanes);
  /// Rows r < rows of the n listed lanes side by side: to [rows][to_stride].
  void (*gather)(std::int32_t const* from, int rows, long stride, std::int32_t const* lanes, int n,
                 std::int32_t* to, long to_stride);
  /// Where keep [n] is 0, row r of target becomes row r of source, for r < rows.
  void (*restore)(std::int32_t const* source, std::int32_t* target, int rows, long stride, int n,
                  std::int32_t const* keep);
};

/// Tables of the instruction sets in this build; null where the processor or the build lacks one.
LaneKernels const* kernels_portable();
LaneKernels const* kernels_avx2();
LaneKernels const* kernels_avx512();
LaneKernels const* kernels_neon();
BoxKernels const* box_kernels_portable();
BoxKernels const* box_kernels_avx2();
BoxKernels const* box_kernels_avx512();
BoxKernels const* box_kernels_neon();

/// The best table this processor runs, or the named one ("portable", "avx2", "avx512", "neon";
/// empty: best).
/// Throws Error(kUnavailable) naming what is there.
LaneKernels const& select_kernels(char const* isa);

}  // namespace fairlane
