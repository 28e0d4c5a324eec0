// Findings by the differences of their pairs, plausibility and diversity, against all rows sorted.
#include "engine/digest/top_findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <tuple>

#include "base/error.h"
#include "engine/count/enumerate.h"
#include "engine/digest/best_findings.h"
#include "engine/plausibility/selection.h"
#include "engine/results/table_plausibility.h"
#include "engine/tables/parquet_plugin_api.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using digest::BestFindings;
using digest::FindingRank;
using digest::Profile;

// -- the best of a stream ---------------------------------------------------------------------

struct Ranked {
  FindingRank rank;
  Profile profile;
};

/// Of each profile the least, of these the `most` least: their numbers.
std::vector<std::int64_t> naive_best(std::vector<Ranked> all, std::size_t most) {
  std::ranges::sort(all, [](auto const& a, auto const& b) { return a.rank < b.rank; });
  std::set<Profile> seen;
  std::vector<std::int64_t> numbers;
  for (Ranked const& one : all) {
    if (numbers.size() < most && seen.insert(one.profile).second)
      numbers.push_back(one.rank.number);
  }
  return numbers;
}

std::vector<std::int64_t> numbers_of(BestFindings best) {
  std::vector<std::int64_t> numbers;
  for (auto const& finding : best.take()) numbers.push_back(finding.number);
  return numbers;
}

void add(BestFindings& best, Ranked const& one) {
  digest::KeptFinding finding;
  finding.number = one.rank.number;
  best.add(one.rank, one.profile, finding);
}

TEST(BestFindings, AreThoseOfAllSortedInWhicheverOrderTheyCome) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Ranked> all;
    for (std::int64_t i = 0; i < 300; ++i) {
      auto const few = [&](std::uint32_t n) { return static_cast<double>(random() % n); };
      all.push_back({{few(20), few(2), i}, {static_cast<std::int32_t>(random() % 90), 1}});
    }
    std::ranges::shuffle(all, random);
    for (std::size_t const most : {1U, 2U, 7U, 60U, 1000U}) {
      auto const expected = naive_best(all, most);
      BestFindings whole(most);
      BestFindings merged(most);
      for (std::size_t first = 0; first < all.size();) {
        BestFindings part(most, merged.limit());
        std::size_t const end = std::min<std::size_t>(all.size(), first + 1 + random() % 50);
        for (; first < end; ++first) {
          add(whole, all[first]);
          add(part, all[first]);
        }
        merged.add(std::move(part));
      }
      EXPECT_EQ(numbers_of(std::move(whole)), expected);
      EXPECT_EQ(numbers_of(std::move(merged)), expected);
    }
  }
}

// -- whole directories ------------------------------------------------------------------------

/// A line of instances.csv.
struct Line {
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> pair;
  double difference = 0.0;
  std::int64_t number = 0;  // 1-based line
};

std::vector<std::string> cells_of_line(std::string const& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

class TopFindings : public testing::Test {
 protected:
  TopFindings() : config_(small_config(folder_, {})) {
    Domain domain = read_domain_yaml(config_.domain);
    domain.attributes[1].categories = {"red", "green", "blue", "white", "black"};
    domain.attributes[2].low.reset();  // the table gives it
    folder_.write("domain.yaml", format_domain_yaml(domain));
  }

  std::string run_in(std::string const& name, RunConfig config) const {
    std::string const dir = folder_.file(name);
    run(to(std::move(config), dir), options_with(2));
    return dir;
  }
  std::size_t width() const { return read_domain_yaml(config_.domain).attributes.size(); }
  Domain resolved() const {
    Domain domain = read_domain_yaml(config_.domain);
    Dataset const table = read_csv(config_.data, domain);
    resolve_bounds(domain, &table);
    return domain;
  }
  PlausibilityModel model() const { return {resolved(), read_csv(config_.data, resolved()), 1}; }
  std::vector<Line> lines_of(std::string const& dir) const {
    std::vector<Line> lines;
    std::istringstream text(slurp(dir + "/instances.csv"));
    std::string line;
    std::getline(text, line);
    std::size_t const score = width() + selected_.size() + 2;
    for (std::int64_t number = 2; std::getline(text, line); ++number) {
      auto const cells = cells_of_line(line);
      Line& one = lines.emplace_back();
      for (std::size_t a = 0; a < width(); ++a) one.row.push_back(std::stoi(cells[a]));
      for (std::size_t s = 0; s < selected_.size(); ++s)
        one.pair.push_back(std::stoi(cells[width() + s]));
      // Scores are float32, and so are these digits of them.
      one.difference = std::abs(static_cast<double>(std::stof(cells[score])) -
                                static_cast<double>(std::stof(cells[score + 1])));
      one.number = number;
    }
    return lines;
  }
  Profile profile(Line const& line) const {
    Profile profile = line.row;
    for (std::size_t const a : selected_) profile[a] = 0;
    return profile;
  }
  /// Of each profile the line with the least rank, by that.
  template <class Rank>
  std::vector<Line> best_of(std::vector<Line> lines, Rank const& rank) const {
    std::ranges::stable_sort(lines, {}, rank);
    std::set<Profile> seen;
    std::vector<Line> best;
    for (Line const& line : lines) {
      if (seen.insert(profile(line)).second) best.push_back(line);
    }
    return best;
  }
  std::vector<Line> by_difference(std::string const& dir) const {
    return best_of(lines_of(dir), [](Line const& line) { return -line.difference; });
  }
  static std::vector<Line> first(std::vector<Line> lines, std::size_t count) {
    lines.resize(std::min(count, lines.size()));
    return lines;
  }

  static Json top(std::string const& dir, TopQuery const& query) {
    RecordedRun const recorded = read_manifest(dir);
    return top_findings(dir, recorded, read_domain_yaml(recorded.config.domain), query);
  }
  static TopQuery query_of(FindingOrder order, std::size_t count, std::size_t candidates = kMostTop,
                           int threads = 1) {
    return {count, order, candidates, threads};
  }
  /// The findings of the JSON are these lines, and what is said of them is what the domain says.
  void expect_findings(Json const& top, std::vector<Line> const& lines, std::string const& where,
                       PlausibilityModel const* scored) const {
    Domain const domain = resolved();
    Json const& findings = top.at("findings");
    ASSERT_EQ(findings.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      SCOPED_TRACE(i);
      Json const& finding = findings[i];
      Line const& line = lines[i];
      EXPECT_EQ(finding.at("place").get<std::string>(),
                where + "/instances.csv:" + std::to_string(line.number));
      Json codes;
      Json words;
      Json changed = Json::array();
      for (std::size_t a = 0; a < domain.attributes.size(); ++a) {
        Attribute const& attribute = domain.attributes[a];
        codes[attribute.name] = line.row[a];
        words[attribute.name] = attribute.word(line.row[a]);
        auto const s = std::ranges::find(selected_, a) - selected_.begin();
        if (s == static_cast<std::ptrdiff_t>(selected_.size())) continue;
        std::int32_t const other = line.pair[static_cast<std::size_t>(s)];
        if (other == line.row[a]) continue;
        changed.push_back({{"attribute", attribute.name},
                           {"from", attribute.word(line.row[a])},
                           {"to", attribute.word(other)}});
      }
      EXPECT_EQ(finding.at("codes"), codes);
      EXPECT_EQ(finding.at("words"), words);
      EXPECT_EQ(finding.at("changed"), changed);
      EXPECT_FALSE(finding.contains("severity"));  // which only the model could tell
      EXPECT_EQ(finding.at("pair_difference").get<double>(), line.difference);
      ASSERT_EQ(finding.contains("plausibility"), scored != nullptr);
      if (scored == nullptr) continue;
      Plausibility const score = scored->score(line.row).front();
      Json const& figures = finding.at("plausibility");
      EXPECT_EQ(figures.at("distance").get<double>(), score.distance);
      EXPECT_EQ(figures.at("surprise").get<double>(), score.surprise);
      EXPECT_EQ(figures.at("distance_percentile").get<double>(), score.distance_percentile);
      EXPECT_EQ(figures.at("surprise_percentile").get<double>(), score.surprise_percentile);
    }
  }
  void expect_same_in(OutputFormat format);

  TemporaryFolder const folder_;
  RunConfig config_;
  std::vector<std::size_t> const selected_ = {0, 4};
};

TEST_F(TopFindings, BySeverityAreTheWidestPairsOfProfiles) {
  std::string const dir = run_in("out", config_);
  auto const all = by_difference(dir);
  ASSERT_GT(all.size(), 100U);
  ASSERT_LT(all.size(), lines_of(dir).size());
  for (std::size_t const count : {std::size_t{1}, std::size_t{10}, all.size() + 5}) {
    SCOPED_TRACE(count);
    Json const shown = top(dir, query_of(FindingOrder::kSeverity, count));
    EXPECT_EQ(shown.at("sort").get<std::string>(), "severity");
    EXPECT_EQ(shown.at("count").get<std::size_t>(), lines_of(dir).size());
    expect_findings(shown, first(all, count), dir, nullptr);
  }
}

TEST_F(TopFindings, InTheFilesOrderAreTheFirstOfEachProfile) {
  std::string const dir = run_in("out", config_);
  auto const all = best_of(lines_of(dir), [](Line const& line) { return line.number; });
  for (std::size_t const count : {std::size_t{1}, std::size_t{10}, all.size() + 5})
    expect_findings(top(dir, query_of(FindingOrder::kFile, count)), first(all, count), dir,
                    nullptr);
}

TEST_F(TopFindings, OfTheSameDifferenceTheFirstInTheFileComesFirst) {
  std::string const dir = run_in("out", config_);
  // Scores of one digit, in a directory as there were before instances.json and output.columns.
  std::istringstream text(slurp(dir + "/instances.csv"));
  std::string coarse;
  std::string line;
  std::getline(text, line);
  coarse = line + "\n";
  while (std::getline(text, line)) {
    auto cells = cells_of_line(line);
    std::size_t const score = width() + selected_.size() + 2;
    for (std::size_t const c : {score, score + 1})
      cells[c] = std::stof(cells[c]) > 0.5F ? "1" : "0.5";
    for (std::size_t c = 0; c < cells.size(); ++c) coarse += (c == 0 ? "" : ",") + cells[c];
    coarse += "\n";
  }
  folder_.write("out/instances.csv", coarse);
  fs::remove(dir + "/instances.json");
  std::string const manifest = slurp(dir + "/manifest.json");
  std::string const key = "\"columns\": \"all\",";
  std::size_t const at = manifest.find(key);
  folder_.write("out/manifest.json", manifest.substr(0, at) + manifest.substr(at + key.size()));
  auto const all = by_difference(dir);
  ASSERT_EQ(all[0].difference, all[20].difference);
  Json const shown = top(dir, query_of(FindingOrder::kSeverity, 30));
  expect_findings(shown, first(all, 30), dir, nullptr);
  EXPECT_TRUE(shown.at("count").is_null());
}

TEST_F(TopFindings, ByPlausibilityAreTheMostOrdinaryPeople) {
  std::string const dir = run_in("out", config_);
  PlausibilityModel const scored = model();
  auto const unsurprising = best_of(
      lines_of(dir), [&](Line const& line) { return scored.tree().surprise(line.row.data()); });
  // All of them, and only the least surprising ones.
  for (std::size_t const candidates : {unsurprising.size() + 1, std::size_t{40}}) {
    SCOPED_TRACE(candidates);
    auto all = first(unsurprising, candidates);
    std::ranges::sort(all, {}, [&](Line const& line) {
      Plausibility const one = scored.score(line.row).front();
      return std::tuple(one.implausibility(), one.surprise, line.number);
    });
    for (std::size_t const count : {std::size_t{1}, std::size_t{10}, std::size_t{40}}) {
      expect_findings(top(dir, query_of(FindingOrder::kPlausibility, count, candidates)),
                      first(all, count), dir, &scored);
    }
  }
}

TEST_F(TopFindings, OfTheSameImplausibilityTheLeastSurprisingComesFirst) {
  // Every row twice: all have a distance of 0 to their nearest, and one percentile of distance.
  std::string const once = slurp(config_.data);
  folder_.write("data.csv", once + once.substr(once.find('\n') + 1));
  std::string const dir = run_in("out", config_);
  PlausibilityModel const scored = model();
  Json const shown = top(dir, query_of(FindingOrder::kPlausibility, 50));
  std::vector<std::pair<double, double>> ranks;
  for (Json const& finding : shown.at("findings")) {
    std::vector<std::int32_t> row;
    for (Attribute const& attribute : resolved().attributes)
      row.push_back(finding.at("codes").at(attribute.name).get<std::int32_t>());
    Plausibility const one = scored.score(row).front();
    ranks.emplace_back(one.implausibility(), one.surprise);
  }
  ASSERT_EQ(ranks.size(), 50U);
  EXPECT_TRUE(std::ranges::is_sorted(ranks));
  EXPECT_LT(ranks.front().second, ranks.back().second);
  EXPECT_EQ(ranks[0].first, ranks[10].first);
}

TEST_F(TopFindings, DifferentOnesAreChosenFromTheMostSevereAndASample) {
  std::string const dir = run_in("out", config_);
  PlausibilityModel const scored = model();
  auto const severe = by_difference(dir);
  for (std::size_t const candidates : {severe.size(), std::size_t{20}}) {
    SCOPED_TRACE(candidates);
    auto all = first(severe, candidates);
    std::vector<Line> others(severe.begin() + static_cast<std::ptrdiff_t>(all.size()),
                             severe.end());
    std::ranges::stable_sort(
        others, {}, [&](Line const& line) { return digest::hash_of(profile(line)) >> 11; });
    for (Line const& line : first(others, candidates)) all.push_back(line);
    ASSERT_EQ(all.size(), std::min(severe.size(), 2 * candidates));
    std::vector<std::int32_t> rows;
    std::vector<double> differences;
    for (Line const& line : all) {
      rows.insert(rows.end(), line.row.begin(), line.row.end());
      differences.push_back(line.difference);
    }
    for (std::size_t const count : {std::size_t{1}, std::size_t{10}}) {
      std::vector<Line> expected;
      for (std::size_t const i :
           choose_different(scored, rows, differences, scored.score(rows), count))
        expected.push_back(all[i]);
      ASSERT_EQ(expected.size(), count);
      expect_findings(top(dir, query_of(FindingOrder::kDiversity, count, candidates)), expected,
                      dir, &scored);
    }
  }
}

/// Whatever the format, in files of few rows, on one thread and several.
void TopFindings::expect_same_in(OutputFormat format) {
  std::string const dir = run_in("out", config_);
  RunConfig config = config_;
  config.output.format = format;
  config.output.shard_rows = 9;
  std::string const shards = run_in("shards", config);
  auto const without_places = [](Json json) {
    for (std::size_t i = 0; i < json.at("findings").size(); ++i) json["findings"][i].erase("place");
    return json;
  };
  for (FindingOrder const order : {FindingOrder::kFile, FindingOrder::kSeverity,
                                   FindingOrder::kPlausibility, FindingOrder::kDiversity}) {
    SCOPED_TRACE(name_of(order));
    Json const expected = without_places(top(dir, query_of(order, 12, 30)));
    ASSERT_EQ(expected.at("findings").size(), 12U);
    for (int const threads : {1, 3})
      EXPECT_EQ(without_places(top(shards, query_of(order, 12, 30, threads))), expected);
  }
}

TEST_F(TopFindings, AreTheSameInManyFiles) { expect_same_in(OutputFormat::kCsv); }
TEST_F(TopFindings, AreTheSameInArrays) { expect_same_in(OutputFormat::kNpy); }
TEST_F(TopFindings, AreTheSameInParquet) {
  if (!fs::exists(built_plugin() + "/" + kParquetPluginFile))
    GTEST_SKIP() << "this build has no Parquet plug-in (FAIRLANE_ARROW)";
  PluginDir const built(built_plugin());
  expect_same_in(OutputFormat::kParquet);
}

TEST_F(TopFindings, OfAnEnumerationAreThoseOfItsFiles) {
  EnumerateOptions options;
  options.execution.threads = 1;
  options.instances.all = true;
  std::string const dir = folder_.file("counted");
  enumerate(to(config_, dir), options);
  expect_findings(top(dir, query_of(FindingOrder::kSeverity, 25)), first(by_difference(dir), 25),
                  dir, nullptr);
}

TEST_F(TopFindings, WithoutPairsSayWhoTheyAre) {
  std::string const dir = run_in("out", config_);
  RunConfig config = config_;
  config.output.columns = OutputColumns::kInputs;
  std::string const bare = run_in("bare", config);
  Json const shown = top(bare, query_of(FindingOrder::kPlausibility, 10));
  Json const full = top(dir, query_of(FindingOrder::kPlausibility, 10));
  ASSERT_EQ(shown.at("findings").size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    Json const& one = shown.at("findings")[i];
    EXPECT_EQ(one.at("codes"), full.at("findings")[i].at("codes"));
    EXPECT_EQ(one.at("plausibility"), full.at("findings")[i].at("plausibility"));
    for (char const* const absent : {"changed", "decision", "other", "pair_difference"})
      EXPECT_FALSE(one.contains(absent)) << absent;
  }
}

TEST_F(TopFindings, ThatNeedWhatIsNotThereAreRefused) {
  for (OutputColumns const columns : {OutputColumns::kInputs, OutputColumns::kLabels}) {
    RunConfig config = config_;
    config.output.columns = columns;
    std::string const dir = run_in(name_of(columns), config);
    for (FindingOrder const order : {FindingOrder::kSeverity, FindingOrder::kDiversity}) {
      expect_error(ExitCode::kData,
                   {name_of(order), std::string("output.columns is ") + name_of(columns),
                    "expected results of output.columns: all"},
                   [&] { top(dir, query_of(order, 3)); });
    }
  }
  RunConfig nothing = config_;
  nothing.output.format = OutputFormat::kNone;
  std::string const none = run_in("none", nothing);
  expect_error(ExitCode::kNoInput, {"output.format is none"},
               [&] { top(none, query_of(FindingOrder::kFile, 3)); });
}

TEST_F(TopFindings, WithoutTheirTableAreRefused) {
  Domain domain = read_domain_yaml(config_.domain);
  domain.attributes[2].low = 0;
  folder_.write("domain.yaml", format_domain_yaml(domain));
  RunConfig config = config_;
  config.data = "";
  config.method = "themis";
  config.global.seeding = "uniform";
  std::string const alone = run_in("alone", config);
  std::string const dir = run_in("out", config_);
  folder_.write("data.csv", slurp(config_.data) + "0,0,0,2,2,3,1\n");
  for (FindingOrder const order : {FindingOrder::kPlausibility, FindingOrder::kDiversity}) {
    expect_error(ExitCode::kNoInput, {"names no `data`", "--sort severity"},
                 [&] { top(alone, query_of(order, 3)); });
    expect_error(ExitCode::kData, {"data.csv: has changed", "SHA-256", "manifest.json"},
                 [&] { top(dir, query_of(order, 3)); });
  }
  EXPECT_EQ(top(alone, query_of(FindingOrder::kSeverity, 3)).at("findings").size(), 3U);
  EXPECT_EQ(top(dir, query_of(FindingOrder::kSeverity, 3)).at("findings").size(), 3U);
}

TEST_F(TopFindings, OfASpoiltFileAreRefused) {
  std::string const dir = run_in("out", config_);
  std::string const text = slurp(dir + "/instances.csv");
  std::size_t const row = text.find('\n') + 1;
  std::size_t const end = text.find('\n', row);
  auto cells = cells_of_line(text.substr(row, end - row));
  auto const spoilt = [&](std::size_t cell, std::string const& with) {
    auto changed = cells;
    changed[cell] = with;
    std::string line;
    for (std::size_t c = 0; c < changed.size(); ++c) line += (c == 0 ? "" : ",") + changed[c];
    folder_.write("out/instances.csv", text.substr(0, row) + line + text.substr(end));
  };
  std::size_t const score = width() + selected_.size() + 2;
  for (auto const& [cell, with] : std::vector<std::pair<std::size_t, std::string>>{
           {1, "99"}, {width(), "99"}, {score, "nan"}, {score + 1, "inf"}, {3, "x"}}) {
    SCOPED_TRACE(with);
    spoilt(cell, with);
    for (FindingOrder const order : {FindingOrder::kFile, FindingOrder::kSeverity,
                                     FindingOrder::kPlausibility, FindingOrder::kDiversity}) {
      expect_error(ExitCode::kData, {"instances.csv:2: "}, [&] { top(dir, query_of(order, 3)); });
    }
  }
}

}  // namespace
}  // namespace fairlane
