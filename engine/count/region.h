// Which part of a domain is counted, as a person states it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/subject/subject.h"
#include "kernels/layout/walk_plan.h"

namespace fairlane {

/// Values that an attribute may take.
struct AttributeRange {
  std::string attribute;
  std::int32_t low = 0;
  std::int32_t high = 0;
};

/// Every group of the domain, but for what narrows it:
/// ranges     sub-box of attributes that are not under test
/// from_data  attributes that take only those combinations of values together that occur in the
///            data; each attribute once
/// rows       only the groups of the data's rows
struct Region {
  std::vector<AttributeRange> ranges;
  std::vector<std::vector<std::string>> from_data;
  bool rows = false;

  bool whole() const { return ranges.empty() && from_data.empty() && !rows; }
};

/// What a manifest records of a region: ranges, from_data, rows.
Json recorded_region(Region const& region);

/// The value lists of a region (WalkPlan), every attribute that is not under test in one of them.
/// Throws Error(kUsage) for names and values that the subject does not have, or a region without
/// any group.
std::vector<ValueList> region_lists(TestSubject const& subject, Region const& region);

/// What `groups` groups ask of a backend that evaluates so many at once.
Workload walk_workload(double groups, std::int64_t variants, double at_once);

/// Numbers of the data's rows within a region that has `rows`, ascending. Throws as region_lists.
std::vector<std::int64_t> rows_within(TestSubject const& subject, Region const& region);

}  // namespace fairlane
