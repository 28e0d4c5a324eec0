#include "engine/verify/deciders/box_walk.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/stopwatch.h"

namespace fairlane {

BoxWalk::Way& BoxWalk::Ways::next() {
  // Counts are the same each way: the fastest is taken, and now and then another, for boxes differ.
  constexpr std::size_t kTry = 24;
  std::size_t const walk = walks++;
  if (walk % kTry == 0) return ways[walk / kTry % ways.size()];
  return *std::ranges::min_element(ways, {}, &Way::seconds_per_group);
}

BoxWalk::Walked BoxWalk::walk(std::span<AxisRange const> box, bool to_unfair) {
  std::vector<ValueList> lists;
  for (std::size_t a = 0; a < box.size(); ++a) {
    ValueList const& all = domain_.axis(a);
    auto const width = static_cast<std::ptrdiff_t>(all.attributes.size());
    auto const first = all.values.begin() + box[a].first * width;
    lists.push_back({all.attributes, {first, first + box[a].size() * width}});
  }
  Stopwatch const start;
  auto const walker = backend_.make_walker(std::move(lists));
  WalkPlan const& plan = walker->plan();
  Ways& ways =
      ways_[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(plan.groups())))];
  Way& way = walker->proves() ? ways.next() : ways.ways.front();
  GroupCounts counts(plan);
  GroupCounter counter(*walker, way.look);
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t unfair = kNone;
  GroupCounter::Take take;
  if (to_unfair) take = [&](std::int64_t group) { unfair = std::min(unfair, group); };
  std::int64_t const heads = plan.get().heads;
  for (std::int64_t first = 0; first < heads && unfair == kNone; first += walker->chunk())
    counter.count(first, std::min(walker->chunk(), heads - first), counts, take);
  way.seconds_per_group = start.seconds() / static_cast<double>(counts.groups);
  Walked walked{
      {counts, plan.counters(), !domain_.constraints().empty()}, counts.discriminatory(), {}};
  if (unfair != kNone) {
    walked.row.resize(domain_.attributes());
    plan.row(unfair, walked.row.data());
  }
  return walked;
}

CertainGroups BoxWalk::count(std::span<AxisRange const> box) {
  auto const [there, unfair, row] = walk(box, false);
  return {.fair = static_cast<double>(there.groups - there.undefined_groups - unfair),
          .unfair = static_cast<double>(unfair)};
}

void BoxWalk::decide(GroupPairs& groups, Decision& decision) {
  auto const [there, unfair, row] = walk(decision.box, true);
  if (unfair > 0) {
    auto const entries = entries_of(decision.box, row);
    decision.example = groups.certain_pair(entries, decision.variants).value();
    decision.verdict = BoxVerdict::kUnfair;
  } else {
    decision.verdict = there.undefined_groups > 0 ? BoxVerdict::kUndefined
                       : there.groups == 0        ? BoxVerdict::kEmpty
                                                  : BoxVerdict::kEnumerated;
  }
}

std::vector<std::int32_t> BoxWalk::entries_of(std::span<AxisRange const> box,
                                              std::span<std::int32_t const> row) const {
  std::vector<std::int32_t> entries;
  for (std::size_t a = 0; a < box.size(); ++a) {
    ValueList const& list = domain_.axis(a);
    std::size_t const width = list.attributes.size();
    auto const is_here = [&](std::int32_t entry) {
      for (std::size_t i = 0; i < width; ++i) {
        std::int32_t const value = list.values[static_cast<std::size_t>(entry) * width + i];
        if (value != row[static_cast<std::size_t>(list.attributes[i])]) return false;
      }
      return true;
    };
    std::int32_t entry = box[a].first;
    while (entry < box[a].last && !is_here(entry)) ++entry;
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace fairlane
