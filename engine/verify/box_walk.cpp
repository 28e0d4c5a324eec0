#include "engine/verify/box_walk.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "engine/count/group_counts.h"

namespace fairlane {

BoxWalk::Way& BoxWalk::next_way() {
  // Counts are the same each way: the fastest is taken, and now and then another, for boxes differ.
  constexpr std::size_t kTry = 24;
  std::size_t const walk = walks_++;
  if (walk % kTry == 0) return ways_[walk / kTry % ways_.size()];
  return *std::ranges::min_element(ways_, {}, &Way::seconds_per_group);
}

CertainGroups BoxWalk::count(std::span<AxisRange const> box) {
  std::vector<ValueList> lists;
  for (std::size_t a = 0; a < box.size(); ++a) {
    ValueList const& all = domain_.axis(a);
    auto const width = static_cast<std::ptrdiff_t>(all.attributes.size());
    auto const first = all.values.begin() + box[a].first * width;
    lists.push_back({all.attributes, {first, first + box[a].size() * width}});
  }
  Stopwatch const start;
  auto const walker = backend_.make_walker(std::move(lists));
  Way& way = walker->proves() ? next_way() : ways_.front();
  WalkPlan const& plan = walker->plan();
  GroupCounts counts(plan);
  GroupCounter counter(*walker, way.look);
  std::int64_t const heads = plan.get().heads;
  for (std::int64_t first = 0; first < heads; first += walker->chunk())
    counter.count(first, std::min(walker->chunk(), heads - first), counts, {});
  way.seconds_per_group = start.seconds() / static_cast<double>(plan.groups());
  FeasibleCounts const there(counts, plan.counters(), !domain_.constraints().empty());
  auto const unfair = static_cast<double>(counts.discriminatory());
  return {.fair = static_cast<double>(there.groups - there.undefined_groups) - unfair,
          .unfair = unfair};
}

}  // namespace fairlane
