#include "models/model.h"

#include <fmt/format.h>

#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr char const* kCommand = "exec:";

bool ends_with(std::string const& text, std::string const& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Throws where a model that runs code may not be loaded.
void require_allowed(std::string const& model, ModelOptions const& options) {
  if (options.allow_exec) return;
  throw Error(ExitCode::kConfig,
              fmt::format("model: {} runs code on this machine; give --allow-exec to allow that",
                          in_quotes(model, kLongestPath)));
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

Model load_model(std::string const& model, ModelOptions const& options) {
  if (options.make) return {model, options.make()};
  if (is_command(model)) {
    require_allowed(model, options);
    throw Error(ExitCode::kUnavailable,
                fmt::format("model: {}: this version runs no child processes",
                            in_quotes(model, kLongestPath)));
  }
  if (ends_with(model, ".pt")) {
    require_allowed(model, options);
    throw Error(ExitCode::kUnavailable,
                fmt::format("{}: this version reads no TorchScript", escaped(model, kLongestPath)));
  }
  return {model, load_network(model)};
}

}  // namespace fairlane
