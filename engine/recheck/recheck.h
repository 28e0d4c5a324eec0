// Checks a verification's directory again: every proof in certificate.txt, every counterexample,
// every number of cells.csv and summary.json.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/subject/subject.h"

namespace fairlane {

/// How far a recheck has come.
struct RecheckProgress {
  std::int64_t cells = 0;
  std::int64_t checked = 0;
  std::int64_t leaves = 0;
};

/// threads  0: all cores
/// effort   boxes that a leaf may be split into before it is left unproven
/// against  the directory with which the verification was compared, which is checked as well;
///          empty: what it says of that is not looked at
struct RecheckOptions {
  ModelOptions model;
  int threads = 0;
  int effort = 20'000;
  std::string against;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(RecheckProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// leaves        of all proofs, of which some may be left unproven
/// marginal      examples one of whose outputs is so near to the threshold that only the float32
///               chain itself tells its label
/// float32_only  examples that real numbers do not confirm
/// share_groups  that the summary's shares were held against, one by one: all of the region, or
///               drawn anew; 0: it has no shares
/// against       the directory with which it was compared, whose leaves are among those; empty:
///               nobody looked
/// not_checked   parts of the summary that were not looked at: against, and shares of a region of
///               which no draw exists
struct RecheckResult {
  std::int64_t cells = 0;
  std::int64_t fair = 0;
  std::int64_t unfair = 0;
  std::int64_t unknown = 0;
  std::int64_t leaves = 0;
  std::int64_t unproven = 0;
  std::int64_t marginal = 0;
  std::int64_t float32_only = 0;
  std::int64_t failed = 0;
  std::int64_t share_groups = 0;
  bool all_share_groups = false;
  std::string against;
  std::vector<std::string> not_checked;
  std::vector<std::string> failures;  // the first 20: file:line or cell, what
  std::vector<std::string> open;      // the first 20 unproven leaves
  double seconds = 0.0;
};

/// Checks a finished directory of `verify`. Of what found the proofs it shares the readers, how a
/// domain is cut into cells and the interval of a share, but no bound, no evaluation, no search.
/// Throws Error(kNoInput | kData | kOutput), kIntegrity for files that are damaged or inputs that
/// have changed, kUnavailable for a network whose proofs it cannot check, and kUsage for an
/// `against` with which it was not compared.
RecheckResult recheck(std::string const& dir, RecheckOptions const& options);

}  // namespace fairlane
