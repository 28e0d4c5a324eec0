#include "engine/count/walk_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr std::size_t kSpareSample = 1 << 16;

}  // namespace

WalkFindings::WalkFindings(Backend& backend, WalkPlan const& plan, WantedInstances wanted,
                           std::uint64_t seed)
    : backend_(backend), plan_(plan), wanted_(wanted), seed_(seed) {}

std::uint64_t WalkFindings::order_of(std::int64_t group, std::int32_t variant) const {
  auto const number = static_cast<std::uint64_t>(group);
  auto const words = philox<ScalarPack>(
      static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(Phase::kSample),
      static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(variant), seed_);
  return static_cast<std::uint64_t>(words.w[0]) << 32 | words.w[1];
}

void WalkFindings::add(std::vector<std::int64_t> const& groups) {
  int const variants = backend_.subject().get().variants;
  try {
    for (std::int64_t const group : groups) {
      for (int v = 0; v < variants; ++v) {
        std::uint64_t const order = wanted_.all ? 0 : order_of(group, v);
        instances_.push_back({order, group, v, 0});
      }
      if (!wanted_.all &&
          instances_.size() > 2 * static_cast<std::size_t>(wanted_.sample) + kSpareSample)
        prune();
    }
  } catch (std::bad_alloc const&) {
    throw Error(ExitCode::kMemory,
                fmt::format("the walk's {} IDIs so far do not fit in memory; write a sample "
                            "(--instances N), or walk in shards (--shard k/N)",
                            instances_.size()));
  }
}

void WalkFindings::prune() {
  drop_undefined(checked_);
  auto const sample = static_cast<std::size_t>(wanted_.sample);
  if (!wanted_.all && instances_.size() > sample) {
    std::nth_element(instances_.begin(), instances_.begin() + static_cast<std::ptrdiff_t>(sample),
                     instances_.end());
    instances_.resize(sample);
  }
  checked_ = instances_.size();
}

void WalkFindings::finish() { prune(); }

// Members of a discriminatory group whose own label is undefined are no IDIs.
void WalkFindings::drop_undefined(std::size_t from) {
  auto const& subject = backend_.subject();
  if (subject.get().finite) return;
  auto const width = static_cast<std::size_t>(subject.get().columns);
  std::vector<std::int32_t> rows;
  std::vector<Description> descriptions;
  std::size_t kept = from;
  for (std::size_t at = from; at < instances_.size(); at += kDescribedAtOnce) {
    std::size_t const n = std::min(kDescribedAtOnce, instances_.size() - at);
    rows.resize(n * width);
    descriptions.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      plan_.row(instances_[at + i].group, &rows[i * width]);
      subject.set_variant(instances_[at + i].variant, &rows[i * width]);
    }
    backend_.describe(rows.data(), n, descriptions.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (descriptions[i].pair_variant >= 0) instances_[kept++] = instances_[at + i];
    }
  }
  instances_.resize(kept);
}

}  // namespace fairlane
