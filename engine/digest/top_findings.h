// The findings of a directory that a person should see first.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/formats/json.h"
#include "engine/config/words.h"
#include "engine/results/manifest.h"
#include "models/data/domain.h"

namespace fairlane {

/// Which findings come first.
enum class FindingOrder { kFile, kSeverity, kPlausibility, kDiversity };

template <>
inline constexpr std::array kEnumWords<FindingOrder> = std::to_array<Word<FindingOrder>>(
    {{FindingOrder::kFile, "file", "as the files have them"},
     {FindingOrder::kSeverity, "severity", "the widest differences between the scores of a pair"},
     {FindingOrder::kPlausibility, "plausibility", "the most ordinary people"},
     {FindingOrder::kDiversity, "diversity",
      "wide pairs, plausible and different from each other"}});

/// Findings that are shown at most; so many are chosen from where they are asked for by more than
/// one figure.
inline constexpr std::size_t kMostTop = 10'000;

/// count       findings, at most
/// candidates  findings of least surprise whose distances are measured; those with the widest pairs
///             that different ones are chosen from, beside as many others
/// threads     workers
struct TopQuery {
  std::size_t count = 0;
  FindingOrder order = FindingOrder::kFile;
  std::size_t candidates = kMostTop;
  int threads = 1;
};

/// Findings of `run`, `enumerate` or `audit`, of each profile at most one, in one pass over the
/// files and in bounded memory; ties go to the first in the files.
/// domain  of the results
/// Returns `sort`; `count`: how many findings there are, null where nothing lists them; `findings`
/// as those of audit.json, but with `place`, their line or row, for `source` and `line`, and
/// `pair_difference`, of the scores of the pair in the file, for `severity`; without the members of
/// which nothing is known. Those of an audit have the name of their `set`.
/// Throws Error(kNoInput | kData | kIntegrity): also where the order needs scores that were not
/// written, or a table that is not there or has changed.
Json top_findings(std::string const& dir, RecordedRun const& recorded, Domain domain,
                  TopQuery const& query);

}  // namespace fairlane
