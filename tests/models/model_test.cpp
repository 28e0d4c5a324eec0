#include "models/model.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/checkout.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

ModelOptions allowed() {
  ModelOptions options;
  options.allow_exec = true;
  options.threads = 1;
  return options;
}

TEST(LoadModel, RunsCodeOnlyWhereThatIsAllowed) {
  TemporaryFolder const folder;
  std::string const command = "exec:touch '" + folder.file("trace") + "'";
  for (std::string const& model : {command, std::string("model.pt")}) {
    EXPECT_TRUE(runs_code(model));
    expect_error(ExitCode::kConfig, {model.substr(0, 8), "runs code", "--allow-exec"},
                 [&] { load_model(model, 3, {}); });
    expect_error(ExitCode::kUsage, {model.substr(0, 8), "name its domain file"},
                 [&] { load_model(model, 0, allowed()); });
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("trace")));
  expect_error(ExitCode::kUnavailable, {"before its handshake"},
               [&] { load_model(command, 3, allowed()); });
  EXPECT_TRUE(std::filesystem::exists(folder.file("trace")));
  EXPECT_FALSE(runs_code("model.h5"));
}

TEST(LoadModel, ChoosesTheReaderByTheName) {
  Model const command = load_model(
      "exec:" + test_python() + " -I -S '" + source_dir() + "/tests/models/exec/child.py' labels",
      5, allowed());
  ASSERT_NE(command.scorer(), nullptr);
  EXPECT_EQ(command.inputs(), 5);
  EXPECT_EQ(command.outputs(), 4);
  EXPECT_EQ(command.scores(), ScoreKind::kLabels);
  TemporaryFolder const folder;
  PluginDir const dir(fake_plugin("lying"));
  Model const module = load_model(folder.write("a.pt", "PK\x03\x04"), 5, allowed());
  ASSERT_NE(module.scorer(), nullptr);
  EXPECT_EQ(module.scores(), ScoreKind::kProbabilities);
}

}  // namespace
}  // namespace fairlane
