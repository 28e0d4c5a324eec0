#include "engine/plausibility/surprises.h"

#include <algorithm>
#include <limits>

namespace fairlane {

Surprises::Surprises(ChowLiuTree const& tree, DistinctRows const& rows, ThreadPool& pool,
                     int threads)
    : nats_per_step_(tree.nats_per_step()) {
  constexpr std::int64_t kPiece = 64;  // rows that a thread takes at once
  std::vector<Level> each(rows.count());
  pool.share(threads, 0, static_cast<std::int64_t>(each.size()), kPiece,
             [&](int, std::int64_t first, std::int64_t count) {
               for (auto i = static_cast<std::size_t>(first);
                    i < static_cast<std::size_t>(first + count); ++i)
                 each[i] = {tree.steps(rows.row(i)), rows.counts[i]};
             });
  std::ranges::sort(each, {}, &Level::steps);
  std::int64_t up_to = 0;
  for (Level const& level : each) {
    up_to += level.rows;
    if (levels_.empty() || levels_.back().steps < level.steps) levels_.push_back({level.steps, 0});
    levels_.back().rows = up_to;
  }
}

double Surprises::percentile(double surprise) const {
  auto const beyond = std::ranges::upper_bound(levels_, surprise, {}, [&](Level const& level) {
    return static_cast<double>(level.steps) * nats_per_step_;
  });
  return beyond == levels_.begin() ? 0.0 : percentile_of(*(beyond - 1));
}

std::int32_t Surprises::most_steps(double percentile) const {
  auto const beyond = std::ranges::find_if(
      levels_, [&](Level const& level) { return percentile_of(level) > percentile; });
  if (beyond == levels_.end()) return std::numeric_limits<std::int32_t>::max();
  return beyond->steps - 1;
}

}  // namespace fairlane
