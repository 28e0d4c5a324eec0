#include "kernels/device/device_backend.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/error.h"
#include "kernels/device/boxes/device_boxes.h"
#include "kernels/device/device_block.h"
#include "kernels/device/device_k_means.h"
#include "kernels/device/less_memory.h"
#include "kernels/device/record/device_findings.h"
#include "kernels/device/scored/scorer_describer.h"
#include "kernels/device/walk/device_walk.h"
#include "kernels/device/wide_plan.h"

namespace fairlane {

namespace {

constexpr std::int64_t kMostLanes = 1 << 22;  // more bring nothing: the device is long full
constexpr int kLeastLanes = 128;              // with no memory for these a run is hopeless
constexpr std::uint64_t kTableShare = 2;      // the record may take half of the free memory,
constexpr std::uint64_t kLanesShare = 4;      // a block of lanes a quarter,
constexpr std::uint64_t kWorkspaceShare = 8;  // the wide route's workspace an eighth

/// One device with the subject, what evaluates it, and its record.
struct Member {
  Member(PackedSubject const& packed, std::unique_ptr<Device> owned, SharedScorer* scorer,
         DeviceOptions const& options, int part, int parts)
      : device(std::move(owned)),
        route(find_route(options.route, packed.get(), device->properties().limits)),
        subject(packed, *device, route == Route::kFused),
        arithmetic(route == Route::kWide ? options.arithmetic : Arithmetic::kExact),
        evaluator(make_evaluator(packed.get(), scorer, options.workspace)),
        table(*device, packed.keys(), packed.get().variants,
              packed.get().label_bits * packed.get().variants,
              options.memory_limit > 0 ? options.memory_limit
                                       : device->properties().free_memory / kTableShare,
              part, parts) {}

  std::unique_ptr<Evaluator> make_evaluator(Subject const& packed, SharedScorer* scorer,
                                            std::uint64_t workspace) {
    if (route == Route::kScored) {
      return make_scorer_evaluator(packed, subject.arena(), subject.columns(), *device, *scorer);
    }
    if (route == Route::kFused) return make_fused_evaluator(packed, subject.arena(), *device);
    std::uint64_t const room = device->properties().free_memory / kWorkspaceShare;
    std::uint64_t const wanted = workspace > 0 ? workspace : kWideWorkspace;
    return make_wide_evaluator(packed, subject.arena(), *device,
                               static_cast<std::int64_t>(std::min(wanted, room)), arithmetic);
  }

  std::unique_ptr<Device> device;
  Route route;
  DeviceSubject subject;
  Arithmetic arithmetic;
  std::unique_ptr<Evaluator> evaluator;
  DeviceTable table;
  std::mutex walking;  // and bounding boxes
};

/// Backend on one or several devices: a block uses one of them, and each records what its blocks
/// visit. Rows are described on the host: the arithmetic is the same. A scorer is asked by one of
/// them at a time.
class DeviceBackend final : public Backend {
 public:
  DeviceBackend(SubjectView const& view, std::vector<std::unique_ptr<Device>> devices,
                DeviceOptions const& options)
      : options_(options),
        host_(view.scorer == nullptr ? make_cpu_backend(view, host_options()) : nullptr),
        scorer_(view.scorer == nullptr
                    ? nullptr
                    : std::make_unique<SharedScorer>(*view.scorer, !view.constraints.empty())),
        packed_(std::make_unique<PackedSubject>(view, kWidestTile, kWeightVector)) {
    if (host_ != nullptr) {
      // The CPU backend has found the order in which variants tell most.
      auto const& known = host_->subject().get();
      packed_->set_variant_order({known.variant_order, known.variant_order + known.variants});
    }
    overflow_ = [this](Visits const& visits) {
      std::lock_guard const guard(overflow_lock_);
      if (!options_.overflow) {
        throw Error(ExitCode::kMemory, "the record of visited inputs is full");
      }
      overflowed_.store(true, std::memory_order_relaxed);
      options_.overflow(visits);
    };
    int const parts = static_cast<int>(devices.size());
    for (int part = 0; part < parts; ++part) {
      members_.push_back(
          std::make_unique<Member>(*packed_, std::move(devices[static_cast<std::size_t>(part)]),
                                   scorer_.get(), options_, part, parts));
    }
  }

  std::string name() const override {
    std::string numbers;
    for (auto const& member : members_) {
      int const index = member->device->properties().index;
      if (index >= 0) numbers += (numbers.empty() ? ":" : ",") + std::to_string(index);
    }
    std::string const times =
        members_.size() > 1 ? std::to_string(members_.size()) + " x " : std::string();
    auto const& first = *members_[0];
    std::string const on =
        first.device->properties().kind + numbers + " (" + times + first.device->properties().name;
    if (scorer_ != nullptr) return on + ", " + scorer_->name() + ")";
    return on + ", " + (first.route == Route::kFused ? "fused" : "wide") + " route" +
           (arithmetic() == Arithmetic::kFast ? ", fast arithmetic)" : ")");
  }
  PackedSubject const& subject() const override { return *packed_; }
  Arithmetic arithmetic() const override {
    bool const fast = std::any_of(members_.begin(), members_.end(), [](auto const& member) {
      return member->arithmetic == Arithmetic::kFast;
    });
    return fast ? Arithmetic::kFast : Arithmetic::kExact;
  }
  int concurrency() const override { return static_cast<int>(members_.size()); }
  bool on_host() const override { return false; }

  int block_lanes(std::int64_t lanes) const override {
    if (options_.lanes > 0) return static_cast<int>(std::min(options_.lanes, kMostLanes));
    std::uint64_t const room = members_[0]->device->properties().free_memory / kLanesShare;
    std::int64_t most = kMostLanes;
    if (scorer_ != nullptr)  // as many rows as it is asked for at once
      most = std::max<std::int64_t>(kLeastLanes, kScorerRows / packed_->get().variants);
    while (most > kLeastLanes &&
           DeviceBlock::bytes(*packed_, members_[0]->device->properties().limits,
                              static_cast<int>(most), Phase::kLocal) > room) {
      most /= 2;
    }
    auto const devices = static_cast<std::int64_t>(members_.size());
    return static_cast<int>(std::clamp<std::int64_t>((lanes + devices - 1) / devices, 1, most));
  }

  std::unique_ptr<LaneBlock> make_block(int capacity, Phase phase) override {
    Member& member = *members_[next_.fetch_add(1) % members_.size()];
    exchanged_.store(members_.size() == 1, std::memory_order_relaxed);
    DeviceShare const share{*packed_,     *member.device, member.subject, *member.evaluator,
                            member.table, overflow_,      options_.seed};
    auto block = with_less_memory(capacity, kLeastLanes, [&](std::int64_t lanes) {
      return std::make_unique<DeviceBlock>(share, static_cast<int>(lanes), phase);
    });
    if (block->capacity() < capacity) {
      tell("memory for " + std::to_string(block->capacity()) + " lanes at a time instead of " +
           std::to_string(capacity) + "; the results are the same");
    }
    return block;
  }

  std::uint64_t visited() const override {
    exchange();
    std::uint64_t sum = 0;
    for (auto const& member : members_) sum += member->table.size();
    return sum;
  }
  std::uint64_t instances() const override {
    std::uint64_t sum = 0;
    for (auto const& member : members_) sum += member->table.last_hits();
    return sum;
  }
  std::uint64_t table_bytes() const override {
    std::uint64_t sum = 0;
    for (auto const& member : members_) sum += member->table.bytes();
    return sum;
  }
  bool overflowed() const override { return overflowed_.load(std::memory_order_relaxed); }
  void collect(VisitSink const& sink) override {
    exchange();
    for (auto const& member : members_) member->table.collect(sink);
    // Blocks may go on afterwards, and what they record is again where they found it.
    exchanged_.store(members_.size() == 1, std::memory_order_relaxed);
  }
  std::optional<FindingCounts> collect_findings(FindingQuery const& query,
                                                TakeRecords const& take) override {
    if (overflowed() || members_.front()->device->on_host()) return std::nullopt;
    exchange();
    std::optional<FindingCounts> sum(std::in_place);
    std::vector<std::unique_ptr<DeviceFindings>> found;
    try {
      for (auto const& member : members_) {
        found.push_back(std::make_unique<DeviceFindings>(
            *member->device, member->table.visits_below(query.cut), query.keys));
        sum->add(found.back()->counts());
      }
    } catch (Error const& error) {
      if (error.code() != ExitCode::kMemory) throw;
      tell("no memory to sort findings; the CPU sorts them, the results are the same");
      return std::nullopt;
    }
    for (auto const& one : found) one->collect(take);
    exchanged_.store(members_.size() == 1, std::memory_order_relaxed);
    return sum;
  }
  void reserve(double inputs) override {
    for (auto const& member : members_)
      member->table.reserve(inputs / static_cast<double>(members_.size()));
  }

  std::unique_ptr<Walker> make_walker(std::vector<ValueList> lists) override {
    std::vector<WalkDevice> devices;
    for (auto const& member : members_)
      devices.push_back(
          {member->device.get(), &member->subject, member->evaluator.get(), &member->walking});
    // A scorer may take its time: what is walked at once must end soon when the user stops the
    // walk.
    std::int64_t const most =
        scorer_ == nullptr ? kMostWalkLanes : kScorerRows / packed_->get().variants;
    return make_device_walker(*packed_, devices, std::move(lists), most,
                              [this](std::string const& line) { tell(line); });
  }

  void describe(std::int32_t const* rows, std::size_t count, Description* out) override {
    if (scorer_ != nullptr) return describe_rows(*packed_, *scorer_, rows, count, out);
    host_->describe(rows, count, out);
  }
  void logits(std::int32_t const* rows, std::size_t count, float* out) override {
    if (scorer_ != nullptr) return score_rows(*packed_, *scorer_, rows, count, out);
    host_->logits(rows, count, out);
  }
  std::unique_ptr<BoxBatch> make_box_batch(BoundNetwork const& network) override {
    Member& member = *members_[next_.fetch_add(1) % members_.size()];
    return make_device_box_batch(network, *member.device, member.walking, options_.lanes);
  }
  std::vector<std::int32_t> k_means(RowTable const& rows, int clusters,
                                    std::uint64_t seed) override {
    auto const on_host = [&] { return fairlane::k_means(rows, clusters, seed, options_.threads); };
    if (members_.front()->device->on_host() || !worth_a_device(rows, clusters)) return on_host();
    try {
      return device_k_means(*members_.front()->device, rows, clusters, seed);
    } catch (Error const& error) {
      if (error.code() != ExitCode::kMemory) throw;
      tell("no memory for the rows to cluster; the CPU clusters them, the results are the same");
    }
    return on_host();
  }

 private:
  void tell(std::string const& line) {
    if (!options_.notice) return;
    std::lock_guard const guard(lines_lock_);
    options_.notice(name() + ": " + line);
  }

  static CpuOptions host_options() {
    CpuOptions options;
    options.memory_limit = 1 << 20;  // it records nothing
    return options;
  }

  /// After blocks have run: every input to the record that it belongs to. Not while a block runs.
  void exchange() const {
    if (exchanged_.exchange(true, std::memory_order_relaxed)) return;
    for (auto const& from : members_) {
      for (auto const& to : members_) {
        if (from != to) from->table.exchange(to->table, overflow_);
      }
    }
  }

  DeviceOptions options_;
  VisitSink overflow_;
  std::mutex overflow_lock_;
  std::mutex lines_lock_;
  std::atomic<bool> overflowed_{false};
  std::unique_ptr<Backend> host_;         // of a network
  std::unique_ptr<SharedScorer> scorer_;  // of any other model
  std::unique_ptr<PackedSubject> packed_;
  std::vector<std::unique_ptr<Member>> members_;
  std::atomic<std::size_t> next_{0};
  mutable std::atomic<bool> exchanged_{true};
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(SubjectView const& view,
                                             std::vector<std::unique_ptr<Device>> devices,
                                             DeviceOptions const& options) {
  return std::make_unique<DeviceBackend>(view, std::move(devices), options);
}

}  // namespace fairlane
