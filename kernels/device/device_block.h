// A block of lanes on a device: LaneBlock's verbs as sequences of kernels.
#pragma once

#include <functional>

#include "kernels/device/device_subject.h"
#include "kernels/device/evaluator.h"
#include "kernels/device/record/device_table.h"
#include "kernels/lane_block.h"
#include "kernels/rounds/lane_memory.h"

namespace fairlane {

/// What the blocks of a device share.
struct DeviceShare {
  PackedSubject const& packed;
  Device& device;
  DeviceSubject const& subject;
  Evaluator& evaluator;
  DeviceTable& table;
  VisitSink const& overflow;
  std::uint64_t run_seed;
};

/// LaneBlock on a device.
class DeviceBlock final : public LaneBlock {
 public:
  /// Throws Error(kMemory).
  DeviceBlock(DeviceShare const& share, int capacity, Phase phase);

  /// Device memory of a block in bytes.
  static std::uint64_t bytes(PackedSubject const& subject, DeviceLimits const& limits, int capacity,
                             Phase phase);

  int capacity() const override { return capacity_; }
  int size() const override { return size_; }
  void place(std::span<std::uint32_t const> seed, std::int32_t const* rows) override;
  bool place_drawn(std::uint32_t first, int count) override;
  void retain(std::span<std::uint8_t const> keep) override;
  std::uint32_t seed(int lane) const override { return seeds_[static_cast<std::size_t>(lane)]; }
  std::uint32_t iteration(int lane) const override;
  std::uint32_t renewals(int lane) const override;
  bool hit(int lane) const override;
  void row(int lane, std::int32_t* row) const override;

  void test(Test test) override;
  void advance(SignStep const& how) override;
  void advance(NewtonStep const& how) override;
  bool seeks(SignStep const& step) const override {
    return share_.evaluator.runs_rounds(step.gradient.kind);
  }
  bool seeks(NewtonStep const&) const override {
    return share_.evaluator.runs_rounds(GradientKind::kMargin);
  }
  void seek(SignStep const& how, std::uint32_t last, bool steps_last) override;
  void seek(NewtonStep const& how, std::uint32_t last, bool steps_last) override;
  void begin(WeightedStep const& how) override;
  void begin(MarginStep const& how) override;
  void begin(LatticeStep const& how) override;
  void begin(OddsStep const& how) override;
  void step(WeightedStep const& how, int rounds) override;
  void step(MarginStep const& how, int rounds) override;
  void step(LatticeStep const& how, int rounds) override;
  void step(OddsStep const& how) override;
  int rounds_at_once() const override;
  void trials(std::uint32_t* words, std::uint32_t* hashes, std::size_t stride) const override;

 private:
  /// A copy of an array over lanes on the host, brought over when it is asked for after a change.
  template <class T>
  struct Mirror {
    std::vector<T> values;
    bool fresh = false;
  };

  /// A wave's moves in the device's memory.
  struct DeviceMoves {
    DeviceArray<MoveDraw> draws;
    DeviceArray<float> rates;           // then the best of each distance and beyond
    DeviceArray<std::uint64_t> tested;  // groups
    DeviceArray<std::uint32_t> added;   // bits of those on their way there
    std::uint64_t version = 0;          // of these
    MoveTable table;                    // the same for kernels
  };
  /// Brings a wave's moves over.
  void upload(LatticeStep const& how);
  /// Of the tested groups what is new, where these are those of the wave before.
  void upload_tested(LatticeStep const& how);

  /// What a block takes. The overflow is there from the start: once the record is full, there may
  /// be no memory for it.
  struct Memory {
    LaneMemory of_lanes;
    VisitOverflow overflow;
    std::size_t bytes = 0;
  };
  /// Places of an array over so many, with what tiles read and write behind them.
  static long padded(int places);
  static Memory lay_out(PackedSubject const& subject, DeviceLimits const& limits, int capacity,
                        Phase phase, std::byte* base);

  Range all() const { return {size_, nullptr}; }
  Range listed() const { return {size_, lanes_.counts}; }
  void run(LaneKernel const& kernel, Range range) { share_.device.run(kernel, range); }
  template <class K>
  void evaluate(K const& kernel, Range range) {
    share_.evaluator.run(kernel, range);
  }
  /// The context of the next kernels; `inserts` new inputs may be recorded by them.
  void prepare(std::uint64_t inserts);
  /// The same for rounds in one launch: for as many as the record has room for, at least one.
  /// Returns how many.
  int prepare_rounds(int rounds);
  /// Seeks in as many launches as the record has room for. make_kernel(limit)
  template <class MakeKernel>
  void seek_by(std::uint32_t last, bool steps_last, MakeKernel const& make_kernel);
  /// Rounds in as few launches as the record has room for. make_kernel(now, taken): the kernel of
  /// the next `now` rounds, after which `taken` have been taken
  template <class MakeKernel>
  void run_rounds(int rounds, MakeKernel const& make_kernel) {
    for (int taken = 0; taken < rounds;) {
      int const now = prepare_rounds(rounds - taken);
      taken += now;
      share_.evaluator.run(make_kernel(now, taken), size_);
      finish();
    }
  }
  /// Brings the rows of listed lanes to the host.
  void fetch_rows(Mirror<std::int32_t>& mirror, std::vector<std::int32_t> const& list) const;
  /// One round, a kernel for each stage.
  void local_round(WeightedStep const& how);
  void local_round(MarginStep const& how);
  /// Ends a verb: hands overflowed visits on, and now and then waits for the device, so that the
  /// host does not run ahead.
  void finish();
  /// exact: whatever the arithmetic, since what begins a local search is known to be an IDI
  void probe(bool exact = false);
  void margins(bool exact = false);
  /// Gradients of the gathered rows and their partners.
  void gradients(GradientSpec const& spec, Range range);
  /// New partners and weights for the marked lanes.
  void renew(WeightedStep const& step);
  /// Evaluates the groups of the marked lanes and records their visits.
  void classify_marked();
  void classify_in_stages();
  /// New sides for the marked lanes.
  void renew_margin(bool counts);
  template <class T>
  T mirrored(Mirror<T>& mirror, T const* from, int lane) const;

  DeviceShare share_;
  Subject const& subject_;  // on the host
  int capacity_;
  Phase phase_;
  int size_ = 0;
  int rounds_ = 0;  // since the host last waited
  std::vector<std::uint32_t> seeds_;
  DeviceArray<std::byte> memory_;
  LaneState lanes_;
  MarginLanes margin_;
  LatticeLanes lattice_;
  DeviceMoves moves_;
  int trial_ = 0;  // of the next round of a LatticeStep, which has trials_
  int trials_ = 0;
  RecordContext context_;
  bool sought_ = false;  // the last verb was seek, and outcomes tell all lanes' hits and iterations
  mutable Mirror<std::uint32_t> outcomes_;
  mutable Mirror<std::int32_t> hit_rows_;  // [lane][columns] of lanes that seek left at an IDI
  mutable Mirror<std::int32_t> hits_;
  mutable Mirror<std::uint32_t> iterations_;
  mutable Mirror<std::uint32_t> renewals_;
  mutable Mirror<std::int32_t> rows_;  // [lane][columns]
};

}  // namespace fairlane
