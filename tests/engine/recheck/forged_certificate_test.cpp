#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "engine/verify/verify.h"
#include "tests/engine/count/enumeration_output.h"
#include "tests/engine/recheck/forgery.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

/// A small network of one of many kinds, verified in small cells.
class SmallVerification {
 public:
  explicit SmallVerification(std::uint32_t seed) {
    SmallShape shape;
    shape.seed = seed;
    shape.ranges = {3, 6, 4, 5, 2, 6};
    shape.selected = seed % 3 == 0   ? std::vector<std::int32_t>{4}
                     : seed % 3 == 1 ? std::vector<std::int32_t>{0, 4}
                                     : std::vector<std::int32_t>{0, 2, 4};
    shape.flagged = seed % 2 == 0 ? std::vector<std::int32_t>{1} : std::vector<std::int32_t>{};
    constexpr std::array kActivations = {
        Activation::kRelu, Activation::kLeakyRelu, Activation::kTanh,    Activation::kLinear,
        Activation::kElu,  Activation::kRelu,      Activation::kGelu,    Activation::kSigmoid,
        Activation::kSilu, Activation::kRelu,      Activation::kGeluTanh};
    shape.activation = kActivations[seed % kActivations.size()];
    shape.widths = {7, 5, seed % 5 == 3 ? 2 : seed % 5 == 4 ? 3 : 1};
    shape.overflows = shape.activation == Activation::kRelu && seed % 8 == 6;
    config_ = small_config(folder_, shape);
    config_.output.dir = dir();
    // Where the attribute whose values overflow is not under test, whole groups have no label.
    if (shape.overflows) config_.protected_attributes = {{"a4", {}}};
    config_.threshold = seed % 6 == 5 && shape.widths.back() == 1 ? 0.7 : 0.5;
    damp(shape);
    if (seed % 4 == 2) encode();
    VerifyOptions options;
    options.execution.backend = "cpu";
    options.execution.threads = 1;
    options.cell_size = 3;
    options.semantics = seed % 4 == 3 ? PairSemantics::kAll : PairSemantics::kAny;
    if (seed % 9 == 4) options.region.rows = true;
    if (seed % 9 == 5) options.region.from_data = {{"a1", "a3"}};
    verify(config_, options);
  }

  std::string dir() const { return folder_.file("verified"); }
  std::string file(std::string const& name) const { return folder_.file(name); }
  RunConfig const& config() const { return config_; }

 private:
  /// Attributes under test hardly count, so that cells at the boundary may be fair, too.
  void damp(SmallShape const& shape) {
    Network network = random_network(shape);
    auto const outputs = static_cast<std::size_t>(shape.widths.front());
    for (std::int32_t const s : shape.selected) {
      for (std::size_t o = shape.overflows ? 1 : 0; o < outputs; ++o)
        network.layers[0].weights[static_cast<std::size_t>(s) * outputs + o] *= 0.1F;
    }
    write_safetensors(network, config_.model);
  }
  /// One attribute by one-hot columns: of the same network, whose weights of it are spread out.
  void encode() {
    std::string const domain = slurp(config_.domain);
    std::string const name = "name: a3";
    std::size_t const at = domain.find(name);
    ASSERT_NE(at, std::string::npos) << domain;
    Network network = read_safetensors(config_.model);
    DenseLayer& first = network.layers[0];
    auto const outputs = static_cast<std::size_t>(first.outputs);
    std::vector<float> spread;
    for (std::size_t a = 0; a < 6; ++a) {
      for (int code = 0; code < (a == 3 ? 5 : 1); ++code) {
        float const times = a == 3 ? static_cast<float>(lowest(a) + code) : 1.0F;
        for (std::size_t o = 0; o < outputs; ++o)
          spread.push_back(first.weights[a * outputs + o] * times);
      }
    }
    first.weights = spread;
    first.inputs = 10;
    write_safetensors(network, config_.model);
    std::string changed = domain;
    write_bytes(config_.domain, changed.insert(at + name.size(), ", encoding: one-hot"));
  }

  TemporaryFolder folder_;
  RunConfig config_;
};

constexpr std::uint32_t kSeeds = 44;

// Networks, queries and regions of all kinds: all is proven again, by one thread or several, and is
// what evaluating everybody says.
TEST(ForgedCertificate, AcceptsWhatIsTrue) {
  std::int64_t fair = 0;
  std::int64_t unfair = 0;
  std::int64_t unknown = 0;
  std::int64_t leaves = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallVerification const verified(seed);
    if (testing::Test::HasFatalFailure()) return;
    Checked const checked = Forgery(verified.dir()).check(2);
    EXPECT_TRUE(checked.accepted()) << checked.text();
    expect_true(verified.dir());
    fair += checked.result.fair;
    unfair += checked.result.unfair;
    unknown += checked.result.unknown;
    leaves += checked.result.leaves;
  }
  EXPECT_GT(fair, 200);
  EXPECT_GT(unfair, 200);
  EXPECT_GT(unknown, 0);  // undefined ones
  EXPECT_GT(leaves, fair);
}

/// A tree of cuts at random places, with leaves of random kinds.
std::string random_proof(std::mt19937& random, std::size_t axes, int depth) {
  constexpr std::string_view kLeaves = "mvun";
  if (depth == 0 || random() % 3 == 0) return std::string(1, kLeaves[random() % kLeaves.size()]);
  std::string const cut =
      std::to_string(random() % axes) + ":" + std::to_string(random() % 3) + ";";
  std::string const lower = random_proof(random, axes, depth - 1);
  return cut + lower + random_proof(random, axes, depth - 1);
}

// A cell with an unfair group, or one without a label, that is called fair everywhere, by whatever
// well-formed proof, is told as such.
TEST(ForgedCertificate, TellsEveryCellThatIsCalledFairAndIsNot) {
  int unfair = 0;
  int undefined = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallVerification const verified(seed);
    Forgery const forgery(verified.dir());
    auto const cells = forgery.cells();
    std::mt19937 random(seed);
    int left = 4;
    for (std::size_t cell = 0; cell < cells.size() && left > 0; ++cell) {
      if (cells[cell].starts_with("fair") || random() % 3 == 0) continue;
      --left;
      ++(cells[cell] == "unfair" ? unfair : undefined);
      std::string const kept = verified.file("kept");
      std::filesystem::remove_all(kept);
      std::filesystem::copy(verified.dir(), kept);
      bool const plain = random() % 2 == 0;
      int const outputs = seed % 5 == 4 ? 3 : 1;
      std::string proof;
      for (int root = 0; root < outputs; ++root) proof += plain ? "m" : random_proof(random, 3, 4);
      forgery.call_fair(cell, proof);
      Checked const checked = forgery.check();
      EXPECT_FALSE(checked.accepted()) << "cell " << cell << " by " << proof;
      std::string const place = "certificate.txt: cell " + std::to_string(cell) + ", ";
      EXPECT_NE(checked.text().find(place), std::string::npos) << checked.text();
      std::filesystem::remove_all(verified.dir());
      std::filesystem::rename(kept, verified.dir());
    }
    EXPECT_TRUE(forgery.check().accepted());
  }
  EXPECT_GT(unfair, 100);
  EXPECT_GT(undefined, 5);
}

// Any change to the query or its inputs, signed again: what is accepted is true of what is named
// then.
TEST(ForgedCertificate, AcceptsNothingFalseOfAnotherQuery) {
  int accepted = 0;
  int refused = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallVerification const verified(seed);
    Forgery const forgery(verified.dir());
    std::mt19937 random(seed);
    auto const sign_input = [&](char const* name, std::string const& path) {
      forgery.change_json("manifest.json",
                          [&](Json& json) { json["inputs"][name]["sha256"] = sha256_file(path); });
    };
    switch (seed % 6) {
      case 0: {  // a bit of a weight, mostly in its fraction
        std::string bytes = slurp(verified.config().model);
        std::size_t const at = bytes.size() - 1 - random() % 300;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 7));
        write_bytes(verified.config().model, bytes);
        sign_input("model", verified.config().model);
        break;
      }
      case 1:
        forgery.change_json("manifest.json",
                            [](Json& json) { json["config"]["threshold"] = 0.8125; });
        break;
      case 2: {
        std::string domain = slurp(verified.config().domain);
        std::size_t const at = domain.find("high: ") + 6;
        domain[at] = static_cast<char>(domain[at] + 1);
        write_bytes(verified.config().domain, domain);
        sign_input("domain", verified.config().domain);
        break;
      }
      case 3:
        forgery.change_json("manifest.json", [](Json& json) {
          Json& semantics = json["verify"]["semantics"];
          semantics = semantics.get<std::string>() == "any" ? "all" : "any";
        });
        break;
      case 4:  // the last value under test is no longer compared
        forgery.change_json("manifest.json", [](Json& json) {
          Json& values = json["config"]["protected"][std::size_t{0}]["values"];
          auto kept = values.get<std::vector<std::int64_t>>();
          kept.pop_back();
          values = kept;
        });
        break;
      default:
        forgery.change_json("manifest.json", [](Json& json) { json["verify"]["cell_size"] = 4; });
    }
    forgery.sign();
    Checked const checked = forgery.check();
    ++(checked.accepted() ? accepted : refused);
    if (checked.accepted()) expect_true(verified.dir());
  }
  EXPECT_GT(refused, 12);
  EXPECT_GT(accepted, 0);
}

// Whatever bytes of whatever file are others, nothing is accepted, but for times.
TEST(ForgedCertificate, RefusesFlippedBytesOfEveryFile) {
  SmallVerification const verified(1);
  Forgery const forgery(verified.dir());
  Json summary = Json::parse(forgery.text("summary.json"));
  summary.erase("timing");
  std::mt19937 random(5);
  for (char const* name :
       {"certificate.txt", "manifest.json", "cells.csv", "counterexamples.csv", "summary.json"}) {
    std::string const text = forgery.text(name);
    int refused = 0;
    for (int trial = 0; trial < 120; ++trial) {
      std::string changed = text;
      for (auto flips = random() % 3 + 1; flips > 0; --flips) {
        std::size_t const at = random() % changed.size();
        changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
      }
      if (trial % 4 == 3) changed.resize(random() % changed.size());
      if (changed == text) continue;
      forgery.set(name, changed);
      Checked const checked = forgery.check();
      refused += checked.accepted() ? 0 : 1;
      if (!checked.accepted()) continue;
      ASSERT_STREQ(name, "summary.json") << "trial " << trial;
      Json json = Json::parse(changed);
      json.erase("timing");
      ASSERT_EQ(json.dump(), summary.dump()) << "trial " << trial;
    }
    EXPECT_GT(refused, 60) << name;
    forgery.set(name, text);
  }
  EXPECT_TRUE(forgery.check().accepted());
}

/// A change that is signed again, and what has to be said of it.
struct SignedChange {
  char const* what;
  std::function<void(Forgery const&)> change;
  ExitCode code;
  char const* said;
};

/// Changes a word of the first example, counted from its end.
std::function<void(Forgery const&)> in_example(std::size_t from_end, char const* by) {
  return [from_end, by](Forgery const& forgery) {
    auto lines = lines_of(forgery.text("counterexamples.csv"));
    std::string& line = lines.at(1);
    std::size_t end = line.size();
    for (std::size_t i = 0; i < from_end; ++i) end = line.rfind(',', end - 1);
    std::size_t const begin = line.rfind(',', end - 1) + 1;
    ASSERT_NE(line.substr(begin, end - begin), by);
    line.replace(begin, end - begin, by);
    forgery.set("counterexamples.csv", text_of(lines));
  };
}

std::function<void(Forgery const&)> in_manifest(std::function<void(Json&)> change) {
  return [change = std::move(change)](Forgery const& f) { f.change_json("manifest.json", change); };
}

std::function<void(Forgery const&)> relaxed_by(char const* attribute, int by) {
  return in_manifest([=](Json& j) {
    j["verify"]["relaxed"] = Json::object();
    j["verify"]["relaxed"][attribute] = by;
  });
}

std::function<void(Forgery const&)> in_summary(std::function<void(Json&)> change) {
  return [change = std::move(change)](Forgery const& f) { f.change_json("summary.json", change); };
}

std::vector<SignedChange> signed_changes() {
  constexpr ExitCode kFails = ExitCode::kOk;  // no error of the check itself: it counts failures
  return {
      {"an output", in_example(4, "0.125"), kFails, ": logit is '0.125', expected "},
      {"the pair's output", in_example(3, "1e9"), kFails, ": pair_logit is '1e9', expected "},
      {"an output in double", in_example(2, "nan"), kFails, ": double_logit is 'nan', expected "},
      {"the pair's in double", in_example(1, ""), kFails, ": pair_double_logit is '', expected "},
      {"whether double agrees", in_example(0, "maybe"), kFails, ": double_agrees is 'maybe'"},
      {"a label", in_example(6, "7"), kFails, ": label is '7', expected 1"},
      {"the pair's label", in_example(5, "1"), kFails, ": pair_label is '1', expected 0"},
      {"a number that no integer holds", in_example(8, "-9223372036854775808"), kFails,
       "expected a value of the cell"},
      {"a column more", in_example(0, "yes,yes"), kFails, "columns, expected"},
      {"examples that double does not confirm",
       in_summary([](Json& j) { j["counterexamples"]["float32_only"] = 77; }), kFails,
       "counterexamples.float32_only is 77, expected "},
      {"boxes", in_summary([](Json& j) { j["boxes"]["all"] = 3; }), kFails,
       "boxes.all is 3, expected "},
      {"a margin in the summary", in_summary([](Json& j) { j["margin"] = 0.5; }), kFails,
       "margin is 0.5, expected 0"},
      {"no boxes", in_summary([](Json& j) { j.erase("boxes"); }), kFails, "is no summary"},
      {"a margin below 0", in_manifest([](Json& j) { j["verify"]["margin"] = -1.0; }),
       ExitCode::kData, "margin is -1, expected a number of at least 0"},
      {"cells of a negative size", in_manifest([](Json& j) { j["verify"]["cell_size"] = -3; }),
       ExitCode::kData, "cell_size is -3, expected 0 to 16777216"},
      {"cells of a size beyond all numbers",
       in_manifest([](Json& j) { j["verify"]["cell_size"] = std::int64_t{1} << 62; }),
       ExitCode::kData, "expected 0 to 16777216"},
      {"a relaxed attribute", relaxed_by("a1", 1), kFails, "the header is not that"},
      {"a relaxed attribute that is none", relaxed_by("zz", 1), ExitCode::kData,
       "relaxes 'zz' by 1, expected an attribute"},
      {"an attribute that is relaxed by nothing", relaxed_by("a1", 0), ExitCode::kData,
       "relaxes 'a1' by 0, expected an attribute"},
      {"a tuple of nothing",
       in_manifest([](Json& j) { j["verify"]["from_data"] = Json::array({Json::array()}); }),
       ExitCode::kData, "a tuple of no attributes"},
      {"no query", in_manifest([](Json& j) { j["verify"] = nullptr; }), ExitCode::kData,
       "is not a manifest of `fairlane verify`"},
      {"a range of an attribute that is none", in_manifest([](Json& j) {
         j["verify"]["ranges"] = Json::object();
         j["verify"]["ranges"]["zz"] = {0, 1};
       }),
       ExitCode::kUsage, "zz"},
      {"an empty fair cell",
       [](Forgery const& f) { f.replace("cells.csv", ",unsat,,", ",unsat,empty,"); }, kFails,
       "with its reason and boxes"},
      {"a cell without boxes",
       [](Forgery const& f) {
         auto lines = lines_of(f.text("cells.csv"));
         lines[1] = lines[1].substr(0, lines[1].rfind(',')) + ",-1";
         f.set("cells.csv", text_of(lines));
       },
       kFails, "with its reason and boxes"},
  };
}

TEST(ForgedCertificate, TellsWhatIsWrongWhoeverSignsIt) {
  for (SignedChange const& one : signed_changes()) {
    SCOPED_TRACE(one.what);
    SmallVerification const verified(1);
    Forgery const forgery(verified.dir());
    ASSERT_TRUE(forgery.check().accepted());
    one.change(forgery);
    forgery.sign();
    Checked const checked = forgery.check();
    EXPECT_FALSE(checked.accepted());
    EXPECT_EQ(checked.code.value_or(ExitCode::kOk), one.code) << checked.text();
    EXPECT_NE(checked.text().find(one.said), std::string::npos) << checked.text();
    EXPECT_EQ(checked.error.find('\n'), std::string::npos) << checked.error;
  }
}

// `verify` proves no margin of more than two outputs, and no manifest makes it so.
TEST(ForgedCertificate, RefusesAMarginOfSeveralOutputs) {
  SmallVerification const verified(4);
  Forgery const forgery(verified.dir());
  for (char const* name : {"manifest.json", "summary.json"}) {
    forgery.change_json(name, [&](Json& json) {
      Json& part = name == std::string("manifest.json") ? json["verify"] : json;
      part["margin"] = 1.0e-6;
    });
  }
  forgery.sign();
  EXPECT_EQ(forgery.check().code, ExitCode::kUnavailable) << forgery.check().text();
}

// Without being signed again, every result has its digest.
TEST(ForgedCertificate, TellsChangedResults) {
  SmallVerification const verified(1);
  Forgery const forgery(verified.dir());
  for (char const* name : {"cells.csv", "counterexamples.csv", "summary.json"}) {
    SCOPED_TRACE(name);
    std::string const text = forgery.text(name);
    std::string changed = text;
    std::size_t const digit = changed.find_first_of("0123456789", changed.size() / 3);
    changed[digit] = changed[digit] == '1' ? '2' : '1';
    forgery.set(name, changed);
    EXPECT_NE(forgery.check().text().find(std::string(name) + ": has SHA-256"), std::string::npos);
    forgery.set(name, text);
  }
  // A certificate that leaves one out vouches for nothing.
  auto lines = lines_of(forgery.text("certificate.txt"));
  lines.pop_back();
  lines[2] = "files {}";
  std::string const all = text_of(lines);
  forgery.set("certificate.txt", all + "sha256 " + sha256(all) + "\n");
  EXPECT_NE(forgery.check().text().find("certificate.txt records none"), std::string::npos);
}

// The cells of a file are those of cells.csv, which is bound to the certificate.
TEST(ForgedCertificate, BindsTheCellsOfAFile) {
  SmallVerification const verified(2);
  RunConfig const config = to(verified.config(), verified.file("listed"));
  VerifyOptions options;
  options.execution.backend = "cpu";
  options.cell_file = verified.dir() + "/cells.csv";
  verify(config, options);
  Forgery const forgery(config.output.dir);
  EXPECT_TRUE(forgery.check().accepted()) << forgery.check().text();
  expect_true(config.output.dir);
  auto lines = lines_of(forgery.text("cells.csv"));
  lines.back() = lines[1];
  forgery.set("cells.csv", text_of(lines));
  Checked const checked = forgery.check();
  EXPECT_EQ(checked.code, ExitCode::kIntegrity) << checked.text();
  forgery.sign();
  EXPECT_FALSE(forgery.check().accepted());
}

// An example has to be of the region and of the values that are compared.
TEST(ForgedCertificate, TellsExamplesBeyondTheQuery) {
  SmallShape shape;
  shape.ranges = {4, 6, 4, 5, 2, 6};
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape, 8);
  config.output.dir = folder.file("verified");
  config.protected_attributes = {{"a0", {-2, 1}}};
  VerifyOptions options;
  options.execution.backend = "cpu";
  options.region.rows = true;
  verify(config, options);
  Forgery const forgery(config.output.dir);
  ASSERT_TRUE(forgery.check().accepted()) << forgery.check().text();
  auto const lines = lines_of(forgery.text("counterexamples.csv"));
  ASSERT_EQ(lines.size(), 2U);
  auto const with = [&](std::size_t column, int value) {
    std::vector<std::string> words;
    std::istringstream stream(lines[1]);
    for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
    words[column] = std::to_string(value);
    std::string line;
    for (std::string const& word : words) line += (line.empty() ? "" : ",") + word;
    forgery.set("counterexamples.csv", lines[0] + "\n" + line + "\n");
    forgery.sign();
    return forgery.check().text();
  };
  EXPECT_NE(with(1, 0).find("'a0' is 0, expected a value that is compared"), std::string::npos);
  // Of 8 rows among 1,440 groups, some value of another attribute makes a group that is no row's.
  std::string said;
  for (int value = -1; value <= 4; ++value) said += with(2, value);
  EXPECT_NE(said.find("is not in the region"), std::string::npos) << said;
}

// Two people who differ in one of two attributes under test are compared by `any` alone.
TEST(ForgedCertificate, TellsExamplesThatAreNotCompared) {
  int told = 0;
  for (std::uint32_t const seed : {1U, 10U, 13U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallVerification const verified(seed);
    Forgery const forgery(verified.dir());
    forgery.change_json("manifest.json", [](Json& json) { json["verify"]["semantics"] = "all"; });
    forgery.sign();
    std::string const said = forgery.check().text();
    told += said.find("differ in 1 of 2 attributes under test, and are not compared") !=
            std::string::npos;
  }
  EXPECT_GT(told, 1);
}

// A statement that needs more effort than there is, is neither right nor wrong.
TEST(ForgedCertificate, LeavesOpenWhatItHasNoEffortFor) {
  std::int64_t open = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SmallVerification const verified(seed);
    Forgery const forgery(verified.dir());
    auto cells = forgery.cells();
    std::string const whole = seed % 5 == 4 ? "fair mmm" : "fair m";  // by pairs of classes
    for (std::string& cell : cells) {
      if (cell.starts_with("fair ")) cell = whole;
    }
    forgery.sign(cells);
    Checked const little = forgery.check(1, 1);
    EXPECT_EQ(little.result.failed, 0) << little.text();
    EXPECT_EQ(little.accepted(), little.result.open.empty());
    open += little.result.unproven;
    EXPECT_TRUE(forgery.check().accepted()) << forgery.check().text();
  }
  EXPECT_GT(open, 0);
}

}  // namespace
}  // namespace fairlane
