// A block of lanes on the CPU: structure-of-arrays state and the verbs of LaneBlock over one table of visited inputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/lane_kernels.h"
#include "kernels/cpu/visit_table.h"
#include "kernels/cpu/weight_cache.h"

namespace fairlane {

inline constexpr int kPadLanes = 64;  // strides are multiples of every instruction set's tile

/// Rows of one array over lanes, `stride` apart, cache-line aligned and zero at first.
template <class T>
class LaneArray {
 public:
  LaneArray() = default;
  LaneArray(int rows, long stride)
      : stride_(stride), data_(static_cast<std::size_t>(rows * stride) + kSlack) {
    auto const address = reinterpret_cast<std::uintptr_t>(data_.data());
    offset_ = (kLine - address % kLine) % kLine / sizeof(T);
  }
  LaneArray(LaneArray&&) noexcept = default;
  LaneArray& operator=(LaneArray&&) noexcept = default;
  T* data() { return data_.data() + offset_; }
  T const* data() const { return data_.data() + offset_; }
  T* row(int r) { return data() + r * stride_; }
  T const* row(int r) const { return data() + r * stride_; }
  T& operator()(int r, long lane) { return row(r)[lane]; }
  T& operator[](long lane) { return data()[lane]; }
  T const& operator[](long lane) const { return data()[lane]; }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kSlack = kLine / sizeof(T);
  long stride_ = 0;
  std::size_t offset_ = 0;
  std::vector<T> data_;
};

/// Scratch memory for one thread.
class ScratchMemory {
 public:
  ScratchMemory(Subject const& subject, int tile_lanes);
  Scratch const& get() const { return scratch_; }

 private:
  LaneArray<float> memory_;
  std::vector<int> list_;
  Scratch scratch_;
};

/// Variants in the order that shows a second label soonest in a sample of uniform groups; results never depend on it.
std::vector<int> separating_order(PackedSubject const& subject, LaneKernels const& kernels);

/// Where visits go that the table has no room for: one call at a time.
struct OverflowSink {
  std::mutex lock;
  VisitSink sink;
  std::atomic<bool> used{false};
};

/// What the margin method keeps beside a block's common state; made when first needed.
/// ints, floats  results of the last probe (MarginResult); the rows kSideA and kSideB hold the current sides
/// slope_a, slope_b [columns]  gradients of both sides' margins where they were last taken
/// tried [movable], misses, stale: see core/margin.h; stale: a hit since the last gradients
/// at_hit        best_a, best_b, member_a, member_b and (as bits) their margins at the current IDI
/// margin [2]    margins of the sides at the current IDI
/// move [2]      index and step of the last move
struct MarginState {
  enum IntRow { kLow, kHigh, kSideA, kSideB, kBestA, kBestB, kMemberA, kMemberB, kIntRows };
  static constexpr int kFloatRows =
      5;  // low_margin, margin_a, margin_b, best_margin_a, best_margin_b
  static constexpr int kHitRows = 6;

  MarginState(int columns, int movable, long stride);
  /// Results of the last probe of lane `from` become those of lane `to`.
  void move_probe(long from, long to);

  LaneArray<std::int32_t> ints;
  LaneArray<float> floats;
  LaneArray<float> slope_a;
  LaneArray<float> slope_b;
  LaneArray<std::uint8_t> tried;
  LaneArray<std::int32_t> misses;
  LaneArray<std::int32_t> stale;
  LaneArray<std::int32_t> at_hit;
  LaneArray<float> margin;
  LaneArray<std::int32_t> move;
};

/// LaneBlock on the CPU. Table: VisitTable or WideVisitTable.
template <class Table>
class CpuBlock final : public LaneBlock {
 public:
  CpuBlock(PackedSubject const& subject, LaneKernels const& kernels, Table& table,
           OverflowSink& overflow, std::uint64_t run_seed, int capacity, Phase phase);

  int capacity() const override { return capacity_; }
  int size() const override { return size_; }
  void place(std::span<std::uint32_t const> seed, std::int32_t const* rows) override;
  void retain(std::span<std::uint8_t const> keep) override;
  void test() override;
  void advance(GlobalStep const& step) override;
  void begin_local(LocalStep const& step) override;
  void step_local(LocalStep const& step) override;
  void test_margin() override;
  void advance_margin(std::int32_t reach) override;
  void begin_margin() override;
  void step_margin(std::int32_t step) override;
  void begin_adaptive() override;
  void step_adaptive(AdaptiveStep const& step, std::uint64_t* events) override;
  void test_labels() override;
  std::uint32_t seed(int lane) const override { return seed_[lane]; }
  std::uint32_t iteration(int lane) const override { return iteration_[lane]; }
  std::uint32_t renewals(int lane) const override { return renewals_[lane]; }
  bool hit(int lane) const override { return hit_[lane] != 0; }
  void row(int lane, std::int32_t* row) const override;

 private:
  using Key = typename Table::Key;
  static constexpr bool kNarrow = std::is_integral_v<Key>;  // a group's key is one word

  Key key_of(long lane) const {
    if constexpr (kNarrow) {
      return key_[lane];
    } else {
      return {key_.data() + lane, stride_};
    }
  }
  std::uint64_t finder_of(long lane) const {
    return Finder::pack(phase_, seed_[lane], iteration_[lane]);
  }
  /// Lists the lanes with low <= value <= high in pending_.
  void select(LaneArray<std::int32_t> const& value, std::int32_t low, std::int32_t high);
  /// Copies the listed lanes' columns side by side into gathered_.
  void gather(std::vector<std::int32_t> const& lanes);
  /// Evaluates the similar sets of all lanes in full: probe_label_, probe_pair_, partner_, labels_, hit_.
  void probe_all();
  /// gradient_ [columns][2 n]: at the n gathered rows with variants first (null: their own), then with variants second.
  void pair_gradients(GradientSpec const& spec, int n, std::int32_t const* first,
                      std::int32_t const* second);
  /// pair_gradients of all lanes and their partners, themselves where all outputs are equal.
  void partner_gradients(GradientSpec const& spec);
  /// Group keys of all lanes from their rows.
  void compute_keys();
  /// Records all lanes after a full evaluation.
  void record_probed();
  void margin_probe();
  /// Where a lane hit, its row becomes the place to return to.
  void keep_margin_origin();
  /// New gradients for the lanes in pending_, at their current IDIs.
  void renew_margin(bool count);
  /// New partners by lot among members with another label, new weights; for lanes in pending_.
  void renew(LocalStep const& step);
  void draw_partners();
  /// Weights of the lanes in pending_ that weight_cache_ knows; those lanes and their partners drop out.
  void take_known_weights();
  /// Entry k of pending_ and its partner in chosen_.
  WeightCache::Pair pair_of(std::size_t k) const {
    std::int32_t const lane = pending_[k];
    return {key_[lane], variant_[lane], static_cast<std::uint32_t>(chosen_[static_cast<long>(k)])};
  }
  /// Partners by trial for the gathered lanes numbered in `open`; leaves those where no try had another label.
  void try_partners(std::vector<std::int32_t>& open);
  void draw_and_step(LocalStep const& step);
  /// Group key of a lane whose i-th movable column has changed by `by`.
  void move_key(long lane, int i, std::int64_t by) {
    auto const column = static_cast<std::size_t>(subject_.movable[i]);
    std::uint64_t* const key = kNarrow ? key_.data() : key_.row(packed_.keys().word[column]);
    key[lane] += static_cast<std::uint64_t>(by) * packed_.keys().stride[column];
  }
  /// A lane goes to where its step led, or not.
  void settle_adaptive(Acceptance acceptance, std::uint64_t* events);
  /// home_, hit and labels of every lane from the table, or by evaluating the groups that it does not know.
  void look_up(typename Table::Use& use);
  void find_all();
  void classify_pending();
  /// True when lane i of gathered_ is an IDI although some member of its group is undefined; sets `undefined` for its own.
  bool resolve_irregular(int i, std::uint32_t variant, bool& undefined);
  void record(typename Table::Use& use, long lane, std::uint32_t labels, std::uint32_t flags);
  void flush_overflow();
  /// home_ of all lanes, prefetched. Within a Use of the table, as all that follows.
  void prepare_homes();
  void settle(LocalStep const& step);

  PackedSubject const& packed_;
  Subject const& subject_;
  LaneKernels const& kernels_;
  Table& table_;
  OverflowSink& overflow_;
  std::uint64_t run_seed_;
  int capacity_;
  long stride_;
  Phase phase_;
  int words_;
  int size_ = 0;
  bool labels_kept_;  // labels_ holds the packed labels of every lane's group
  bool stages_;       // classify_pending stops at a group's second label
  ScratchMemory scratch_;

  LaneArray<std::int32_t> x_;         // [columns] codes
  LaneArray<std::uint64_t> key_;      // [words] group key
  LaneArray<std::uint32_t> variant_;  // protected combination
  LaneArray<std::uint32_t> seed_;
  LaneArray<std::uint32_t> iteration_;
  LaneArray<std::int32_t> hit_;
  LaneArray<std::uint32_t> labels_;  // packed labels of the group
  LaneArray<std::int32_t> partner_;  // variant, -1 when all outputs are equal

  LaneArray<float> momentum_;          // [columns] global phase: at x
  LaneArray<float> partner_momentum_;  // [columns] and at the partner

  LaneArray<std::int32_t> origin_;  // [columns] local phase: where misses return to
  LaneArray<std::uint64_t> origin_key_;
  LaneArray<std::uint32_t> origin_labels_;
  LaneArray<float> weights_;  // [movable + 1] of the attribute draw, then their sum
  LaneArray<float> origin_weights_;
  LaneArray<std::int32_t>
      streak_;  // hits in a row since the last renewal; AEQUITAS: misses since the last hit
  LaneArray<std::uint32_t> renewals_;

  LaneArray<std::int32_t> gathered_;  // [columns] compacted rows, room for their partners behind
  LaneArray<std::int32_t> second_;    // [columns] rows that need more variants
  LaneArray<float> gradient_;         // [columns] as gathered_
  LaneArray<float> new_weights_;      // [movable + 1]
  LaneArray<std::uint32_t> random_;   // [4] words of the round
  LaneArray<std::int32_t> index_;
  LaneArray<std::int32_t> moved_;   // change of the drawn attribute
  LaneArray<std::int32_t> choice_;  // AEQUITAS: attribute and direction, see event_of()
  LaneArray<std::uint32_t> found_labels_;
  LaneArray<std::int32_t> found_flags_;
  LaneArray<std::int32_t> first_label_;
  LaneArray<std::int32_t> chosen_;  // [..] variant of each gathered lane
  LaneArray<std::int32_t> probe_label_;
  LaneArray<std::int32_t> probe_pair_;
  LaneArray<std::uint64_t> home_;  // where the table's search starts
  VisitAnswers answers_;
  std::unique_ptr<WeightCache> weight_cache_;  // where every step renews
  std::unique_ptr<MarginState> margin_;
  std::vector<std::int32_t> pending_;
  std::vector<std::uint8_t> variant_labels_;  // [variants][kPadLanes]

  std::vector<std::uint64_t> overflow_group_;
  std::vector<std::uint32_t> overflow_variant_;
  std::vector<std::uint64_t> overflow_finder_;
  std::vector<std::uint8_t> overflow_state_;
};

}  // namespace fairlane
