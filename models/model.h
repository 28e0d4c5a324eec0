// What is tested: a network of dense layers, whose inside is known, or anything else that gives
// scores for rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/core/scorer.h"
#include "models/network.h"

namespace fairlane {

struct Domain;

/// How a model is loaded; nothing of it changes what the model says.
/// allow_exec     models that run code may be loaded (--allow-exec)
/// threads        that a scorer may use, 0: all cores
/// exec_children  of a command, 0: chosen
/// exec_timeout   seconds in which a child of a command must take or give something, 0: chosen
/// folder         in which a command runs; empty: the working directory
/// make           in place of the file or the command that the configuration names; for tests
struct ModelOptions {
  bool allow_exec = false;
  int threads = 0;
  int exec_children = 0;
  double exec_timeout = 0;
  std::string folder;
  std::function<std::shared_ptr<Scorer>()> make;
};

/// A model: either a network or a scorer.
class Model {
 public:
  Model(std::string source, Network network)
      : source_(std::move(source)), network_(std::move(network)) {}
  Model(std::string source, std::shared_ptr<Scorer> scorer)
      : source_(std::move(source)), scorer_(std::move(scorer)) {}

  /// The path or the command, as the configuration names it.
  std::string const& source() const { return source_; }
  int inputs() const { return scorer_ ? scorer_->inputs() : network_->inputs(); }
  int outputs() const { return scorer_ ? scorer_->outputs() : network_->outputs(); }
  /// Names of the inputs in their order; empty where the file has none.
  std::vector<std::string> const& features() const;
  ScoreKind scores() const { return scorer_ ? scorer_->kind() : ScoreKind::kLogits; }
  /// Null for a network.
  std::shared_ptr<Scorer> const& scorer() const { return scorer_; }
  /// Throws Error(kUnavailable), which names `purpose`, for a scorer.
  Network const& network(char const* purpose) const;

 private:
  std::string source_;
  std::optional<Network> network_;
  std::shared_ptr<Scorer> scorer_;
};

/// Checks that no input which the model's file names as an attribute of the domain stands elsewhere
/// there; other names may differ.
/// Throws Error(kData).
void check_features(Model const& model, Domain const& domain);

/// Such as "probabilities".
char const* name_of(ScoreKind kind);

/// Whether a model is a command (exec:COMMAND) and no file.
bool is_command(std::string const& model);

/// Whether loading a model runs code of its author: it must be allowed, and does not tell how many
/// inputs it has.
bool runs_code(std::string const& model);

/// The file whose digest stands for a model; empty for a command.
std::string model_file(std::string const& model);

/// Loads the model that a configuration names, by whoever reads its kind: exec:COMMAND a child
/// process, .pt TorchScript, files of tree ensembles, otherwise a network.
/// inputs  that it will be given, which a model that runs code does not tell by itself; 0: not
///         known
/// Throws Error(kNoInput | kData | kUnavailable), and Error(kConfig) where it runs code and that
/// was not allowed.
Model load_model(std::string const& model, int inputs, ModelOptions const& options);

}  // namespace fairlane
