#include "engine/results/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/results/manifest.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 26;

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

/// The counts of every attribute's values, which each add up to all discriminatory groups.
void check_values(std::string const& dir, std::int64_t discriminatory) {
  std::map<std::string, std::int64_t> sums;
  std::istringstream lines(read_file(dir + "/values.csv", kLongest));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    // attribute,value,groups,discriminatory_groups; only the attribute can be quoted.
    std::size_t const last = line.rfind(',');
    std::size_t const groups = last == std::string::npos ? last : line.rfind(',', last - 1);
    std::size_t const value = groups == std::string::npos ? groups : line.rfind(',', groups - 1);
    std::int64_t count = 0;
    char const* const end = line.data() + line.size();
    if (value == std::string::npos ||
        std::from_chars(line.data() + last + 1, end, count).ptr != end)
      fail(dir, "values.csv is malformed");
    sums[line.substr(0, value)] += count;
  }
  for (auto const& [attribute, sum] : sums) {
    if (sum == discriminatory) continue;
    fail(dir, fmt::format("summary.json counts {} discriminatory groups, but values.csv {} for {}",
                          discriminatory, sum, escaped(attribute)));
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
  check_values(dir, found);
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
