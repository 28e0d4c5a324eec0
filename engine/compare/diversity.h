// How different the people are that a search has found.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/subject/subject.h"

namespace fairlane {

/// Counts the values of groups, attribute by attribute: attributes that are under test are the same
/// in all groups and do not count. Distances are exact sums over all pairs, however many groups
/// there are: |a - b| adds up by attribute.
class Diversity {
 public:
  explicit Diversity(TestSubject const& subject);

  /// rows [count][attributes] one of each group.
  void add(std::int32_t const* rows, std::size_t count);

  /// Share of an attribute's values that occur in any group, mean over the attributes; 0 without
  /// groups.
  double value_coverage() const;
  /// Distance of two groups, mean over all pairs: |a - b| / (high - low), mean over the attributes
  /// that can differ; 0 for fewer than two groups.
  /// Source: Gower, Biometrics 27, 1971, of ordered attributes.
  double mean_distance() const;

 private:
  struct Attribute {
    std::size_t index;
    std::int32_t low;
    std::int32_t high;
    std::int64_t codes;                         // that it may take
    std::vector<std::int64_t> groups;           // [high - low + 1] by value, where that is short
    std::map<std::int32_t, std::int64_t> some;  // by value, where it is not
  };
  /// Calls take(value, groups) for the values that occur, ascending.
  template <class Take>
  static void for_each_value(Attribute const& attribute, Take const& take);

  std::size_t width_;
  std::int64_t groups_ = 0;
  std::vector<Attribute> attributes_;
};

}  // namespace fairlane
