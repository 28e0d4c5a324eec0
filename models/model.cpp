#include "models/model.h"

#include <fmt/format.h>

#include <cstring>

#include "kernels/core/error.h"
#include "models/exec_scorer.h"
#include "models/text.h"
#include "models/torch_scorer.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr char const* kCommand = "exec:";

bool ends_with(std::string const& text, std::string const& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Throws where a model that runs code may not be loaded, or not without a domain.
void require_allowed(std::string const& model, ModelOptions const& options) {
  if (!options.allow_exec) {
    throw Error(ExitCode::kConfig,
                fmt::format("model: {} runs code on this machine; give --allow-exec to allow that",
                            in_quotes(model, kLongestPath)));
  }
  if (options.inputs <= 0) {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: does not tell how many inputs it has; name its domain file, too",
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

bool runs_code(std::string const& model) { return is_command(model) || ends_with(model, ".pt"); }

Model load_model(std::string const& model, ModelOptions const& options) {
  if (options.make) return {model, options.make()};
  if (runs_code(model)) require_allowed(model, options);
  if (is_command(model)) {
    ExecOptions exec;
    exec.threads = options.threads;
    return {model, make_exec_scorer(model.substr(std::strlen(kCommand)), options.inputs, exec)};
  }
  if (runs_code(model)) {
    TorchScorerOptions torch;
    torch.threads = options.threads;
    return {model, make_torch_scorer(model, options.inputs, torch)};
  }
  return {model, load_network(model)};
}

}  // namespace fairlane
