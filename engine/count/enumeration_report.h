// An enumeration's counts as files.
#pragma once

#include <string>

#include "engine/count/group_counts.h"
#include "engine/record/findings.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// complete   whether the counts are of all, not of a shard
/// found      counts of the instances that were written, if any
/// signature  of these; empty where none were written
struct EnumerationReport {
  TestSubject const& subject;
  WalkPlan const& plan;
  GroupCounts const& counts;
  bool complete = true;
  FindingCounts found = {};
  std::string signature = {};
  double walk_seconds = 0.0;
  double write_seconds = 0.0;
  double total_seconds = 0.0;
};

/// summary.json of `enumerate`.
std::string enumeration_summary_json(EnumerationReport const& report);
/// attribute,value,groups,discriminatory_groups: where it happens. groups is empty for a shard.
std::string values_csv(EnumerationReport const& report);
/// The protected combinations in pairs: in how many groups the first has the greater label.
std::string pairs_csv(EnumerationReport const& report);

}  // namespace fairlane
