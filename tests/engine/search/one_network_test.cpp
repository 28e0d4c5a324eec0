// One network of the papers, read natively and through everything else that can hold it: the same
// decisions, the same search.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "models/network_file.h"
#include "tests/checkout.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/models/temporary.h"
#include "tests/models/torch/module_writer.h"
#include "tests/plugin_dir.h"
#include "tests/python_module.h"

namespace fairlane {
namespace {

constexpr std::size_t kRows = 1'000'000;
constexpr unsigned kSeed = 61;
constexpr float kNearCut = 1e-4F;  // logits in which frameworks need not agree on a label
constexpr GoldenCase kCase = {"census", "age"};

std::string list_of(float const* values, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{:.9e}", i == 0 ? "" : ", ", values[i]);
  return "[" + text + "]";
}

/// forward() of a network of ReLU and a sigmoid, for write_module.
std::string forward_of(Network const& network) {
  std::string body = "h = x\n";
  for (DenseLayer const& layer : network.layers) {
    std::string rows;
    for (int i = 0; i < layer.inputs; ++i)
      rows += list_of(layer.weights.data() + i * layer.outputs, layer.outputs) + ", ";
    bool const last = &layer == &network.layers.back();
    body += fmt::format(
        "h = torch.{}(torch.add(torch.matmul(h, torch.tensor([{}])), torch.tensor({})))\n",
        last ? "sigmoid" : "relu", rows, list_of(layer.bias.data(), layer.outputs));
  }
  return body + "return h\n";
}

/// Rows [kRows][attributes], uniform over the domain.
std::vector<std::int32_t> uniform_rows(SubjectView const& view) {
  std::mt19937 random(kSeed);
  std::vector<std::int32_t> rows;
  rows.reserve(kRows * view.low.size());
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t a = 0; a < view.low.size(); ++a)
      rows.push_back(
          std::uniform_int_distribution<std::int32_t>(view.low[a], view.high[a])(random));
  }
  return rows;
}

std::unique_ptr<Backend> backend_of(TestSubject const& subject) {
  return make_backend(subject, {}, kSeed, [](Visits const&) { FAIL() << "no room"; });
}

/// The first findings of MAFT.
SearchResult global_phase(RunConfig const& config, TestSubject const& subject) {
  MethodSpec const& method = find_method(config.method);
  SeedSource const seeds(config, method, subject);
  SearchOptions options;
  options.trace = true;
  return search(config, method, seeds, *backend_of(subject), options);
}

class OneNetwork : public ::testing::TestWithParam<char const*> {};

TEST_P(OneNetwork, DecidesAndIsSearchedAlike) {
  FL_NEED_BENCHMARKS(benchmarks);
  TemporaryFolder const folder;
  RunConfig config = golden_config(benchmarks, kCase, "maft");
  config.global.seeds.clear();
  config.global.num = 1000;
  config.local.num = 0;
  Network const network = load_network(config.model);
  ModelOptions options;
  options.allow_exec = true;
  RunConfig other = config;
  other.model_folder = source_dir() + "/models/adapters";
  std::string const kind = GetParam();
  if (kind == "onnx") other.model = folder.write("n.onnx", onnx_of(network, true));
  if (kind == "numpy") {
    FL_NEED_MODULE("h5py");
    other.model = fmt::format("exec:{} example_keras.py '{}'", model_python(), config.model);
  }
  if (kind == "torchscript") {
    FL_NEED_TORCH(only_asked);
    other.model = write_module(folder, forward_of(network));
  }
  PluginDir const plugin(built_plugin());

  TestSubject const native(config);
  TestSubject const through(other, options);
  auto const rows = uniform_rows(native.view());
  std::vector<float> logits(kRows);
  backend_of(native)->logits(rows.data(), kRows, logits.data());
  std::vector<float> scores(kRows);
  backend_of(through)->logits(rows.data(), kRows, scores.data());
  std::size_t compared = 0;
  std::size_t differ = 0;
  std::size_t ones = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    if (std::fabs(logits[r]) <= kNearCut) continue;
    ++compared;
    bool const one = logits[r] > native.view().threshold;
    ones += one ? 1 : 0;
    differ += one != (scores[r] > through.view().threshold) ? 1 : 0;
  }
  EXPECT_EQ(differ, 0U) << "seed " << kSeed;
  EXPECT_GT(compared, kRows * 99 / 100);
  EXPECT_GT(std::min(ones, compared - ones), kRows / 100);

  auto const expected = global_phase(config, native);
  auto const found = global_phase(other, through);
  auto const seeds = static_cast<std::size_t>(config.global.num);
  ASSERT_EQ(expected.global.size(), seeds);
  ASSERT_EQ(found.global.size(), seeds);
  auto const width = static_cast<std::ptrdiff_t>(native.view().low.size());
  std::size_t same = 0;
  for (std::size_t s = 0; s < seeds; ++s) {
    auto const a = expected.last_rows.begin() + static_cast<std::ptrdiff_t>(s) * width;
    auto const b = found.last_rows.begin() + static_cast<std::ptrdiff_t>(s) * width;
    same += expected.global[s].found == found.global[s].found &&
                    expected.global[s].iterations == found.global[s].iterations &&
                    std::equal(a, a + width, b)
                ? 1
                : 0;
  }
  EXPECT_GE(same, seeds * 99 / 100);
  EXPECT_GT(expected.counts.global_found, 100);
}

INSTANTIATE_TEST_SUITE_P(Formats, OneNetwork, ::testing::Values("onnx", "numpy", "torchscript"),
                         [](auto const& test) { return std::string(test.param); });

}  // namespace
}  // namespace fairlane
