#include "models/torch/loader.h"
#include "models/torch/plugin_api.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

TEST(TorchPlugin, IsLookedForWhereTheEnvironmentSaysAndOtherwiseBesideTheProgram) {
  EXPECT_EQ(plugin_folder(kTorchPluginFile),
            std::filesystem::read_symlink("/proc/self/exe").parent_path());
  PluginDir const dir("/some/where");
  EXPECT_EQ(plugin_folder(kTorchPluginFile), "/some/where");
}

TEST(TorchPlugin, SaysThatItIsAbsent) {
  TemporaryFolder const folder;
  expect_error(ExitCode::kUnavailable,
               {folder.file("fairlane_torch.so"), "no such file", "FAIRLANE_TORCH=ON",
                "FAIRLANE_PLUGIN_DIR"},
               [&] { torch_plugin(folder.file("")); });
}

TEST(TorchPlugin, SaysWhyItDoesNotLoad) {
  TemporaryFolder const folder;
  std::string const path = folder.write("fairlane_torch.so", "not a library\n");
  expect_error(ExitCode::kUnavailable, {path, "too short"}, [&] { torch_plugin(folder.file("")); });
  expect_error(ExitCode::kUnavailable,
               {"fairlane_torch.so: is none of fairlane's", "fairlane_torch_plugin"},
               [] { torch_plugin(fake_plugin("stranger")); });
  expect_error(ExitCode::kUnavailable,
               {fmt::format("has interface 0, expected {}", kTorchPluginVersion)},
               [] { torch_plugin(fake_plugin("other_version")); });
}

TEST(TorchPlugin, LoadsOneOfItsVersion) {
  EXPECT_STREQ(torch_plugin(fake_plugin("lying")).name, "fake");
  EXPECT_EQ(&torch_plugin(fake_plugin("lying")), &torch_plugin(fake_plugin("lying")));
}

/// A domain of attributes with ten values each, but for the first one, which has two and is tested;
/// the logit is their sum.
class PlainSubject {
 public:
  explicit PlainSubject(std::int32_t attributes)
      : low(static_cast<std::size_t>(attributes), 0),
        high(static_cast<std::size_t>(attributes), 9),
        weights(static_cast<std::size_t>(attributes), 1.0F) {
    high[0] = 1;
    layer = {attributes, 1, kTorchLinear, 0.0F, weights.data(), &bias};
    subject = {1, &layer, attributes, low.data(), high.data(), 1, &selected, 2, values, 0.0F};
  }

  std::vector<std::int32_t> low;
  std::vector<std::int32_t> high;
  std::vector<float> weights;
  float bias = 0.0F;
  std::int32_t selected = 0;
  std::int32_t values[2] = {0, 1};
  TorchLayer layer{};
  TorchSubject subject{};
};

TEST(TorchPlugin, ReturnsErrorsAsOneLine) {
  FL_NEED_TORCH(dir);
  TorchPlugin const& plugin = torch_plugin();
  TorchLoaded* loaded = nullptr;
  PlainSubject const large(20);  // 2 * 10^19 inputs
  EXPECT_STREQ(plugin.load(&large.subject, "cpu", &loaded),
               "the domain has more inputs than a key of 63 bits");
  PlainSubject const small(3);
  std::string const unknown = plugin.load(&small.subject, "abacus", &loaded);
  EXPECT_NE(unknown.find("abacus"), std::string::npos) << unknown;
  EXPECT_EQ(unknown.find('\n'), std::string::npos) << unknown;
  EXPECT_EQ(loaded, nullptr);
}

TEST(TorchPlugin, DecodesItsFindingsInTheDatasetsOrder) {
  FL_NEED_TORCH(dir);
  TorchPlugin const& plugin = torch_plugin();
  PlainSubject plain(3);
  plain.bias = -0.5F;  // label 1 unless all are 0: only the group of zeros discriminates
  TorchLoaded* loaded = nullptr;
  ASSERT_EQ(plugin.load(&plain.subject, "cpu", &loaded), nullptr);
  std::vector<std::int32_t> const rows = {1, 0, 0, 0, 3, 4};
  std::vector<std::int32_t> const variants = {1, 0};
  TorchSearch search{};
  search.threads = 1;
  search.seeds = 2;
  search.row = rows.data();
  search.variant = variants.data();
  search.max_iter = 5;
  search.global_step = -1.0F;
  search.epsilon = 1e-6F;
  TorchCounts counts{};
  ASSERT_EQ(plugin.search(loaded, &search, &counts), nullptr);
  EXPECT_EQ(counts.global_found, 2);  // the second after four steps against the gradient
  EXPECT_EQ(counts.tests, 1 + 5);
  ASSERT_EQ(counts.unique_instances, 2);
  EXPECT_EQ(counts.unique_groups, 1);
  std::vector<std::int32_t> found(6);
  ASSERT_EQ(plugin.instances(loaded, 0, 2, found.data()), nullptr);
  EXPECT_EQ(found, (std::vector<std::int32_t>{0, 0, 0, 1, 0, 0}));
  plugin.unload(loaded);
}

}  // namespace
}  // namespace fairlane
