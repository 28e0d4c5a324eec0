// Branch and bound over the boxes of all cells, in rounds that all threads share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/job/checkpoint.h"
#include "engine/verify/boxes/cells.h"
#include "engine/verify/boxes/proof_tree.h"
#include "engine/verify/deciders/box_decider.h"
#include "engine/verify/evaluation_choice.h"

namespace fairlane {

/// What is known of a cell.
enum class CellVerdict : std::uint8_t { kUndecided, kFair, kUnfair, kUnknown };

/// What files call them, by CellVerdict.
inline constexpr std::array kVerdictWords = {"unknown", "unsat", "sat", "unknown"};

/// Why a cell is unknown, or, kEmpty, fair without having any group.
enum class CellReason : std::uint8_t { kNone, kBoxes, kSeconds, kUndefined, kMargin, kEmpty };

/// A cell's verdict.
/// open     boxes that are not decided; `boxes` that were looked at
/// peopled  whether some of them may have a group
struct CellState {
  CellVerdict verdict = CellVerdict::kUndecided;
  CellReason reason = CellReason::kNone;
  bool peopled = false;
  std::int32_t open = 0;
  std::int64_t boxes = 0;
};

/// Which boxes come next, and what their decisions mean for their cells. A round takes the boxes
/// that came last, so that cells are finished one after the other; what it takes depends on earlier
/// rounds alone, so that threads cannot change a verdict.
class BoxQueue {
 public:
  /// class_pairs  each looked at by itself
  /// most_boxes   of a cell
  BoxQueue(Cells const& cells, std::size_t class_pairs, std::int64_t most_boxes);

  /// Boxes of the next round; none where every cell is decided. costs: of the decider
  std::vector<OpenBox> const& next(MeasureCosts const& costs);
  /// What became of them. [boxes]
  void take(std::vector<Decision> const& decisions);
  /// Leaves all that is not decided undecided: time has run out.
  void end();

  std::vector<CellState> const& states() const { return states_; }
  std::map<std::int64_t, UnfairPair> const& examples() const { return examples_; }
  std::int64_t boxes() const { return boxes_; }
  std::int64_t decided() const { return decided_; }
  /// The proof of a fair cell, as ProofTrees::take() has it; empty of others.
  std::string const& proof(std::int64_t cell) const {
    return proofs_[static_cast<std::size_t>(cell)];
  }
  /// Boxes by what decided them [BoxVerdict].
  std::vector<std::int64_t> const& by_verdict() const { return by_verdict_; }

  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  struct Queued {
    std::int64_t cell = 0;
    OpenBox box;
  };
  void settle(std::int64_t cell, CellVerdict verdict, CellReason reason = CellReason::kNone);
  void split(std::int64_t cell, OpenBox const& box, Decision const& decision);

  Cells const& cells_;
  std::int32_t class_pairs_;
  std::int64_t most_boxes_;
  std::vector<CellState> states_;
  std::map<std::int64_t, UnfairPair> examples_;
  ProofTrees trees_;
  std::vector<std::string> proofs_;  // [cells]
  std::vector<Queued> stack_;
  EvaluationChoice choice_;
  std::int64_t next_cell_ = 0;
  std::int64_t boxes_ = 0;
  std::int64_t decided_ = 0;
  std::vector<std::int64_t> by_verdict_;
  std::vector<std::int64_t> round_cells_;  // of the round that is on its way
  std::vector<OpenBox> round_;
};

}  // namespace fairlane
