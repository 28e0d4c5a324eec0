#include "engine/verify/box_queue.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "kernels/core/lattice.h"

namespace fairlane {
namespace {

constexpr std::size_t kRoundBoxes = 2048;
constexpr std::uint64_t kSplitAnyway = 16;  // of boxes to evaluate, of which one is split to learn
constexpr double kHelps = 0.8;              // of its groups that a closer look leaves, or less

LeafProof proof_of(BoxVerdict verdict) {
  switch (verdict) {
    case BoxVerdict::kMerged:
      return LeafProof::kMerged;
    case BoxVerdict::kVariants:
      return LeafProof::kVariants;
    case BoxVerdict::kSplit:
      return LeafProof::kUnits;
    case BoxVerdict::kKinds:
      return LeafProof::kKinds;
    case BoxVerdict::kEmpty:
      return LeafProof::kEmpty;
    default:
      return LeafProof::kEvaluated;
  }
}

/// Whether a box was decided before all its groups were evaluated.
bool is_decided_early(BoxVerdict verdict) {
  return verdict != BoxVerdict::kOpen && verdict != BoxVerdict::kEnumerated &&
         verdict != BoxVerdict::kUndefined;
}

ProofTrees::Narrowed narrowed(OpenBox const& box, Decision const& decision) {
  return {box.box, decision.peopled, decision.box};
}

}  // namespace

BoxQueue::BoxQueue(Cells const& cells, std::size_t class_pairs, std::int64_t most_boxes)
    : cells_(cells),
      class_pairs_(static_cast<std::int32_t>(class_pairs)),
      most_boxes_(most_boxes),
      states_(static_cast<std::size_t>(cells.count())),
      proofs_(static_cast<std::size_t>(cells.count())),
      by_verdict_(kBoxVerdicts) {}

std::vector<OpenBox> const& BoxQueue::next(MeasureCosts const& costs) {
  round_.clear();
  round_cells_.clear();
  choice_.weigh(costs);
  double evaluation = 0.0;
  std::set<std::int64_t> evaluated;
  std::vector<Queued> waiting;
  auto const append = [&](Queued&& queued, bool evaluate) {
    round_cells_.push_back(queued.cell);
    OpenBox& box = round_.emplace_back(std::move(queued.box));
    box.evaluate = evaluate;
    if (evaluate) evaluation += costs.evaluation(BoxDomain::groups(box.box));
  };
  while (round_.size() < kRoundBoxes && waiting.size() < kRoundBoxes &&
         evaluation < kRoundEvaluation && (!stack_.empty() || next_cell_ < cells_.count())) {
    if (stack_.empty()) {
      std::int64_t const cell = next_cell_++;
      auto const id = static_cast<std::uint64_t>(cell);
      for (std::int32_t pair = class_pairs_; pair-- > 0;) {
        OpenBox box;
        box.id = hash_word(static_cast<std::uint64_t>(pair), id);
        box.variants = cells_.variants(cell);
        box.classes = pair;
        box.number = pair;
        box.box = cells_.box(cell);
        stack_.push_back({cell, std::move(box)});
      }
      states_[static_cast<std::size_t>(cell)].open = class_pairs_;
      trees_.begin(cell, class_pairs_);
    }
    Queued queued = std::move(stack_.back());
    stack_.pop_back();
    if (states_[static_cast<std::size_t>(queued.cell)].verdict != CellVerdict::kUndecided) continue;
    bool const evaluate =
        choice_.evaluates(BoxDomain::groups(queued.box.box)) && queued.box.id % kSplitAnyway != 0;
    if (evaluate && !evaluated.insert(queued.cell).second) {
      waiting.push_back(std::move(queued));
    } else {
      append(std::move(queued), evaluate);
    }
  }
  // An example in the first box of a cell would save evaluating the others.
  std::size_t taken = 0;
  while (taken < waiting.size() && round_.size() < kRoundBoxes && evaluation < kRoundEvaluation)
    append(std::move(waiting[taken++]), true);
  while (waiting.size() > taken) {
    stack_.push_back(std::move(waiting.back()));
    waiting.pop_back();
  }
  return round_;
}

void BoxQueue::take(std::vector<Decision> const& decisions) {
  for (std::size_t i = 0; i < round_.size(); ++i) {
    std::int64_t const cell = round_cells_[i];
    CellState& state = states_[static_cast<std::size_t>(cell)];
    Decision const& decision = decisions[i];
    ++boxes_;
    ++state.boxes;
    ++by_verdict_[static_cast<std::size_t>(decision.verdict)];
    choice_.learn(BoxDomain::groups(round_[i].box), is_decided_early(decision.verdict));
    if (state.verdict != CellVerdict::kUndecided) continue;
    state.peopled = state.peopled || decision.leaves;
    switch (decision.verdict) {
      case BoxVerdict::kUnfair:
        examples_[cell] = decision.example;
        settle(cell, CellVerdict::kUnfair);
        break;
      case BoxVerdict::kOpen:
        if (state.boxes >= most_boxes_) {
          settle(cell, CellVerdict::kUnknown, CellReason::kBoxes);
        } else {
          split(cell, round_[i], decision);
        }
        break;
      default:
        if (decision.verdict == BoxVerdict::kUndefined) state.reason = CellReason::kUndefined;
        if (decision.verdict == BoxVerdict::kWithinMargin) state.reason = CellReason::kMargin;
        trees_.prove(cell, round_[i].number, narrowed(round_[i], decision),
                     proof_of(decision.verdict));
        state.peopled = state.peopled || decision.verdict != BoxVerdict::kEmpty;
        if (--state.open > 0) break;
        if (state.reason != CellReason::kNone) {
          settle(cell, CellVerdict::kUnknown, state.reason);
        } else {
          settle(cell, CellVerdict::kFair, state.peopled ? CellReason::kNone : CellReason::kEmpty);
        }
    }
  }
  round_.clear();
  round_cells_.clear();
}

void BoxQueue::settle(std::int64_t cell, CellVerdict verdict, CellReason reason) {
  CellState& state = states_[static_cast<std::size_t>(cell)];
  state.verdict = verdict;
  state.reason = reason;
  ++decided_;
  if (verdict == CellVerdict::kFair) {
    proofs_[static_cast<std::size_t>(cell)] = trees_.take(cell);
  } else {
    trees_.forget(cell);
  }
}

void BoxQueue::split(std::int64_t cell, OpenBox const& box, Decision const& decision) {
  OpenBox left = box;
  left.box = decision.box;
  pace(left, BoxDomain::groups(left.box) <= kHelps * BoxDomain::groups(box.box));
  std::int32_t const number =
      trees_.cut(cell, box.number, narrowed(box, decision), decision.cut.axis, decision.cut.entry);
  // The lower part is taken first.
  stack_.push_back({cell, part_of(left, decision.cut, true, 0)});
  stack_.back().box.number = number + 1;
  stack_.push_back({cell, part_of(left, decision.cut, false, 1)});
  stack_.back().box.number = number;
  ++states_[static_cast<std::size_t>(cell)].open;
}

void BoxQueue::end() {
  for (std::int64_t cell = 0; cell < cells_.count(); ++cell) {
    if (states_[static_cast<std::size_t>(cell)].verdict == CellVerdict::kUndecided)
      settle(cell, CellVerdict::kUnknown, CellReason::kSeconds);
  }
  stack_.clear();
  next_cell_ = cells_.count();
}

void BoxQueue::write(CheckpointWriter& state) const {
  std::vector<std::int64_t> cells;
  for (CellState const& cell : states_) {
    cells.insert(cells.end(),
                 {static_cast<std::int64_t>(cell.verdict), static_cast<std::int64_t>(cell.reason),
                  cell.peopled ? 1 : 0, cell.open, cell.boxes});
  }
  std::vector<std::int64_t> examples;
  for (auto const& [cell, example] : examples_) {
    examples.insert(examples.end(), {cell, example.pair.upper, example.pair.lower});
    examples.insert(examples.end(), example.entries.begin(), example.entries.end());
    examples.insert(examples.end(), example.other.begin(), example.other.end());
  }
  std::vector<std::int64_t> stack;
  for (Queued const& queued : stack_) {
    stack.push_back(queued.cell);
    append_box(queued.box, stack);
  }
  state.add("cells", cells);
  state.add("examples", examples);
  state.add("stack", stack);
  std::string proofs;
  for (std::string const& proof : proofs_) proofs += proof + '\n';
  state.section("cell_proofs");
  state.write(proofs.data(), proofs.size());
  trees_.write(state);
  choice_.write(state);
  state.add("boxes", by_verdict_);
  state.add("next", std::vector<std::int64_t>{next_cell_, boxes_, decided_});
}

void BoxQueue::read(CheckpointReader const& state) {
  auto const cells = state.values<std::int64_t>("cells");
  if (cells.size() != 5 * states_.size()) throw std::out_of_range("saved cells are cut off");
  for (std::size_t i = 0; i < states_.size(); ++i) {
    std::int64_t const* const cell = &cells.at(5 * i);
    states_[i] = {static_cast<CellVerdict>(cell[0]), static_cast<CellReason>(cell[1]), cell[2] != 0,
                  static_cast<std::int32_t>(cell[3]), cell[4]};
  }
  std::size_t const axes = cells_.box(0).size();
  auto const examples = state.values<std::int64_t>("examples");
  for (std::size_t at = 0; at < examples.size(); at += 3 + 2 * axes) {
    UnfairPair& example = examples_[examples.at(at)];
    example.pair = {static_cast<int>(examples.at(at + 1)), static_cast<int>(examples.at(at + 2))};
    for (std::size_t a = 0; a < 2 * axes; ++a) {
      auto& entries = a < axes ? example.entries : example.other;
      entries.push_back(static_cast<std::int32_t>(examples.at(at + 3 + a)));
    }
  }
  auto const stack = state.values<std::int64_t>("stack");
  for (std::size_t at = 0; at < stack.size();) {
    std::int64_t const cell = stack[at++];
    stack_.push_back({cell, read_box(stack, axes, at)});
  }
  auto const proofs = state.values<char>("cell_proofs");
  auto from = proofs.begin();
  for (std::string& proof : proofs_) {
    auto const end = std::find(from, proofs.end(), '\n');
    proof.assign(from, end);
    from = end + 1;
  }
  trees_.read(state);
  choice_.read(state);
  by_verdict_ = state.values<std::int64_t>("boxes");
  auto const next = state.values<std::int64_t>("next");
  next_cell_ = next.at(0);
  boxes_ = next.at(1);
  decided_ = next.at(2);
}

}  // namespace fairlane
