#include "engine/verify/certain_shares.h"

#include <algorithm>
#include <cmath>

#include "kernels/core/lattice.h"

namespace fairlane {
namespace {

constexpr std::size_t kShareRoundBoxes = 512;
constexpr double kMemory = 512.0;                 // boxes, about, of which a mean that is learnt is
constexpr double kCloserMemory = 16.0 * kMemory;  // measures that these cost, of closer looks
constexpr double kProbeCost = 1.0 / 16;    // of closer looks that are taken to see whether they pay
constexpr double kLeastGain = 1.0 / 1024;  // of a closer look, or smaller boxes may be better
constexpr double kMostEvaluation = 128.0;  // measures that evaluating one box may cost
constexpr std::uint64_t kOnlyBounds = 16;  // of boxes, of which one is left to bounds
constexpr double kCountRounding = 1e-9;    // of the groups, more than sums of counts are rounded by

/// Moves a mean to what so many boxes more say.
void learn_from(double said, std::size_t boxes, double memory, double& mean) {
  mean += std::min(1.0, static_cast<double>(boxes) / memory) * (said - mean);
}

/// The heap's order: the most undecided groups first, then the least id.
bool comes_later(MeasuredBox const& a, MeasuredBox const& b) {
  return a.undecided != b.undecided ? a.undecided < b.undecided : a.box.id > b.box.id;
}

}  // namespace

bool CertainShares::agrees() const {
  if (sampled == 0) return true;
  ShareInterval const sample = interval(kConfidence);
  return unfair <= sample.high * groups * (1.0 + kCountRounding) &&
         groups - fair >= sample.low * groups * (1.0 - kCountRounding);
}

ShareInterval CertainShares::interval(double confidence) const {
  if (sampled == 0) return {0.0, 1.0};
  return interval_of({unfair_samples, unfair_samples + sampled - defined_samples}, sampled,
                     confidence);
}

ShareQueue::ShareQueue(BoxDomain const& domain, ExistingGroups const& existing)
    : domain_(domain),
      existing_(existing),
      groups_(existing.count(domain.whole())),
      undecided_(groups_) {}

bool ShareQueue::evaluates(GroupBox const& box, bool only_bounds) const {
  return !only_bounds && domain_.groups(box) <= most_evaluated_ && domain_.is_within_limits(box);
}

void ShareQueue::halve(MeasuredBox&& measured) {
  OpenBox& box = measured.box;
  if (is_small(domain_, box.box) || evaluates(box.box, measured.only_bounds)) {
    parts_.push_back({std::move(box), measured.undecided, measured.only_bounds});
    return;
  }
  double const all = domain_.groups(box.box);
  for (bool const upper : {false, true}) {
    OpenBox part = part_of(box, measured.cut, upper, upper ? 1 : 0);
    double const before = measured.undecided * domain_.groups(part.box) / all;
    parts_.push_back({std::move(part), before, measured.only_bounds});
  }
}

void ShareQueue::take_most_undecided() {
  constexpr double kMeasures = 2.0;  // that halving a box takes, and decides that much of it
  double const by_bounds = std::max(in_the_long_run_, kMeasures / kMostEvaluation);
  most_evaluated_ = kMeasures / by_bounds / costs_.group;
  double evaluation = 0.0;
  while (parts_.size() < kShareRoundBoxes >> (kHalvings - 1) && evaluation < kRoundEvaluation &&
         !heap_.empty()) {
    std::ranges::pop_heap(heap_, comes_later);
    MeasuredBox& measured = heap_.back();
    measured.only_bounds = measured.box.id % kOnlyBounds == 0;
    undecided_ -= measured.undecided;
    double const groups = domain_.groups(measured.box.box);
    if (groups <= most_evaluated_ * (1 << kHalvings)) evaluation += groups * costs_.group;
    halve(std::move(measured));
    heap_.pop_back();
  }
}

std::vector<OpenBox> const& ShareQueue::next(MeasureCosts const& costs) {
  costs_ = costs;
  parts_.clear();
  if (boxes_ == 0) {
    parts_.emplace_back().box = {.id = hash_word(0, 0), .box = domain_.whole()};
    most_evaluated_ = kMostEvaluation / costs.group;
    undecided_ = 0.0;
    return end_round();
  }
  if (settled()) {
    halvings_ = 0;
    bounded_ = 0.0;
    take_most_undecided();
  } else {
    for (MeasuredBox& measured : uncounted_) halve(std::move(measured));
    uncounted_.clear();
  }
  ++halvings_;
  end_round();
  if (!in_part()) return round_;
  bool const all = closer_pays();
  auto const probes = static_cast<std::uint64_t>(costs.closer / kProbeCost);
  for (OpenBox& box : round_) box.wait = all || box.id % probes == 0 ? 0 : 1;
  return round_;
}

std::vector<OpenBox> const& ShareQueue::end_round() {
  auto const others = std::stable_partition(parts_.begin(), parts_.end(), [&](Part const& part) {
    return evaluates(part.box.box, part.only_bounds);
  });
  to_evaluate_ = static_cast<std::size_t>(others - parts_.begin());
  round_.clear();
  for (Part& part : parts_) round_.push_back(std::move(part.box));
  return round_;
}

bool ShareQueue::closer_pays() const {
  // What closer looks at some boxes cost halves them all so many times instead.
  double const halvings = std::log2(costs_.closer);
  return by_closer_ >= std::max(1.0 - std::pow(1.0 - by_halving_, halvings), kLeastGain);
}

void ShareQueue::take(std::span<Decision const> decisions, std::span<CertainGroups const> certain) {
  Lesson lesson;
  for (std::size_t i = 0; i < round_.size(); ++i) {
    ++boxes_;
    double const all = existing_.count(round_[i].box);
    bool const counted = in_part() || i < to_evaluate_;
    double const undecided = counted ? all - certain[i].fair - certain[i].unfair : parts_[i].before;
    bool const open = decisions[i].verdict == BoxVerdict::kOpen;
    if (i >= to_evaluate_ && (in_part() || !open)) {
      bounded_ += parts_[i].before;
      lesson.add(certain[i], all, open ? undecided : 0.0);
    }
    if (!open || (in_part() && undecided <= kCountRounding * all)) {
      fair_ += certain[i].fair;
      unfair_ += certain[i].unfair;
      continue;
    }
    // Groups that narrowing has left out are fair for good.
    double const left = existing_.count(decisions[i].box);
    fair_ += all - left;
    MeasuredBox rest{std::move(round_[i]), {}, decisions[i].cut, undecided, parts_[i].only_bounds};
    rest.box.box = decisions[i].box;
    if (!in_part()) {
      uncounted_.push_back(std::move(rest));
      continue;
    }
    rest.certain = {.fair = certain[i].fair - (all - left), .unfair = certain[i].unfair};
    heap_.push_back(std::move(rest));
    std::ranges::push_heap(heap_, comes_later);
    undecided_ += undecided;
  }
  if (in_part()) learn(lesson);
}

void ShareQueue::Lesson::add(CertainGroups const& certain, double all, double undecided) {
  ++boxes;
  if (!certain.closer) {
    after += undecided;
    return;
  }
  after += all - certain.by_merged;
  before_closer += all - certain.by_merged;
  after_closer += undecided;
  ++closer;
}

void ShareQueue::learn(Lesson const& lesson) {
  if (bounded_ > 0.0) {
    double const left = std::clamp(lesson.after / bounded_, 0.0, 1.0);
    double const gain = 1.0 - std::pow(left, 1.0 / kHalvings);
    learn_from(gain, lesson.boxes, kMemory, by_halving_);
    in_the_long_run_ += std::min(1.0, bounded_ / undecided_) * (gain - in_the_long_run_);
  }
  if (lesson.before_closer > 0.0) {
    learn_from(1.0 - lesson.after_closer / lesson.before_closer, lesson.closer,
               std::min(kMemory, kCloserMemory / costs_.closer), by_closer_);
  }
}

CertainShares ShareQueue::shares() const {
  CertainShares shares;
  shares.groups = groups_;
  shares.fair = fair_;
  shares.unfair = unfair_;
  shares.boxes = boxes_;
  for (MeasuredBox const& measured : heap_) {
    shares.fair += measured.certain.fair;
    shares.unfair += measured.certain.unfair;
  }
  return shares;
}

void ShareQueue::write(CheckpointWriter& state) const {
  std::vector<std::int64_t> boxes;
  std::vector<double> certain;
  for (MeasuredBox const& measured : heap_) {
    append_box(measured.box, boxes);
    boxes.push_back(static_cast<std::int64_t>(measured.cut.axis));
    boxes.push_back(measured.cut.entry);
    certain.insert(certain.end(),
                   {measured.certain.fair, measured.certain.unfair, measured.undecided});
  }
  state.add("share_heap", boxes);
  state.add("share_certain", certain);
  state.add("share_sums", std::vector<double>{fair_, unfair_, undecided_, by_halving_,
                                              in_the_long_run_, by_closer_});
  state.add("share_boxes", std::vector<std::int64_t>{boxes_});
}

void ShareQueue::read(CheckpointReader const& state) {
  auto const boxes = state.values<std::int64_t>("share_heap");
  auto const certain = state.values<double>("share_certain");
  std::size_t at = 0;
  for (std::size_t i = 0; i < certain.size(); i += 3) {
    MeasuredBox measured;
    measured.box = read_box(boxes, domain_.axes(), at);
    measured.cut.axis = static_cast<std::size_t>(boxes.at(at++));
    measured.cut.entry = static_cast<std::int32_t>(boxes.at(at++));
    measured.certain = {.fair = certain.at(i), .unfair = certain.at(i + 1)};
    measured.undecided = certain.at(i + 2);
    heap_.push_back(std::move(measured));
  }
  auto const sums = state.values<double>("share_sums");
  fair_ = sums.at(0);
  unfair_ = sums.at(1);
  undecided_ = sums.at(2);
  by_halving_ = sums.at(3);
  in_the_long_run_ = sums.at(4);
  by_closer_ = sums.at(5);
  boxes_ = state.values<std::int64_t>("share_boxes").at(0);
}

}  // namespace fairlane
