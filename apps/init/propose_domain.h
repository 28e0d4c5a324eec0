// The domain file that `fairlane init` proposes for a raw table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/init/raw_table.h"
#include "models/data/domain.h"

namespace fairlane {

/// Integers that all lie among kFewNumbers codes are these; other numbers are cut into kProposedBins
/// bins.
inline constexpr int kFewNumbers = 16;
inline constexpr int kProposedBins = 4;

/// A domain, and why it has no attribute for some columns.
/// left_out  columns, and what they hold
struct ProposedDomain {
  Domain domain;
  std::vector<std::pair<std::string, std::string>> left_out;
  bool label_by_place = false;  // no column has the name of a label: it is the last one
};

/// Proposes a domain: integers close together are their own codes; other numbers are cut at
/// their quantiles, into bins of about equally many rows; words are categories, the most frequent first; where values
/// are missing, the most frequent one takes their place. label: the label column, or empty.
/// drop: columns that are no attributes. Throws Error(kUsage | kData).
ProposedDomain propose_domain(RawTable const& table, std::string const& label,
                              std::vector<std::string> const& drop);

}  // namespace fairlane
