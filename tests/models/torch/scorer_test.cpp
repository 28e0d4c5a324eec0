#include "models/torch/scorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <vector>

#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"
#include "tests/models/torch/module_writer.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

constexpr int kInputs = 3;
constexpr char const* kSum = "w = torch.tensor([[1.], [2.], [-3.]])\n";

std::vector<float> some_rows(std::size_t count) {
  std::vector<float> rows(count * kInputs);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>((i * 2654435761U >> 7U) % 10);
  return rows;
}

std::vector<float> scores_of(Scorer& scorer, std::vector<float> const& rows) {
  std::size_t const count = rows.size() / kInputs;
  std::vector<float> scores(count * static_cast<std::size_t>(scorer.outputs()));
  scorer.score(rows.data(), count, scores.data());
  return scores;
}

TEST(TorchScorer, SaysWhatAFileIsThatIsNoArchive) {
  TemporaryFolder const folder;
  PluginDir const dir(folder.file(""));  // not needed yet
  auto const load = [](std::string const& path) {
    return [path] { make_torch_scorer(path, kInputs); };
  };
  expect_error(ExitCode::kNoInput, {"none.pt: no such file"}, load(folder.file("none.pt")));
  expect_error(ExitCode::kNoInput, {"is a directory"}, load(folder.file("")));
  expect_error(ExitCode::kData, {"a.pt: is empty", "torch.jit.save"},
               load(folder.write("a.pt", "")));
  expect_error(ExitCode::kData, {"a.pt: is no zip archive"}, load(folder.write("a.pt", "PK")));
  expect_error(ExitCode::kUnavailable, {"fairlane_torch.so: no such file", "FAIRLANE_TORCH=ON"},
               load(folder.write("a.pt", "PK\x03\x04")));
}

TEST(TorchScorer, PassesOnWhatThePlugInSays) {
  TemporaryFolder const folder;
  std::string const path = folder.write("a.pt", "PK\x03\x04");
  {
    PluginDir const dir(fake_plugin("failing"));
    expect_error(
        ExitCode::kData,
        {"a.pt: cannot be used as TorchScript for rows of 3 inputs: ", "no memory for a tensor"},
        [&] { make_torch_scorer(path, kInputs); });
  }
  PluginDir const dir(fake_plugin("lying"));
  auto const scorer = make_torch_scorer(path, kInputs);
  EXPECT_EQ(scorer->name(), "TorchScript a.pt (probabilities: ends in aten::sigmoid; fake, cpu)");
  expect_error(ExitCode::kStopped, {"a.pt: gives 2 as a probability of the row 0,"},
               [&] { scores_of(*scorer, some_rows(2)); });
  TorchScorerOptions logits;
  logits.kind = ScoreKind::kLogits;
  auto const told = make_torch_scorer(path, kInputs, logits);
  EXPECT_EQ(told->name(), "TorchScript a.pt (logits; fake, cpu)");
  EXPECT_EQ(scores_of(*told, some_rows(1)), std::vector<float>{2.0F});
}

TEST(TorchScorer, EqualsAPlainComputationWhateverTheThreadsAndTheBatch) {
  FL_NEED_TORCH(dir);
  TemporaryFolder const folder;
  std::string const path = write_module(folder, std::string(kSum) + "return torch.matmul(x, w)\n");
  auto const rows = some_rows(10'000);
  std::vector<float> expected;
  for (std::size_t i = 0; i < rows.size(); i += kInputs)
    expected.push_back(rows[i] + 2 * rows[i + 1] - 3 * rows[i + 2]);
  for (int const threads : {1, 3}) {
    TorchScorerOptions options;
    options.threads = threads;
    auto const scorer = make_torch_scorer(path, kInputs, options);
    EXPECT_EQ(scorer->kind(), ScoreKind::kLogits);
    EXPECT_NE(scorer->name().find("(logits: ends in aten::matmul; LibTorch"), std::string::npos)
        << scorer->name();
    EXPECT_TRUE(scores_of(*scorer, rows) == expected);
    for (std::size_t const count : {0U, 1U, 7U, 2048U, 2049U}) {
      auto const few = scores_of(*scorer, some_rows(count));
      EXPECT_TRUE(std::equal(few.begin(), few.end(), expected.begin())) << count;
    }
  }
}

TEST(TorchScorer, GivesEqualRowsEqualScores) {
  FL_NEED_TORCH(dir);
  TemporaryFolder const folder;
  std::string const path = write_module(folder,
                                        "w = torch.reshape(torch.sin(torch.arange(192)), [3, 64])\n"
                                        "v = torch.reshape(torch.cos(torch.arange(64)), [64, 1])\n"
                                        "return torch.matmul(torch.relu(torch.matmul(x, w)), v)\n");
  auto const scorer = make_torch_scorer(path, kInputs);
  auto const rows = some_rows(5'000);
  auto const expected = scores_of(*scorer, rows);
  for (std::size_t i = 0; i < 5'000; i += 997) {
    float alone = 0.0F;
    scorer->score(rows.data() + i * kInputs, 1, &alone);
    EXPECT_EQ(alone, expected[i]);
  }
}

TEST(TorchScorer, KnowsProbabilitiesByTheLastOperation) {
  FL_NEED_TORCH(dir);
  TemporaryFolder const folder;
  struct Case {
    char const* result;
    ScoreKind kind;
    int outputs;
  };
  for (auto const& [result, kind, outputs] :
       {Case{"torch.sigmoid(torch.matmul(x, w))", ScoreKind::kProbabilities, 1},
        Case{"torch.squeeze(torch.sigmoid(torch.matmul(x, w)), 1)", ScoreKind::kProbabilities, 1},
        Case{"torch.softmax(x, 1)", ScoreKind::kProbabilities, 3},
        Case{"torch.relu(x)", ScoreKind::kLogits, 3},
        Case{"torch.mul(torch.sigmoid(x), 5)", ScoreKind::kLogits, 3}}) {
    auto const scorer = make_torch_scorer(
        write_module(folder, std::string(kSum) + "return " + result + "\n"), kInputs);
    EXPECT_EQ(scorer->kind(), kind) << result;
    EXPECT_EQ(scorer->outputs(), outputs) << result;
  }
}

TEST(TorchScorer, SaysWhatIsWrongWithAModule) {
  FL_NEED_TORCH(dir);
  TemporaryFolder const folder;
  std::string const path = write_module(folder, std::string(kSum) + "return torch.matmul(x, w)\n");
  expect_error(ExitCode::kData,
               {"module.pt: cannot be used as TorchScript for rows of 5 inputs",
                "shapes cannot be multiplied (2048x5 and 3x1)"},
               [&] { make_torch_scorer(path, 5); });
  std::string const bytes = slurp(path);
  for (std::size_t const size : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 1}) {
    expect_error(ExitCode::kData, {"cannot be used as TorchScript"}, [&] {
      make_torch_scorer(folder.write("cut.pt", bytes.substr(0, size)), kInputs);
    });
  }
  expect_error(ExitCode::kData, {"scores of shape [3, 2048] for 2048 rows"},
               [&] { make_torch_scorer(write_module(folder, "return torch.t(x)\n"), kInputs); });
  auto const fails =
      make_torch_scorer(write_module(folder,
                                     "if bool(torch.gt(torch.max(x), 8)):\n"
                                     "  ops.prim.RaiseException(\"nine is too much\")\n"
                                     "else:\n"
                                     "  pass\n"
                                     "return torch.relu(x)\n"),
                        kInputs);
  EXPECT_EQ(scores_of(*fails, {1, 2, 3}), (std::vector<float>{1, 2, 3}));
  expect_error(ExitCode::kStopped, {"module.pt: ", "nine is too much"}, [&] {
    scores_of(*fails, {1, 2, 9});
  });
}

}  // namespace
}  // namespace fairlane
