#include "engine/subject/subject.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "kernels/devices.h"
#include "models/safetensors.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

class TestSubjectErrors : public testing::Test {
 protected:
  void expect(ExitCode code, std::initializer_list<std::string> parts) {
    expect_error(code, parts, [this] { TestSubject const subject(config); });
  }
  TemporaryFolder folder;
  RunConfig config = small_config(folder, {});
};

TEST_F(TestSubjectErrors, NamesBothFilesWhenTheShapesDiffer) {
  SmallShape other;
  other.ranges.push_back(3);
  write_safetensors(random_network(other), config.model);
  expect(ExitCode::kData, {config.model, "7 inputs", config.domain, "6 attributes"});
}

TEST_F(TestSubjectErrors, MissingFiles) {
  config.model = folder.file("none.h5");
  expect(ExitCode::kNoInput, {"none.h5"});
}

TEST_F(TestSubjectErrors, Protected) {
  config.positions["protected"] = "small.yaml:4:12";
  config.protected_attributes.clear();
  expect(ExitCode::kConfig, {"small.yaml:4:12", "protected", "flags a0, a4"});
  config.protected_attributes = {{"A44", {}}};
  expect(ExitCode::kConfig, {"small.yaml:4:12", "'A44'", "did you mean 'a4'"});
  config.protected_attributes = {{"income", {}}};
  expect(ExitCode::kConfig, {"'income'", "a0, a1, a2"});
  config.protected_attributes = {{"a0", {}}, {"a0", {}}};
  expect(ExitCode::kConfig, {"'a0'", "twice"});
  config.protected_attributes = {{"a0", {}}, {"a1", {}}, {"a2", {}},
                                 {"a3", {}}, {"a4", {}}, {"a5", {}}};
  expect(ExitCode::kConfig, {"all 6 attributes"});
  config.protected_attributes = {{"a0", {-2, 2}}};
  expect(ExitCode::kConfig, {"'a0'", "2", "-2..1"});
  config.protected_attributes = {{"a0", {1, 0, 1}}};
  expect(ExitCode::kConfig, {"'a0'", "1 twice"});
  config.protected_attributes = {{"a0", {1}}};
  expect(ExitCode::kConfig, {"'a0'", "single value 1"});
}

TEST_F(TestSubjectErrors, Threshold) {
  for (double const bad : {0.0, 1.0, -0.5, 2.0, std::nan("")}) {
    config.threshold = bad;
    expect(ExitCode::kConfig, {"threshold", "between 0 and 1"});
  }
  SmallShape several;
  several.widths = {8, 3};
  write_safetensors(random_network(several), config.model);
  config.threshold = 0.4;
  expect(ExitCode::kConfig, {"threshold", "3 outputs"});
}

TEST_F(TestSubjectErrors, RowsOutsideTheDomain) {
  folder.write("data.csv", "a0,a1,a2,a3,a4,a5\n0,0,0,1,2,3\n0,0,0,99,2,3\n");
  expect(ExitCode::kData, {"data.csv", "line 3", "a3 = 99"});
  config.out_of_domain = OutOfDomain::kDrop;
  TestSubject const dropped(config);
  EXPECT_EQ(dropped.data()->count(), 1);
  ASSERT_EQ(dropped.notices().size(), 1U);
  EXPECT_NE(dropped.notices()[0].find("1 of 2 rows"), std::string::npos) << dropped.notices()[0];
  config.out_of_domain = OutOfDomain::kClip;
  EXPECT_EQ(TestSubject(config).data()->count(), 2);
  // Seeds are given on purpose: they are never dropped.
  config.global.seeds = folder.write("seeds.csv", "a0,a1,a2,a3,a4,a5\n0,0,0,99,2,3\n");
  expect(ExitCode::kData, {"seeds.csv", "line 2", "a3 = 99"});
}

TEST(TestSubject, LeavesOutRowsThatViolateAConstraint) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});
  std::ofstream(config.domain, std::ios::app)
      << "constraints:\n  - {if: {a3: 1}, then: {a4: 2}}\n  - {sum: {a5: 1}, at_most: 3}\n";
  char const* const header = "a0,a1,a2,a3,a4,a5\n";
  folder.write("data.csv", std::string(header) + "0,0,0,1,2,3\n0,0,0,2,3,3\n");
  EXPECT_TRUE(TestSubject(config).notices().empty());
  folder.write("data.csv", std::string(header) + "0,0,0,1,2,3\n0,0,0,1,3,3\n0,0,0,1,2,4\n");
  TestSubject const subject(config);
  EXPECT_EQ(subject.data()->rows, (std::vector<std::int32_t>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(subject.data()->lines, (std::vector<std::int64_t>{2}));
  ASSERT_EQ(subject.notices().size(), 1U);
  EXPECT_EQ(subject.notices()[0],
            config.data +
                ": 2 of 3 rows violate a constraint and were left out, the first on line 3: "
                "a3 1 => a4 2");
  folder.write("data.csv", std::string(header) + "0,0,0,1,3,3\n");
  expect_error(ExitCode::kData, {config.data, "each of 1 rows violates a constraint", "on line 2"},
               [&] { TestSubject const none(config); });
}

TEST(TestSubject, KeepsRowsWithComparedValues) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.protected_attributes = {{"a4", {3, 2}}, {"a0", {1, -2}}};
  folder.write("data.csv", "a0,a1,a2,a3,a4,a5\n0,0,0,1,2,3\n-2,0,0,1,2,3\n1,0,0,1,3,3\n");
  TestSubject const subject(config);
  EXPECT_EQ(subject.selected(), (std::vector<std::int32_t>{0, 4}));
  EXPECT_EQ(subject.values(), (std::vector<std::vector<std::int32_t>>{{-2, 1}, {2, 3}}));
  EXPECT_EQ(subject.variants(), 4);
  EXPECT_EQ(subject.data()->count(), 2);
  EXPECT_EQ(subject.data()->lines, (std::vector<std::int64_t>{3, 4}));
  ASSERT_EQ(subject.notices().size(), 1U);
  EXPECT_NE(subject.notices()[0].find("1 of 3 rows"), std::string::npos);
  EXPECT_EQ(subject.view().selected.size(), 2U);
  EXPECT_EQ(subject.view().values[1][0], 2);

  folder.write("data.csv", "a0,a1,a2,a3,a4,a5\n0,0,0,1,2,3\n");
  expect_error(ExitCode::kData, {"data.csv", "none of 1 rows"},
               [&] { TestSubject const none(config); });
}

TEST(TestSubject, SaysWhenASelectedAttributeIsNotFlagged) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.protected_attributes = {{"a2", {}}};
  TestSubject const subject(config);
  ASSERT_EQ(subject.notices().size(), 1U);
  EXPECT_NE(subject.notices()[0].find("'a2'"), std::string::npos);
}

TEST(TestSubject, TakesBoundsFromData) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  folder.write(
      "domain.yaml",
      "name: d\nattributes:\n  - {name: a0, protected: true}\n  - {name: a1}\n  - {name: a2}\n"
      "  - {name: a3}\n  - {name: a4}\n  - {name: a5}\n");
  folder.write("data.csv", "a0,a1,a2,a3,a4,a5\n0,5,0,1,2,3\n4,2,0,1,2,3\n");
  config.protected_attributes = {{"a0", {}}};
  TestSubject const subject(config);
  EXPECT_EQ(subject.view().high[0], 4);
  EXPECT_EQ(subject.view().low[1], 2);
  EXPECT_EQ(subject.variants(), 5);
  config.data.clear();
  expect_error(ExitCode::kConfig, {"domain.yaml", "'a0'", "no data"},
               [&] { TestSubject const none(config); });
}

TEST(LabelThreshold, IsTheLogitOfTheThreshold) {
  EXPECT_EQ(label_threshold(ScoreKind::kLogits, 0.5), 0.0F);
  EXPECT_EQ(label_threshold(ScoreKind::kLogits, 0.75), static_cast<float>(std::log(3.0)));
  EXPECT_LT(label_threshold(ScoreKind::kLogits, 0.1), 0.0F);
  EXPECT_EQ(label_threshold(ScoreKind::kProbabilities, 0.75), 0.75F);
}

TEST(MakeBackend, KnowsItsNames) {
  TemporaryFolder const folder;
  TestSubject const subject(small_config(folder, {}));
  auto const make = [&](std::string const& name) {
    Execution execution;
    execution.backend = name;
    execution.threads = 1;
    execution.memory = 1 << 20;
    return make_backend(subject, execution, 1, {});
  };
  for (char const* name : {"cpu", "cpu:portable"}) {
    EXPECT_EQ(make(name)->name().substr(0, 3), "cpu") << name;
  }
  std::string const problem = cuda_problem();
  if (problem.empty()) {
    EXPECT_EQ(make("auto")->name().substr(0, 5), "cuda:");
    EXPECT_EQ(make("cuda")->name().substr(0, 5), "cuda:");
  } else {
    EXPECT_EQ(make("auto")->name().substr(0, 3), "cpu");
    expect_error(ExitCode::kUnavailable, {"cuda", problem}, [&] { make("cuda"); });
    expect_error(ExitCode::kUnavailable, {"cuda", problem}, [&] { make("cuda:1"); });
  }
  expect_error(ExitCode::kUsage, {"'cdua'", "did you mean 'cuda'"}, [&] { make("cdua"); });
  for (char const* name : {"", "cpu:", "auto:1", "cuda:", "cuda:x"}) {
    expect_error(ExitCode::kUsage, {"expected auto"}, [&] { make(name); });
  }
  expect_error(ExitCode::kUnavailable, {"'sse9'"}, [&] { make("cpu:sse9"); });
}

}  // namespace
}  // namespace fairlane
