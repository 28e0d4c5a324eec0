// fairlane verify --check as a person uses it, and what can be wrong with its flags.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/apps/bad_input.h"
#include "tests/checkout.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

/// A finished verification of the folder's small run, in `proven`.
void verify_small() {
  Outcome const outcome =
      run_fairlane({"verify", "config.yaml", "--out", "proven", "-q", "--cells", "fairify:2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
}

Words const kCheck = {"verify", "--check", "proven"};

void with_the_certificate(void (*change)(std::string&)) {
  verify_small();
  std::string text = slurp("proven/certificate.txt");
  change(text);
  std::ofstream("proven/certificate.txt", std::ios::binary) << text;
}
void run_instead() {
  Outcome const outcome = run_fairlane({"run", "config.yaml", "--out", "proven", "-q"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
}
void leave_out(char const* name) {
  verify_small();
  fs::remove(std::string("proven/") + name);
}

// One mistake in two lines or three; a formatter would make them ten.
// clang-format off
BadInput const kCheckInputs[] = {
    {"Nothing", nothing, {"verify"}, ExitCode::kUsage, {"CONFIG", "--check DIR"}},
    {"Both", verify_small, {"verify", "config.yaml", "--check", "proven"}, ExitCode::kUsage,
     {"--check DIR takes no CONFIG"}},
    {"Query", verify_small, {"verify", "--check", "proven", "--quantify", "9"}, ExitCode::kUsage,
     {"--check DIR takes no --quantify", "manifest.json has it"}},
    {"Output", verify_small, {"verify", "--check", "proven", "--overwrite"}, ExitCode::kUsage,
     {"--check DIR takes no --overwrite: it writes nothing"}},
    {"EffortAlone", nothing, {"verify", "config.yaml", "--effort", "3"}, ExitCode::kUsage,
     {"--effort", "--check"}},
    {"EffortZero", verify_small, {"verify", "--check", "proven", "--effort", "0"}, ExitCode::kUsage,
     {"--effort", "0"}},
    {"NoDirectory", nothing, kCheck, ExitCode::kNoInput, {"proven", "no such directory"}},
    {"File", [] { fs::copy("config.yaml", "proven"); }, kCheck, ExitCode::kOutput, {"is a file"}},
    {"Unfinished", [] { leave_out("DONE"); }, kCheck, ExitCode::kOutput, {"has no DONE"}},
    {"NoCertificate", [] { leave_out("certificate.txt"); }, kCheck, ExitCode::kNoInput,
     {"certificate.txt"}},
    {"OfAnotherCommand", run_instead, kCheck, ExitCode::kUsage,
     {"`fairlane run`", "expected `fairlane verify`"}},
    {"ByCheck", verify_small, {"check", "proven"}, ExitCode::kUsage,
     {"`fairlane verify`", "`fairlane verify --check DIR`"}},
    {"ModelChanged",
     [] {
       verify_small();
       std::string model = slurp("model.safetensors");
       model.back() = static_cast<char>(model.back() ^ 1);
       std::ofstream("model.safetensors", std::ios::binary) << model;
     },
     kCheck, ExitCode::kIntegrity, {"model.safetensors", "SHA-256", "changed"}},
    {"CertificateChanged",
     [] { with_the_certificate([](std::string& text) { text.replace(text.find("cells "), 6, "cells 1"); }); },
     kCheck, ExitCode::kIntegrity, {"certificate.txt:"}},
    {"CertificateCutOff",
     [] { with_the_certificate([](std::string& text) { text.resize(text.size() / 2); }); },
     kCheck, ExitCode::kIntegrity, {"certificate.txt:", "the file ends here"}},
    {"CertificateTooLong",
     [] { with_the_certificate([](std::string& text) { text += "\n"; }); },
     kCheck, ExitCode::kIntegrity, {"certificate.txt:", "expected the end"}},
    {"AnotherVersion",
     [] { with_the_certificate([](std::string& text) { text.replace(text.find(" 1\n"), 2, " 2"); }); },
     kCheck, ExitCode::kIntegrity, {"certificate.txt:1: expected 'fairlane certificate 1'"}},
    {"SummaryChanged",
     [] {
       verify_small();
       edit_file("proven/summary.json", "\"unknown\": 0", "\"unknown\": 1");
     },
     kCheck, ExitCode::kIntegrity, {"statements do not hold", "summary.json"}},
};
// clang-format on

class CheckInput : public testing::TestWithParam<BadInput> {};

TEST_P(CheckInput, IsOneLine) { expect_one_line(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Verify, CheckInput, testing::ValuesIn(kCheckInputs), case_name);

TEST(VerifyCheck, ProvesAgainWhatWasProven) {
  WorkingFolder const folder;
  write_small_run();
  verify_small();
  Outcome const outcome = run_fairlane(kCheck);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("unproven   0\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("failed     0\n"), std::string::npos) << outcome.out;
  Outcome const stated = run_fairlane({"verify", "--check", "proven", "--json"});
  auto const facts = nlohmann::json::parse(stated.out);
  EXPECT_EQ(stated.code, 0);
  EXPECT_EQ(facts["failed"], 0);
  EXPECT_EQ(facts["not_checked"], nlohmann::json::array());
  auto const summary = nlohmann::json::parse(slurp("proven/summary.json"));
  EXPECT_EQ(facts["cells"], summary["cells"]);
  EXPECT_GT(facts["cells"]["unsat"], 0);
}

TEST(VerifyCheck, HoldsSharesAgainstGroups) {
  WorkingFolder const folder;
  write_small_run();
  ASSERT_EQ(
      run_fairlane({"verify", "config.yaml", "--out", "proven", "-q", "--quantify", "50"}).code, 0);
  Outcome const outcome = run_fairlane({"verify", "--check", "proven", "--json"});
  auto const facts = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(facts["shares"]["all"], true);
  EXPECT_GT(facts["shares"]["groups"], 0);
  EXPECT_NE(run_fairlane(kCheck).out.find(" groups: all that exist\n"), std::string::npos);
}

TEST(VerifyCheck, SaysThatItDidNotLookAtAComparison) {
  WorkingFolder const folder;
  write_small_run();
  verify_small();
  ASSERT_EQ(run_fairlane({"verify", "config.yaml", "--out", "beside", "-q", "--cells", "fairify:2",
                          "--against", "proven"})
                .code,
            0);
  Outcome const alone = run_fairlane({"verify", "--check", "beside", "--json"});
  EXPECT_EQ(nlohmann::json::parse(alone.out)["not_checked"], nlohmann::json({"against"}));
  Outcome const both =
      run_fairlane({"verify", "--check", "beside", "--against", "proven", "--json"});
  EXPECT_EQ(nlohmann::json::parse(both.out)["not_checked"], nlohmann::json::array());
  EXPECT_EQ(both.code, 0) << both.err;
  Outcome const reversed = run_fairlane({"verify", "--check", "proven", "--against", "beside"});
  EXPECT_EQ(reversed.code, 64);
  EXPECT_NE(reversed.err.find("was not compared with another verification"), std::string::npos);
}

class TreeFiles : public testing::TestWithParam<char const*> {};

// The same groups by full evaluation, by boxes, and by the checker, which shares no sum with them.
TEST_P(TreeFiles, AreVerifiedAndChecked) {
  WorkingFolder const here;
  fs::copy(source_dir() + "/tests/models/trees/" + GetParam(), GetParam());
  std::ofstream("codes.yaml") << "name: codes\nattributes:\n"
                                 "  - {name: age, low: -5, high: 60}\n"
                                 "  - {name: job, low: 0, high: 11}\n"
                                 "  - {name: degree, low: 1, high: 4}\n"
                                 "  - {name: sex, low: 0, high: 1, protected: true}\n";
  std::ofstream("trees.yaml") << "model: " << GetParam()
                              << "\ndomain: codes.yaml\nprotected: [sex]\nmethod: themis\n"
                                 "output: {dir: unused}\n";
  auto const json_of = [](Words words) {
    words.insert(words.end(), {"--json", "-q"});
    Outcome const outcome = run_fairlane(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  auto const counted = json_of({"enumerate", "trees.yaml", "--out", "all"});
  auto const shares =
      json_of({"verify", "trees.yaml", "--out", "shares", "--quantify", "3000"})["shares"];
  EXPECT_EQ(shares["undecided"], 0.0);
  EXPECT_NEAR(shares["unfair"].get<double>() * shares["groups"].get<double>(),
              counted["counts"]["unique_groups"].get<double>(), 1e-6);
  auto const cells =
      json_of({"verify", "trees.yaml", "--out", "cells", "--cells", "fairify:2"})["cells"];
  EXPECT_GT(cells["sat"], 10);
  EXPECT_GT(cells["unsat"], 10);
  EXPECT_EQ(cells["unknown"], 0);
  auto const checked = json_of({"verify", "--check", "cells"});
  EXPECT_EQ(checked["unproven"], 0);
  EXPECT_EQ(checked["failed"], 0);
  EXPECT_EQ(checked["leaves"], cells["unsat"]);
  // A cell that is said to be fair and is not, signed again by nobody.
  std::string csv = slurp("cells/cells.csv");
  auto const at = csv.find(",sat,");
  ASSERT_NE(at, std::string::npos);
  csv.replace(at, 5, ",unsat,");
  std::ofstream("cells/cells.csv", std::ios::binary) << csv;
  EXPECT_EQ(run_fairlane({"verify", "--check", "cells", "-q"}).code,
            static_cast<int>(ExitCode::kIntegrity));
}

INSTANTIATE_TEST_SUITE_P(Files, TreeFiles,
                         testing::Values("lightgbm_binary.txt", "lightgbm_categories.txt",
                                         "lightgbm_ova.txt", "sklearn_boosting3.json",
                                         "sklearn_forest.json", "xgboost_logistic.json",
                                         "xgboost_partition.json", "xgboost_softprob.json"));

}  // namespace
}  // namespace fairlane
