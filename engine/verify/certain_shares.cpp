#include "engine/verify/certain_shares.h"

#include <algorithm>

#include "kernels/core/lattice.h"

namespace fairlane {
namespace {

constexpr std::size_t kShareRoundBoxes = 512;
constexpr std::int32_t kFirstPause = 2;  // halvings after a look that did not help
constexpr double kSettles = 0.8;  // of its undecided groups that a thorough look leaves, or less
constexpr double kCountRounding = 1e-9;  // of the groups, more than sums of counts are rounded by

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

std::vector<OpenBox> const& ShareQueue::next() {
  round_.clear();
  if (boxes_ == 0) {
    round_.push_back({.id = hash_word(0, 0), .pause = kFirstPause, .box = domain_.whole()});
    undecided_ = 0.0;
  }
  while (round_.size() + 1 < kShareRoundBoxes && !heap_.empty()) {
    std::ranges::pop_heap(heap_, comes_later);
    MeasuredBox const measured = std::move(heap_.back());
    heap_.pop_back();
    undecided_ -= measured.undecided;
    round_.push_back(half_of(measured.box, measured.axis, false, 0));
    round_.push_back(half_of(measured.box, measured.axis, true, 1));
  }
  return round_;
}

void ShareQueue::take(std::span<Decision const> decisions, std::span<CertainGroups const> certain) {
  for (std::size_t i = 0; i < round_.size(); ++i) {
    ++boxes_;
    double const all = existing_.count(round_[i].box);
    double const undecided = all - certain[i].fair - certain[i].unfair;
    if (decisions[i].verdict != BoxVerdict::kOpen || undecided <= kCountRounding * all) {
      fair_ += certain[i].fair;
      unfair_ += certain[i].unfair;
      continue;
    }
    // Groups that narrowing has left out are fair for good.
    double const left = existing_.count(decisions[i].box);
    fair_ += all - left;
    OpenBox rest = round_[i];
    rest.box = decisions[i].box;
    pace(rest, undecided < kSettles * (all - certain[i].by_merged), kFirstPause);
    heap_.push_back({std::move(rest),
                     {certain[i].fair - (all - left), certain[i].unfair},
                     decisions[i].axis,
                     undecided});
    std::ranges::push_heap(heap_, comes_later);
    undecided_ += undecided;
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
    boxes.push_back(static_cast<std::int64_t>(measured.axis));
    certain.insert(certain.end(),
                   {measured.certain.fair, measured.certain.unfair, measured.undecided});
  }
  state.add("share_heap", boxes);
  state.add("share_certain", certain);
  state.add("share_sums", std::vector<double>{fair_, unfair_, undecided_});
  state.add("share_boxes", std::vector<std::int64_t>{boxes_});
}

void ShareQueue::read(CheckpointReader const& state) {
  auto const boxes = state.values<std::int64_t>("share_heap");
  auto const certain = state.values<double>("share_certain");
  std::size_t at = 0;
  for (std::size_t i = 0; i < certain.size(); i += 3) {
    MeasuredBox measured;
    measured.box = read_box(boxes, domain_.axes(), at);
    measured.axis = static_cast<std::size_t>(boxes.at(at++));
    measured.certain = {certain.at(i), certain.at(i + 1)};
    measured.undecided = certain.at(i + 2);
    heap_.push_back(std::move(measured));
  }
  auto const sums = state.values<double>("share_sums");
  fair_ = sums.at(0);
  unfair_ = sums.at(1);
  undecided_ = sums.at(2);
  boxes_ = state.values<std::int64_t>("share_boxes").at(0);
}

}  // namespace fairlane
