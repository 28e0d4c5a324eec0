// A whole walk, for comparisons between backends.
#pragma once

#include <algorithm>
#include <set>

#include "engine/count/group_counts.h"

namespace fairlane {

struct Walked {
  GroupCounts counts;
  std::set<std::int64_t> mixed;  // discriminatory groups
};

/// step: heads at once, not the chunk that the walker would like
inline Walked walk_all(Walker& walker, std::int64_t step = 1000) {
  Walked walked{GroupCounts(walker.plan()), {}};
  GroupCounter counter(walker);
  std::int64_t const heads = walker.plan().get().heads;
  for (std::int64_t first = 0; first < heads; first += step) {
    counter.count(first, std::min(step, heads - first), walked.counts,
                  [&](std::int64_t group) { walked.mixed.insert(group); });
  }
  return walked;
}

inline void expect_same(Walked const& a, Walked const& b) {
  EXPECT_EQ(a.counts.groups, b.counts.groups);
  EXPECT_EQ(a.counts.counters, b.counts.counters);
  EXPECT_EQ(a.counts.list_groups, b.counts.list_groups);
  EXPECT_EQ(a.mixed, b.mixed);
}

}  // namespace fairlane
