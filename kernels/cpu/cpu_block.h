// A block of lanes on the CPU: the verbs of LaneBlock as stages of rounds
// (kernels/rounds) in loops, over one record of visited inputs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cpu/cpu_record.h"
#include "kernels/cpu/lane_kernels.h"
#include "kernels/cpu/weight_cache.h"
#include "kernels/lane_block.h"
#include "kernels/layout/plan.h"
#include "kernels/rounds/lane_memory.h"

namespace fairlane {

inline constexpr int kPadLanes = 64;  // strides are multiples of every instruction set's tile

/// Rows of one array over lanes, `stride` apart, cache-line aligned and zero at
/// first.
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

/// Variants in the order that shows a second label soonest in a sample of
/// uniform groups; results never depend on it.
std::vector<int> separating_order(PackedSubject const& subject, LaneKernels const& kernels);

/// Where visits go that the table has no room for: one call at a time.
struct OverflowSink {
  std::mutex lock;
  VisitSink sink;
  std::atomic<bool> used{false};
};

/// LaneBlock on the CPU.
class CpuBlock final : public LaneBlock {
 public:
  CpuBlock(PackedSubject const& subject, LaneKernels const& kernels, CpuRecord& record,
           OverflowSink& overflow, std::uint64_t run_seed, int capacity, Phase phase);

  int capacity() const override { return capacity_; }
  int size() const override { return size_; }
  void place(std::span<std::uint32_t const> seed, std::int32_t const* rows) override;
  void retain(std::span<std::uint8_t const> keep) override;
  void test(Test test) override;
  void advance(SignStep const& how) override;
  void advance(NewtonStep const& how) override;
  void begin(WeightedStep const& how) override;
  void begin(MarginStep const& how) override;
  void begin(LatticeStep const& how) override;
  void begin(OddsStep const& how) override;
  void step(WeightedStep const& how, int rounds) override;
  void step(MarginStep const& how, int rounds) override;
  void step(LatticeStep const& how, int rounds) override;
  void step(OddsStep const& how) override;
  std::uint32_t seed(int lane) const override { return lanes_.seed[lane]; }
  std::uint32_t iteration(int lane) const override { return lanes_.iteration[lane]; }
  std::uint32_t renewals(int lane) const override { return lanes_.renewals[lane]; }
  bool hit(int lane) const override { return lanes_.hit[lane] != 0; }
  void trials(std::uint32_t* words, std::uint32_t* hashes, std::size_t stride) const override;
  void row(int lane, std::int32_t* row) const override;

 private:
  void local_round(WeightedStep const& how);
  void local_round(MarginStep const& how);
  /// Runs a stage of a round at indices [0, n).
  template <class Stage>
  static void run(Stage const stage, int n) {
    for (int i = 0; i < n; ++i) stage(i);
  }
  /// Begins an iteration of every lane: words 0 to 3 of its draw.
  void draw();
  void count_iteration();
  /// Lists the places of [0, n) that are marked; returns how many.
  int list_marked(int n, std::int32_t* list) const;
  /// Copies the first n listed lanes' columns side by side into rows.
  void gather(int n);
  /// What a full evaluation of every lane's similar set says, and its margins.
  void probe();
  void margins();
  /// gradient [columns][2 n]: at the n gathered rows with variants first (null:
  /// their own), then with variants second.
  void pair_gradients(GradientSpec const& spec, int n, std::int32_t const* first,
                      std::int32_t const* second);
  /// pair_gradients of all lanes.
  void all_gradients(GradientSpec const& spec, std::int32_t const* first,
                     std::int32_t const* second);
  /// Group keys of all lanes from their rows.
  void compute_keys();
  /// Records all lanes after a full evaluation.
  void record_probed();
  /// The same of the marked lanes.
  void record_marked();
  /// New sides for the marked lanes of the margin method.
  void renew_margin(bool counts);
  /// New partners and weights for the lanes where they are due.
  void renew(WeightedStep const& how);
  void draw_partners();
  /// The way back after a miss.
  void settle(WeightedStep const& how);
  /// Weights of the listed lanes that weight_cache_ knows; those lanes and
  /// their partners drop out.
  void take_known_weights();
  /// Entry k of the list and its partner.
  WeightCache::Pair pair_of(int k) const {
    std::int32_t const lane = lanes_.list[k];
    return {lanes_.key[lane], lanes_.variant[lane], static_cast<std::uint32_t>(lanes_.chosen[k])};
  }
  /// Partners by trial for the gathered lanes numbered in `open`; leaves those
  /// where no try had another label.
  void try_partners(std::vector<std::int32_t>& open);
  /// Hit and labels of every lane from the table, or by evaluating the groups
  /// that it does not know.
  void look_up(CpuRecord::Round& round);
  /// The groups of the first n gathered rows.
  void classify(int n);
  void classify_in_stages(int n);
  /// Records n listed visits with flags_, or hands them to the overflow sink. labels: of the
  /// visits' groups
  void record(CpuRecord::Round& round, LaneVisits const& visits, std::int32_t const* list, int n,
              std::uint32_t const* labels);
  void flush_overflow();
  /// What the record is asked about the lanes.
  LaneVisits visits();

  PackedSubject const& packed_;
  Subject const& subject_;
  LaneKernels const& kernels_;
  CpuRecord& record_;
  OverflowSink& overflow_;
  int capacity_;
  int size_ = 0;
  int listed_ = 0;    // lanes in lanes_.list
  bool labels_kept_;  // labels hold the packed labels of every lane's group
  ScratchMemory scratch_;
  LaneArray<std::byte> memory_;
  LaneState lanes_;
  MarginLanes margin_;
  LatticeLanes lattice_;
  int trial_ = 0;  // of the next round of a LatticeStep, which has trials_
  int trials_ = 0;
  LaneContext context_;

  LaneArray<float> new_weights_;         // [movable + 1] of the listed lanes
  LaneArray<std::uint32_t> random_;      // [4] words of the round
  LaneArray<std::int32_t> index_;        // movable attribute that was drawn
  LaneArray<std::int32_t> moved_;        // by how much its column moved
  LaneArray<std::int32_t> columns_;      // what moves of a tile's origins are predicted from
  LaneArray<std::uint64_t> home_;        // where the record's search starts
  LaneArray<std::uint32_t> flags_;       // VisitFlag bits of listed lanes
  LaneArray<std::uint64_t> marked_key_;  // [words] of marked lanes
  LaneArray<std::uint32_t> marked_;      // [3] variants, seeds, iterations of these
  VisitAnswers answers_;
  std::unique_ptr<WeightCache> weight_cache_;  // where every step renews
  std::vector<std::uint8_t> variant_labels_;   // [variants][kPadLanes]

  std::vector<std::uint64_t> overflow_group_;
  std::vector<std::uint32_t> overflow_variant_;
  std::vector<std::uint64_t> overflow_finder_;
  std::vector<std::uint8_t> overflow_state_;
};

}  // namespace fairlane
