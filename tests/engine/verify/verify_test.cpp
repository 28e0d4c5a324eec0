#include "engine/verify/verify.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "engine/count/enumerate.h"
#include "engine/verify/certain_shares.h"
#include "tests/benchmarks.h"
#include "tests/engine/count/enumeration_output.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

VerifyOptions by_threads(int threads) {
  VerifyOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = threads;
  return options;
}

struct CellCounts {
  std::int64_t sat = 0;
  std::int64_t unsat = 0;
  std::int64_t unknown = 0;
  friend bool operator==(CellCounts const&, CellCounts const&) = default;
};

CellCounts cells_of(std::string const& summary) {
  auto const cells = nlohmann::json::parse(summary)["cells"];
  return {cells["sat"], cells["unsat"], cells["unknown"]};
}

void expect_same_verification(std::string const& a, std::string const& b) {
  for (char const* file :
       {"manifest.json", "cells.csv", "counterexamples.csv", "certificate.txt", "DONE"})
    EXPECT_TRUE(slurp(a + "/" + file) == slurp(b + "/" + file)) << file << " differs";
  EXPECT_EQ(without_timing(a), without_timing(b));
}

RunConfig verified_config(TemporaryFolder const& folder, std::uint32_t seed, int classes = 1) {
  SmallShape shape;
  shape.ranges = {6, 5, 3, 7, 2, 7};
  shape.seed = seed;
  shape.widths.back() = classes;
  return small_config(folder, shape);
}

// A cell is sat exactly where an enumeration of that cell counts a discriminatory group.
TEST(Verify, AgreesWithEnumerate) {
  CellCounts all;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    TemporaryFolder const folder;
    RunConfig const config = verified_config(folder, seed, seed == 4 ? 3 : 1);
    VerifyOptions options = by_threads(2);
    options.cell_size = 3;
    std::string const summary = verify(to(config, folder.file("cells")), options);
    CellCounts const cells = cells_of(summary);
    EXPECT_EQ(cells.unknown, 0);
    all.sat += cells.sat;
    all.unsat += cells.unsat;
    std::ifstream file(folder.file("cells/cells.csv"));
    std::string line;
    std::getline(file, line);
    std::int64_t number = 0;
    TestSubject const subject(config);
    for (; std::getline(file, line); ++number) {
      EnumerateOptions counted;
      counted.execution = options.execution;
      counted.overwrite = true;
      std::istringstream cells_of_line(line);
      std::string word;
      std::getline(cells_of_line, word, ',');
      EXPECT_EQ(word, std::to_string(number));
      RunConfig cell = to(config, folder.file("count"));
      cell.protected_attributes.clear();
      for (std::size_t a = 0; a < subject.domain().attributes.size(); ++a) {
        AttributeRange range;
        range.attribute = subject.domain().attributes[a].name;
        std::getline(cells_of_line, word, ',');
        range.low = std::stoi(word);
        std::getline(cells_of_line, word, ',');
        range.high = std::stoi(word);
        if (std::ranges::count(subject.selected(), static_cast<int>(a)) == 0) {
          counted.region.ranges.push_back(range);
          continue;
        }
        ProtectedAttribute values{range.attribute, {}};
        for (std::int32_t v = range.low; v <= range.high; ++v) values.values.push_back(v);
        cell.protected_attributes.push_back(std::move(values));
      }
      std::getline(cells_of_line, word, ',');
      auto const counts = nlohmann::json::parse(enumerate(cell, counted));
      EXPECT_EQ(word, counts["counts"]["unique_groups"] > 0 ? "sat" : "unsat") << line;
    }
    EXPECT_EQ(number, cells.sat + cells.unsat);
  }
  EXPECT_GT(all.sat, 10);
  EXPECT_GT(all.unsat, 10);
}

/// Lines of a CSV file, cut at commas.
std::vector<std::vector<std::string>> words_of(std::string const& path) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(slurp(path));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; std::getline(words, word, ',');) lines.back().push_back(word);
  }
  return lines;
}

// The cells of one verification, read by another, have the same verdicts.
TEST(Verify, DecidesTheCellsOfAFile) {
  TemporaryFolder const folder;
  RunConfig const config = verified_config(folder, 2);
  VerifyOptions options = by_threads(1);
  options.cell_size = 3;
  CellCounts const cells = cells_of(verify(to(config, folder.file("first")), options));
  options.cell_size = 0;
  options.cell_file = folder.file("first/cells.csv");
  EXPECT_EQ(cells_of(verify(to(config, folder.file("again")), options)), cells);
  EXPECT_GT(cells.sat, 0);
  EXPECT_GT(cells.unsat, 0);
  auto const first = words_of(folder.file("first/cells.csv"));
  auto const again = words_of(folder.file("again/cells.csv"));
  ASSERT_EQ(first.size(), again.size());
  std::size_t const kept = first[0].size() - 1;  // the number of boxes depends on the cell's id
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t w = 0; w < kept; ++w) ASSERT_EQ(first[i][w], again[i][w]) << i << " " << w;
  }
  auto const refuses = [&](std::string const& text, char const* what) {
    std::ofstream(folder.file("boxes.csv")) << text;
    options.cell_file = folder.file("boxes.csv");
    try {
      verify(to(config, folder.file("out")), options);
      ADD_FAILURE() << text;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  std::string header;
  std::string whole;
  for (std::size_t w = 1; w + 3 < first[0].size(); ++w) {
    header += (w > 1 ? "," : "") + first[0][w];
    whole += (w > 1 ? "," : "") + first[1][w];
  }
  refuses(header + "\n" + whole + "\n9" + whole.substr(1) + "\n", "boxes.csv:3: ");
  refuses(header.substr(header.find(',') + 1) + "\n", "_low");
}

TEST(Verify, ThreadsDoNotChangeABit) {
  TemporaryFolder const folder;
  RunConfig const config = verified_config(folder, 3);
  VerifyOptions options = by_threads(1);
  options.cell_size = 3;
  verify(to(config, folder.file("one")), options);
  options.execution.threads = 5;
  verify(to(config, folder.file("five")), options);
  expect_same_verification(folder.file("one"), folder.file("five"));
}

/// Verifies, stopped after every so many looks at the progress. Returns how often that was.
int verify_in_parts(RunConfig const& config, VerifyOptions options, int looks_each) {
  constexpr int kMostStops = 100;
  for (int stops = 0; stops < kMostStops; ++stops) {
    std::atomic<bool> stop{false};
    int looks = 0;
    options.stop = &stop;
    options.progress = [&](VerifyProgress const&) { stop = ++looks == looks_each; };
    try {
      verify(config, options);
      return stops;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kStopped) << error.what();
    }
  }
  ADD_FAILURE() << "stopped " << kMostStops << " times";
  return kMostStops;
}

// Stopped again and again, it ends with the same bytes.
TEST(Verify, GoesOnFromItsState) {
  FL_NEED_BENCHMARKS(benchmarks);
  TemporaryFolder const folder;
  RunConfig config;
  config.model = (benchmarks / "models/fairify/BM-8.h5").string();
  config.domain = (benchmarks / "data/fairify-BM.domain.yaml").string();
  config.protected_attributes = {{"age", {}}};
  VerifyOptions options = by_threads(2);
  options.cell_size = 100;
  verify(to(config, folder.file("whole")), options);
  EXPECT_GT(verify_in_parts(to(config, folder.file("parts")), options, 1), 1);
  expect_same_verification(folder.file("whole"), folder.file("parts"));
  // Proofs that were on their way have cuts.
  EXPECT_NE(slurp(folder.file("parts/certificate.txt")).find(';'), std::string::npos);
}

// Where nothing is left undecided, the shares are those of an enumeration.
TEST(Verify, CountsWhatEnumerateCounts) {
  double unfair = 0.0;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    TemporaryFolder const folder;
    RunConfig const config = verified_config(folder, seed);
    VerifyOptions options = by_threads(2);
    options.quantify = 100'000;
    auto const shares =
        nlohmann::json::parse(verify(to(config, folder.file("shares")), options))["shares"];
    EnumerateOptions counted;
    counted.execution = options.execution;
    auto const counts =
        nlohmann::json::parse(enumerate(to(config, folder.file("count")), counted))["counts"];
    double const groups = shares["groups"];
    EXPECT_NEAR(shares["undecided"].get<double>(), 0.0, 1e-9);
    EXPECT_NEAR(shares["unfair"].get<double>() * groups, counts["unique_groups"].get<double>(),
                1e-6 * groups);
    unfair += shares["unfair"].get<double>();
  }
  EXPECT_GT(unfair, 0.0);
}

TEST(Verify, CountsTheSameWithAnyThreadsAndStops) {
  FL_NEED_BENCHMARKS(benchmarks);
  TemporaryFolder const folder;
  RunConfig config;
  config.model = (benchmarks / "models/fairify/AC-8.h5").string();
  config.domain = (benchmarks / "data/fairify-AC.domain.yaml").string();
  config.protected_attributes = {{"sex", {}}};
  VerifyOptions options = by_threads(1);
  options.quantify = 20'000;
  verify(to(config, folder.file("whole")), options);
  options.execution.threads = 3;
  EXPECT_GT(verify_in_parts(to(config, folder.file("parts")), options, 9), 1);
  expect_same_verification(folder.file("whole"), folder.file("parts"));
  auto const shares = nlohmann::json::parse(slurp(folder.file("whole/summary.json")))["shares"];
  EXPECT_GT(shares["fair"], 0.8);
}

TEST(CertainShares, DisagreeWithASampleThatTheyCannotHold) {
  CertainShares shares;
  shares.groups = 1.0e12;
  shares.fair = 0.7e12;
  shares.unfair = 0.1e12;
  shares.sampled = shares.defined_samples = 10'000;
  shares.unfair_samples = 2'000;
  EXPECT_TRUE(shares.agrees());
  shares.unfair_samples = 500;
  EXPECT_FALSE(shares.agrees());
  shares.unfair_samples = 4'000;
  EXPECT_FALSE(shares.agrees());
  shares.defined_samples = 5'000;  // and the rest may be fair
  shares.unfair_samples = 500;
  EXPECT_TRUE(shares.agrees());
}

TEST(Verify, LeavesUnknownWhatItHasNoBoxesFor) {
  FL_NEED_BENCHMARKS(benchmarks);
  TemporaryFolder const folder;
  RunConfig config;
  config.model = (benchmarks / "models/fairify/BM-5.h5").string();
  config.domain = (benchmarks / "data/fairify-BM.domain.yaml").string();
  config.protected_attributes = {{"age", {}}};
  VerifyOptions options = by_threads(2);
  options.cell_size = 100;
  options.most_boxes = 1;
  auto const summary = nlohmann::json::parse(verify(to(config, folder.file("few")), options));
  EXPECT_GT(summary["cells"]["unknown"], 0);
  EXPECT_EQ(summary["unknown_by"]["boxes"], summary["cells"]["unknown"]);
  EXPECT_LE(summary["cells"]["sat"], 116);
  EXPECT_LE(summary["cells"]["unsat"], 394);
}

// What two independent programs, one of them a complete solver on samples, have found.
TEST(Verify, DecidesFairifysPartitions) {
  FL_NEED_BENCHMARKS(benchmarks);
  struct Case {
    char const* network;
    char const* domain;
    char const* attribute;
    std::int64_t size;
    CellCounts cells;
  };
  for (Case const& one : {Case{"BM-5", "BM", "age", 100, {116, 394, 0}},
                          {"BM-8", "BM", "age", 100, {182, 328, 0}},
                          {"GC-2", "GC", "sex", 100, {201, 0, 0}},
                          {"GC-4", "GC", "age", 100, {2, 199, 0}},
                          {"GC-5", "GC", "sex", 100, {1, 200, 0}},
                          {"AC-1", "AC", "sex", 10, {8000, 8000, 0}},
                          {"AC-8", "AC", "race", 10, {13151, 2849, 0}}}) {
    SCOPED_TRACE(std::string(one.network) + " " + one.attribute);
    TemporaryFolder const folder;
    RunConfig config;
    config.model = (benchmarks / "models/fairify" / one.network).string() + ".h5";
    config.domain = (benchmarks / "data/fairify-").string() + one.domain + ".domain.yaml";
    config.protected_attributes = {{one.attribute, {}}};
    VerifyOptions options = by_threads(2);
    options.cell_size = one.size;
    EXPECT_EQ(cells_of(verify(to(config, folder.file("out")), options)), one.cells);
  }
}

// Two outputs that are off by a margin each are like one that is off by twice as much: where the
// first is always 0, the second is their difference.
TEST(Verify, CountsAMarginForEveryOutput) {
  CellCounts all;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    TemporaryFolder const folder;
    SmallShape shape;
    shape.ranges = {6, 5, 3, 7, 2, 7};
    shape.seed = seed;
    Network one = random_network(shape);
    RunConfig const config = small_config(folder, shape);
    write_safetensors(one, config.model);
    VerifyOptions options = by_threads(1);
    options.cell_size = 3;
    options.margin = 4.0;
    CellCounts const of_one = cells_of(verify(to(config, folder.file("one")), options));
    Network two = one;
    DenseLayer& last = two.layers.back();
    last.outputs = 2;
    last.activation = Activation::kSoftmax;
    auto const widen = [](std::vector<float>& values) {
      std::vector<float> both;
      for (float const value : values) both.insert(both.end(), {0.0F, value});
      values = both;
    };
    widen(last.weights);
    widen(last.bias);
    write_safetensors(two, config.model);
    options.margin = 2.0;
    CellCounts const of_two = cells_of(verify(to(config, folder.file("two")), options));
    EXPECT_EQ(of_one, of_two);
    all.unknown += of_two.unknown;
    all.unsat += of_two.unsat;
  }
  EXPECT_GT(all.unknown, 0);
  EXPECT_GT(all.unsat, 0);
}

// Against another model's verdicts: the cells of both files, one by one.
TEST(Verify, ComparesTwoModelsCellByCell) {
  TemporaryFolder const folder;
  TemporaryFolder const other;
  VerifyOptions options = by_threads(1);
  options.cell_size = 3;
  verify(to(verified_config(other, 2), folder.file("before")), options);
  RunConfig const config = verified_config(folder, 3);
  options.against = folder.file("before");
  std::string const summary = verify(to(config, folder.file("after")), options);
  auto const before = words_of(folder.file("before/cells.csv"));
  auto const after = words_of(folder.file("after/cells.csv"));
  ASSERT_EQ(before.size(), after.size());
  std::string expected = "cell,before,after\n";
  std::map<std::string, std::int64_t> counts;
  for (std::size_t i = 1; i < before.size(); ++i) {
    // Verdict, reason (empty), boxes.
    std::string const was = before[i][before[i].size() - 3];
    std::string const is = after[i][after[i].size() - 3];
    ++counts[was + " " + is];
    if (was != is) expected += before[i][0] + "," + was + "," + is + "\n";
  }
  EXPECT_EQ(slurp(folder.file("after/against.csv")), expected);
  auto const against = nlohmann::json::parse(summary)["against"];
  EXPECT_EQ(against["became_fair"], counts["sat unsat"]);
  EXPECT_EQ(against["became_unfair"], counts["unsat sat"]);
  EXPECT_EQ(against["stayed_fair"], counts["unsat unsat"]);
  EXPECT_EQ(against["stayed_unfair"], counts["sat sat"]);
  EXPECT_EQ(against["unknown_in_one"], 0);
  EXPECT_GT(counts["sat unsat"] + counts["unsat sat"], 0);
  EXPECT_GT(counts["sat sat"] + counts["unsat unsat"], 0);
  // Other cells, another query, a directory that is none.
  options.cell_size = 4;
  EXPECT_THROW(verify(to(config, folder.file("other")), options), Error);
  options.cell_size = 3;
  options.relaxed = {{"a1", 1}};
  EXPECT_THROW(verify(to(config, folder.file("other")), options), Error);
  options.relaxed.clear();
  options.against = folder.file("nowhere");
  EXPECT_THROW(verify(to(config, folder.file("other")), options), Error);
}

// The counts of a partition's line are those of all partitions up to it, as in Fairify's table.
TEST(Verify, WritesFairifysTable) {
  TemporaryFolder const folder;
  VerifyOptions options = by_threads(1);
  options.cell_size = 3;
  options.fairify_csv = true;
  CellCounts const cells =
      cells_of(verify(to(verified_config(folder, 3), folder.file("out")), options));
  std::istringstream text(slurp(folder.file("out/fairify.csv")));
  auto const known = words_of(folder.file("out/cells.csv"));
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line.substr(0, line.find(",h_attempt")),
            "Partition_ID,Verification,SAT_count,UNSAT_count,UNK_count");
  CellCounts running;
  for (std::size_t cell = 1; std::getline(text, line); ++cell) {
    std::string const verdict = known.at(cell)[known[cell].size() - 3];
    ++(verdict == "sat" ? running.sat : running.unsat);
    std::string const expected = std::to_string(cell) + "," + verdict + "," +
                                 std::to_string(running.sat) + "," + std::to_string(running.unsat) +
                                 ",0,";
    EXPECT_EQ(line.substr(0, expected.size()), expected);
    EXPECT_EQ(line.find('[') != std::string::npos, verdict == "sat");
  }
  EXPECT_EQ(running, cells);
}

TEST(Verify, BoundsSmoothNetworksOnTheCpuAlone) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.activation = Activation::kTanh;
  RunConfig config = small_config(folder, shape);
  VerifyOptions options = by_threads(1);
  options.execution.backend = "cuda";
  expect_error(ExitCode::kUnavailable, {"smooth hidden layers", "'cuda'", "expected cpu"},
               [&] { verify(to(config, folder.file("out")), options); });
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
}

}  // namespace
}  // namespace fairlane
