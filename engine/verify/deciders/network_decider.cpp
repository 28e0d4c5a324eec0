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

/// Which of two classes no member of a box has, since the other's output is never below its own.
struct Beaten {
  bool first;
  bool second;
};

/// difference  the second's output less the first's; of equal ones the first is the label
Beaten beaten(OutputLines const& difference) {
  return {difference.least > 0.0, difference.most <= 0.0};
}

}  // namespace

NetworkDecider::NetworkDecider(BoxDomain const& domain, BoundNetwork const& network,
                               Backend& backend, VerifyQuery const& query)
    : domain_(domain),
      existence_(domain),
      networks_(network),
      query_(query),
      groups_(domain, backend, query, network.get().outputs),
      search_(domain, network, backend, query),
      counter_(domain),
      hinge_counter_(domain),
      bounds_(domain, network, backend),
      separable_finder_(domain),
      most_groups_(domain, query),
      pairs_(domain, network, backend, query),
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
  bound_merged(false, false);
  if (networks_.pairs().size() > 1) leave_out_classes();
  search();
  bound_variants();
  prove_pairs();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Decision& decision = decisions_[i];
    if (decision.verdict != BoxVerdict::kOpen) continue;
    if (is_small(domain_, decision.box)) {
      evaluate_groups(existence_, groups_, decision);
    } else {
      choose_axis(i);
    }
  }
}

std::vector<NetworkDecider::Contest> NetworkDecider::find_contests() {
  auto const& pairs = networks_.pairs();
  std::vector<Contest> contests(boxes_.size());
  for (Contest& contest : contests) {
    for (ClassPair const& pair : pairs) contest.possible |= 1U << pair.first | 1U << pair.second;
  }
  std::size_t const lanes = bounds_.lanes();
  std::vector<double> apart(boxes_.size() * pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    bounds_.compare_classes(static_cast<int>(p));
    for (std::size_t first = 0; first < boxes_.size(); first += lanes) {
      std::size_t const count = std::min(lanes, boxes_.size() - first);
      load_merged(first, count);
      bounds_.bound(count);
      for (std::size_t i = 0; i < count; ++i) {
        OutputLines const bounds = bounds_.read(static_cast<int>(i));
        Contest& contest = contests[first + i];
        auto const [first_is, second_is] = beaten(bounds);
        if (first_is) contest.possible &= ~(1U << pairs[p].first);
        if (second_is) contest.possible &= ~(1U << pairs[p].second);
        apart[(first + i) * pairs.size() + p] = std::min(bounds.most, -bounds.least);
      }
    }
  }
  for (std::size_t i = 0; i < contests.size(); ++i) {
    Contest& contest = contests[i];
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      bool const both = (contest.possible >> pairs[p].first & 1U) != 0 &&
                        (contest.possible >> pairs[p].second & 1U) != 0;
      double const here = apart[i * pairs.size() + p];
      if (!both || (contest.pair >= 0 && !(here > contest.apart))) continue;
      contest.pair = static_cast<int>(p);
      contest.apart = here;
    }
  }
  return contests;
}

void NetworkDecider::measure(ExistingGroups const& existing, std::span<OpenBox const> boxes,
                             bool in_part, std::span<Decision> decisions,
                             std::span<CertainGroups> certain) {
  if (networks_.pairs().size() == 1)
    return measure_alike(existing, boxes, in_part, decisions, certain);
  begin(boxes, decisions);
  std::vector<OpenBox> const begun(boxes_.begin(), boxes_.end());
  std::vector<Contest> const contests = find_contests();
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
        decision.axis = decided[k].axis;
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
  bound_merged(true, in_part);
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
    if (certain[i].closer) certain[i].by_merged = count_fair(existing, i, boxes_[i].box);
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
      certain[i].fair = certain[i].closer && left == all
                            ? certain[i].by_merged
                            : count_fair(existing, i, decisions[i].box);
      if (certain[i].closer) certain[i].unfair = count_unfair(existing, i);
      choose_axis(i);
    }
    certain[i].fair += all - left;  // what narrowing has left out
  }
}

double NetworkDecider::closer_cost() const {
  // Measured times, as multiply-adds: a pass bounds a box; pairs take some six each.
  constexpr double kOwn = 1e5;         // of a box, whatever its network
  constexpr double kOwnCloser = 5e5;   // of its pairs
  constexpr double kMostPasses = 160;  // of many pairs, which are not looked at
  auto const variants = static_cast<double>(query_.variants.front().size());
  double const passes = std::min(variants + 6.0 * (variants * (variants - 1.0) + 2.0), kMostPasses);
  double const macs = networks_.macs();
  auto const pairs = static_cast<double>(networks_.pairs().size());
  return 1.0 + (kOwnCloser + passes * macs) / (kOwn + pairs * macs);
}

double NetworkDecider::count_fair(ExistingGroups const& existing, std::size_t i,
                                  std::span<AxisRange const> box) {
  OutputLines const& lines = most_[i] ? most_[i]->lines : merged_[i];
  if (!lines.has_lines()) return 0.0;
  double const t = query_.threshold;
  SeparableLines const& separable = separable_[i];
  double fair = 0.0;
  if (!most_[i] && separable.gain > 0.0) {
    fair = hinge_counter_.above(box, separable.parts, separable.below, t) +
           hinge_counter_.above(box, separable.parts, separable.above, -t);
  } else {
    fair = counter_.above(box, {lines.below, lines.below_constant}, t) +
           counter_.not_above(box, {lines.above, lines.above_constant}, t);
  }
  if (most_[i]) fair -= most_[i]->left_out * domain_.groups(boxes_[i].box);
  // At worst all that do not exist are among them.
  return std::max(fair - (domain_.groups(box) - existing.count(box)), 0.0);
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
  for (std::size_t a = 0; a < list.size(); ++a) {
    for (std::size_t e = 0; e < list.size(); ++e) {
      if (!query_.compares(list[a], list[e])) continue;
      double const missing = all - existing.count_both(box, list[a], list[e]);
      most = std::max(most, above[a] + not_above[e] - all - missing);
    }
  }
  return most;
}

bool NetworkDecider::reaches_both(OutputLines const& bounds) const {
  return bounds.most > query_.least_upper() && bounds.least <= query_.most_lower();
}

void NetworkDecider::bound_merged(bool with_gaps, bool with_most) {
  auto const& boxes = boxes_;
  std::size_t const lanes = bounds_.lanes();
  merged_.resize(boxes.size());
  most_.assign(boxes.size(), std::nullopt);
  if (with_most) separable_.assign(boxes.size(), {});
  bounds_.compare_classes(boxes.front().classes);
  for (std::size_t first = 0; first < boxes.size(); first += lanes) {
    std::size_t const count = std::min(lanes, boxes.size() - first);
    load_merged(first, count);
    bounds_.bound(count);
    for (std::size_t i = 0; i < count; ++i) {
      OutputLines& bounds = merged_[first + i];
      bounds = bounds_.read(static_cast<int>(i));
      BoxVerdict& verdict = decisions_[first + i].verdict;
      if (verdict == BoxVerdict::kOpen && !reaches_both(bounds)) verdict = BoxVerdict::kMerged;
    }
    if (with_gaps) find_gaps(first, count);
    if (!with_most) continue;
    find_separable(first, count);
    find_most(first, count);
  }
}

void NetworkDecider::find_gaps(std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; i += LineGaps::kLanes) {
    std::size_t const end = std::min(i + LineGaps::kLanes, count);
    bool found = false;
    for (std::size_t j = i; j < end; ++j) {
      if (decisions_[first + j].verdict != BoxVerdict::kOpen) continue;
      if (!found) gaps_.find(bounds_.network(), bounds_.memory(), static_cast<int>(i));
      found = true;
      merged_[first + j].gaps = gaps_.of(static_cast<int>(j - i));
    }
  }
}

void NetworkDecider::find_separable(std::size_t first, std::size_t count) {
  if (domain_.relaxed()) return;
  for (std::size_t i = first; i < first + count; ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen || !merged_[i].has_lines()) continue;
    separable_[i] =
        separable_finder_.find(bounds_, static_cast<int>(i - first), boxes_[i].box, merged_[i]);
  }
}

void NetworkDecider::find_most(std::size_t first, std::size_t count) {
  auto const asks = [&](std::size_t i) {
    return decisions_[i].verdict == BoxVerdict::kOpen && merged_[i].has_lines();
  };
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!asks(first + i)) continue;
    any = true;
    most_groups_.ask(bounds_, static_cast<int>(i), boxes_[first + i].box, merged_[first + i],
                     separable_[first + i].gain);
  }
  if (!any) return;
  bounds_.bound(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!asks(first + i)) continue;
    most_[first + i] = most_groups_.take(bounds_, static_cast<int>(i));
  }
}

void NetworkDecider::load_merged(std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t const at = first + i;
    auto const& box = boxes_[at].box;
    bounds_.load(static_cast<int>(i), domain_.relaxed() ? domain_.widened(box) : box, variants(at));
  }
}

void NetworkDecider::leave_out_classes() {
  std::size_t const lanes = bounds_.lanes();
  int const own = boxes_.front().classes;
  ClassPair const classes = networks_.pairs()[static_cast<std::size_t>(own)];
  auto const is_own = [&](int c) { return c == classes.first || c == classes.second; };
  for (std::size_t first = 0; first < boxes_.size(); first += lanes) {
    std::size_t const count = std::min(lanes, boxes_.size() - first);
    auto const open = [&](std::size_t i) {
      return decisions_[first + i].verdict == BoxVerdict::kOpen;
    };
    for (std::size_t p = 0; p < networks_.pairs().size(); ++p) {
      ClassPair const pair = networks_.pairs()[p];
      if (static_cast<int>(p) == own || (!is_own(pair.first) && !is_own(pair.second))) continue;
      bool any = false;
      for (std::size_t i = 0; i < count; ++i) any = any || open(i);
      if (!any) break;
      bounds_.compare_classes(static_cast<int>(p));
      load_merged(first, count);
      bounds_.bound(count);
      for (std::size_t i = 0; i < count; ++i) {
        auto const [first_is, second_is] = beaten(bounds_.read(static_cast<int>(i)));
        bool const out = (is_own(pair.first) && first_is) || (is_own(pair.second) && second_is);
        if (open(i) && out) decisions_[first + i].verdict = BoxVerdict::kMerged;
      }
    }
  }
  bounds_.compare_classes(own);
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
  OutputLines const& bounds = merged_[i];
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
      decision.axis = a;
    }
  }
}

}  // namespace fairlane
