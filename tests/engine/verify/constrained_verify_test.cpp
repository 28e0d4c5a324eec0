// What a verification says of a domain with constraints is what the constraints' words say, person
// by person; and its check takes that, and nothing else, for true.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <random>

#include "engine/count/enumerate.h"
#include "tests/engine/recheck/forgery.h"
#include "tests/engine/verify/constrained_subject.h"
#include "tests/engine/verify/everybody.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

TEST(ConstrainedVerify, SaysOfHundredsOfDomainsWhatTheWordsSay) {
  constexpr std::uint32_t kDomains = 300;
  SaidCells said;
  int checked = 0;
  int empty_domains = 0;
  Json boxes = Json::object();
  for (std::uint32_t seed = 1; seed <= kDomains; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) {
      ++empty_domains;
      continue;
    }
    int const free = constrained.free_attribute();
    int const other = constrained.other_free_attribute();
    VerifyOptions& options = constrained.options();
    SmallQuery query;
    std::vector<std::int32_t> beside = constrained.selected();
    if (seed % 8 == 3) query.semantics = options.semantics = PairSemantics::kAll;
    if (seed % 6 == 4) {
      options.where = {fmt::format("2 a{} - a{} <= 2", free, other)};
      query.keeps = [free, other](std::vector<std::int32_t> const& row) {
        return 2 * row[static_cast<std::size_t>(free)] - row[static_cast<std::size_t>(other)] <= 2;
      };
    }
    if (seed % 7 == 5) {
      query.by = 1;
      query.relaxed = free;
      beside.push_back(free);
      options.relaxed = {{fmt::format("a{}", free), 1}};
    } else if (seed % 9 == 6) {
      options.cell_size = 0;
      options.region.from_data = {{fmt::format("a{}", free), fmt::format("a{}", other)}};
      query.pair = {free, other};
    }
    constrained.verify();
    Everybody everybody(*subject, query);
    expect_said(constrained.dir(), everybody, subject->domain().attributes.size(), beside, said);
    if (HasFatalFailure()) return;
    Json const summary = Json::parse(slurp(constrained.dir() + "/summary.json"));
    for (auto const& [name, count] : summary.at("boxes").items())
      boxes[name] = boxes.value(name, std::int64_t{0}) + count.get<std::int64_t>();
    Checked const check = Forgery(constrained.dir()).check();
    ASSERT_TRUE(check.accepted()) << check.text();
    ++checked;
  }
  EXPECT_LT(empty_domains, 75);
  EXPECT_GT(checked, 200);
  EXPECT_GT(said.fair, 1000);
  EXPECT_GT(said.unfair, 300);
  EXPECT_GT(said.empty, 100);
  EXPECT_GT(said.spared, 100);
  for (char const* kind : {"fair_merged", "fair_by_variant", "fair_by_unit", "fair_enumerated",
                           "empty", "split", "unfair"})
    EXPECT_GT(boxes[kind].get<std::int64_t>(), 20) << kind;
}

/// A constraint that a single row alone violates.
std::string all_but(std::vector<std::int32_t> const& row) {
  std::string when;
  for (std::size_t a = 0; a + 1 < row.size(); ++a)
    when += fmt::format("{}a{}: {}", a == 0 ? "" : ", ", a, row[a]);
  return fmt::format("  - {{if: {{{}}}, then: {{a{}: {{not: {}}}}}}}\n", when, row.size() - 1,
                     row.back());
}

// Of an example one side is said not to exist: nothing else about it is wrong.
TEST(ConstrainedVerify, ACheckRefusesExamplesOfWhomOneDoesNotExist) {
  int refused = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) continue;
    constrained.verify();
    auto const examples = CsvLines(constrained.dir() + "/counterexamples.csv").numbers;
    if (examples.empty()) continue;
    std::size_t const width = subject->domain().attributes.size();
    auto const& example = examples[seed % examples.size()];
    std::vector<std::int32_t> row(example.begin() + 1,
                                  example.begin() + 1 + static_cast<int>(width));
    bool const second = seed % 4 < 2;
    for (std::size_t k = 0; second && k < constrained.selected().size(); ++k)
      row[static_cast<std::size_t>(constrained.selected()[k])] = example[1 + width + k];
    constrained.set_constraints(constrained.constraints() + all_but(row));
    Checked const check = Forgery(constrained.dir()).check();
    EXPECT_FALSE(check.accepted());
    std::string const words =
        second ? "the second of the two does not exist" : "the first of the two does not exist";
    EXPECT_NE(check.text().find(words), std::string::npos) << check.text();
    ++refused;
  }
  EXPECT_GT(refused, 20);
}

// A fair cell with somebody in it is said to be empty.
TEST(ConstrainedVerify, ACheckRefusesCellsThatAreCalledEmptyAndAreNot) {
  int refused = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) continue;
    constrained.verify();
    Forgery const forgery(constrained.dir());
    std::size_t const width = subject->domain().attributes.size();
    Everybody everybody(*subject, {});
    CsvLines const cells(constrained.dir() + "/cells.csv");
    for (std::size_t cell = 0; cell < cells.texts.size(); ++cell) {
      auto const& words = cells.texts[cell];
      std::vector<std::int32_t> low;
      std::vector<std::int32_t> high;
      for (std::size_t a = 0; a < width; ++a) {
        low.push_back(cells.numbers[cell][1 + 2 * a]);
        high.push_back(cells.numbers[cell][2 + 2 * a]);
      }
      if (words[1 + 2 * width] != "unsat" || !everybody.look(low, high).anybody) continue;
      auto lines = lines_of(forgery.text("cells.csv"));
      std::string& line = lines[cell + 1];
      line.replace(line.find(",unsat,,"), 8, ",unsat,empty,");
      forgery.set("cells.csv", text_of(lines));
      forgery.change_json("summary.json", [](Json& json) {
        json["empty_cells"] = json.value("empty_cells", std::int64_t{0}) + 1;
      });
      auto known = forgery.cells();
      known[cell] = subject->model().outputs() == 3 ? "fair xxx" : "fair x";
      forgery.sign(known);
      Checked const check = forgery.check();
      EXPECT_FALSE(check.accepted());
      EXPECT_NE(
          check.text().find(fmt::format("cell {}, character 1 of its proof: a leaf is said to "
                                        "be empty where somebody may be",
                                        cell)),
          std::string::npos)
          << check.text();
      ++refused;
      break;
    }
  }
  EXPECT_GT(refused, 20);
}

// Under other constraints than those it was written with: what is accepted is true of them.
TEST(ConstrainedVerify, ACheckAcceptsNothingFalseUnderOtherConstraints) {
  int accepted = 0;
  int refused = 0;
  int said_empty = 0;
  for (std::uint32_t seed = 1; seed <= 75; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject constrained(seed);
    if (!constrained.subject()) continue;
    constrained.verify();
    // None, one less, or one more.
    std::string section = constrained.constraints();
    std::size_t const last = section.rfind("  - ");
    if (seed % 3 == 0) {
      section.clear();
    } else if (seed % 3 == 1) {
      section = section.find("  - ") == last ? "" : section.substr(0, last);
    } else {
      section += fmt::format("  - {{sum: {{a0: 1, a2: 1}}, at_most: {}}}\n", seed % 4);
    }
    constrained.set_constraints(section);
    auto const subject = constrained.subject();
    if (!subject) continue;
    Checked const check = Forgery(constrained.dir()).check();
    said_empty += check.text().find("said to be empty") != std::string::npos ? 1 : 0;
    if (!check.accepted()) {
      ++refused;
      continue;
    }
    ++accepted;
    Everybody everybody(*subject, {});
    SaidCells said;
    expect_said(constrained.dir(), everybody, subject->domain().attributes.size(),
                constrained.selected(), said);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 20);
  EXPECT_GT(said_empty, 5);
}

// Shares are of the groups that exist within the limits, and exact in the end.
TEST(ConstrainedVerify, SharesAreOfTheGroupsThatExist) {
  int unfair = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject constrained(seed);
    auto const subject = constrained.subject();
    if (!subject || (subject->model().outputs() > 2 && !subject->model().scorer())) continue;
    VerifyOptions& options = constrained.options();
    options.cell_size = 0;
    options.quantify = seed % 3 == 0 ? 1 : 5000;
    if (seed % 7 == 0) options.semantics = PairSemantics::kAll;
    SmallQuery query;
    query.semantics = options.semantics;
    if (seed % 4 == 1) {
      int const free = constrained.free_attribute();
      int const other = constrained.other_free_attribute();
      options.where = {fmt::format("3 a{} + 2 a{} <= 5", free, other)};
      query.keeps = [free, other](std::vector<std::int32_t> const& row) {
        return 3 * row[static_cast<std::size_t>(free)] + 2 * row[static_cast<std::size_t>(other)] <=
               5;
      };
    }
    constrained.verify();
    Json const summary = Json::parse(slurp(constrained.dir() + "/summary.json"));
    Json const& shares = summary.at("shares");
    Everybody everybody(*subject, query);
    Everybody::Groups const truth = everybody.count_groups();
    double const groups = shares.at("groups").get<double>();
    ASSERT_EQ(groups, static_cast<double>(truth.all));
    auto const stated = [&](char const* name) { return shares.at(name).get<double>() * groups; };
    constexpr double kRounding = 1e-6;
    EXPECT_LE(stated("unfair"), static_cast<double>(truth.unfair) + kRounding);
    EXPECT_LE(stated("fair"), static_cast<double>(truth.all - truth.unfair) + kRounding);
    unfair += stated("unfair") > kRounding ? 1 : 0;
    if (options.quantify < 5000) continue;
    EXPECT_NEAR(stated("unfair"), static_cast<double>(truth.unfair), kRounding);
    EXPECT_NEAR(stated("fair"), static_cast<double>(truth.all - truth.unfair), kRounding);
    Checked const checked = Forgery(constrained.dir()).check(1);
    EXPECT_TRUE(checked.accepted()) << checked.text();
  }
  EXPECT_GT(unfair, 40);
}

// Of boxes in which too much depends on one another, whoever is missing counts at worst.
TEST(ConstrainedVerify, SharesOfLargeBoxesAreNeverTooGreat) {
  SmallShape shape;
  shape.ranges = {120, 2, 120, 100};  // more than are evaluated at once
  shape.selected = {1};
  shape.constraints = "constraints:\n  - {sum: {a0: 1, a2: 1, a3: 2}, at_most: 330}\n";
  double fair_by_trees = 0.0;
  double fair_by_network = 0.0;
  int on_the_way = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TemporaryFolder const folder;
    bool const trees = seed % 4 == 0;
    shape.seed = seed;
    RunConfig config = small_config(folder, shape);
    std::mt19937 random(seed);
    if (trees) config.model = folder.write("model.json", random_trees(random, 4));
    config.output.report = false;
    VerifyOptions options;
    options.quantify = trees ? 15 : 1;  // the whole; halves, three times over
    config.output.dir = folder.file("shares");
    Json const shares = Json::parse(verify(config, options)).at("shares");
    config.output.dir = folder.file("counts");
    Json const counts = Json::parse(enumerate(config, {})).at("counts");
    auto const groups = counts.at("groups").get<double>();
    auto const unfair = counts.at("unique_groups").get<double>();
    EXPECT_EQ(shares.at("groups").get<double>(), groups);
    EXPECT_LE(shares.at("unfair").get<double>() * groups, unfair + 1e-6);
    EXPECT_LE(shares.at("fair").get<double>() * groups, groups - unfair + 1e-6);
    (trees ? fair_by_trees : fair_by_network) += shares.at("fair").get<double>();
    on_the_way += !trees && shares.at("undecided").get<double>() > 1e-6 ? 1 : 0;
    EXPECT_TRUE(trees || shares.at("boxes").get<int>() == 1);
  }
  EXPECT_GT(fair_by_trees, 0.1);
  EXPECT_GT(fair_by_network, 0.1);
  EXPECT_GT(on_the_way, 0);
}

// Two models are compared on the same people.
TEST(ConstrainedVerify, StandsBesideAnotherOfTheSameConstraints) {
  ConstrainedSubject constrained(2);
  ASSERT_FALSE(constrained.subject()->constraints().empty());
  constrained.verify();
  RunConfig again = constrained.config();
  again.output.dir = constrained.dir() + "-again";
  VerifyOptions options = constrained.options();
  options.against = constrained.dir();
  Json const summary = Json::parse(verify(again, options));
  EXPECT_EQ(summary.at("against").at("became_fair").get<int>(), 0);
  EXPECT_EQ(summary.at("against").at("became_unfair").get<int>(), 0);
  std::string const text = slurp(again.domain);
  write_bytes(again.domain, text + "  - {sum: {a0: 1, a2: 1}, at_most: 3}\n");
  again.output.dir = constrained.dir() + "-other";
  expect_error(ExitCode::kUsage, {"--against", "constraints"}, [&] { verify(again, options); });
  write_bytes(again.domain, text.substr(0, text.find("constraints:\n")));
  expect_error(ExitCode::kUsage, {"--against", "constraints"}, [&] { verify(again, options); });
}

// What depends on one another is counted together, and refused by name where it is too much.
TEST(ConstrainedVerify, SharesAreRefusedWhereTooMuchIsTiedTogether) {
  SmallShape shape;
  shape.ranges = {6000, 2, 3, 4000};
  shape.selected = {1};
  shape.constraints = "constraints:\n  - {sum: {a0: 1, a3: 1}, at_most: 6000}\n";
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape);
  VerifyOptions options;
  options.quantify = 10;
  expect_error(ExitCode::kUnavailable,
               {"domain.yaml: by constraints, 'a0', 'a3'", "16777216", "--quantify"},
               [&] { verify(config, options); });
  shape.constraints.clear();
  config = small_config(folder, shape);
  options.where = {"a0 + a3 <= 6000"};
  expect_error(ExitCode::kUnavailable, {"by --where, 'a0', 'a3'"},
               [&] { verify(config, options); });
  EXPECT_FALSE(std::filesystem::exists(folder.file("out/summary.json")));
}

}  // namespace
}  // namespace fairlane
