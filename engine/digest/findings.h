// Findings of a directory, counted and the gravest of them kept.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/config/run_config.h"
#include "engine/digest/best_findings.h"
#include "engine/digest/results_digest.h"
#include "models/data/domain.h"

namespace fairlane::digest {

/// Indices of the protected attributes, ascending. Throws Error(kData) for one that the domain lacks.
/// dir  whose manifest names them
std::vector<int> selected_of(RunConfig const& config, Domain const& domain, std::string const& dir);

/// `findings` of a digest. Holds a block of rows at a time.
Json digest_findings(ResultsPlace const& place, RunConfig const& config, Domain const& domain);
/// `values` of a digest, from values.csv of `enumerate`.
Json digest_values(std::string const& path, Domain const& domain);

/// How many there are of a code.
struct CodeCount {
  std::int32_t code = 0;
  std::int64_t count = 0;
  std::int64_t of = 0;
};
/// An attribute's counts as tiles: its values, those that nobody has among them; of many values,
/// ranges of them.
/// counts  ascending
/// is_share  whether `of` is known
Json tiles_of(Attribute const& attribute, std::vector<CodeCount> const& counts, bool is_share);

/// A pair of people who differ in what is marked, as audit.json has a finding.
/// row, other  [attributes]
Json pair_json(Domain const& domain, std::vector<std::int32_t> const& row,
               std::vector<std::int32_t> const& other, std::int32_t label,
               std::int32_t other_label);
/// The same of a finding that has a pair, with scores where columns have them.
Json finding_json(Domain const& domain, InstanceColumns const& columns,
                  std::vector<int> const& selected, KeptFinding const& finding);

}  // namespace fairlane::digest
