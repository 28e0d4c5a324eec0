#include "engine/recheck/recheck.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <regex>

#include "base/sha256.h"
#include "engine/verify/verify.h"
#include "tests/checkout.h"
#include "tests/engine/recheck/forgery.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

/// Makes a certificate whole again whose lines were changed: its digests fit what is there.
void seal(std::string const& dir) {
  std::string text = slurp(dir + "/certificate.txt");
  text = std::regex_replace(text, std::regex("\nmanifest [0-9a-f]+\n"),
                            "\nmanifest " + sha256_file(dir + "/manifest.json") + "\n",
                            std::regex_constants::format_first_only);
  text.erase(text.rfind("sha256 "));
  write_bytes(dir + "/certificate.txt", text + "sha256 " + sha256(text) + "\n");
}

/// A finished verification of a small network, and what is said of it.
class VerifiedFolder {
 public:
  explicit VerifiedFolder(std::uint32_t seed, int classes = 1, double margin = 0.0,
                          Activation activation = Activation::kRelu,
                          std::vector<std::string> where = {}, std::int32_t relaxed = 0) {
    SmallShape shape;
    shape.ranges = {3, 9, 9, 9, 2, 9};
    shape.seed = seed;
    shape.widths = {8, 6, 5, classes};
    shape.activation = activation;
    config_ = small_config(folder_, shape);
    config_.output.dir = dir();
    // Attributes under test hardly count, so that cells at the boundary may be fair, too.
    Network network = random_network(shape);
    for (std::size_t const a : {std::size_t{0}, std::size_t{4}}) {
      for (std::size_t o = 0; o < 8; ++o) network.layers[0].weights[a * 8 + o] *= 0.01F;
    }
    write_safetensors(network, config_.model);
    VerifyOptions options;
    options.execution.backend = "cpu";
    options.execution.threads = 2;
    options.cell_size = 3;
    options.margin = margin;
    options.where = std::move(where);
    if (relaxed > 0) options.relaxed = {{"a1", relaxed}, {"a5", 1}};
    verify(config_, options);
  }

  std::string dir() const { return folder_.file("verified"); }
  std::string file(std::string const& name) const { return folder_.file(name); }
  RecheckResult check(int threads = 1) const {
    RecheckOptions options;
    options.threads = threads;
    return recheck(dir(), options);
  }
  /// Whether the directory is taken for right.
  bool is_accepted() const {
    try {
      RecheckResult const result = check();
      return result.failed == 0 && result.unproven == 0;
    } catch (Error const&) {
      return false;
    }
  }
  std::string text(std::string const& name) const { return slurp(dir() + "/" + name); }
  void set_text(std::string const& name, std::string const& text) const {
    write_bytes(dir() + "/" + name, text);
  }
  /// Replaces the first place that a pattern matches; it has one.
  void replace(std::string const& name, std::string const& pattern, std::string const& by) const {
    std::string const before = text(name);
    std::string const after = std::regex_replace(before, std::regex(pattern), by,
                                                 std::regex_constants::format_first_only);
    ASSERT_NE(before, after) << pattern;
    set_text(name, after);
  }
  /// Line i of a file, from 0.
  std::string line(std::string const& name, int i) const {
    std::istringstream lines(text(name));
    std::string line;
    for (int k = 0; k <= i; ++k) std::getline(lines, line);
    return line;
  }

 private:
  TemporaryFolder folder_;
  RunConfig config_;
};

TEST(Recheck, AcceptsWhatVerifyProves) {
  std::int64_t leaves = 0;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    VerifiedFolder const verified(seed,
                                  seed % 4 == 0   ? 3
                                  : seed % 4 == 1 ? 2
                                                  : 1,
                                  seed % 4 == 2 ? 0.01 : 0.0,
                                  seed % 3 == 0 ? Activation::kLeakyRelu : Activation::kRelu);
    RecheckResult const result = verified.check();
    EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
    EXPECT_EQ(result.unproven, 0);
    EXPECT_EQ(result.fair + result.unfair + result.unknown, result.cells);
    EXPECT_GE(result.leaves, result.fair);
    EXPECT_EQ(verified.check(2).leaves, result.leaves);
    leaves += result.leaves - result.fair;
  }
  EXPECT_GT(leaves, 50);  // cells whose proofs have cuts
}

// Limits leave cells and leaves empty; nothing is said of whoever is beyond them.
TEST(Recheck, KeepsLimits) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    VerifiedFolder const verified(seed, 1, 0.0, Activation::kRelu,
                                  {"a1 + 2 a2 - a5 <= 1", "a3 >= a1"});
    ASSERT_TRUE(verified.is_accepted());
    EXPECT_NE(verified.text("certificate.txt").find('x'), std::string::npos);
    // Fewer limits make more people, of whom nothing was proven or who are unfair.
    verified.replace("manifest.json", "\"a3 >= a1\"", "\"a3 >= -99\"");
    seal(verified.dir());
    EXPECT_FALSE(verified.is_accepted());
    // More of them leave examples beyond.
    verified.replace("manifest.json", "\"a3 >= -99\"", "\"a3 >= a1 + 5\"");
    seal(verified.dir());
    EXPECT_FALSE(verified.is_accepted());
  }
}

// Whom an attribute's relaxation compares belongs to what is proven.
TEST(Recheck, ComparesWhoIsNear) {
  std::int64_t too_far = 0;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    VerifiedFolder const verified(seed, seed % 3 == 0 ? 3 : 1, 0.0, Activation::kRelu, {}, 2);
    RecheckResult const result = verified.check();
    EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
    EXPECT_EQ(result.unproven, 0);
    EXPECT_GT(result.fair, 0);
    EXPECT_GT(result.unfair, 0);
    // More people are compared than anything was proven of.
    verified.replace("manifest.json", "\"a1\": 2", "\"a1\": 9");
    seal(verified.dir());
    EXPECT_FALSE(verified.is_accepted());
    // Fewer are, so that examples are none.
    verified.replace("manifest.json", "\"a1\": 9", "\"a1\": 1");
    seal(verified.dir());
    RecheckResult const fewer = verified.check();
    EXPECT_GT(fewer.failed, 0);
    too_far += std::ranges::count_if(fewer.failures, [](std::string const& failure) {
      return failure.find(", expected at most 1 from ") != std::string::npos;
    });
  }
  EXPECT_GT(too_far, 3);
}

/// A way to change a directory so that it says something else.
struct Tampering {
  char const* what;
  std::function<void(VerifiedFolder const&)> change;
};

void shift_first_cut(VerifiedFolder const& verified) {
  verified.replace("certificate.txt", "\nfair ([0-9]+):[0-9]+;", "\nfair $1:999;");
  seal(verified.dir());
}

// Limits that leave out a part of a cell, and then, part by part, all of it: nobody has an odd sum
// of even numbers.
TEST(Recheck, AcceptsCellsThatLimitsEmptyPartByPart) {
  std::filesystem::path const demo = std::filesystem::path(source_dir()) / "configs/demo";
  for (char const* limit :
       {"2 * hours - 4 * education + 2 * marital = 3", "6 * hours - 4 * age + 4 * education = 11",
        "6 * experience - 4 * marital + 2 * education = 11"}) {
    SCOPED_TRACE(limit);
    TemporaryFolder const folder;
    RunConfig config;
    config.model = (demo / "census.safetensors").string();
    config.domain = (demo / "census.domain.yaml").string();
    config.protected_attributes = {{"gender", {}}};
    config.output.dir = folder.file("verified");
    VerifyOptions options;
    options.execution.backend = "cpu";
    options.where = {limit};
    verify(config, options);
    std::string const proof = lines_of(slurp(folder.file("verified/certificate.txt")))[5];
    EXPECT_NE(proof.find(':'), std::string::npos) << proof;
    EXPECT_NE(slurp(folder.file("verified/cells.csv")).find(",unsat,empty,"), std::string::npos);
    Checked const checked = Forgery(folder.file("verified")).check();
    EXPECT_TRUE(checked.accepted()) << checked.text();
  }
}

/// Says of the first unfair cell that it is fair, everywhere and without a contradiction.
void call_fair(VerifiedFolder const& verified) {
  RecheckResult const before = verified.check();
  verified.replace("certificate.txt", "\nunfair\n", "\nfair m\n");
  std::string const example = verified.line("counterexamples.csv", 1);
  std::string const cell = example.substr(0, example.find(','));
  verified.replace("counterexamples.csv", "\n" + cell + ",[^\n]*\n", "\n");
  verified.replace("cells.csv", "\n(" + cell + ",[^\n]*),sat,", "\n$1,unsat,");
  verified.replace("summary.json", "\"sat\": [0-9]+",
                   "\"sat\": " + std::to_string(before.unfair - 1));
  verified.replace("summary.json", "\"unsat\": [0-9]+",
                   "\"unsat\": " + std::to_string(before.fair + 1));
  verified.replace("summary.json", "\"all\": [0-9]+,\n    \"float32",
                   "\"all\": " + std::to_string(before.unfair - 1) + ",\n    \"float32");
}

std::vector<Tampering> tamperings() {
  using V = VerifiedFolder const&;
  auto const sealed = [](char const* pattern, char const* by) {
    return [pattern, by](V v) {
      v.replace("certificate.txt", pattern, by);
      seal(v.dir());
    };
  };
  auto const in_manifest = [](char const* pattern, char const* by) {
    return [pattern, by](V v) {
      v.replace("manifest.json", pattern, by);
      seal(v.dir());
    };
  };
  auto const in_file = [](char const* name, char const* pattern, char const* by) {
    return [name, pattern, by](V v) {
      v.replace(name, pattern, by);
      if (std::string_view(name) != "certificate.txt") Forgery(v.dir()).sign();
    };
  };
  return {
      {"a leaf is missing", sealed("(\nfair [0-9:;a-z]+)[a-z]\n", "$1\n")},
      {"a leaf too many", sealed("\nfair m\n", "\nfair mm\n")},
      {"a cut beyond its box", shift_first_cut},
      {"a cut of an axis that is none", sealed("\nfair ([0-9]+):", "\nfair 7$1:")},
      {"a cut without an entry", sealed("\nfair ([0-9]+):[0-9]+;", "\nfair $1:;")},
      {"a leaf of no kind", sealed("\nfair m\n", "\nfair q\n")},
      {"a cell empty that is not", sealed("\nfair m\n", "\nfair x\n")},
      {"an unfair cell called fair, and nothing else", sealed("\nunfair\n", "\nfair m\n")},
      {"an unfair cell called fair, everywhere",
       [](V v) {
         call_fair(v);
         Forgery(v.dir()).sign();
       }},
      {"an unfair cell called unknown", sealed("\nunfair\n", "\nunknown\n")},
      {"a fair cell called unfair", sealed("\nfair m\n", "\nunfair\n")},
      {"a cell fewer", sealed("\nfair m\n", "\n")},
      {"a cell more", sealed("\nfair m\n", "\nfair m\nfair m\n")},
      {"another number of cells", sealed("\ncells [0-9]+\n", "\ncells 5\n")},
      {"a number of cells that is none", sealed("\ncells [0-9]+\n", "\ncells 99999999999999\n")},
      {"other axes", sealed("\naxes \\[\\[\"a1\"", "\naxes [[\"a2\"")},
      {"another version", sealed("certificate 1\n", "certificate 2\n")},
      {"another manifest's certificate",
       in_file("certificate.txt", "\nmanifest .", "\nmanifest x")},
      {"another digest", in_file("certificate.txt", "\nsha256 .", "\nsha256 x")},
      {"a certificate cut off",
       [](V v) {
         std::string const text = v.text("certificate.txt");
         v.set_text("certificate.txt", text.substr(0, text.size() / 2));
       }},
      {"bytes after the certificate",
       [](V v) { v.set_text("certificate.txt", v.text("certificate.txt") + "fair m\n"); }},
      {"an example's attribute beyond its cell",
       in_file("counterexamples.csv", "\n([0-9]+),(-?[0-9]+),(-?[0-9]+),", "\n$1,$2,999,")},
      {"an example of another cell", in_file("counterexamples.csv", "\n[0-9]+,", "\n99999,")},
      {"an example whose pair is itself",
       [](V v) {
         // Attributes 0 and 4 are under test.
         v.replace("counterexamples.csv",
                   "\n([^,]+),([^,]+),([^,]+),([^,]+),([^,]+),([^,]+),([^,]+),[^,]+,[^,]+,",
                   "\n$1,$2,$3,$4,$5,$6,$7,$2,$6,");
         Forgery(v.dir()).sign();
       }},
      {"an example's labels swapped", in_file("counterexamples.csv", ",1,0,", ",0,1,")},
      {"an example's labels both 1", in_file("counterexamples.csv", ",1,0,", ",1,1,")},
      {"an example missing", in_file("counterexamples.csv", "\n[^\n]*\n", "\n")},
      {"an example twice", in_file("counterexamples.csv", "\n([^\n]*)\n", "\n$1\n$1\n")},
      {"an example that is no number", in_file("counterexamples.csv", ",1,0,", ",one,0,")},
      {"a verdict in cells.csv", in_file("cells.csv", ",unsat,", ",sat,")},
      {"a bound in cells.csv", in_file("cells.csv", "\n0,(-?[0-9]+),", "\n0,-99,")},
      {"a line of cells.csv twice", in_file("cells.csv", "\n(0,[^\n]*)\n", "\n$1\n$1\n")},
      {"the numbers of the summary", in_file("summary.json", "\"unsat\": ", "\"unsat\": 1")},
      {"the verdict of the summary",
       in_file("summary.json", "\"verdict\": \"sat\"", "\"verdict\": \"unsat\"")},
      {"the summary's attributes", in_file("summary.json", "\"a0\"", "\"a1\"")},
      {"another threshold", in_manifest("\"threshold\": [0-9.]+", "\"threshold\": 0.9999")},
      {"another semantics", in_manifest("\"semantics\": \"any\"", "\"semantics\": \"all\"")},
      {"other cells", in_manifest("\"cell_size\": [0-9]+", "\"cell_size\": 4")},
      {"a smaller region", in_manifest("\"ranges\": \\{\\}", "\"ranges\": {\"a1\": [0, 1]}")},
      {"a margin that was not asked for",
       in_manifest("\"semantics\"", "\"margin\": 100.0, \"semantics\"")},
      {"a manifest that is none", [](V v) { v.set_text("manifest.json", "{}"); }},
      {"a value under test left out",
       in_manifest("\"values\": \\[\\s*(-?[0-9]+),\\s*", "\"values\": [")},
      {"a bit of a weight",
       [](V v) {
         std::string model = slurp(v.file("model.safetensors"));
         model[model.size() - 2] = static_cast<char>(model[model.size() - 2] ^ 1);
         write_bytes(v.file("model.safetensors"), model);
       }},
      {"a wider domain",
       [](V v) {
         std::string const domain = slurp(v.file("domain.yaml"));
         write_bytes(v.file("domain.yaml"), domain + "\n# wider\n");
       }},
      {"no DONE", [](V v) { std::filesystem::remove(v.dir() + "/DONE"); }},
      {"no certificate", [](V v) { std::filesystem::remove(v.dir() + "/certificate.txt"); }},
  };
}

// A cell one group larger than may be evaluated, and one that is as large.
TEST(Recheck, LimitsWhatIsEvaluated) {
  for (std::int32_t const last : {16, 17}) {
    SCOPED_TRACE(last);
    TemporaryFolder const folder;
    SmallShape shape;
    shape.ranges = {2, 16, 16, 16, 2, last};
    shape.widths = {4, 1};
    RunConfig config = small_config(folder, shape);
    config.output.dir = folder.file("verified");
    Network network = random_network(shape);
    for (std::size_t const a : {std::size_t{0}, std::size_t{4}}) {
      for (std::size_t o = 0; o < 4; ++o) network.layers[0].weights[a * 4 + o] = 0.0F;
    }
    write_safetensors(network, config.model);
    VerifyOptions options;
    options.execution.backend = "cpu";
    verify(config, options);
    std::string const path = config.output.dir + "/certificate.txt";
    std::string const text = slurp(path);
    ASSERT_NE(text.find("\nfair "), std::string::npos) << text;
    write_bytes(path, std::regex_replace(text, std::regex("\nfair [^\n]*\n"), "\nfair e\n"));
    seal(config.output.dir);
    RecheckResult const result = recheck(config.output.dir, {});
    EXPECT_EQ(result.unproven + result.failed, last == 16 ? 0 : 1);
  }
}

TEST(Recheck, RejectsEveryTampering) {
  for (Tampering const& tampering : tamperings()) {
    SCOPED_TRACE(tampering.what);
    VerifiedFolder const verified(3);
    ASSERT_TRUE(verified.is_accepted());
    tampering.change(verified);
    EXPECT_FALSE(verified.is_accepted());
  }
}

// Random changes of proofs that are signed again never crash, and prove nothing false.
TEST(Recheck, TakesNoFalseProofWhoeverSignsIt) {
  VerifiedFolder const verified(3);
  std::string const text = verified.text("certificate.txt");
  std::size_t const first = text.find('\n', text.find("\ncells ") + 1) + 1;
  std::size_t const last = text.rfind("sha256 ");
  RecheckResult const right = verified.check();
  std::mt19937 random(11);
  std::string const letters = "0123456789:;mvuekxn\n ";
  int accepted = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string changed = text;
    std::size_t const at = first + random() % (last - first);
    changed[at] = letters[random() % letters.size()];
    verified.set_text("certificate.txt", changed);
    seal(verified.dir());
    if (!verified.is_accepted()) continue;
    // Another kind of a leaf, or a cut elsewhere, of a cell that is fair all the same.
    ++accepted;
    RecheckResult const result = verified.check();
    EXPECT_EQ(result.fair, right.fair);
    EXPECT_EQ(result.unfair, right.unfair);
  }
  EXPECT_LT(accepted, 150);
}

}  // namespace
}  // namespace fairlane
