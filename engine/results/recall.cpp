#include "engine/results/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/results/manifest.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 26;
constexpr std::string_view kValuesHeader = "attribute,value,groups,discriminatory_groups\n";

[[noreturn]] void fail(std::string const& dir, std::string const& what) {
  throw Error(ExitCode::kIntegrity,
              fmt::format("--against: {}: {}; enumerate again", escaped(dir), what));
}

void check_finished(std::string const& dir) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (!fs::exists(dir + "/manifest.json", ec) || fs::exists(dir + "/DONE", ec)) return;
  fail(dir, "has no DONE, so that the enumeration in it has not finished");
}

/// Groups of the domain: combinations of all values that are not under test.
double group_count(TestSubject const& subject) {
  double groups = 1.0;
  auto const& attributes = subject.domain().attributes;
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    auto const& selected = subject.selected();
    if (std::ranges::find(selected, static_cast<std::int32_t>(a)) == selected.end())
      groups *= static_cast<double>(attributes[a].code_count());
  }
  return groups;
}

/// A row of values.csv, as this program writes it.
struct ValueCount {
  std::string_view attribute;  // the cell as it stands, in quotes where it needs them
  std::int64_t value = 0;
  std::int64_t groups = 0;
  std::int64_t discriminatory = 0;
};

/// Takes ",3" from the beginning of a text: whether it is there.
bool take_count(std::string_view& text, std::int64_t& number) {
  if (text.empty() || text.front() != ',') return false;
  auto const [stop, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

/// Takes a row from the beginning of a text: whether it is one. An attribute's name may hold commas
/// and line ends, in quotes, of which those within are doubled.
bool take_value_row(std::string_view& text, ValueCount& row) {
  bool quoted = false;
  std::size_t end = 0;
  while (end < text.size() && (quoted || (text[end] != ',' && text[end] != '\n'))) {
    if (text[end] == '"') quoted = !quoted;
    ++end;
  }
  row.attribute = text.substr(0, end);
  text.remove_prefix(end);
  bool const whole = take_count(text, row.value) && take_count(text, row.groups) &&
                     take_count(text, row.discriminatory) && text.starts_with('\n');
  if (whole) text.remove_prefix(1);
  return whole;
}

/// The counts of every attribute's values, which each add up to all groups.
void check_values(std::string const& dir, TestSubject const& subject, std::int64_t groups,
                  std::int64_t discriminatory) {
  std::string const path = dir + "/values.csv";
  std::string const bytes = read_file(path, kLongest);
  auto const malformed = [&](std::string const& what) {
    throw Error(ExitCode::kData, fmt::format("--against: {}: {}, expected the file that enumerate "
                                             "wrote; enumerate again",
                                             escaped(path, path.size()), what));
  };
  std::string_view text = bytes;
  if (!text.starts_with(kValuesHeader))
    malformed("begins with " + in_quotes(text.substr(0, text.find('\n'))));
  text.remove_prefix(kValuesHeader.size());
  struct Sums {
    std::int64_t groups = 0;
    std::int64_t discriminatory = 0;
  };
  std::map<std::string, Sums, std::less<>> sums;
  while (!text.empty()) {
    auto const line = 1 + std::count(bytes.data(), text.data(), '\n');
    ValueCount row;
    if (!take_value_row(text, row) || row.groups < 0 || row.discriminatory < 0 ||
        row.groups > groups || row.discriminatory > row.groups)
      malformed(fmt::format("line {} is no attribute, value and its counts", line));
    Sums& sum = sums[std::string(row.attribute)];
    sum.groups += row.groups;
    sum.discriminatory += row.discriminatory;
  }
  auto const& attributes = subject.domain().attributes;
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    if (std::ranges::count(subject.selected(), static_cast<std::int32_t>(a)) > 0) continue;
    auto const found = sums.find(csv_cell(attributes[a].name));
    if (found == sums.end()) malformed("has no rows of " + in_quotes(attributes[a].name));
    Sums const& sum = found->second;
    auto const contradicts = [&](std::int64_t all, std::int64_t here, char const* what) {
      if (all == here) return;
      fail(dir, fmt::format("summary.json counts {} {}, but values.csv {} for {}", all, what, here,
                            escaped(attributes[a].name)));
    };
    contradicts(groups, sum.groups, "groups");
    contradicts(discriminatory, sum.discriminatory, "discriminatory groups");
  }
}

/// What an enumeration of the whole domain counts fits together in more than one way.
void check_counts(std::string const& dir, Json const& summary, TestSubject const& subject) {
  auto const& counts = summary.at("counts");
  auto const count = [&](char const* name) { return counts.at(name).get<std::int64_t>(); };
  std::int64_t const variants = subject.variants();
  std::int64_t const groups = count("groups");
  std::int64_t const found = count("unique_groups");
  std::int64_t const unknown = count("undefined_groups");
  std::int64_t const instances = count("unique_instances");
  auto const undefined = summary.at("undefined").get<std::int64_t>();
  auto const contradicts = [&](bool holds, char const* what) {
    if (!holds)
      fail(dir, fmt::format("the counts of summary.json contradict each other: {}", what));
  };
  if (!subject.constraints().empty()) {
    std::int64_t const inputs = count("inputs");
    contradicts(static_cast<double>(groups) <= group_count(subject) && inputs >= groups &&
                    inputs <= groups * variants,
                "groups and inputs do not fit the domain");
    contradicts(found >= 0 && found <= groups && instances >= 2 * found && instances <= inputs,
                "unique_instances does not fit unique_groups");
    return;
  }
  contradicts(static_cast<double>(groups) == group_count(subject),
              "groups is not the number of the domain's");
  contradicts(count("inputs") == groups * variants, "inputs is not groups times combinations");
  contradicts(found >= 0 && unknown >= 0 && found <= groups - unknown,
              "there are more discriminatory groups than groups");
  contradicts(instances >= 2 * found && instances <= found * variants,
              "unique_instances does not fit unique_groups");
  // What is missing in discriminatory groups, and one of each that is unknown, is undefined.
  contradicts(found * variants - instances <= undefined - unknown && undefined <= groups * variants,
              "unique_instances does not fit undefined");
  auto const share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  contradicts(summary.at("success_rate").get<double>() == share(instances, groups * variants),
              "success_rate is not unique_instances of inputs");
  contradicts(summary.at("group_rate").get<double>() == share(found, groups),
              "group_rate is not unique_groups of groups");
  contradicts(summary.at("severity_histogram").is_array(), "severity_histogram is no list");
  std::int64_t severe = 0;
  for (auto const& bin : summary.at("severity_histogram"))
    severe += bin.at("groups").get<std::int64_t>();
  contradicts(severe == found, "severity_histogram does not add up to unique_groups");
  check_values(dir, subject, groups, found);
}

EnumeratedTotals totals_of(Json const& summary) {
  auto const& counts = summary.at("counts");
  EnumeratedTotals totals;
  totals.instances = counts.at("unique_instances").get<std::int64_t>();
  totals.groups = counts.at("unique_groups").get<std::int64_t>();
  DomainShare& share = totals.share;
  share.source = "enumeration";
  share.share = share.low = summary.at("success_rate").get<double>();
  share.groups = counts.at("groups").get<std::int64_t>();
  if (summary.contains("infeasible")) {
    share.high = share.share;
    return totals;
  }
  share.undefined_groups = counts.at("undefined_groups").get<std::int64_t>();
  share.high = static_cast<double>(totals.groups + share.undefined_groups) /
               static_cast<double>(share.groups);
  return totals;
}

/// The part of a manifest that decides which inputs are IDIs.
Json deciding(Json const& manifest) {
  auto const& config = manifest.at("config");
  auto const& inputs = manifest.at("inputs");
  return {config.at("protected"), config.at("threshold"), inputs.at("model"), inputs.at("domain")};
}

}  // namespace

EnumeratedTotals read_totals(std::string const& dir, RunConfig const& config,
                             TestSubject const& subject) {
  if (subject.limits_findings()) unlimited(config, "--against");
  std::string const path = dir + "/manifest.json";
  check_finished(dir);
  std::string const manifest_text = read_file(path, kLongest);
  std::string const summary_text = read_file(dir + "/summary.json", kLongest);
  try {
    auto const manifest = Json::parse(manifest_text);
    if (!manifest.contains("enumerate")) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against: {} holds no enumeration, expected the results of "
                              "`fairlane enumerate`",
                              escaped(dir)));
    }
    auto const own = Json::parse(manifest_json(config, subject, Cut{}));
    if (deciding(manifest) != deciding(own)) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against: {} enumerates another model, domain, protected "
                              "selection or threshold",
                              escaped(dir)));
    }
    auto const& enumeration = manifest.at("enumerate");
    bool const whole = enumeration.at("ranges").empty() && enumeration.at("from_data").empty() &&
                       !enumeration.at("rows").get<bool>() && enumeration.at("shard").at(1) == 1;
    if (!whole) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against: {} enumerates a part of the domain, expected the whole",
                              escaped(dir)));
    }
    Json const summary = Json::parse(summary_text);
    check_counts(dir, summary, subject);
    return totals_of(summary);
  } catch (JsonError const& e) {
    throw Error(
        ExitCode::kData,
        fmt::format("--against: {}: manifest.json or summary.json is not of this program: {}",
                    escaped(dir), escaped(e.what())));
  }
}

}  // namespace fairlane
