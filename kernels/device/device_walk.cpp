#include "kernels/device/device_walk.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "kernels/device/walk_kernels.h"

namespace fairlane {
namespace {

constexpr std::int64_t kLeastWalkLanes = 128;
constexpr int kCopies = 1024;                  // of the counters, where they are small
constexpr std::uint64_t kCopyBytes = 8 << 20;  // that all copies may take,
constexpr std::uint64_t kCopyShare = 64;       // and of the free memory
constexpr std::uint64_t kMemoryShare = 4;      // of the free memory

/// Arrays of a walk in a device's memory.
class WalkArrays {
 public:
  WalkArrays(Walk const& host, int variants, Device& device) : device_(device), walk_(host) {
    std::vector<WalkFactor> factors(host.factor, host.factor + host.factors);
    for (auto& factor : factors) {
      factor.value = copy(factor.value, static_cast<std::size_t>(factor.size * factor.columns));
      factor.column = copy(factor.column, static_cast<std::size_t>(factor.columns));
    }
    std::vector<WalkSubset> subsets(host.subset, host.subset + host.subsets);
    for (auto& subset : subsets)
      subset.member = copy(subset.member, static_cast<std::size_t>(variants));
    walk_.factor = copy(factors.data(), factors.size());
    walk_.subset = copy(subsets.data(), subsets.size());
    walk_.group_member = copy(host.group_member, static_cast<std::size_t>(host.groups));
    walk_.variant_member = copy(host.variant_member, static_cast<std::size_t>(variants));
    walk_.level = nullptr;  // a group's members are told apart by their variants
  }
  Walk const& get() const { return walk_; }

 private:
  template <class T>
  T const* copy(T const* from, std::size_t count) {
    if (count == 0) return nullptr;
    memory_.emplace_back(device_, count * sizeof(T));
    device_.upload(memory_.back().data(), from, count * sizeof(T));
    return reinterpret_cast<T const*>(memory_.back().data());
  }

  Device& device_;
  Walk walk_;
  std::vector<DeviceArray<std::byte>> memory_;
};

/// What one device keeps for its share of a walk of up to `lanes` groups at once.
class WalkMember {
 public:
  WalkMember(PackedSubject const& packed, WalkPlan const& plan, WalkDevice const& on,
             std::int64_t lanes)
      : subject_(packed.get()),
        on_(on),
        device_(*on.device),
        arrays_(plan.get(), packed.get().variants, device_),
        size_(static_cast<std::size_t>(plan.counters().size())),
        copies_(device_.on_host()
                    ? 1  // one thread counts
                    : static_cast<int>(std::clamp<std::size_t>(
                          std::min(kCopyBytes, device_.properties().free_memory / kCopyShare) /
                              (size_ * sizeof(std::uint64_t)),
                          1, kCopies))),
        // Tiles read and write up to their end.
        stride_((lanes + kPad - 1) / kPad * kPad),
        x_(device_, cells(subject_.columns)),
        logits_(device_, cells(std::int64_t{subject_.variants} * subject_.network.outputs())),
        terms_(device_, cells(4 * subject_.network.outputs())),
        words_(device_, cells(std::int64_t{subject_.variants} *
                              (label_planes(subject_.network.outputs()) + 1)) /
                            kWordLanes),
        mixed_(device_, static_cast<std::size_t>(head_words(stride_))),
        counters_(device_, size_ * static_cast<std::size_t>(copies_)),
        plan_(make_tile_plan(subject_, TallyTiles::kNeeds, on.subject->arena(),
                             device_.properties().limits)) {
    // Tiles read lanes behind the last, too.
    device_.zero(x_.data(), x_.size() * sizeof(std::int32_t));
    device_.zero(logits_.data(), logits_.size() * sizeof(float));
  }

  std::mutex& lock() const { return *on_.lock; }

  static std::uint64_t bytes_per_lane(Subject const& s) {
    auto const outputs = static_cast<std::uint64_t>(s.network.outputs());
    auto const variants = static_cast<std::uint64_t>(s.variants);
    return 4 * (static_cast<std::uint64_t>(s.columns) + variants * outputs + 4 * outputs) +
           8 * variants;
  }

  /// As Walker::count, for up to `lanes` heads.
  void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
             std::uint64_t* counters) {
    std::lock_guard const guard(*on_.lock);
    auto const words = static_cast<std::size_t>(head_words(count));
    Range const range{count, nullptr};
    device_.run(
        LoadWalkHeads{arrays_.get(), on_.subject->arena().subject, first, x_.data(), stride_},
        range);
    on_.evaluator->run(MemberTiles{x_.data(), stride_, logits_.data()}, range);
    device_.zero(mixed_.data(), words * sizeof(std::uint64_t));
    device_.zero(counters_.data(), counters_.size() * sizeof(std::uint64_t));
    device_.run(TallyTiles{arrays_.get(), count, logits_.data(), stride_, terms_.data(),
                           words_.data(), mixed_.data(), counters_.data(), copies_},
                plan_, range);
    device_.download(mixed, mixed_.data(), words * sizeof(std::uint64_t));
    host_counters_.resize(counters_.size());
    device_.download(host_counters_.data(), counters_.data(),
                     host_counters_.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < host_counters_.size(); ++i)
      counters[i % size_] += host_counters_[i];
  }

 private:
  static constexpr std::int64_t kPad = 128;  // lanes of the widest tile

  static_assert(kPad % kWordLanes == 0 && kPad % kHeadsPerWord == 0);

  std::size_t cells(std::int64_t rows) const { return static_cast<std::size_t>(rows * stride_); }

  Subject const& subject_;
  WalkDevice on_;
  Device& device_;
  WalkArrays arrays_;
  std::size_t size_;
  int copies_;
  std::int64_t stride_;
  DeviceArray<std::int32_t> x_;
  DeviceArray<float> logits_;
  DeviceArray<float> terms_;
  DeviceArray<std::uint64_t> words_;
  DeviceArray<std::uint64_t> mixed_;
  DeviceArray<std::uint64_t> counters_;
  TilePlan plan_;
  std::vector<std::uint64_t> host_counters_;
};

/// Shares a walk out among devices; each of several threads feeds one of them at a time.
class DeviceWalker final : public Walker {
 public:
  DeviceWalker(PackedSubject const& packed, std::vector<WalkDevice> const& devices,
               std::vector<ValueList> lists, std::int64_t most,
               std::function<void(std::string const&)> const& notice)
      : plan_(packed, std::move(lists), packed.get().variants) {
    std::uint64_t room = ~std::uint64_t{0};
    for (auto const& on : devices)
      room = std::min(room, on.device->properties().free_memory / kMemoryShare);
    std::int64_t const wanted = std::min(std::max(most, kLeastWalkLanes), plan_.get().heads);
    std::int64_t lanes = wanted;
    while (lanes > kLeastWalkLanes &&
           static_cast<std::uint64_t>(lanes) * WalkMember::bytes_per_lane(packed.get()) > room)
      lanes /= 2;
    std::int64_t const planned = lanes;
    for (;; lanes /= 2) {
      try {
        clear();
        for (auto const& on : devices) {
          std::lock_guard const guard(*on.lock);
          members_.push_back(std::make_unique<WalkMember>(packed, plan_, on, lanes));
        }
        break;
      } catch (Error const& error) {
        if (error.code() != ExitCode::kMemory || lanes / 2 < kLeastWalkLanes) throw;
      }
    }
    if (lanes < planned && notice) {
      notice("memory for " + std::to_string(lanes) + " groups at a time instead of " +
             std::to_string(planned) + "; the results are the same");
    }
    chunk_ = std::max<std::int64_t>(lanes / kHeadsPerWord, 1) * kHeadsPerWord;
  }

  ~DeviceWalker() override { clear(); }

  WalkPlan const& plan() const override { return plan_; }
  std::int64_t chunk() const override { return chunk_; }
  void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
             std::uint64_t* counters) override {
    WalkMember& member = *members_[next_.fetch_add(1) % members_.size()];
    for (std::int64_t at = 0; at < count; at += chunk_) {
      member.count(first + at, std::min(chunk_, count - at), mixed + at / kHeadsPerWord, counters);
    }
  }

 private:
  /// Gives the devices' memory back.
  void clear() {
    for (auto& member : members_) {
      std::lock_guard const guard(member->lock());
      member.reset();
    }
    members_.clear();
  }

  WalkPlan plan_;
  std::int64_t chunk_ = kHeadsPerWord;
  std::vector<std::unique_ptr<WalkMember>> members_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace

std::unique_ptr<Walker> make_device_walker(PackedSubject const& packed,
                                           std::vector<WalkDevice> const& devices,
                                           std::vector<ValueList> lists, std::int64_t most,
                                           std::function<void(std::string const&)> const& notice) {
  return std::make_unique<DeviceWalker>(packed, devices, std::move(lists), most, notice);
}

}  // namespace fairlane
