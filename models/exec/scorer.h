// A model that is a program of the user's, as a Scorer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/core/scorer.h"

namespace fairlane {

inline constexpr int kMaxExecChildren = 1024;
inline constexpr double kLeastExecSeconds = 1e-3;
inline constexpr double kMostExecSeconds = 1e6;

/// How a program is run. None of it changes a score.
struct ExecOptions {
  int children = 0;            // side by side; 0: one for every thread, but no more than 8
  int threads = 0;             // that this run may use; 0: all cores
  double start_seconds = 300;  // until a child's handshake: it loads libraries and a model
  double timeout_seconds =
      60;  // that a child may neither take nor give anything while it owes an answer
  std::size_t batch_rows = 8192;  // of the largest batch; two fit the pipe for up to 16 attributes
  std::string folder;  // the children's working directory, the configuration's; empty: ours
};

/// Starts the children of `command` and agrees with them on what they give. A child that ends is
/// started again once, and given again what it had not answered; whatever else goes wrong ends the
/// search, which saves its state.
/// command  split into words without a shell (command_words in base/child_process.h)
/// inputs   attributes of the domain
/// Throws Error(kConfig) for a bad command, Error(kUnavailable) where a child does not start or
/// speaks no protocol of ours. score() throws Error(kStopped).
/// Source: the protocol is written down in models/adapters/README.md.
std::shared_ptr<Scorer> make_exec_scorer(std::string command, int inputs,
                                         ExecOptions const& options = {});

}  // namespace fairlane
