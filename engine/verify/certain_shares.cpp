#include "engine/verify/certain_shares.h"

#include <algorithm>
#include <cmath>

#include "kernels/core/lattice.h"

namespace fairlane {
namespace {

constexpr std::size_t kShareRoundBoxes = 512;
constexpr double kMemory = 512.0;        // boxes, about, of which a mean that is learnt is
constexpr double kProbeCost = 1.0 / 16;  // of closer looks that are taken to see whether they pay
constexpr double kCountRounding = 1e-9;  // of the groups, more than sums of counts are rounded by

/// Moves a mean to what so many boxes more say.
void learn_from(double said, std::size_t boxes, double& mean) {
  mean += std::min(1.0, static_cast<double>(boxes) / kMemory) * (said - mean);
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

void ShareQueue::halve(MeasuredBox const& measured) {
  if (is_small(domain_, measured.box.box)) {
    round_.push_back(measured.box);
    return;
  }
  round_.push_back(part_of(measured.box, measured.cut, false, 0));
  round_.push_back(part_of(measured.box, measured.cut, true, 1));
}

std::vector<OpenBox> const& ShareQueue::next(double closer_cost) {
  round_.clear();
  if (boxes_ == 0) {
    round_.push_back({.id = hash_word(0, 0), .box = domain_.whole()});
    undecided_ = 0.0;
    return round_;
  }
  if (settled()) {
    halvings_ = 0;
    round_groups_ = 0.0;
    while (round_.size() < kShareRoundBoxes >> (kHalvings - 1) && !heap_.empty()) {
      std::ranges::pop_heap(heap_, comes_later);
      round_groups_ += heap_.back().undecided;
      halve(heap_.back());
      heap_.pop_back();
    }
    undecided_ -= round_groups_;
  } else {
    for (MeasuredBox const& measured : uncounted_) halve(measured);
    uncounted_.clear();
  }
  ++halvings_;
  if (!in_part()) return round_;
  bool const all = closer_pays(closer_cost);
  auto const probes = static_cast<std::uint64_t>(closer_cost / kProbeCost);
  for (OpenBox& box : round_) box.wait = all || box.id % probes == 0 ? 0 : 1;
  return round_;
}

bool ShareQueue::closer_pays(double cost) const {
  // What closer looks at some boxes cost halves them all so many times instead.
  double const halvings = std::log2(cost);
  return by_closer_ >= 1.0 - std::pow(1.0 - by_halving_, halvings);
}

void ShareQueue::take(std::span<Decision const> decisions, std::span<CertainGroups const> certain) {
  Lesson lesson;
  for (std::size_t i = 0; i < round_.size(); ++i) {
    ++boxes_;
    double const all = existing_.count(round_[i].box);
    double const undecided = all - certain[i].fair - certain[i].unfair;
    bool const open = decisions[i].verdict == BoxVerdict::kOpen;
    lesson.add(certain[i], all, open ? undecided : 0.0);
    if (!open || (in_part() && undecided <= kCountRounding * all)) {
      fair_ += certain[i].fair;
      unfair_ += certain[i].unfair;
      continue;
    }
    // Groups that narrowing has left out are fair for good.
    double const left = existing_.count(decisions[i].box);
    fair_ += all - left;
    MeasuredBox rest{std::move(round_[i]), {}, decisions[i].cut, undecided};
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
  if (round_groups_ > 0.0) {
    double const left = std::clamp(lesson.after / round_groups_, 0.0, 1.0);
    learn_from(1.0 - std::pow(left, 1.0 / kHalvings), round_.size(), by_halving_);
  }
  if (lesson.before_closer > 0.0)
    learn_from(1.0 - lesson.after_closer / lesson.before_closer, lesson.closer, by_closer_);
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
  state.add("share_sums", std::vector<double>{fair_, unfair_, undecided_, by_halving_, by_closer_});
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
  by_closer_ = sums.at(4);
  boxes_ = state.values<std::int64_t>("share_boxes").at(0);
}

}  // namespace fairlane
