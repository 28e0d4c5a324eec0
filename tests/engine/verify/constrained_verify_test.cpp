// What a verification says of a domain with constraints is what the constraints' words say, person
// by person; and its check takes that, and nothing else, for true.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <random>

#include "engine/recheck/checked_existence.h"
#include "engine/verify/box_existence.h"
#include "engine/verify/existing_groups.h"
#include "tests/engine/recheck/forgery.h"
#include "tests/engine/search/constraint_writer.h"
#include "tests/engine/verify/everybody.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// A tree as the format "fairlane-trees" has it; children of node i are written behind it.
struct RandomTree {
  Json feature = Json::array();
  Json threshold = Json::array();
  Json left = Json::array();
  Json right = Json::array();
  Json leaves = Json::array();

  int grow(std::mt19937& random, int inputs, int depth) {
    if (depth == 0) {
      leaves.push_back((static_cast<int>(random() % 2001) - 1000) / 700.0);
      return -static_cast<int>(leaves.size());
    }
    auto const node = feature.size();
    auto const input = static_cast<int>(random() % static_cast<unsigned>(inputs));
    feature.push_back(input);
    threshold.push_back(input - 2 + static_cast<int>(random() % 5) + 0.5);
    left.push_back(0);
    right.push_back(0);
    left[node] = grow(random, inputs, depth - 1);
    right[node] = grow(random, inputs, depth - 1);
    return static_cast<int>(node);
  }
  Json json() const {
    return {{"feature", feature},
            {"threshold", threshold},
            {"left", left},
            {"right", right},
            {"leaves", leaves}};
  }
};

std::string random_trees(std::mt19937& random, int inputs) {
  Json trees = Json::array();
  for (int t = 0; t < 6; ++t) {
    RandomTree tree;
    tree.grow(random, inputs, 4);
    trees.push_back(tree.json());
  }
  Json const json = {{"format", "fairlane-trees"},
                     {"version", 1},
                     {"library", "random"},
                     {"inputs", inputs},
                     {"scores", "logits"},
                     {"base", {0.05}},
                     {"leaf", "number"},
                     {"divisor", 1},
                     {"cut", 0.0},
                     {"trees", trees}};
  return json.dump();
}

/// A small network or ensemble over a domain with random constraints.
class ConstrainedSubject {
 public:
  explicit ConstrainedSubject(std::uint32_t seed) : random_(seed) {
    SmallShape shape;
    shape.seed = seed;
    shape.widths = {5, seed % 6 == 3 ? 3 : 1};
    shape.ranges.clear();
    // A large one is a single cell, which takes halving.
    bool const large = seed % 5 == 0;
    int const attributes = large ? 5 : 4;
    for (int a = 0; a < attributes; ++a)
      shape.ranges.push_back((large ? 5 : 3) + static_cast<std::int32_t>(random_() % 4));
    shape.selected = seed % 2 == 0 ? std::vector<std::int32_t>{1} : std::vector<std::int32_t>{0, 3};
    shape.constraints = ConstraintWriter(shape, random_).section(1 + static_cast<int>(seed % 4));
    // In some of those nobody has a counterpart, as another attribute says what theirs is.
    if (seed % 10 == 0) {
      shape.constraints +=
          "  - {if: {a2: {at_least: 2}}, then: {a1: -1}}\n"
          "  - {if: {a2: {at_most: 1}}, then: {a1: 0}}\n";
    }
    config_ = small_config(folder_, shape, 12);
    config_.output.dir = dir();
    config_.output.report = false;
    selected_ = shape.selected;
    if (seed % 3 == 1) {
      config_.model = folder_.write("model.json", random_trees(random_, attributes));
    } else if (seed % 2 == 0 || large) {
      // Attributes under test hardly count, so that there is something to prove.
      Network network = random_network(shape);
      auto const outputs = static_cast<std::size_t>(shape.widths.front());
      for (std::int32_t const s : shape.selected) {
        for (std::size_t o = 0; o < outputs; ++o)
          network.layers[0].weights[static_cast<std::size_t>(s) * outputs + o] *=
              large ? 0.03F : 0.2F;
      }
      write_safetensors(network, config_.model);
    }
    options_.execution.backend = "cpu";
    options_.execution.threads = 1;
    options_.cell_size = large || seed % 4 == 0 ? 0 : 3;
  }

  std::string dir() const { return folder_.file("verified"); }
  RunConfig const& config() const { return config_; }
  std::vector<std::int32_t> const& selected() const { return selected_; }
  /// An attribute that is not under test.
  int free_attribute() const { return 2; }
  int other_free_attribute() const { return selected_.size() == 1 ? 0 : 1; }
  VerifyOptions& options() { return options_; }
  void verify() { fairlane::verify(config_, options_); }
  /// The subject, unless constraints exclude everybody, or every row.
  std::unique_ptr<TestSubject> subject() const {
    try {
      return std::make_unique<TestSubject>(config_);
    } catch (Error const& error) {
      EXPECT_TRUE(error.code() == ExitCode::kConfig || error.code() == ExitCode::kData)
          << error.what();
      return nullptr;
    }
  }
  /// Replaces the domain file's constraints, and its digest in the manifest.
  void set_constraints(std::string const& section) const {
    std::string const text = slurp(config_.domain);
    write_bytes(config_.domain, text.substr(0, text.find("constraints:\n")) + section);
    Forgery const forgery(dir());
    forgery.change_json("manifest.json", [&](Json& json) {
      json["inputs"]["domain"]["sha256"] = sha256_file(config_.domain);
    });
    forgery.sign();
  }
  std::string constraints() const {
    std::string const text = slurp(config_.domain);
    return text.substr(text.find("constraints:\n"));
  }

 private:
  std::mt19937 random_;
  TemporaryFolder folder_;
  RunConfig config_;
  std::vector<std::int32_t> selected_;
  VerifyOptions options_;
};

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
    if (query.relaxed >= 0) continue;
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

// Both looks at boxes, that of the compiled constraints and that of their words, leave out nobody.
TEST(ConstrainedVerify, NarrowingABoxLeavesOutNobody) {
  int narrowed = 0;
  int emptied = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject const constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) continue;
    PackedSubject const packed(subject->view(), 16);
    BoxDomain const domain(subject->view(), packed, region_lists(*subject, {}));
    BoxExistence const existence(domain);
    CheckedExistence const by_words(domain, subject->domain());
    std::vector<int> variants;
    for (int v = 0; v < domain.variants(); ++v) variants.push_back(v);
    std::mt19937 random(seed);
    std::vector<std::int32_t> row(domain.attributes());
    for (int i = 0; i < 20; ++i) {
      GroupBox box = domain.whole();
      for (AxisRange& range : box) {
        range.first += static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
        range.last -= static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
      }
      GroupBox left = box;
      bool const some = !existence.constrained() || existence.narrow(variants, left);
      narrowed += some && left != box ? 1 : 0;
      emptied += some ? 0 : 1;
      auto const possible = existence.possible(box, variants);
      auto const in_words = by_words.possible(box, variants);
      bool anybody = false;
      each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
        for (int const v : variants) {
          domain.row(entries, v, row.data());
          bool const exists = satisfies(subject->domain().constraints, row.data());
          EXPECT_EQ(existence.exists(entries, v), exists);
          EXPECT_EQ(by_words.exists(row.data()), exists);
          if (!exists) continue;
          anybody = true;
          EXPECT_TRUE(some);
          EXPECT_EQ(std::ranges::count(possible, v), 1);
          EXPECT_EQ(std::ranges::count(in_words, v), 1);
          for (std::size_t a = 0; a < box.size() && some; ++a) {
            EXPECT_LE(left[a].first, entries[a]);
            EXPECT_GE(left[a].last, entries[a]);
          }
        }
        return true;
      });
      EXPECT_EQ(by_words.look(box, variants, 1000),
                anybody ? Emptiness::kPeopled : Emptiness::kEmpty);
    }
  }
  EXPECT_GT(narrowed, 100);
  EXPECT_GT(emptied, 100);
}

// Shares are of the groups that exist: exact in the end, and never too great before.
TEST(ConstrainedVerify, SharesAreOfTheGroupsThatExist) {
  int unfair = 0;
  int on_the_way = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject constrained(seed);
    auto const subject = constrained.subject();
    if (!subject || (subject->model().outputs() > 2 && !subject->model().scorer())) continue;
    VerifyOptions& options = constrained.options();
    options.cell_size = 0;
    options.quantify = seed % 3 == 0 ? 1 : 5000;
    if (seed % 7 == 0) options.semantics = PairSemantics::kAll;
    constrained.verify();
    Json const summary = Json::parse(slurp(constrained.dir() + "/summary.json"));
    Json const& shares = summary.at("shares");
    SmallQuery query;
    query.semantics = options.semantics;
    Everybody everybody(*subject, query);
    Everybody::Groups const truth = everybody.count_groups();
    double const groups = shares.at("groups").get<double>();
    ASSERT_EQ(groups, static_cast<double>(truth.all));
    auto const stated = [&](char const* name) { return shares.at(name).get<double>() * groups; };
    constexpr double kRounding = 1e-6;
    EXPECT_LE(stated("unfair"), static_cast<double>(truth.unfair) + kRounding);
    EXPECT_LE(stated("fair"), static_cast<double>(truth.all - truth.unfair) + kRounding);
    on_the_way += stated("undecided") > kRounding ? 1 : 0;
    unfair += stated("unfair") > kRounding ? 1 : 0;
    if (options.quantify < 5000) continue;
    EXPECT_NEAR(stated("unfair"), static_cast<double>(truth.unfair), kRounding);
    EXPECT_NEAR(stated("fair"), static_cast<double>(truth.all - truth.unfair), kRounding);
  }
  EXPECT_GT(unfair, 20);
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

// What constraints tie together is counted one by one, and refused by name where it is too much.
TEST(ConstrainedVerify, SharesAreRefusedWhereTooMuchIsTiedTogether) {
  SmallShape shape;
  shape.ranges = {3000, 2, 3, 2000};
  shape.selected = {1};
  shape.constraints = "constraints:\n  - {sum: {a0: 1, a3: 1}, at_most: 3000}\n";
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape);
  VerifyOptions options;
  options.quantify = 10;
  expect_error(ExitCode::kUnavailable, {"domain.yaml", "'a0', 'a3'", "4194304", "--quantify"},
               [&] { verify(config, options); });
  EXPECT_FALSE(std::filesystem::exists(folder.file("out/summary.json")));
}

// Of any box, it counts what the words let exist.
TEST(ExistingGroups, AreThoseOfTheWords) {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject const constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) continue;
    PackedSubject const packed(subject->view(), 16);
    BoxDomain const domain(subject->view(), packed, region_lists(*subject, {}));
    std::vector<int> variants;
    for (int v = 0; v < domain.variants(); ++v) variants.push_back(v);
    ExistingGroups const existing(domain, variants);
    std::mt19937 random(seed);
    std::vector<std::int32_t> row(domain.attributes());
    for (int i = 0; i < 10; ++i) {
      GroupBox box = domain.whole();
      for (AxisRange& range : box) {
        if (i == 0) continue;
        range.first += static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
        range.last -= static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
      }
      double some = 0.0;
      double both = 0.0;
      each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
        std::vector<bool> there;
        for (int const v : variants) {
          domain.row(entries, v, row.data());
          there.push_back(satisfies(subject->domain().constraints, row.data()));
        }
        some += std::ranges::count(there, true) > 0 ? 1.0 : 0.0;
        both += there[0] && there[1] ? 1.0 : 0.0;
        return true;
      });
      EXPECT_EQ(existing.count(box), some);
      EXPECT_LE(existing.count_both(box, 0, 1), both);
      if (variants.size() == 2) {
        EXPECT_EQ(existing.count_both(box, 0, 1), both);
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
