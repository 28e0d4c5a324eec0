// The synthetic census of `fairlane demo`: the rule that decides, what is planted in it, and the
// generator of configs/demo/census.csv.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fairlane {

/// Columns of the census without its label, in the network's input order.
enum DemoAttribute : int {
  kDemoAge,
  kDemoEducation,
  kDemoOccupation,
  kDemoMarital,
  kDemoRegion,
  kDemoRace,
  kDemoGender,
  kDemoHours,
  kDemoExperience,
  kDemoAttributes,
};

/// Size and seed of the table in configs/demo/census.csv.
inline constexpr std::uint64_t kDemoRows = 5000;
inline constexpr std::uint64_t kDemoSeed = 42;

/// What is planted for one protected attribute of the census.
struct PlantedRule {
  char const* protected_attribute;  // its name in the domain file
  int attribute;                    // its column
  bool discriminates;               // false where nothing is planted
  char const* sentence;             // in plain English
};

/// Exact numbers over the whole domain, with the meaning that `enumerate` gives them.
struct PlantedCount {
  std::int64_t inputs = 0;                 // of the domain
  std::int64_t groups = 0;                 // profiles, the selected attributes left out
  std::int64_t discriminatory_groups = 0;  // profiles whose similar set has both labels
  std::int64_t discriminatory_inputs = 0;  // members of those similar sets
};

/// The fair part of the rule as a sentence.
char const* demo_rule();

/// One entry per protected attribute, in column order.
std::span<PlantedRule const> planted_rules();

/// The fair score of an input, 5..26.
/// row  [kDemoAttributes] codes
int demo_points(std::span<std::int32_t const> row);

/// The rule's decision: 1 when the applicant is approved, else 0.
/// row  [kDemoAttributes] codes
int demo_label(std::span<std::int32_t const> row);

/// Whether the planted discrimination for one protected attribute touches this input, on either
/// side: its decision changes with that attribute alone. Conditions of its own, not demo_label.
/// row        [kDemoAttributes] codes
/// attribute  a protected column
/// Throws Error(kBug) for a column that is not protected.
bool planted_affected(std::span<std::int32_t const> row, int attribute);

/// Whether an input's similar set over several attributes has both labels, by trying every member.
/// row       [kDemoAttributes] codes
/// selected  [1..] different columns
bool planted_affected(std::span<std::int32_t const> row, std::span<int const> selected);

/// Counts what is planted for the selected attributes by brute force over the domain (some ms).
/// selected  [1..] different columns
PlantedCount count_planted(std::span<int const> selected);

/// A table of the given size as CSV text: header, codes, label last. Row r depends on (seed, r)
/// only, so a larger table begins with a smaller one.
std::string demo_census_csv(std::uint64_t rows, std::uint64_t seed);

}  // namespace fairlane
