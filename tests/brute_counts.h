// What a walk must count, input by input.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "kernels/layout/walk_plan.h"
#include "tests/naive_reference.h"

namespace fairlane {

/// values  [attribute][value] discriminatory groups
/// mixed   rows, with the first variant's values, of the discriminatory groups
/// unknown groups that are none of them, but have an undefined member; with constraints, those
///         none of whose members exist
struct BruteCounts {
  std::int64_t groups = 0;
  std::int64_t discriminatory = 0;
  std::int64_t instances = 0;
  std::int64_t undefined = 0;
  std::int64_t unknown = 0;
  std::vector<std::int64_t> positive;                // [variants]
  std::vector<std::int64_t> undefined_members;       // [variants]
  std::vector<std::int64_t> severity;                // [kSeverityBins]
  std::vector<std::vector<std::int64_t>> pairs;      // [variants][variants]
  std::map<std::vector<int>, std::int64_t> classes;  // by subset of the selected attributes
  std::map<std::vector<int>, std::int64_t> members;  // IDIs of each
  std::vector<std::map<std::int32_t, std::int64_t>> values;
  std::set<naive::Row> mixed;
};

/// Whether two of the labels differ, undefined ones left aside.
inline bool differ(std::vector<std::int32_t> const& labels) {
  std::set<std::int32_t> seen(labels.begin(), labels.end());
  seen.erase(kUndefinedLabel);
  return seen.size() > 1;
}

inline void count_group(SubjectView const& subject, naive::Reference<naive::Float> const& reference,
                        naive::Row const& row, BruteCounts& counts) {
  auto const members = naive::similar_set(subject, row);
  auto const probe = reference.probe(row);
  auto const& labels = probe.labels;
  std::size_t const variants = labels.size();
  counts.positive.resize(variants);
  counts.undefined_members.resize(variants);
  counts.pairs.resize(variants, std::vector<std::int64_t>(variants));
  counts.severity.resize(kSeverityBins);
  counts.values.resize(row.size());
  ++counts.groups;
  for (std::size_t v = 0; v < variants; ++v) {
    if (labels[v] == kUndefinedLabel) {
      ++counts.undefined;
      ++counts.undefined_members[v];
    }
    if (labels[v] != kUndefinedLabel && labels[v] != 0) ++counts.positive[v];
    for (std::size_t w = 0; w < variants; ++w) {
      if (labels[v] != kUndefinedLabel && labels[w] != kUndefinedLabel && labels[v] > labels[w])
        ++counts.pairs[v][w];
    }
  }
  std::size_t const selected = subject.selected.size();
  for (unsigned mask = 1; mask < (1U << selected); ++mask) {
    std::vector<int> subset;
    for (std::size_t s = 0; s < selected; ++s) {
      if ((mask >> s & 1U) != 0) subset.push_back(static_cast<int>(s));
    }
    std::map<naive::Row, std::vector<std::int32_t>> classes;
    for (std::size_t v = 0; v < variants; ++v) {
      naive::Row rest = members[v];
      for (int const s : subset)
        rest[static_cast<std::size_t>(subject.selected[static_cast<std::size_t>(s)])] = 0;
      classes[rest].push_back(labels[v]);
    }
    for (auto const& [rest, found] : classes) {
      if (!differ(found)) continue;
      ++counts.classes[subset];
      counts.members[subset] +=
          std::count_if(found.begin(), found.end(), [](auto l) { return l != kUndefinedLabel; });
    }
  }
  if (!differ(labels)) {
    auto const undefined = std::count(labels.begin(), labels.end(), kUndefinedLabel);
    auto const enough = subject.constraints.empty() ? 1 : static_cast<std::ptrdiff_t>(variants);
    counts.unknown += undefined >= enough ? 1 : 0;
    return;
  }
  ++counts.discriminatory;
  counts.mixed.insert(row);
  counts.instances +=
      std::count_if(labels.begin(), labels.end(), [](auto l) { return l != kUndefinedLabel; });
  for (std::size_t a = 0; a < row.size(); ++a) ++counts.values[a][row[a]];
  // As an IDI's row says it: that of a member with a defined label.
  for (std::size_t v = 0; v < variants; ++v) {
    if (labels[v] == kUndefinedLabel) continue;
    float const scaled = reference.probe(members[v]).severity * static_cast<float>(kSeverityBins);
    ++counts.severity[static_cast<std::size_t>(
        std::min(scaled, static_cast<float>(kSeverityBins - 1)))];
    break;
  }
}

/// Counts every group that `wanted` accepts; it is asked with the first variant's values.
inline BruteCounts brute_counts(
    SubjectView const& subject,
    std::function<bool(naive::Row const&)> const& wanted = [](auto const&) { return true; }) {
  naive::Reference<naive::Float> const reference(subject);
  BruteCounts counts;
  naive::Row row(subject.low.begin(), subject.low.end());
  std::vector<bool> fixed(row.size(), false);
  for (std::size_t s = 0; s < subject.selected.size(); ++s) {
    auto const a = static_cast<std::size_t>(subject.selected[s]);
    fixed[a] = true;
    row[a] = subject.values[s].front();
  }
  for (bool more = true; more;) {
    if (wanted(row)) count_group(subject, reference, row, counts);
    more = false;
    for (std::size_t a = row.size(); a-- > 0 && !more;) {
      if (fixed[a]) continue;
      more = row[a] < subject.high[a];
      row[a] = more ? row[a] + 1 : subject.low[a];
    }
  }
  return counts;
}

}  // namespace fairlane
