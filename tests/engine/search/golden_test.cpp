// Against the authors' own programs on given seeds: the same global paths, and as many instances.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tests/engine/search/golden_subject.h"

namespace fairlane {
namespace {

/// One seed's global phase.
struct Trace {
  bool found = false;
  std::uint32_t iterations = 0;
  std::vector<std::int32_t> last;
  bool operator==(Trace const&) const = default;
};

/// Rows of one method in golden/*.global.csv, by seed.
std::vector<Trace> golden_traces(std::filesystem::path const& file, std::string const& method) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  std::vector<Trace> traces;
  while (std::getline(stream, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');
    if (cell != method) continue;
    std::vector<std::int32_t> numbers;
    while (std::getline(cells, cell, ',')) numbers.push_back(std::stoi(cell));
    EXPECT_EQ(numbers[0], static_cast<std::int32_t>(traces.size()));
    traces.push_back({numbers[1] != 0,
                      static_cast<std::uint32_t>(numbers[2]),
                      {numbers.begin() + 3, numbers.end()}});
  }
  return traces;
}

std::vector<Trace> traces_of(SearchResult const& result, std::size_t attributes) {
  std::vector<Trace> traces;
  for (std::size_t s = 0; s < result.global.size(); ++s) {
    auto const first = result.last_rows.begin() + static_cast<std::ptrdiff_t>(s * attributes);
    traces.push_back({result.global[s].found,
                      result.global[s].iterations,
                      {first, first + static_cast<std::ptrdiff_t>(attributes)}});
  }
  return traces;
}

constexpr double kLeastAgreement = 0.995;  // a sign may hang on the last bit of a float

class Golden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, GlobalPathsAgree) {
  FL_NEED_BENCHMARKS(benchmarks);
  for (std::string const method : {"adf", "eidig", "maft", "maft-nonvec"}) {
    RunConfig config = golden_config(benchmarks, GetParam(), method);
    config.local.num = 0;
    TestSubject const subject(config);
    auto const ours =
        traces_of(run_method(config, subject, true).result, subject.view().low.size());
    auto const theirs = golden_traces(benchmarks / "golden" / (config.source + ".global.csv"),
                                      method == "maft-nonvec" ? "maft" : method);
    ASSERT_EQ(ours.size(), theirs.size());
    ASSERT_FALSE(ours.empty());
    std::size_t same = 0;
    for (std::size_t s = 0; s < ours.size(); ++s) same += ours[s] == theirs[s] ? 1 : 0;
    std::printf("  %-36s %-12s %zu of %zu seeds agree\n", config.source.c_str(), method.c_str(),
                same, ours.size());
    EXPECT_GE(static_cast<double>(same), kLeastAgreement * static_cast<double>(ours.size()))
        << method;
  }
}

TEST_P(Golden, LocalPhaseFindsAsMany) {
  FL_NEED_BENCHMARKS(benchmarks);
  constexpr double kDeviations = 4.0;
  constexpr double kLeastDeviation =
      0.03;  // of the mean: five runs underestimate the spread now and then
  constexpr std::uint64_t kRuns = 5;
  auto const file = benchmarks / "golden" / (name_of(GetParam()) + ".local.json");
  auto const golden = nlohmann::json::parse(std::ifstream(file));
  struct Variant {
    char const* method;
    char const* key;
    std::uint32_t interval;
  };
  for (Variant const variant :
       {Variant{"adf", "adf", 5}, Variant{"eidig", "eidig-5", 5},
        Variant{"eidig", "eidig-inf", kNeverUpdate}, Variant{"maft", "maft", 5}}) {
    RunConfig config = golden_config(benchmarks, GetParam(), variant.method);
    config.local.update_interval = variant.interval;
    config.local.num = golden.at(variant.key).at("local_num");
    TestSubject const subject(config);
    double sum = 0.0;
    for (config.seed = 1; config.seed <= kRuns; ++config.seed) {
      sum += static_cast<double>(run_method(config, subject).instances);
    }
    double const ours = sum / kRuns;
    auto const theirs = golden.at(variant.key).at("unique_instances").get<std::vector<double>>();
    double const mean =
        std::accumulate(theirs.begin(), theirs.end(), 0.0) / static_cast<double>(theirs.size());
    double squares = 0.0;
    for (double const value : theirs) squares += (value - mean) * (value - mean);
    double const deviation = std::max(std::sqrt(squares / static_cast<double>(theirs.size() - 1)),
                                      kLeastDeviation * mean);
    std::printf("  %-36s %-10s mean %8.1f, theirs %8.1f: %+.2f deviations\n", config.source.c_str(),
                variant.key, ours, mean, (ours - mean) / deviation);
    EXPECT_LE(std::fabs(ours - mean), kDeviations * deviation) << variant.key;
  }
}

// ADF's loss gradient is EIDIG's divided by the label's probability, with the other sign: without
// momentum both walk the same way wherever neither saturates.
TEST_P(Golden, AdfIsEidigWithoutMomentum) {
  FL_NEED_BENCHMARKS(benchmarks);
  RunConfig config = golden_config(benchmarks, GetParam(), "eidig");
  config.local.num = 0;
  config.global.decay = 0.0;
  TestSubject const subject(config);
  auto const attributes = subject.view().low.size();
  auto const eidig = traces_of(run_method(config, subject, true).result, attributes);
  config.method = "adf";
  auto const adf = traces_of(run_method(config, subject, true).result, attributes);
  ASSERT_EQ(eidig.size(), adf.size());
  for (std::size_t s = 0; s < adf.size(); ++s) EXPECT_EQ(eidig[s], adf[s]) << "seed " << s;
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, ::testing::ValuesIn(kGoldenCases), [](auto const& test) {
  std::string name = name_of(test.param);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace fairlane
