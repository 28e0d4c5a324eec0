#include "apps/demo/demo_census.h"

#include <array>
#include <cstddef>
#include <string>

#include "base/error.h"

namespace fairlane {
namespace {

/// One column of the census; bounds are inclusive codes.
struct Column {
  char const* name;
  std::int32_t low;
  std::int32_t high;
};

constexpr std::array<Column, kDemoAttributes> kColumns = {{
    {"age", 1, 4},
    {"education", 1, 5},
    {"occupation", 0, 5},
    {"marital", 0, 2},
    {"region", 0, 3},
    {"race", 0, 4},
    {"gender", 0, 1},
    {"hours", 1, 3},
    {"experience", 1, 5},
}};
constexpr char const* kLabel = "approved";

constexpr int kPointsNeeded = 16;  // what everybody should need
constexpr int kExtraPoints = 2;    // asked on top of the women of the planted gender rule
constexpr std::int32_t kAge60 = 4;
constexpr std::int32_t kBachelor = 4;
constexpr std::int32_t kTechnical = 3;
constexpr std::int32_t kNorth = 0;
constexpr std::int32_t kFemale = 0;
constexpr std::int32_t kPartTime = 1;

constexpr std::array<PlantedRule, 3> kRules = {{
    {"age", kDemoAge, true,
     "Applicants aged 60 or over in the North are refused when they work part time, whatever their "
     "points; younger applicants like them are not."},
    {"race", kDemoRace, false, "Nothing is planted for race: no decision depends on it."},
    {"gender", kDemoGender, true,
     "Women with a degree in technical, professional or managerial work need 18 points; men like "
     "them need 16."},
}};

// Weights out of 100. People of the sample are plausible, while the domain is the full product.
// Race goes with region, and region with education, so approval rates differ between the race
// groups although no decision depends on race.
constexpr std::array<int, 4> kAgeWeights = {28, 31, 25, 16};
constexpr std::array<int, 5> kRaceWeights = {36, 24, 18, 13, 9};
constexpr std::array<int, 2> kGenderWeights = {50, 50};
constexpr std::array<std::array<int, 4>, 5> kRegionByRace = {{
    {20, 25, 25, 30},
    {30, 30, 20, 20},
    {35, 15, 35, 15},
    {15, 40, 15, 30},
    {25, 20, 40, 15},
}};
constexpr std::array<std::array<int, 5>, 4> kEducationByRegion = {{
    {8, 24, 36, 22, 10},
    {5, 17, 34, 28, 16},
    {10, 28, 36, 18, 8},
    {4, 14, 32, 31, 19},
}};
constexpr std::array<std::array<int, 6>, 5> kOccupationByEducation = {{
    {50, 32, 12, 4, 1, 1},
    {38, 32, 18, 8, 2, 2},
    {20, 26, 26, 18, 5, 5},
    {5, 11, 22, 24, 24, 14},
    {2, 5, 12, 23, 36, 22},
}};
constexpr std::array<std::array<int, 3>, 4> kMaritalByAge = {{
    {72, 25, 3},
    {34, 54, 12},
    {18, 60, 22},
    {10, 55, 35},
}};
constexpr std::array<std::array<int, 3>, 4> kHoursByAge = {{
    {30, 57, 13},
    {18, 58, 24},
    {18, 60, 22},
    {42, 48, 10},
}};
constexpr std::array<std::array<int, 5>, 4> kExperienceByAge = {{
    {34, 46, 20, 0, 0},
    {8, 22, 36, 34, 0},
    {4, 10, 18, 34, 34},
    {3, 7, 14, 26, 50},
}};

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, as in SplitMix64
constexpr std::uint64_t kDrawsPerRow = 16;

std::size_t index_of(std::int32_t value) { return static_cast<std::size_t>(value); }

/// The finaliser of SplitMix64. Source: Steele, Lea and Flood, OOPSLA 2014.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

/// Draws the columns of one row; every draw depends on (seed, row, column) only.
class RowDraws {
 public:
  RowDraws(std::uint64_t key, std::uint64_t row) : key_(key), row_(row) {}

  /// Index drawn by weight.
  template <std::size_t Count>
  std::int32_t operator()(DemoAttribute column, std::array<int, Count> const& weights) const {
    std::uint64_t const counter = row_ * kDrawsPerRow + static_cast<std::uint64_t>(column) + 1;
    std::uint64_t const word = mix(key_ + counter * kGolden);
    std::uint64_t total = 0;
    for (int const weight : weights) total += static_cast<std::uint64_t>(weight);
    std::uint64_t ticket = ((word >> 32U) * total) >> 32U;
    std::size_t index = 0;
    while (ticket >= static_cast<std::uint64_t>(weights[index])) {
      ticket -= static_cast<std::uint64_t>(weights[index]);
      ++index;
    }
    return static_cast<std::int32_t>(index);
  }

 private:
  std::uint64_t key_;
  std::uint64_t row_;
};

using Row = std::array<std::int32_t, kDemoAttributes>;

/// Codes of one synthetic person.
Row sample_row(std::uint64_t key, std::uint64_t row) {
  RowDraws const draw(key, row);
  std::int32_t const age = draw(kDemoAge, kAgeWeights);
  std::int32_t const race = draw(kDemoRace, kRaceWeights);
  std::int32_t const gender = draw(kDemoGender, kGenderWeights);
  std::int32_t const region = draw(kDemoRegion, kRegionByRace[index_of(race)]);
  std::int32_t const education = draw(kDemoEducation, kEducationByRegion[index_of(region)]);
  std::int32_t const occupation =
      draw(kDemoOccupation, kOccupationByEducation[index_of(education)]);
  std::int32_t const marital = draw(kDemoMarital, kMaritalByAge[index_of(age)]);
  std::int32_t const hours = draw(kDemoHours, kHoursByAge[index_of(age)]);
  std::int32_t const experience = draw(kDemoExperience, kExperienceByAge[index_of(age)]);
  Row codes = {age, education, occupation, marital, region, race, gender, hours, experience};
  for (std::size_t k = 0; k < codes.size(); ++k) codes[k] += kColumns[k].low;
  return codes;
}

/// Steps the given columns to the next combination in product order; false after the last, which
/// wraps to the first.
bool next_combination(Row& row, std::span<int const> columns) {
  for (std::size_t k = columns.size(); k-- > 0;) {
    std::size_t const column = index_of(columns[k]);
    if (row[column] < kColumns[column].high) {
      ++row[column];
      return true;
    }
    row[column] = kColumns[column].low;
  }
  return false;
}

bool pays_for_age(std::span<std::int32_t const> row) {
  return row[kDemoAge] == kAge60 && row[kDemoRegion] == kNorth && row[kDemoHours] == kPartTime;
}

bool has_degree_and_senior_work(std::span<std::int32_t const> row) {
  return row[kDemoEducation] >= kBachelor && row[kDemoOccupation] >= kTechnical;
}

void check_columns(std::span<int const> selected) {
  for (int const column : selected) {
    if (column < 0 || column >= kDemoAttributes) {
      throw Error(ExitCode::kBug, "demo census: column " + std::to_string(column) +
                                      ", expected 0.." + std::to_string(kDemoAttributes - 1));
    }
  }
}

}  // namespace

char const* demo_rule() {
  return "An applicant is approved with 16 points or more: 2 per education level, 1 per occupation "
         "level, 2 per level of working hours and 1 per level of experience.";
}

std::span<PlantedRule const> planted_rules() { return kRules; }

int demo_points(std::span<std::int32_t const> row) {
  return 2 * row[kDemoEducation] + row[kDemoOccupation] + 2 * row[kDemoHours] +
         row[kDemoExperience];
}

int demo_label(std::span<std::int32_t const> row) {
  if (pays_for_age(row)) return 0;  // planted: age
  int needed = kPointsNeeded;
  if (row[kDemoGender] == kFemale && has_degree_and_senior_work(row)) {
    needed += kExtraPoints;  // planted: gender
  }
  return demo_points(row) >= needed ? 1 : 0;
}

bool planted_affected(std::span<std::int32_t const> row, int attribute) {
  int const points = demo_points(row);
  bool const senior = has_degree_and_senior_work(row);
  switch (attribute) {
    case kDemoAge: {  // somebody younger like them would be approved
      bool const woman_pays = row[kDemoGender] == kFemale && senior;
      bool const young_passes = points >= kPointsNeeded + (woman_pays ? kExtraPoints : 0);
      return row[kDemoRegion] == kNorth && row[kDemoHours] == kPartTime && young_passes;
    }
    case kDemoRace:
      return false;
    case kDemoGender:  // enough points for a man, too few for a woman; the age rule refuses both
      return senior && points >= kPointsNeeded && points < kPointsNeeded + kExtraPoints &&
             !pays_for_age(row);
    default:
      throw Error(ExitCode::kBug, "demo census: column " + std::to_string(attribute) +
                                      " is not protected, expected age, race or gender");
  }
}

bool planted_affected(std::span<std::int32_t const> row, std::span<int const> selected) {
  check_columns(selected);
  Row member{};
  for (std::size_t k = 0; k < member.size(); ++k) member[k] = row[k];
  for (int const column : selected) member[index_of(column)] = kColumns[index_of(column)].low;
  int const label = demo_label(row);
  do {
    if (demo_label(member) != label) return true;
  } while (next_combination(member, selected));
  return false;
}

PlantedCount count_planted(std::span<int const> selected) {
  check_columns(selected);
  std::array<bool, kDemoAttributes> left_out{};
  std::int64_t set_size = 1;
  for (int const column : selected) {
    Column const& bounds = kColumns[index_of(column)];
    left_out[index_of(column)] = true;
    set_size *= bounds.high - bounds.low + 1;
  }
  std::array<int, kDemoAttributes> kept{};
  std::size_t kept_count = 0;
  Row profile{};
  for (int column = 0; column < kDemoAttributes; ++column) {
    profile[index_of(column)] = kColumns[index_of(column)].low;
    if (!left_out[index_of(column)]) kept[kept_count++] = column;
  }
  PlantedCount count;
  do {
    ++count.groups;
    if (planted_affected(profile, selected)) ++count.discriminatory_groups;
  } while (next_combination(profile, std::span(kept).first(kept_count)));
  count.inputs = count.groups * set_size;
  count.discriminatory_inputs = count.discriminatory_groups * set_size;
  return count;
}

std::string demo_census_csv(std::uint64_t rows, std::uint64_t seed) {
  std::string text;
  for (Column const& column : kColumns) {
    text += column.name;
    text += ',';
  }
  text += kLabel;
  text += '\n';
  std::size_t const bytes_per_row = 2 * (kColumns.size() + 1);  // one digit and one separator each
  text.reserve(text.size() + static_cast<std::size_t>(rows) * bytes_per_row);
  std::uint64_t const key = mix(seed);
  for (std::uint64_t row = 0; row < rows; ++row) {
    Row const codes = sample_row(key, row);
    for (std::int32_t const code : codes) {
      text += static_cast<char>('0' + code);
      text += ',';
    }
    text += static_cast<char>('0' + demo_label(codes));
    text += '\n';
  }
  return text;
}

}  // namespace fairlane
