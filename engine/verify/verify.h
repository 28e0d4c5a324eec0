// verify: proves for every cell of a domain that a network treats all its groups fairly, or shows a
// group that it does not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/count/region.h"
#include "engine/job/checkpoint.h"

namespace fairlane {

/// Which pairs of a group's members have to be treated alike.
enum class PairSemantics : std::uint8_t {
  kAny,  // all: those that differ in at least one attribute under test (the papers)
  kAll,  // those that differ in every attribute under test (Fairify's program)
};

/// An attribute in which two people who are compared may differ by so much.
struct RelaxedBy {
  std::string attribute;
  std::int32_t by = 0;
};

/// How far a verification has come.
/// boxes      looked at
/// undecided  share of groups, where those are counted
struct VerifyProgress {
  std::int64_t cells = 0;
  std::int64_t decided = 0;
  std::int64_t unfair = 0;
  std::int64_t boxes = 0;
  double seconds = 0.0;
  std::optional<double> undecided = {};
};

/// region      what is verified
/// relaxed     attributes in which the two may differ, beside those under test
/// where       limits of sums of attributes that all people keep, as parse_limit() reads them
/// margin      by which every output may be off in a cell that is proven fair
/// cell_size   as in Cells; 0: one cell
/// cell_file   whose boxes are the cells, as read_cell_bounds() reads it; empty: by cell_size
/// against     a finished directory of `verify`, of another model, whose verdicts on the same cells
///             stand beside these; empty: none
/// fairify_csv  write fairify.csv, too
/// vnnlib      folder for the same question in VNN-LIB, see vnnlib.h; empty: none
/// most_boxes  that a cell is split into before it is left undecided
/// quantify    boxes in which certainly fair and unfair groups are counted after the verdict; 0: none
/// overwrite   replace the results of another configuration
/// now         of the saved states, in place of the time that passes; for tests
/// progress    called by one thread
struct VerifyOptions {
  Execution execution;
  Region region;
  PairSemantics semantics = PairSemantics::kAny;
  std::vector<RelaxedBy> relaxed;
  std::vector<std::string> where;
  double margin = 0.0;
  std::int64_t cell_size = 0;
  std::string cell_file;
  std::string against;
  bool fairify_csv = false;
  std::string vnnlib;
  std::int64_t most_boxes = 5'000'000;
  std::int64_t quantify = 0;
  bool overwrite = false;
  CheckpointClock::Now now;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(VerifyProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// Verifies the configured subject and writes manifest.json, cells.csv, counterexamples.csv,
/// summary.json and DONE to the output directory. Verdicts are about the float32 results of the
/// numerical contract: a cell is `unsat` where no group in it has members with different labels, as
/// is proven; `sat` where one is shown, evaluated in float32; `unknown` otherwise. They depend on
/// the configuration alone, unless its seconds run out.
/// Returns summary.json. Throws Error; kUnavailable for models without bounds; kStopped where the
/// same verification can go on from the saved state.
/// Source: Biswas and Rajan, Fairify: Fairness verification of neural networks, ICSE 2023, for the
/// question and its cells.
std::string verify(RunConfig const& config, VerifyOptions const& options);

}  // namespace fairlane
