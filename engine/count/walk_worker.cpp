#include "engine/count/walk_worker.h"

#include <algorithm>

namespace fairlane {
namespace {

constexpr std::int64_t kLeastPieces = 64;  // of a chunk, down to which nobody is looked for
constexpr std::int64_t kLeastHeads = 64;   // that are worth a table
constexpr std::int64_t kMostGroups = std::int64_t{1} << 24;  // at once, where each may be wanted
constexpr std::size_t kFoundAtOnce = std::size_t{1} << 16;

}  // namespace

WalkWorker::WalkWorker(WalkTask& task)
    : task_(task),
      chunk_(task.walker.chunk()),
      counter_(task.walker, task.look),
      counts_(task.walker.plan()),
      leaves_out_nobody_(task.leaves_out && task.domain.knows_who_exists() &&
                         task.domain.existing().any_rules()) {
  if (task.levels != 0) prover_.emplace(task.network, task.threshold, task.tree);
  if (task.leaves_out && task.kinded.usable()) kinds_.emplace(task.kinded);
  if (task.findings.wanted()) {
    take_ = [this](std::int64_t group) {
      found_.push_back(group);
      if (found_.size() == kFoundAtOnce) hand_over_found();
    };
  }
}

void WalkWorker::step(WalkPart const& part, std::vector<WalkPart>& rest) {
  if (kinds_) return step_by_kinds(part, rest);
  if (leaves_out_nobody_ && leave_out_nobody(part, rest)) return;
  std::int64_t const heads = task_.tree.heads(part.node);
  int const level = level_of(heads);
  if (part.fresh && (task_.levels >> level & 1) != 0 && is_whole(part)) {
    if (auto const label = prover_->common_label(part.node)) {
      counts_.add_uniform(task_.walker.plan().counters(), heads * task_.group_size, *label);
      return;
    }
  }
  LevelSet const smaller = task_.levels & ((LevelSet{1} << level) - 1);
  if (smaller != 0 && halve(part, rest)) return;
  std::int64_t const chunks = (part.end - part.begin) / chunk_;
  if (chunks > 1) {
    std::int64_t const middle = (part.begin + chunks / 2 * chunk_) / chunk_ * chunk_;
    rest.push_back({part.node, middle, part.end, false});
    rest.push_back({part.node, part.begin, middle, false});
    return;
  }
  evaluate(part.begin, part.end);
}

void WalkWorker::finish() {
  flush();
  hand_over_found();
  if (kinds_) kinds_->finish(counts_);
  std::lock_guard const guard(task_.lock);
  task_.counts.add(counts_);
}

void WalkWorker::step_by_kinds(WalkPart const& part, std::vector<WalkPart>& rest) {
  auto const& tree = task_.tree;
  std::int64_t const heads = tree.heads(part.node);
  bool const fits = !take_ || heads <= std::max(kMostGroups / task_.group_size, kLeastHeads);
  if (fits && is_whole(part) && kinds_->count(tree.entries(part.node), counts_, take_)) {
    task_.evaluated.fetch_add(heads, std::memory_order_relaxed);
    return;
  }
  if (heads <= kLeastHeads || !halve(part, rest)) evaluate(part.begin, part.end);
}

bool WalkWorker::leave_out_nobody(WalkPart const& part, std::vector<WalkPart>& rest) {
  auto const& tree = task_.tree;
  GroupBox const box = tree.entries(part.node);
  std::int64_t const heads = tree.heads(part.node);
  double const there = task_.domain.existing().count(box);
  if (there == 0.0 && is_whole(part)) {
    std::int64_t const groups = heads * task_.group_size;
    counts_.groups += groups;
    counts_.skipped += groups;
    task_.domain.add_missing(box, counts_);
    return true;
  }
  bool const all_exist = there == task_.domain.get().groups(box);
  return !all_exist && heads > chunk_ / kLeastPieces && halve(part, rest);
}

bool WalkWorker::halve(WalkPart const& part, std::vector<WalkPart>& rest) {
  auto const& tree = task_.tree;
  WalkNode low;
  WalkNode high;
  if (!tree.split(part.node, low, high)) return false;
  int const above = level_of(tree.heads(part.node));
  for (WalkNode const& node : {high, low}) {
    std::int64_t const heads = tree.heads(node);
    std::int64_t const begin = std::max(part.begin, node.first);
    std::int64_t const end = std::min(part.end, node.first + heads);
    if (begin < end) rest.push_back({node, begin, end, level_of(heads) < above});
  }
  return true;
}

void WalkWorker::evaluate(std::int64_t begin, std::int64_t end) {
  if (begin != run_end_) flush();
  if (run_begin_ == run_end_) run_begin_ = begin;
  run_end_ = end;
  for (;;) {
    std::int64_t const whole = chunk_ - run_begin_ % chunk_;
    if (run_end_ - run_begin_ < whole) return;
    count(whole);
  }
}

void WalkWorker::flush() {
  if (run_begin_ < run_end_) count(run_end_ - run_begin_);
}

void WalkWorker::count(std::int64_t heads) {
  task_.evaluated.fetch_add(heads, std::memory_order_relaxed);
  counter_.count(run_begin_, heads, counts_, take_);
  run_begin_ += heads;
  hand_over_found();
}

void WalkWorker::hand_over_found() {
  if (found_.empty()) return;
  std::lock_guard const guard(task_.lock);
  task_.findings.add(found_);
  found_.clear();
}

}  // namespace fairlane
