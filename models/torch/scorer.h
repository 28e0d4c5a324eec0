// A TorchScript module as a Scorer, through the LibTorch plug-in.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/core/scorer.h"

namespace fairlane {

/// How a module is run.
struct TorchScorerOptions {
  int threads = 0;  // of the CPU; 0: all cores
  /// What its scores are (kLogits or kProbabilities); nothing: probabilities where forward ends in
  /// a sigmoid or a softmax, otherwise logits. name() says which.
  std::optional<ScoreKind> kind;
};

/// Loads a TorchScript file (torch.jit.save), which runs code of the file: ask the user first.
/// inputs  attributes of the domain; forward takes float32 rows [n][inputs] and gives [n] or
///         [n][outputs]
/// Throws Error(kNoInput) if missing, Error(kData) where it is no TorchScript or does not take such
/// rows, Error(kUnavailable) without the plug-in. score() throws Error(kStopped).
std::shared_ptr<Scorer> make_torch_scorer(std::string const& path, int inputs,
                                          TorchScorerOptions const& options = {});

}  // namespace fairlane
