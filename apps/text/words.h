// Codes in words, and findings read back from a run's results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/results/manifest.h"
#include "models/data/domain.h"

namespace fairlane {

/// Attribute::word() as a message may hold it.
std::string value_words(Attribute const& attribute, std::int32_t code);
/// Whether an attribute's codes have words, not numbers alone.
bool has_words(Attribute const& attribute);
/// "16-25, 26-45, ...": the words of the first codes, where it has any; else nothing.
std::string all_words(Attribute const& attribute);
/// Domain::label_word() as a message may hold it.
std::string decision_words(Domain const& domain, std::int32_t label);

/// "age 45-59, education master, ..." without the columns of `left_out`.
/// row       [attributes] codes
/// left_out  indices of attributes
std::string row_words(Domain const& domain, std::span<std::int32_t const> row,
                      std::span<int const> left_out);

/// Names of `names` in the domain's order, as indices. Throws Error(kBug) for a name that it lacks.
std::vector<int> attribute_indices(Domain const& domain, std::span<std::string const> names);

/// The domain of a run as it was then. Throws Error(kNoInput) where that is gone.
Domain recorded_domain(RecordedRun const& recorded);

/// One reported pair.
/// row   [attributes] codes
/// pair  [protected] the counterpart's protected values, in the domain's order
struct ReportedPair {
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> pair;
  std::int32_t label = 0;
  std::int32_t pair_label = 0;
};

/// Reads at most `limit` pairs of the instances of a directory, from their beginning.
/// output: as its manifest has it, with pairs among the columns. Throws Error(kNoInput | kData).
std::vector<ReportedPair> read_pairs(std::string const& dir, Domain const& domain,
                                     std::span<int const> protected_columns,
                                     OutputConfig const& output,
                                     std::size_t limit = static_cast<std::size_t>(-1));

}  // namespace fairlane
