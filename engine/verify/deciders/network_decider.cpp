#include "engine/verify/deciders/network_decider.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "engine/verify/deciders/box_draws.h"
#include "kernels/core/lattice.h"

namespace fairlane {
namespace {

constexpr int kSteps = 8;            // of the search in a part of a cell
constexpr int kSearchDepth = 10;     // of parts that are searched though they wait
constexpr double kSlopeShare = 0.1;  // of slopes beside gaps, where groups are counted

}  // namespace

NetworkDecider::NetworkDecider(BoxDomain const& domain, BoundNetwork const& network,
                               Backend& backend, VerifyQuery const& query)
    : domain_(domain),
      existence_(domain),
      networks_(network),
      query_(query),
      groups_(domain, backend, query, network.get().outputs),
      search_(domain, network, backend, query),
      bounds_(domain, network, backend),
      merged_(domain, query, bounds_),
      contests_(network, bounds_, merged_),
      counter_(domain),
      pairs_(domain, network, backend, query),
      walk_(domain, backend),
      inputs_(static_cast<std::size_t>(network.get().inputs)) {}

void NetworkDecider::begin(std::span<OpenBox const> boxes, std::span<Decision> decisions) {
  boxes_ = boxes;
  decisions_ = decisions;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    decisions[i] = begin_decision(domain_, existence_, query_, boxes[i]);
  if (!domain_.limited() && !existence_.constrained()) return;
  limited_.assign(boxes.begin(), boxes.end());
  for (std::size_t i = 0; i < boxes.size(); ++i) limited_[i].box = decisions[i].box;
  boxes_ = limited_;
}

void NetworkDecider::decide(std::span<OpenBox const> boxes, std::span<Decision> decisions) {
  if (networks_.pairs().size() == 1) return decide_alike(boxes, decisions);
  std::vector<OpenBox> alike;
  std::vector<Decision> decided;
  std::vector<std::size_t> of;
  for (std::size_t pair = 0; pair < networks_.pairs().size(); ++pair) {
    alike.clear();
    of.clear();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (boxes[i].classes != static_cast<std::int32_t>(pair)) continue;
      alike.push_back(boxes[i]);
      of.push_back(i);
    }
    decided.resize(alike.size());
    decide_alike(alike, decided);
    for (std::size_t i = 0; i < of.size(); ++i) decisions[of[i]] = std::move(decided[i]);
  }
}

void NetworkDecider::decide_alike(std::span<OpenBox const> boxes, std::span<Decision> decisions) {
  if (boxes.empty()) return;
  begin(boxes, decisions);
  merged_.bound(round(), MergedBounds::Beside::kNothing);
  if (networks_.pairs().size() > 1) contests_.leave_out(round());
  search();
  bound_variants();
  prove_pairs();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Decision& decision = decisions_[i];
    if (decision.verdict != BoxVerdict::kOpen) continue;
    if (is_small(domain_, decision.box)) {
      evaluate_groups(existence_, groups_, decision);
    } else if (boxes[i].evaluate && domain_.is_within_limits(decision.box)) {
      walk_.decide(groups_, decision);
    } else {
      choose_axis(i);
    }
  }
}

void NetworkDecider::measure(ExistingGroups const& existing, std::span<OpenBox const> boxes,
                             bool in_part, std::span<Decision> decisions,
                             std::span<CertainGroups> certain) {
  if (networks_.pairs().size() == 1)
    return measure_alike(existing, boxes, in_part, decisions, certain);
  begin(boxes, decisions);
  std::vector<OpenBox> const begun(boxes_.begin(), boxes_.end());
  std::vector<ClassContest> const contests = contests_.find(round());
  std::vector<OpenBox> alike;
  std::vector<Decision> decided;
  std::vector<CertainGroups> counted;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < begun.size(); ++i) {
    if (decisions[i].verdict == BoxVerdict::kOpen && contests[i].pair < 0)
      decisions[i].verdict = BoxVerdict::kMerged;
    certain[i] = {};
    if (decisions[i].verdict != BoxVerdict::kOpen) certain[i].fair = existing.count(begun[i].box);
  }
  // Where two classes are left they are compared. Of more of them nothing is counted, and bounds of
  // two say where the box is halved.
  for (bool const between_two : {true, false}) {
    for (std::size_t pair = 0; pair < networks_.pairs().size(); ++pair) {
      alike.clear();
      of.clear();
      for (std::size_t i = 0; i < begun.size(); ++i) {
        bool const is_two = std::popcount(contests[i].possible) == 2;
        if (contests[i].pair != static_cast<int>(pair) || is_two != between_two ||
            decisions[i].verdict != BoxVerdict::kOpen)
          continue;
        alike.push_back(begun[i]);
        alike.back().classes = static_cast<std::int32_t>(pair);
        of.push_back(i);
      }
      if (alike.empty()) continue;
      decided.assign(alike.size(), {});
      counted.assign(alike.size(), {});
      measure_alike(existing, alike, in_part && between_two, decided, counted);
      for (std::size_t k = 0; k < of.size(); ++k) {
        Decision& decision = decisions[of[k]];
        if (between_two) {
          decision = std::move(decided[k]);
          certain[of[k]] = counted[k];
          continue;
        }
        decision.cut = middle_cut(decision.box, decided[k].cut.axis);
        if (in_part && is_small(domain_, decision.box))
          certain[of[k]] = count_groups(groups_, decision);
      }
    }
  }
}

void NetworkDecider::measure_alike(ExistingGroups const& existing, std::span<OpenBox const> boxes,
                                   bool in_part, std::span<Decision> decisions,
                                   std::span<CertainGroups> certain) {
  begin(boxes, decisions);
  merged_.bound(round(), in_part ? MergedBounds::Beside::kCount : MergedBounds::Beside::kGaps);
  if (!in_part) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      certain[i] = {.fair = existing.count(boxes_[i].box)};
      if (decisions[i].verdict == BoxVerdict::kOpen) choose_axis(i);
    }
    return;
  }
  for (std::size_t i = 0; i < boxes.size(); ++i)
    certain[i] = {.closer = decisions[i].verdict == BoxVerdict::kOpen && boxes[i].wait == 0};
  bound_variants();
  prove_pairs();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    double const all = existing.count(boxes_[i].box);
    auto const count_fair = [&](GroupBox const& part) {
      return merged_.count_fair(existing, i, domain_.groups(boxes_[i].box), part);
    };
    if (certain[i].closer) certain[i].by_merged = count_fair(boxes_[i].box);
    if (decisions[i].verdict != BoxVerdict::kOpen) {
      certain[i].fair = all;
      continue;
    }
    double const left = existing.count(decisions[i].box);
    if (is_small(domain_, decisions[i].box)) {
      CertainGroups const counted = count_groups(groups_, decisions[i]);
      certain[i].fair = counted.fair;
      certain[i].unfair = counted.unfair;
    } else {
      certain[i].fair =
          certain[i].closer && left == all ? certain[i].by_merged : count_fair(decisions[i].box);
      if (certain[i].closer) certain[i].unfair = count_unfair(existing, i);
      choose_axis(i);
    }
    certain[i].fair += all - left;  // what narrowing has left out
  }
}

MeasureCosts NetworkDecider::costs() const {
  // Measured times, as multiply-adds: a pass bounds a box; pairs take some six each.
  constexpr double kOwn = 1e5;         // of a box, whatever its network
  constexpr double kOwnCloser = 5e5;   // of its pairs
  constexpr double kMostPasses = 160;  // of pairs: of more of them none is looked at
  constexpr double kWalk = 2e5;        // of a box that is evaluated, beside its groups
  constexpr double kMember = 20.0;     // of a group, as float32 in packs
  constexpr double kMemberMac = 0.12;  // behind its first layer, which other members share
  auto const variants = static_cast<double>(query_.variants.front().size());
  double const passes = variants + std::min(6.0 * (variants * (variants - 1.0) + 2.0), kMostPasses);
  double const macs = networks_.macs();
  auto const pairs = static_cast<double>(networks_.pairs().size());
  double const measure = kOwn + pairs * macs;
  double behind = 0.0;
  BoxNetwork const& network = networks_.get();
  for (int l = 1; l < network.layers; ++l)
    behind += static_cast<double>(network.layer[l].inputs) * network.layer[l].outputs;
  return {.closer = 1.0 + (kOwnCloser + passes * macs) / measure,
          .group = variants * (kMember + kMemberMac * behind) / measure,
          .walk = kWalk / measure};
}

double NetworkDecider::count_unfair(ExistingGroups const& existing, std::size_t i) {
  // Of the groups where one variant is above, those are not unfair where the other may be, too.
  auto const& box = decisions_[i].box;
  double const t = query_.threshold;
  auto const& list = variants(i);
  double const all = domain_.groups(box);
  std::vector<double> above;
  std::vector<double> not_above;
  for (std::size_t v = 0; v < list.size(); ++v) {
    OutputLines const& bounds = by_variant_[first_by_variant_[i] + v];
    if (!bounds.has_lines()) return 0.0;
    above.push_back(counter_.above(box, {bounds.below, bounds.below_constant}, t));
    not_above.push_back(counter_.not_above(box, {bounds.above, bounds.above_constant}, t));
  }
  double most = 0.0;
  double const most_not_above = std::ranges::max(not_above);
  for (std::size_t a = 0; a < list.size(); ++a) {
    if (above[a] + most_not_above - all <= most) continue;
    for (std::size_t e = 0; e < list.size(); ++e) {
      if (above[a] + not_above[e] - all <= most || !query_.compares(list[a], list[e])) continue;
      double const missing = all - existing.count_both(box, list[a], list[e]);
      most = std::max(most, above[a] + not_above[e] - all - missing);
    }
  }
  return most;
}

void NetworkDecider::search() {
  std::vector<BoxSearch::Task> tasks;
  std::vector<std::size_t> of;
  std::vector<std::optional<UnfairPair>> found;
  auto const flush = [&] {
    found.assign(tasks.size(), std::nullopt);
    search_.search(tasks, boxes_.front().classes, found);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Decision& decision = decisions_[of[i]];
      if (!found[i] || decision.verdict != BoxVerdict::kOpen) continue;
      decision.verdict = BoxVerdict::kUnfair;
      decision.example = std::move(*found[i]);
    }
    tasks.clear();
    of.clear();
  };
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen) continue;
    OpenBox const& box = boxes_[i];
    if (box.wait > 0 && box.depth > kSearchDepth) continue;
    int const steps = box.depth == 0 ? kFirstSteps : kSteps;
    for (int start = 0; start < query_.starts && decisions_[i].verdict == BoxVerdict::kOpen;
         ++start) {
      std::uint64_t const id =
          start == 0 ? box.id : hash_word(box.id, static_cast<std::uint64_t>(start));
      tasks.push_back({id, box.box, variants(i), steps, start == 0});
      of.push_back(i);
      if (tasks.size() == search_.lanes()) flush();
    }
  }
  if (!tasks.empty()) flush();
}

void NetworkDecider::bound_variants() {
  auto const& boxes = boxes_;
  pairs_.begin(boxes.size(), boxes.front().classes);
  first_by_variant_.assign(boxes.size(), 0);
  struct Task {
    std::size_t box;
    int variant;
    bool beside;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen || boxes[i].wait > 0) continue;
    for (int const v : variants(i)) tasks.push_back({i, v, false});
    if (!domain_.relaxed()) continue;
    for (int const v : variants(i)) tasks.push_back({i, v, true});
  }
  std::size_t const lanes = bounds_.lanes();
  by_variant_.resize(tasks.size());
  for (std::size_t first = 0; first < tasks.size(); first += lanes) {
    std::size_t const count = std::min(lanes, tasks.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      Task const& task = tasks[first + i];
      int const only[] = {task.variant};
      auto const& box = boxes[task.box].box;
      bounds_.load(static_cast<int>(i), task.beside ? domain_.widened(box) : box, only);
    }
    bounds_.bound(count);
    for (std::size_t i = 0; i < count; ++i)
      by_variant_[first + i] = bounds_.read(static_cast<int>(i));
  }
  for (std::size_t at = 0; at < tasks.size();) {
    std::size_t const box = tasks[at].box;
    std::size_t const count = variants(box).size();
    first_by_variant_[box] = at;
    std::size_t const beside = domain_.relaxed() ? at + count : at;
    bool const any =
        pairs_.add(box, boxes[box].box, variants(box), std::span(by_variant_).subspan(at, count),
                   std::span(by_variant_).subspan(beside, count));
    if (!any) decisions_[box].verdict = BoxVerdict::kVariants;
    at = beside + count;
  }
}

void NetworkDecider::prove_pairs() {
  pairs_.prove();
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen) continue;
    if (pairs_.proven(i)) {
      decisions_[i].verdict = BoxVerdict::kSplit;
    } else if (!pairs_.rest(i).empty()) {
      decisions_[i].box = pairs_.rest(i);
      decisions_[i].leaves = decisions_[i].box != decisions_[i].peopled;
    }
  }
}

void NetworkDecider::choose_axis(std::size_t i) {
  Decision& decision = decisions_[i];
  OutputLines const& bounds = merged_.lines(i);
  domain_.enclose(decision.box, inputs_.data());
  double most = -1.0;
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    if (decision.box[a].size() < 2) continue;
    double score = 0.0;
    for (int const k : domain_.axis_inputs(a)) {
      auto const at = static_cast<std::size_t>(k);
      double slope = std::abs(bounds.below[at]) + std::abs(bounds.above[at]);
      if (!bounds.gaps.empty()) slope = bounds.gaps[at] + kSlopeShare * slope;
      score += slope * (inputs_[at].high - inputs_[at].low);
    }
    if (!(score <= most)) {
      most = score;
      decision.cut = middle_cut(decision.box, a);
    }
  }
}

}  // namespace fairlane
