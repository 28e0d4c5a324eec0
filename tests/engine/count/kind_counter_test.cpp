#include "engine/count/kind_counter.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/engine/count/walked.h"
#include "tests/engine/verify/deciders/decided_ensemble.h"

namespace fairlane {
namespace {

/// Counts of a box by kinds, parts of it where kinds are too many for a table.
void count_by_kinds(KindCounter& counter, GroupBox box, Walked& walked) {
  if (counter.count(box, walked.counts,
                    [&](std::int64_t group) { EXPECT_TRUE(walked.mixed.insert(group).second); }))
    return;
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (box[a].size() < 2) continue;
    AxisRange const whole = box[a];
    for (std::int32_t e = whole.first; e <= whole.last; ++e) {
      box[a] = {e, e};
      count_by_kinds(counter, box, walked);
    }
    return;
  }
  FAIL() << "a single group has too many kinds";
}

TEST(KindCounter, CountsWhatAWalkCounts) {
  int counted = 0;
  std::int64_t mixed = 0;
  std::int64_t mixed_of_some = 0;  // where constraints exclude others
  std::int64_t of_classes = 0;     // where there are more than two
  for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0, 8, seed % 4 < 2);
    auto const walker = ensemble.backend().make_walker(free_lists(ensemble.view()));
    WalkDomain const domain(walker->plan(), ensemble.view());
    KindedWalk const walk(walker->plan(), domain, ensemble.view(), ensemble.backend());
    if (!walk.usable()) continue;
    KindCounter counter(walk);
    Walked by_kinds{GroupCounts(walker->plan()), {}};
    GroupBox box;
    for (ValueList const& list : walker->plan().lists())
      box.push_back({0, static_cast<std::int32_t>(list.size()) - 1});
    if (seed % 3 == 0) {
      // An entry of the first list after the other.
      for (std::int32_t e = 0; e < walker->plan().lists()[0].size(); ++e) {
        box[0] = {e, e};
        count_by_kinds(counter, box, by_kinds);
      }
    } else {
      count_by_kinds(counter, box, by_kinds);
    }
    if (HasFatalFailure()) return;
    counter.finish(by_kinds.counts);
    expect_same(by_kinds, walk_all(*walker));
    if (HasFailure()) return;
    ++counted;
    (seed % 4 < 2 ? mixed_of_some : mixed) += by_kinds.counts.discriminatory();
    of_classes += ensemble.trees().sums > 2 ? by_kinds.counts.discriminatory() : 0;
  }
  EXPECT_GT(counted, 200);
  EXPECT_GT(mixed, 500);
  EXPECT_GT(mixed_of_some, 100);
  EXPECT_GT(of_classes, 500);
}

}  // namespace
}  // namespace fairlane
