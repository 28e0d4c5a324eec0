#include "kernels/device/walk/device_walk.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "kernels/device/less_memory.h"
#include "kernels/device/walk/walk_kernels.h"
#include "kernels/layout/walk_model.h"

namespace fairlane {
namespace {

constexpr std::int64_t kLeastWalkLanes = 128;
// Groups at once of a walk on chip, of which a bit each is stored: milliseconds, beside which what
// a call costs the host is little.
constexpr std::int64_t kMostOnChip = 1 << 23;
constexpr std::int64_t kMostCounted = std::int64_t{1} << 32;  // in a block's counters, of members
constexpr int kCopies = 1024;                  // of the counters, where they are small
constexpr std::uint64_t kCopyBytes = 8 << 20;  // that all copies may take,
constexpr std::uint64_t kCopyShare = 64;       // and of the free memory
constexpr std::uint64_t kMemoryShare = 4;      // of the free memory

/// Arrays of a walk in a device's memory.
class WalkArrays {
 public:
  /// group_member, variant_member: where the logits of a group's members lie
  WalkArrays(Walk const& host, std::vector<int> const& group_member,
             std::vector<int> const& variant_member, Device& device)
      : device_(device), walk_(host) {
    std::size_t const variants = variant_member.size();
    std::vector<WalkFactor> factors(host.factor, host.factor + host.factors);
    for (auto& factor : factors) {
      factor.value = copy(factor.value, static_cast<std::size_t>(factor.size * factor.columns));
      factor.column = copy(factor.column, static_cast<std::size_t>(factor.columns));
    }
    std::vector<WalkSubset> subsets(host.subset, host.subset + host.subsets);
    for (auto& subset : subsets) subset.member = copy(subset.member, variants);
    walk_.factor = copy(factors.data(), factors.size());
    walk_.subset = copy(subsets.data(), subsets.size());
    walk_.group_member = copy(group_member.data(), group_member.size());
    walk_.variant_member = copy(variant_member.data(), variants);
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

/// Members of a group variant by variant, one group's in the place of another's.
WalkArrays group_arrays(WalkPlan const& plan, Device& device) {
  std::vector<int> const begin(static_cast<std::size_t>(plan.get().groups), 0);
  std::vector<int> variants(static_cast<std::size_t>(plan.subject().get().variants));
  std::iota(variants.begin(), variants.end(), 0);
  return {plan.get(), begin, variants, device};
}

/// What one device keeps for its share of a walk of some heads at once.
class WalkMember {
 public:
  explicit WalkMember(WalkDevice const& on) : on_(on), device_(*on.device) {}
  virtual ~WalkMember() = default;
  std::mutex& lock() const { return *on_.lock; }

  /// As Walker::count, for as many heads at most. mixed has rows of so many words.
  virtual void count(std::int64_t first, std::int64_t count, std::int64_t words,
                     std::uint64_t* mixed, std::uint64_t* counters) = 0;

 protected:
  WalkDevice on_;
  Device& device_;
};

/// Whole groups on chip: nothing but what is counted is written to memory.
class ChipMember final : public WalkMember {
 public:
  ChipMember(PackedWalk const& packed, WalkPlan const& plan, WalkDevice const& on,
             std::int64_t heads)
      : WalkMember(on),
        plan_(plan),
        packed_(packed),
        arrays_(group_arrays(plan, device_)),
        model_(device_, packed.memory.size()),
        sums_(device_, counters() + bits(heads)),
        arrived_(device_, counters() + bits(heads)),
        before_(counters()) {
    device_.upload(model_.data(), packed.memory.data(), packed.memory.size() * sizeof(float));
    device_.zero(sums_.data(), counters() * sizeof(std::uint64_t));
  }

  void count(std::int64_t first, std::int64_t count, std::int64_t words, std::uint64_t* mixed,
             std::uint64_t* counters_out) override {
    std::lock_guard const guard(*on_.lock);
    WalkShape const shape = make_walk_shape(packed_, plan_, device_.properties().limits, count);
    WalkModel model = packed_.model;
    model.base = model_.data();
    auto const row = static_cast<std::size_t>(head_words(count));
    device_.run(
        WalkGroups{arrays_.get(), on_.subject->arena().subject, model, first, count, shape.parts,
                   shape.part_members, reinterpret_cast<std::uint32_t*>(sums_.data() + counters()),
                   static_cast<int>(2 * row), sums_.data()},
        shape);
    device_.download_later(arrived_.data(), sums_.data(),
                           (counters() + bits(count)) * sizeof(std::uint64_t));
    device_.synchronize();
    for (std::size_t i = 0; i < counters(); ++i) {  // never cleared, they go on from where they are
      counters_out[i] += arrived_.data()[i] - before_[i];
      before_[i] = arrived_.data()[i];
    }
    for (int g = 0; g < plan_.get().groups; ++g)
      std::copy_n(arrived_.data() + counters() + static_cast<std::size_t>(g) * row, row,
                  mixed + g * words);
  }

 private:
  std::size_t counters() const { return static_cast<std::size_t>(plan_.counters().size()); }
  std::size_t bits(std::int64_t heads) const {
    return static_cast<std::size_t>(plan_.get().groups * head_words(heads));
  }

  WalkPlan const& plan_;
  PackedWalk const& packed_;
  WalkArrays arrays_;
  DeviceArray<float> model_;
  DeviceArray<std::uint64_t> sums_;   // counters, then bits of the mixed groups
  HostArray<std::uint64_t> arrived_;  // the same
  std::vector<std::uint64_t> before_;
};

/// Logits of all members in memory, and a tally of those.
class StoredMember final : public WalkMember {
 public:
  StoredMember(PackedSubject const& packed, WalkPlan const& plan, WalkDevice const& on,
               std::int64_t lanes)
      : WalkMember(on),
        subject_(packed.get()),
        arrays_(group_arrays(plan, device_)),
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
    load_tail(packed, plan);
  }

  static std::uint64_t bytes_per_lane(Subject const& s) {
    auto const outputs = static_cast<std::uint64_t>(s.network.outputs());
    auto const variants = static_cast<std::uint64_t>(s.variants);
    return 4 * (static_cast<std::uint64_t>(s.columns) + variants * outputs + 4 * outputs) +
           8 * variants;
  }

  void count(std::int64_t first, std::int64_t count, std::int64_t, std::uint64_t* mixed,
             std::uint64_t* counters) override {
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
  /// Columns that no head has, for good: lists of one entry are part of a tail, however small.
  void load_tail(PackedSubject const& packed, WalkPlan const& plan) {
    for (std::size_t l = plan.head_lists(); l < plan.lists().size(); ++l) {
      ValueList const& list = plan.lists()[l];
      int const column = packed.column_of()[static_cast<std::size_t>(list.attributes.front())];
      std::vector<std::int32_t> const codes(static_cast<std::size_t>(stride_),
                                            packed.place_of(column, list.values.front()));
      device_.upload(x_.data() + column * stride_, codes.data(),
                     codes.size() * sizeof(std::int32_t));
    }
  }

  Subject const& subject_;
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
               std::function<void(std::string const&)> const& notice) {
    plan_on_chip(packed, devices, lists);
    if (chip_ == nullptr)
      plan_ = std::make_unique<WalkPlan>(packed, std::move(lists), packed.get().variants);
    Walk const& walk = plan_->get();
    std::int64_t const at_once =
        chip_ == nullptr ? most : std::min(kMostOnChip, (kMostCounted - 1) / packed.get().variants);
    std::int64_t const wanted =
        std::min(std::max(at_once / walk.groups, kLeastWalkLanes), walk.heads);
    std::uint64_t room = ~std::uint64_t{0};
    for (auto const& on : devices)
      room = std::min(room, on.device->properties().free_memory / kMemoryShare);
    auto const bytes = chip_ != nullptr ? static_cast<std::uint64_t>(walk.groups)
                                        : StoredMember::bytes_per_lane(packed.get());
    std::int64_t lanes = wanted;
    while (lanes > kLeastWalkLanes && static_cast<std::uint64_t>(lanes) * bytes > room) lanes /= 2;
    std::int64_t const planned = lanes;
    lanes = with_less_memory(planned, kLeastWalkLanes, [&](std::int64_t fewer) {
      clear();
      for (auto const& on : devices) {
        std::lock_guard const guard(*on.lock);
        if (chip_ != nullptr) {
          members_.push_back(std::make_unique<ChipMember>(*chip_, *plan_, on, fewer));
        } else {
          members_.push_back(std::make_unique<StoredMember>(packed, *plan_, on, fewer));
        }
      }
      return fewer;
    });
    if (lanes < planned && notice) {
      notice("memory for " + std::to_string(lanes * walk.groups) + " groups at a time instead of " +
             std::to_string(planned * walk.groups) + "; the results are the same");
    }
    chunk_ = std::max<std::int64_t>(lanes / kHeadsPerWord, 1) * kHeadsPerWord;
  }

  ~DeviceWalker() override { clear(); }

  WalkPlan const& plan() const override { return *plan_; }
  std::int64_t chunk() const override { return chunk_; }
  void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
             std::uint64_t* counters) override {
    WalkMember& member = *members_[next_.fetch_add(1) % members_.size()];
    for (std::int64_t at = 0; at < count; at += chunk_) {
      member.count(first + at, std::min(chunk_, count - at), head_words(count),
                   mixed + at / kHeadsPerWord, counters);
    }
  }

 private:
  /// Plans for whole groups on chip: many of a head, or one where that is too much.
  void plan_on_chip(PackedSubject const& packed, std::vector<WalkDevice> const& devices,
                    std::vector<ValueList> const& lists) {
    for (int const members : {kMostMembers, packed.get().variants}) {
      for (auto const& on : devices) {
        if (!on.evaluator->walks_on_chip()) return;
      }
      auto plan = std::make_unique<WalkPlan>(packed, lists, members);
      auto chip = std::make_unique<PackedWalk>(packed, *plan);
      bool const fits = std::all_of(devices.begin(), devices.end(), [&](WalkDevice const& on) {
        return make_walk_shape(*chip, *plan, on.device->properties().limits, 1).warps > 0;
      });
      if (!fits) continue;
      plan_ = std::move(plan);
      chip_ = std::move(chip);
      return;
    }
  }

  /// Gives the devices' memory back.
  void clear() {
    for (auto& member : members_) {
      std::lock_guard const guard(member->lock());
      member.reset();
    }
    members_.clear();
  }

  std::unique_ptr<WalkPlan> plan_;
  std::unique_ptr<PackedWalk> chip_;  // where walks run on chip
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
