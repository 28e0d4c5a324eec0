#include "engine/count/walk_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr std::size_t kSpareSample = 1 << 16;
constexpr std::size_t kReadAtOnce = 1 << 16;  // groups of a state

}  // namespace

WalkFindings::WalkFindings(Backend& backend, WalkPlan const& plan, WantedInstances wanted,
                           std::uint64_t seed, Keeping keeping)
    : backend_(backend), plan_(plan), wanted_(wanted), seed_(seed), keeping_(std::move(keeping)) {
  begin();
}

void WalkFindings::begin() {
  drawn_.clear();
  checked_ = 0;
  groups_.emplace(RecordSorter::Options{1, false, keeping_.dir, "walked", keeping_.memory_limit,
                                        keeping_.threads});
}

std::uint64_t WalkFindings::order_of(std::int64_t group, std::int32_t variant) const {
  auto const number = static_cast<std::uint64_t>(group);
  auto const words = philox<ScalarPack>(
      static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(Phase::kSample),
      static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(variant), seed_);
  return static_cast<std::uint64_t>(words.w[0]) << 32 | words.w[1];
}

void WalkFindings::add_groups(std::int64_t const* groups, std::size_t count) {
  std::copy_n(groups, count, groups_->append(count));
  groups_->commit(count);
}

void WalkFindings::add(std::vector<std::int64_t> const& groups) {
  if (wanted_.all) {
    add_groups(groups.data(), groups.size());
    return;
  }
  int const variants = backend_.subject().get().variants;
  try {
    for (std::int64_t const group : groups) {
      for (int v = 0; v < variants; ++v) drawn_.push_back({order_of(group, v), group, v, 0});
      if (drawn_.size() > 2 * static_cast<std::size_t>(wanted_.sample) + kSpareSample) prune();
    }
  } catch (std::bad_alloc const&) {
    throw Error(ExitCode::kMemory,
                fmt::format("a sample of {} IDIs does not fit in memory; write fewer, or all of "
                            "them (--instances all), which are sorted on disk",
                            wanted_.sample));
  }
}

void WalkFindings::add(WalkFound const& found) {
  add_groups(found.groups.data(), found.groups.size());
  drawn_.insert(drawn_.end(), found.drawn.begin(), found.drawn.end());
}

void WalkFindings::add_written(std::int64_t group, std::int32_t variant) {
  if (wanted_.all) {
    add_groups(&group, 1);
  } else {
    drawn_.push_back({order_of(group, variant), group, variant, 0});
  }
}

WalkFound WalkFindings::release() {
  if (!wanted_.all) prune();
  WalkFound found{{}, std::move(drawn_)};
  groups_->for_each_so_far([&](std::uint64_t const* groups, std::size_t n) {
    found.groups.insert(found.groups.end(), groups, groups + n);
  });
  begin();
  return found;
}

void WalkFindings::save(CheckpointWriter& state) {
  if (!wanted_.all) prune();
  state.add("drawn", drawn_);
  state.section("found_groups");
  groups_->for_each_so_far([&](std::uint64_t const* groups, std::size_t n) {
    state.write(groups, n * sizeof(*groups));
  });
}

void WalkFindings::restore(CheckpointReader const& state) {
  drawn_ = state.values<WalkInstance>("drawn");
  constexpr std::size_t kGroup = sizeof(std::uint64_t);
  state.read("found_groups", kReadAtOnce * kGroup, [&](void const* data, std::size_t bytes) {
    std::memcpy(groups_->append(bytes / kGroup), data, bytes);
    groups_->commit(bytes / kGroup);
  });
}

void WalkFindings::prune() {
  drop_undefined(drawn_, checked_);
  auto const sample = static_cast<std::size_t>(wanted_.sample);
  if (drawn_.size() > sample) {
    std::nth_element(drawn_.begin(), drawn_.begin() + static_cast<std::ptrdiff_t>(sample),
                     drawn_.end());
    drawn_.resize(sample);
  }
  checked_ = drawn_.size();
}

void WalkFindings::finish() {
  if (wanted_.all) {
    groups_->finish();
  } else {
    prune();
  }
}

void WalkFindings::for_each(Take const& take) {
  if (!wanted_.all) {
    std::span<WalkInstance const> rest = drawn_;
    for (; !rest.empty(); rest = rest.subspan(std::min(rest.size(), kDescribedAtOnce)))
      take(rest.first(std::min(rest.size(), kDescribedAtOnce)));
    return;
  }
  int const variants = backend_.subject().get().variants;
  std::vector<WalkInstance> members;
  auto const hand_out = [&] {
    drop_undefined(members, 0);
    take(members);
    members.clear();
  };
  groups_->for_each([&](std::uint64_t const* groups, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (int v = 0; v < variants; ++v)
        members.push_back({0, static_cast<std::int64_t>(groups[i]), v, 0});
      if (members.size() >= kDescribedAtOnce) hand_out();
    }
    return true;
  });
  hand_out();
}

// Members of a discriminatory group whose own label is undefined are no IDIs.
void WalkFindings::drop_undefined(std::vector<WalkInstance>& instances, std::size_t from) {
  auto const& subject = backend_.subject();
  if (subject.get().finite) return;
  auto const width = static_cast<std::size_t>(subject.get().columns);
  std::vector<std::int32_t> rows;
  std::vector<Description> descriptions;
  std::size_t kept = from;
  for (std::size_t at = from; at < instances.size(); at += kDescribedAtOnce) {
    std::size_t const n = std::min(kDescribedAtOnce, instances.size() - at);
    rows.resize(n * width);
    descriptions.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      plan_.row(instances[at + i].group, &rows[i * width]);
      subject.set_variant(instances[at + i].variant, &rows[i * width]);
    }
    backend_.describe(rows.data(), n, descriptions.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (descriptions[i].pair_variant >= 0) instances[kept++] = instances[at + i];
    }
  }
  instances.resize(kept);
}

}  // namespace fairlane
