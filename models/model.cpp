#include "models/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "models/data/domain.h"
#include "models/exec/scorer.h"
#include "models/network_file.h"
#include "models/onnx_trees.h"
#include "models/torch/scorer.h"
#include "models/trees/scorer.h"
#include "models/trees/trees.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr char const* kCommand = "exec:";

/// Throws where a model that runs code may not be loaded.
void require_allowed(std::string const& model, int inputs, ModelOptions const& options) {
  if (!options.allow_exec) {
    throw Error(ExitCode::kConfig,
                fmt::format("model: {} runs code on this machine; give --allow-exec to allow that",
                            in_quotes(model, kLongestPath)));
  }
  if (inputs < 1) {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: does not tell how many inputs it takes; name its domain file, too",
                            escaped(model, kLongestPath)));
  }
}

}  // namespace

Network const& Model::network(char const* purpose) const {
  if (network_) return *network_;
  throw Error(ExitCode::kUnavailable,
              fmt::format("{}: is no network of dense layers, which {} needs",
                          escaped(source_, kLongestPath), purpose));
}

std::vector<std::string> const& Model::features() const {
  static std::vector<std::string> const kNone;
  if (network_) return network_->features;
  auto const* const trees = dynamic_cast<TreeScorer const*>(scorer_.get());
  return trees == nullptr ? kNone : trees->trees().features;
}

void check_features(Model const& model, Domain const& domain) {
  std::vector<std::size_t> first;  // input of every attribute
  std::size_t inputs = 0;
  for (Attribute const& attribute : domain.attributes) {
    first.push_back(inputs);
    inputs += static_cast<std::size_t>(encoded_width(attribute));
  }
  auto const& features = model.features();
  for (std::size_t i = 0; i < features.size(); ++i) {
    int const place = domain.find(features[i]);
    if (place < 0) continue;
    auto const a = static_cast<std::size_t>(place);
    bool const is_one_input = encoded_width(domain.attributes[a]) == 1;
    if (!is_one_input || first[a] == i) continue;
    throw Error(ExitCode::kData,
                fmt::format("{}: takes {} as input {}, but it is attribute {} of the domain {}{}; "
                            "expected the model's inputs, in its order",
                            escaped(model.source(), kLongestPath), in_quotes(features[i]), i + 1,
                            place + 1, escaped(domain.source, kLongestPath),
                            domain.encodes() ? fmt::format(", there input {}", first[a] + 1) : ""));
  }
}

char const* name_of(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::kLogits:
      return "logits";
    case ScoreKind::kProbabilities:
      return "probabilities";
    case ScoreKind::kLabels:
      return "labels";
  }
  return "";
}

bool is_command(std::string const& model) { return model.rfind(kCommand, 0) == 0; }

bool runs_code(std::string const& model) {
  return is_command(model) || lower_extension(model) == ".pt";
}

std::string model_file(std::string const& model) {
  return is_command(model) ? std::string() : network_file(model);
}

Model load_model(std::string const& model, int inputs, ModelOptions const& options) {
  if (options.make) return {model, options.make()};
  if (runs_code(model)) require_allowed(model, inputs, options);
  if (is_command(model)) {
    ExecOptions exec;
    exec.threads = options.threads;
    exec.folder = options.folder;
    exec.children = options.exec_children;
    if (options.exec_timeout > 0) {
      exec.timeout_seconds = options.exec_timeout;
      exec.start_seconds = std::max(exec.start_seconds, options.exec_timeout);
    }
    return {model, make_exec_scorer(model.substr(std::strlen(kCommand)), inputs, exec)};
  }
  if (runs_code(model)) {
    TorchScorerOptions torch;
    torch.threads = options.threads;
    return {model, make_torch_scorer(model, inputs, torch)};
  }
  if (is_tree_file(model)) {
    return {model, std::make_shared<TreeScorer>(load_trees(model), options.threads)};
  }
  if (lower_extension(model) == ".onnx") {
    if (auto trees = load_onnx_trees(model))
      return {model, std::make_shared<TreeScorer>(std::move(*trees), options.threads)};
  }
  return {model, load_network(model)};
}

}  // namespace fairlane
