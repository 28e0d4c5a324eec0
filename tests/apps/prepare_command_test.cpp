// fairlane prepare: raw tables, and results in words, as a person asks for them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "tests/apps/command_line.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr char const* kRawPeople =
    "name;years;income;sex;job;class\r\n"
    "Ann;17;0;female;?;low\r\nBob;44;5;male;clerk;high\r\nCy;45;9;male;clerk;low\r\n";
constexpr char const* kPeopleDomain =
    "label: class\nlabels: {low: 0, high: 1}\nraw: {separator: \";\", missing: [\"?\"]}\n"
    "attributes:\n"
    "  - {name: age, column: years, low: 1, bins: [0, 30, 44, 99], protected: true}\n"
    "  - {name: income, low: 0, high: 9}\n"
    "  - {name: sex, protected: true, categories: [female, male]}\n"
    "  - {name: job, categories: [nurse, clerk], missing: mode}\n";

class PrepareTest : public testing::Test {
 protected:
  void SetUp() override {
    write_file("people.csv", kRawPeople);
    write_file("people.yaml", kPeopleDomain);
  }

 private:
  WorkingFolder folder_;
};

/// Names of the files in the working directory.
std::set<std::string> files_here() {
  std::set<std::string> names;
  for (auto const& entry : fs::directory_iterator(".")) names.insert(entry.path().filename());
  return names;
}

TEST_F(PrepareTest, EncodesAndDecodes) {
  Outcome const outcome = run_fairlane({"prepare", "people.csv", "--domain", "people.yaml"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(slurp("people.codes.csv"),
            "age,income,sex,job,class\n1,0,0,1,0\n2,5,1,1,1\n3,9,1,1,0\n");
  EXPECT_TRUE(contains(outcome.out, "job: 1 missing value by 'clerk'")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "left out    name")) << outcome.out;
  Outcome const back = run_fairlane({"prepare", "people.codes.csv", "--domain", "people.yaml",
                                     "--decode", "--out", "new/words.csv"});
  ASSERT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(slurp("new/words.csv"),
            "age,income,sex,job,class\n1-30,0,female,clerk,low\n31-44,5,male,clerk,high\n"
            "45-99,9,male,clerk,low\n");
  EXPECT_EQ(files_here(),
            (std::set<std::string>{"people.csv", "people.yaml", "people.codes.csv", "new"}));
}

TEST_F(PrepareTest, SaysItAsJson) {
  Outcome const outcome =
      run_fairlane({"prepare", "people.csv", "--domain", "people.yaml", "--json"});
  auto const json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("rows"), 3);
  EXPECT_EQ(json.at("imputed").at("job").at("word"), "clerk");
  EXPECT_EQ(json.at("left_out"), nlohmann::json({"name"}));
}

TEST_F(PrepareTest, WritesWholeFilesOrNone) {
  write_file("people.codes.csv", "mine");
  Outcome const there = run_fairlane({"prepare", "people.csv", "--domain", "people.yaml"});
  EXPECT_EQ(there.code, 73);
  EXPECT_TRUE(contains(there.err, "people.codes.csv: exists already; --force")) << there.err;
  EXPECT_EQ(slurp("people.codes.csv"), "mine");
  edit_file("people.csv", "Cy;45;9;male", "Cy;45;9;man");
  Outcome const bad = run_fairlane({"prepare", "people.csv", "--domain", "people.yaml", "--force"});
  EXPECT_EQ(bad.code, 65);
  EXPECT_TRUE(contains(bad.err, "people.csv:4:9: column 'sex' is 'man'")) << bad.err;
  EXPECT_EQ(slurp("people.codes.csv"), "mine");
  // A code that is none stops decoding in the middle of the file.
  write_file("codes.csv", "age,income,sex,job\n1,0,0,1\n1,0,7,1\n");
  EXPECT_EQ(run_fairlane({"prepare", "codes.csv", "--domain", "people.yaml", "--decode"}).code, 65);
  EXPECT_EQ(files_here(),
            (std::set<std::string>{"people.csv", "people.yaml", "people.codes.csv", "codes.csv"}));
}

TEST_F(PrepareTest, RefusesWrongCommandLines) {
  auto const expect_refused = [](std::vector<std::string> words, int code,
                                 std::string const& part) {
    words.insert(words.begin(), "prepare");
    Outcome const outcome = run_fairlane(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
  };
  expect_refused({"people.csv"}, 64, "--domain is missing");
  expect_refused({"people.csv", "--domain", "people.yaml", "--out", "people.csv", "--force"}, 64,
                 "is read itself");
  expect_refused({"people.csv", "--domain", "people.yaml", "--out", "people.yaml", "--force"}, 64,
                 "is read itself");
  expect_refused({".", "--domain", "people.yaml"}, 64, "a directory");
  expect_refused({".", "--decode"}, 66, "manifest.json");
  expect_refused({"nobody.csv", "--domain", "people.yaml"}, 66, "nobody.csv: no such file");
  expect_refused({"people.csv", "--domain", "nobody.yaml"}, 66, "nobody.yaml: no such file");
  expect_refused({"people.csv", "--domain", "people.yaml", "--out", "people.csv/x"}, 73,
                 "people.csv/x");
}

/// A small run whose domain has words for all of its codes.
void write_worded_run() {
  write_small_run();
  write_file("domain.yaml",
             "label: class\nlabels: {no: 0, yes: 1}\nattributes:\n"
             "  - {name: age, low: 0, protected: true, bins: [-1, 9, 19, 29, 39, 49, 59, 69, 79, "
             "89, 99]}\n"
             "  - {name: income, low: 0, high: 9}\n"
             "  - {name: sex, protected: true, categories: [female, male]}\n");
}

TEST_F(PrepareTest, PutsResultsIntoWords) {
  write_worded_run();
  for (char const* const format : {"csv", "npy"}) {
    std::string const dir = std::string("found-") + format;
    Outcome const run =
        run_fairlane({"run", "config.yaml", "--out", dir, "--set", "output.trace=true", "--set",
                      "output.words=true", "--set", std::string("output.format=") + format});
    ASSERT_EQ(run.code, 0) << run.err;
    Outcome const outcome = run_fairlane({"prepare", "--decode", dir});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(contains(outcome.out, "instances.words.csv")) << outcome.out;
    // The run itself writes them so, if asked.
    EXPECT_EQ(slurp(dir + ".words/instances.csv"), slurp(dir + "/instances.words.csv"));
  }
  std::string const words = slurp("found-csv.words/instances.csv");
  EXPECT_EQ(slurp("found-npy.words/instances.csv"), words);
  // What is not in words stays as it was: the scores, and who found it.
  EXPECT_TRUE(words.starts_with("age,income,sex,pair_sex,label,pair_label,score,")) << words;
  EXPECT_TRUE(contains(words, "\n0-9,")) << words;
  EXPECT_TRUE(contains(words, ",female,male,no,yes,")) << words;
  std::string const codes = slurp("found-csv/instances.csv");
  auto const tails = [](std::string const& text) {
    std::vector<std::string> result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::size_t at = line.size();
      for (int i = 0; i < 5; ++i) at = line.rfind(',', at - 1);
      result.push_back(line.substr(at));
    }
    return result;
  };
  EXPECT_EQ(tails(words), tails(slurp("found-csv/instances.csv")));
  EXPECT_TRUE(slurp("found-csv.words/global.csv").starts_with("method,seed,found,iterations,age,"));
  EXPECT_TRUE(contains(slurp("found-csv.words/global.csv"), ",male\n"));

  Outcome const again = run_fairlane({"prepare", "--decode", "found-csv"});
  EXPECT_EQ(again.code, 73);
  EXPECT_TRUE(contains(again.err, "found-csv.words: exists already")) << again.err;
  EXPECT_EQ(run_fairlane({"prepare", "--decode", "found-csv/", "--force"}).code, 0);
  EXPECT_EQ(slurp("found-csv.words/instances.csv"), words);
  for (std::string const& name : files_here()) EXPECT_FALSE(contains(name, "partial")) << name;

  // What somebody else put there is not deleted.
  write_file("found-csv.words/notes.txt", "mine");
  Outcome const notes = run_fairlane({"prepare", "--decode", "found-csv", "--force"});
  EXPECT_EQ(notes.code, 73);
  EXPECT_TRUE(contains(notes.err, "holds 'notes.txt'")) << notes.err;
  EXPECT_EQ(run_fairlane({"prepare", "--decode", "found-csv", "--force", "--out", "."}).code, 73);
  EXPECT_TRUE(fs::exists("found-csv/DONE"));
  fs::remove("found-csv.words/notes.txt");

  write_file("domain.yaml", slurp("domain.yaml") + "# changed\n");
  Outcome const changed = run_fairlane({"prepare", "--decode", "found-csv", "--force"});
  EXPECT_EQ(changed.code, 66);
  EXPECT_TRUE(contains(changed.err, "has changed since the run")) << changed.err;
  EXPECT_EQ(
      run_fairlane({"prepare", "--decode", "found-csv", "--force", "--domain", "domain.yaml"}).code,
      0);
}

TEST_F(PrepareTest, PutsCountsAndCellsIntoWords) {
  write_worded_run();
  ASSERT_EQ(run_fairlane({"enumerate", "config.yaml", "--out", "counted"}).code, 0);
  ASSERT_EQ(run_fairlane({"prepare", "--decode", "counted"}).code, 0);
  EXPECT_TRUE(contains(slurp("counted.words/values.csv"), "\nage,10-19,"));
  EXPECT_TRUE(contains(slurp("counted.words/pairs.csv"), "\nfemale,male,"));
  ASSERT_EQ(run_fairlane({"verify", "config.yaml", "--out", "proven", "--cells", "none"}).code, 0);
  ASSERT_EQ(run_fairlane({"prepare", "--decode", "proven"}).code, 0);
  EXPECT_TRUE(contains(slurp("proven.words/cells.csv"), ",0-9,90-99,"));
  EXPECT_TRUE(contains(slurp("proven.words/counterexamples.csv"), ",male,"));
}

TEST_F(PrepareTest, PeopleAreShownInWords) {
  write_worded_run();
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--out", "found"}).code, 0);
  Outcome const found = run_fairlane({"inspect", "found"});
  EXPECT_TRUE(contains(found.out, "- age 0-9, income ")) << found.out;
  EXPECT_TRUE(contains(found.out, "sex female: decision no;  sex male: decision yes")) << found.out;
  Outcome const counted = run_fairlane({"enumerate", "config.yaml", "--out", "counted"});
  EXPECT_TRUE(contains(counted.out, "sex male over female: ")) << counted.out;
  Outcome const counts = run_fairlane({"inspect", "counted"});
  EXPECT_TRUE(contains(counts.out, "sex male over female: ")) << counts.out;
  ASSERT_EQ(run_fairlane({"verify", "config.yaml", "--out", "proven"}).code, 0);
  Outcome const proven = run_fairlane({"inspect", "proven"});
  EXPECT_TRUE(contains(proven.out, "decision yes")) << proven.out;
  Outcome const table = run_fairlane({"inspect", "data.csv", "domain.yaml"});
  EXPECT_TRUE(contains(table.out, "0 (no): ")) << table.out;
  EXPECT_TRUE(contains(table.out, "0-9, 10-19, 20-29, 30-39, 40-49, ...")) << table.out;
}

}  // namespace
}  // namespace fairlane
