#include "kernels/device/device_backend.h"

#include <algorithm>

#include "kernels/core/error.h"
#include "kernels/device/device_block.h"
#include "kernels/device/wide_plan.h"

namespace fairlane {

namespace {

constexpr std::int64_t kMostLanes = 1 << 22;  // more bring nothing: the device is long full
constexpr int kLeastLanes = 128;              // with no memory for these a run is hopeless
constexpr std::uint64_t kTableShare = 2;      // the record may take half of the free memory,
constexpr std::uint64_t kLanesShare = 4;      // a block of lanes a quarter,
constexpr std::uint64_t kWorkspaceShare = 8;  // the wide route's workspace an eighth

/// Backend on one device. Rows are described on the host: the arithmetic is the same.
class DeviceBackend final : public Backend {
 public:
  DeviceBackend(SubjectView const& view, std::unique_ptr<Device> device,
                DeviceOptions const& options)
      : options_(options),
        device_(std::move(device)),
        host_(make_cpu_backend(view, host_options())),
        packed_(make_packed(view, host_->subject())),
        route_(find_route(options.route, packed_->get(), device_->properties().limits)),
        subject_(*packed_, *device_, route_ == Route::kFused),
        evaluator_(make_evaluator()),
        table_(*device_, packed_->keys(), packed_->get().variants,
               packed_->get().label_bits * packed_->get().variants,
               options.memory_limit > 0 ? options.memory_limit
                                        : device_->properties().free_memory / kTableShare) {
    if (!options_.overflow) {
      options_.overflow = [](Visits const&) {
        throw Error(ExitCode::kMemory, "the record of visited inputs is full");
      };
    }
  }

  std::string name() const override {
    auto const& p = device_->properties();
    return "cuda:" + std::to_string(p.index) + " (" + p.name + ")";
  }
  PackedSubject const& subject() const override { return *packed_; }
  int concurrency() const override { return 1; }

  int block_lanes(std::int64_t lanes) const override {
    if (options_.lanes > 0) return static_cast<int>(std::min(options_.lanes, kMostLanes));
    std::uint64_t const room = device_->properties().free_memory / kLanesShare;
    std::int64_t most = kMostLanes;
    while (most > kLeastLanes &&
           DeviceBlock::bytes(*packed_, static_cast<int>(most), Phase::kLocal) > room) {
      most /= 2;
    }
    return static_cast<int>(std::clamp<std::int64_t>(lanes, 1, most));
  }

  std::unique_ptr<LaneBlock> make_block(int capacity, Phase phase) override {
    DeviceShare const share{*packed_, *device_,          subject_,    *evaluator_,
                            table_,   options_.overflow, overflowed_, options_.seed};
    for (int lanes = capacity;; lanes /= 2) {
      try {
        auto block = std::make_unique<DeviceBlock>(share, lanes, phase);
        if (lanes < capacity && options_.notice) {
          options_.notice(name() + ": memory for " + std::to_string(lanes) +
                          " lanes at a time instead of " + std::to_string(capacity) +
                          "; the results are the same");
        }
        return block;
      } catch (Error const& error) {
        if (error.code() != ExitCode::kMemory || lanes / 2 < kLeastLanes) throw;
      }
    }
  }

  std::uint64_t visited() const override { return table_.size(); }
  std::uint64_t instances() const override { return table_.last_hits(); }
  std::uint64_t table_bytes() const override { return table_.bytes(); }
  bool overflowed() const override { return overflowed_; }
  void collect(VisitSink const& sink) override { table_.collect(sink); }
  void reserve(double inputs) override { table_.reserve(inputs); }

  void describe(std::int32_t const* rows, std::size_t count, Description* out) override {
    host_->describe(rows, count, out);
  }
  void logits(std::int32_t const* rows, std::size_t count, float* out) override {
    host_->logits(rows, count, out);
  }

 private:
  std::unique_ptr<Evaluator> make_evaluator() {
    if (route_ == Route::kFused)
      return make_fused_evaluator(packed_->get(), subject_.arena(), *device_);
    std::uint64_t const room = device_->properties().free_memory / kWorkspaceShare;
    std::uint64_t const wanted = options_.workspace > 0 ? options_.workspace : kWideWorkspace;
    return make_wide_evaluator(packed_->get(), subject_.arena(), *device_,
                               static_cast<std::int64_t>(std::min(wanted, room)));
  }

  static CpuOptions host_options() {
    CpuOptions options;
    options.memory_limit = 1 << 20;  // it records nothing
    return options;
  }

  static std::unique_ptr<PackedSubject> make_packed(SubjectView const& view,
                                                    PackedSubject const& host) {
    auto packed = std::make_unique<PackedSubject>(view, kMaxTile);
    // The CPU backend has found the order in which variants tell most.
    auto const* order = host.get().variant_order;
    packed->set_variant_order({order, order + host.get().variants});
    return packed;
  }

  DeviceOptions options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Backend> host_;
  std::unique_ptr<PackedSubject> packed_;
  Route route_;
  DeviceSubject subject_;
  std::unique_ptr<Evaluator> evaluator_;
  DeviceTable table_;
  bool overflowed_ = false;
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(SubjectView const& view,
                                             std::unique_ptr<Device> device,
                                             DeviceOptions const& options) {
  return std::make_unique<DeviceBackend>(view, std::move(device), options);
}

}  // namespace fairlane
