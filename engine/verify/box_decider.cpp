#include "engine/verify/box_decider.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/verify/line_gaps.h"

namespace fairlane {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kFirstSteps = 32;         // of the search in a cell
constexpr int kSteps = 8;               // and in a part of one
constexpr double kFewGroups = 64.0;     // that are evaluated rather than split
constexpr std::size_t kMostPairs = 24;  // of variants, beyond which a box is split at once
// Nodes beyond the pairs' own in which units are looked at by their sides: where that does not help
// at once, halves of the box are worth more.
constexpr int kUnitNodes = 2;
constexpr double kSlopeShare = 0.1;  // of slopes beside gaps, where groups are counted
constexpr int kNarrowings = 3;       // of a node
constexpr double kWorthwhile = 0.9;  // of its groups that a narrowing leaves, or it was the last
constexpr double kMargin = 0x1p-40;  // more than sums of lines are rounded by

}  // namespace

BoxDecider::BoxDecider(BoxDomain const& domain, BoundNetwork const& network,
                       BoxKernels const& kernels, RowDescriber& rows, VerifyQuery const& query)
    : domain_(domain),
      network_(network.get()),
      kernels_(kernels),
      query_(query),
      search_(domain, network, kernels, rows, query),
      counter_(domain, kernels),
      upper_(network.get(), kernels.lanes),
      lower_(network.get(), kernels.lanes),
      inputs_(static_cast<std::size_t>(network.get().inputs)),
      other_inputs_(inputs_) {
  for (int l = 0; l + 1 < network_.layers; ++l) {
    BoxLayer const& next = network_.layer[l + 1];
    for (int k = 0; k < next.inputs; ++k) {
      double sum = 0.0;
      for (int o = 0; o < next.outputs; ++o) sum += next.magnitudes[k * next.outputs + o];
      fan_out_.push_back(sum);
    }
  }
}

void BoxDecider::begin(std::span<OpenBox const> boxes, std::span<Decision> decisions) {
  boxes_ = boxes;
  decisions_ = decisions;
  if (domain_.limited()) {
    limited_.assign(boxes.begin(), boxes.end());
    boxes_ = limited_;
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    decisions[i] = {};
    if (domain_.limited() && !domain_.keep_limits(limited_[i].box)) {
      limited_[i].box = boxes[i].box;
      decisions[i].verdict = BoxVerdict::kEmpty;
    }
    decisions[i].box = boxes_[i].box;
  }
}

void BoxDecider::decide(std::span<OpenBox const> boxes, std::span<Decision> decisions) {
  begin(boxes, decisions);
  bound_merged(false);
  search();
  bound_variants(false);
  split_units();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Decision& decision = decisions_[i];
    if (decision.verdict != BoxVerdict::kOpen) continue;
    double const groups = domain_.groups(decision.box);
    bool const few = domain_.relaxed() ? domain_.groups(domain_.widened(decision.box)) <= kFewGroups
                                       : groups <= kFewGroups;
    if (few || groups == 1.0) {
      enumerate(i);
    } else {
      choose_axis(i);
    }
  }
}

void BoxDecider::measure(std::span<OpenBox const> boxes, std::span<Decision> decisions,
                         std::span<CertainGroups> certain) {
  begin(boxes, decisions);
  bound_merged(true);
  bound_variants(true);
  split_units();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    double const all = domain_.groups(boxes[i].box);
    if (decisions[i].verdict != BoxVerdict::kOpen) {
      certain[i] = {.fair = all};
      continue;
    }
    double const left = domain_.groups(decisions[i].box);
    if (left <= kFewGroups) {
      certain[i] = count_each(i);
    } else {
      certain[i].fair = count_fair(i, decisions[i].box);
      certain[i].unfair = boxes[i].wait == 0 ? count_unfair(i) : 0.0;
      certain[i].by_merged = left < all ? count_fair(i, boxes[i].box) : certain[i].fair;
      choose_axis(i);
    }
    certain[i].fair += all - left;  // what narrowing has left out
  }
}

double BoxDecider::count_fair(std::size_t i, std::span<AxisRange const> box) {
  Bounds const& merged = merged_[i];
  if (!merged.has_lines()) return 0.0;
  double const t = query_.threshold;
  return counter_.above(box, {merged.below, merged.below_constant}, t) +
         counter_.not_above(box, {merged.above, merged.above_constant}, t);
}

double BoxDecider::count_unfair(std::size_t i) {
  // Of the groups where one variant is above, those are not unfair where the other may be, too.
  auto const& box = decisions_[i].box;
  double const t = query_.threshold;
  auto const& list = variants(i);
  double const all = domain_.groups(box);
  std::vector<double> above;
  std::vector<double> not_above;
  for (std::size_t v = 0; v < list.size(); ++v) {
    Bounds const& bounds = by_variant_[first_by_variant_[i] + v];
    if (!bounds.has_lines()) return 0.0;
    above.push_back(counter_.above(box, {bounds.below, bounds.below_constant}, t));
    not_above.push_back(counter_.not_above(box, {bounds.above, bounds.above_constant}, t));
  }
  double most = 0.0;
  for (std::size_t a = 0; a < list.size(); ++a) {
    for (std::size_t e = 0; e < list.size(); ++e) {
      if (query_.compares(list[a], list[e])) most = std::max(most, above[a] + not_above[e] - all);
    }
  }
  return most;
}

void BoxDecider::load_inputs(BoxMemory& memory, int lane, std::span<AxisRange const> box,
                             std::span<int const> variants) {
  domain_.enclose(box, inputs_.data());
  domain_.enclose_variants(variants, inputs_.data());
  BoxLanes const& b = memory.get();
  for (int k = 0; k < network_.inputs; ++k) {
    memory.at(b.low, k, lane) = inputs_[static_cast<std::size_t>(k)].low;
    memory.at(b.high, k, lane) = inputs_[static_cast<std::size_t>(k)].high;
  }
}

void BoxDecider::load(BoxMemory& memory, int lane, std::span<AxisRange const> box,
                      std::span<int const> variants) {
  load_inputs(memory, lane, box, variants);
  BoxLanes const& b = memory.get();
  for (int u = 0; u < network_.units; ++u) {
    memory.at(b.sum_low, u, lane) = -kInfinity;
    memory.at(b.sum_high, u, lane) = kInfinity;
  }
}

bool BoxDecider::reaches_both(Bounds const& bounds) const {
  return bounds.most > query_.least_upper() && bounds.least <= query_.most_lower();
}

BoxDecider::Bounds BoxDecider::read(BoxMemory& memory, int lane) const {
  BoxLanes const& b = memory.get();
  Bounds bounds;
  bounds.least = memory.at(b.least, 0, lane);
  bounds.most = memory.at(b.most, 0, lane);
  bounds.below_constant = memory.at(b.below_constant, 0, lane);
  bounds.above_constant = memory.at(b.above_constant, 0, lane);
  for (int k = 0; k < network_.inputs; ++k) {
    bounds.below.push_back(memory.at(b.below, k, lane));
    bounds.above.push_back(memory.at(b.above, k, lane));
  }
  for (int const input : domain_.variant_inputs()) {
    auto const k = static_cast<std::size_t>(input);
    double const low = memory.at(b.low, input, lane);
    double const high = memory.at(b.high, input, lane);
    bounds.below_constant += bounds.below[k] * (bounds.below[k] < 0.0 ? high : low);
    bounds.above_constant += bounds.above[k] * (bounds.above[k] < 0.0 ? low : high);
    bounds.below[k] = 0.0;
    bounds.above[k] = 0.0;
  }
  return bounds;
}

void BoxDecider::bound_merged(bool with_gaps) {
  auto const& boxes = boxes_;
  auto const lanes = static_cast<std::size_t>(kernels_.lanes);
  merged_.resize(boxes.size());
  for (std::size_t first = 0; first < boxes.size(); first += lanes) {
    std::size_t const count = std::min(lanes, boxes.size() - first);
    for (std::size_t i = 0; i < lanes; ++i) {
      std::size_t const at = first + std::min(i, count - 1);
      auto const& box = boxes[at].box;
      load(upper_, static_cast<int>(i), domain_.relaxed() ? domain_.widened(box) : box,
           variants(at));
    }
    kernels_.bound(network_, upper_.get());
    for (std::size_t i = 0; i < count; ++i) {
      Bounds& bounds = merged_[first + i];
      bounds = read(upper_, static_cast<int>(i));
      BoxVerdict& verdict = decisions_[first + i].verdict;
      if (verdict == BoxVerdict::kOpen && !reaches_both(bounds)) verdict = BoxVerdict::kMerged;
      if (with_gaps) bounds.gaps = find_gaps(network_, kernels_.lanes, upper_, static_cast<int>(i));
    }
  }
}

void BoxDecider::search() {
  auto const lanes = static_cast<std::size_t>(kernels_.lanes);
  std::vector<BoxSearch::Task> tasks;
  std::vector<std::size_t> of;
  std::vector<std::optional<UnfairPair>> found;
  auto const flush = [&] {
    found.assign(tasks.size(), std::nullopt);
    search_.search(tasks, found);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (!found[i]) continue;
      Decision& decision = decisions_[of[i]];
      decision.verdict = BoxVerdict::kUnfair;
      decision.example = std::move(*found[i]);
    }
    tasks.clear();
    of.clear();
  };
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen) continue;
    OpenBox const& box = boxes_[i];
    tasks.push_back({box.id, box.box, variants(i), box.depth == 0 ? kFirstSteps : kSteps});
    of.push_back(i);
    if (tasks.size() == lanes) flush();
  }
  if (!tasks.empty()) flush();
}

void BoxDecider::bound_variants(bool waits) {
  auto const& boxes = boxes_;
  nodes_.clear();
  hull_.assign(boxes.size(), {});
  left_.assign(boxes.size(), 0);
  first_by_variant_.assign(boxes.size(), 0);
  struct Task {
    std::size_t box;
    int variant;
    bool beside;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen || (waits && boxes[i].wait > 0)) continue;
    for (int const v : variants(i)) tasks.push_back({i, v, false});
    if (!domain_.relaxed()) continue;
    for (int const v : variants(i)) tasks.push_back({i, v, true});
  }
  auto const lanes = static_cast<std::size_t>(kernels_.lanes);
  by_variant_.resize(tasks.size());
  for (std::size_t first = 0; first < tasks.size(); first += lanes) {
    std::size_t const count = std::min(lanes, tasks.size() - first);
    for (std::size_t i = 0; i < lanes; ++i) {
      Task const& task = tasks[first + std::min(i, count - 1)];
      int const only[] = {task.variant};
      auto const& box = boxes[task.box].box;
      load(upper_, static_cast<int>(i), task.beside ? domain_.widened(box) : box, only);
    }
    kernels_.bound(network_, upper_.get());
    for (std::size_t i = 0; i < count; ++i)
      by_variant_[first + i] = read(upper_, static_cast<int>(i));
  }
  for (std::size_t at = 0; at < tasks.size();) {
    std::size_t const box = tasks[at].box;
    std::size_t const count = variants(box).size();
    first_by_variant_[box] = at;
    std::size_t const beside = domain_.relaxed() ? at + count : at;
    compare_pairs(box, std::span(by_variant_).subspan(at, count),
                  std::span(by_variant_).subspan(beside, count));
    at = beside + count;
  }
}

void BoxDecider::compare_pairs(std::size_t i, std::span<Bounds const> own,
                               std::span<Bounds const> beside) {
  auto const& list = variants(i);
  GroupBox const wide = domain_.relaxed() ? domain_.widened(boxes_[i].box) : GroupBox();
  std::vector<PairNode> nodes;
  for (bool const upper_is_own : {true, false}) {
    if (!upper_is_own && !domain_.relaxed()) break;  // the same pairs again
    auto const& upper = upper_is_own ? own : beside;
    auto const& lower = upper_is_own ? beside : own;
    for (std::size_t a = 0; a < list.size(); ++a) {
      if (upper[a].most <= query_.least_upper()) continue;
      for (std::size_t e = 0; e < list.size(); ++e) {
        if (a == e || lower[e].least > query_.most_lower() || !query_.compares(list[a], list[e]))
          continue;
        nodes.push_back({i, true, {list[a], list[e]}, upper_is_own, boxes_[i].box, wide, {}});
        if (excluded(upper[a], lower[e], nodes.back())) nodes.pop_back();
      }
    }
  }
  if (nodes.empty()) {
    decisions_[i].verdict = BoxVerdict::kVariants;
    return;
  }
  if (nodes.size() > kMostPairs || !network_.straight) return;
  left_[i] = kUnitNodes + static_cast<int>(nodes.size());
  for (PairNode& node : nodes) nodes_.push_back(std::move(node));
}

bool BoxDecider::excluded(Bounds const& upper, Bounds const& lower, PairNode const& node) {
  auto const& beside = node.beside.empty() ? node.groups : node.beside;
  domain_.enclose(node.upper_is_own ? node.groups : beside, inputs_.data());
  domain_.enclose(node.upper_is_own ? beside : node.groups, other_inputs_.data());
  // Where f_a > t >= f_e, every mean of f_a - t and t - f_e is at least 0.
  auto const most = [&](double share) {
    double constant = share * (upper.above_constant - query_.least_upper()) +
                      (1.0 - share) * (query_.most_lower() - lower.below_constant);
    double size = std::abs(share * upper.above_constant) +
                  std::abs((1.0 - share) * lower.below_constant) + std::abs(query_.threshold) +
                  query_.margin;
    for (std::size_t k = 0; k < upper.above.size(); ++k) {
      double const rise = share * upper.above[k];
      double const fall = (1.0 - share) * lower.below[k];
      double const slope = rise - fall;
      Interval const& in = inputs_[k];
      double const apart = domain_.apart()[k];
      double const reach = std::max(std::abs(in.low), std::abs(in.high));
      if (apart == 0.0) {
        constant += slope * (slope > 0.0 ? in.high : in.low);
        size += (std::abs(rise) + std::abs(fall)) * reach;
        continue;
      }
      // Two inputs, not far from each other: each within its own range, or one of them and how far
      // the other may be from it.
      Interval const& other = other_inputs_[k];
      double value =
          rise * (rise > 0.0 ? in.high : in.low) - fall * (fall > 0.0 ? other.low : other.high);
      if (std::isfinite(apart)) {
        value = std::min({value, slope * (slope > 0.0 ? in.high : in.low) + std::abs(fall) * apart,
                          slope * (slope > 0.0 ? other.high : other.low) + std::abs(rise) * apart});
        size += (std::abs(rise) + std::abs(fall)) * apart;
      }
      constant += value;
      size += std::abs(rise) * reach +
              std::abs(fall) * std::max(std::abs(other.low), std::abs(other.high)) +
              std::abs(slope) * (reach + std::max(std::abs(other.low), std::abs(other.high)));
    }
    return constant + kMargin * size;
  };
  if (!upper.has_lines() || !lower.has_lines()) return false;
  constexpr int kHalvings = 12;  // a convex function of the share
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < kHalvings; ++i) {
    double const left = low + (high - low) * 0.45;
    double const right = low + (high - low) * 0.55;
    double const at_left = most(left);
    double const at_right = most(right);
    if (at_left < 0.0 || at_right < 0.0) return true;
    (at_left < at_right ? high : low) = at_left < at_right ? right : left;
  }
  return most(0.0) < 0.0 || most(1.0) < 0.0;
}

void BoxDecider::split_units() {
  while (!nodes_.empty()) step_pairs();
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (decisions_[i].verdict != BoxVerdict::kOpen || left_[i] == 0) continue;
    // Left is negative where the nodes did not suffice.
    if (left_[i] > 0) {
      decisions_[i].verdict = BoxVerdict::kSplit;
    } else if (!hull_[i].empty()) {
      decisions_[i].box = hull_[i];
    }
  }
}

void BoxDecider::step_pairs() {
  auto const lanes = static_cast<std::size_t>(kernels_.lanes);
  std::vector<PairNode> nodes;
  while (nodes.size() < lanes && !nodes_.empty()) {
    PairNode node = std::move(nodes_.back());
    nodes_.pop_back();
    int& left = left_[node.box];
    // Of a box that is given up, only what the pairs themselves leave is still of use.
    if (left < 0 && !node.root) continue;
    if (left > 0 && --left == 0) left = -1;
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) return;
  for (std::size_t i = 0; i < lanes; ++i) {
    PairNode const& node = nodes[std::min(i, nodes.size() - 1)];
    int const lane = static_cast<int>(i);
    for (bool const above : {true, false}) {
      int const variant[] = {above ? node.pair.upper : node.pair.lower};
      load(above ? upper_ : lower_, lane, node.box_of(above), variant);
    }
    upper_.at(upper_.wanted(), 0, lane) = 1.0;
    lower_.at(lower_.wanted(), 0, lane) = -1.0;
    if (node.sums.empty()) continue;
    double const* sum = node.sums.data();
    for (BoxMemory* memory : {&upper_, &lower_}) {
      for (int u = 0; u < network_.units; ++u) {
        memory->at(memory->get().sum_low, u, lane) = *sum++;
        memory->at(memory->get().sum_high, u, lane) = *sum++;
      }
    }
  }
  std::vector<bool> closed(nodes.size());
  std::vector<bool> goes_on(nodes.size(), true);
  for (int turn = 0; turn < kNarrowings; ++turn) {
    kernels_.bound(network_, upper_.get());
    kernels_.bound(network_, lower_.get());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (closed[i]) continue;
      int const lane = static_cast<int>(i);
      bool const possible = upper_.at(upper_.get().possible, 0, lane) != 0.0 &&
                            lower_.at(lower_.get().possible, 0, lane) != 0.0;
      Bounds const of_upper = read(upper_, lane);
      Bounds const of_lower = read(lower_, lane);
      if (!possible || of_upper.most <= query_.least_upper() ||
          of_lower.least > query_.most_lower() || excluded(of_upper, of_lower, nodes[i]))
        closed[i] = true;
    }
    kernels_.narrow(network_, query_.least_upper(), upper_.get());
    kernels_.narrow(network_, query_.most_lower(), lower_.get());
    bool any = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (closed[i]) continue;
      int const lane = static_cast<int>(i);
      PairNode& node = nodes[i];
      double const before = domain_.groups(node.groups);
      if (!narrow_groups(lane, node)) {
        closed[i] = true;
        continue;
      }
      goes_on[i] = domain_.groups(node.groups) <= kWorthwhile * before;
      any = any || goes_on[i];
      save_sums(lane, node);
    }
    if (turn + 1 == kNarrowings || !any) break;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (closed[i]) continue;
      int const lane = static_cast<int>(i);
      for (bool const above : {true, false}) {
        int const variant[] = {above ? nodes[i].pair.upper : nodes[i].pair.lower};
        load_inputs(above ? upper_ : lower_, lane, nodes[i].box_of(above), variant);
      }
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (closed[i]) continue;
    PairNode& node = nodes[i];
    if (node.root) {
      GroupBox& hull = hull_[node.box];
      if (hull.empty()) hull = node.groups;
      for (std::size_t a = 0; a < hull.size(); ++a) {
        hull[a].first = std::min(hull[a].first, node.groups[a].first);
        hull[a].last = std::max(hull[a].last, node.groups[a].last);
      }
    }
    node.root = false;
    UnitSplit const split = left_[node.box] < 0 ? UnitSplit{} : choose_unit(static_cast<int>(i));
    if (split.copy < 0) {
      left_[node.box] = -1;
      continue;
    }
    // The sides, of which the one below zero keeps it: a sum of zero is on both lines.
    auto const at = static_cast<std::size_t>(2 * (split.copy * network_.units + split.unit));
    PairNode other = node;
    node.sums[at] = std::max(node.sums[at], 0.0);
    other.sums[at + 1] = std::min(other.sums[at + 1], 0.0);
    nodes_.push_back(std::move(node));
    nodes_.push_back(std::move(other));
  }
}

bool BoxDecider::narrow_groups(int lane, PairNode& node) {
  for (BoxMemory* memory : {&upper_, &lower_}) {
    if (memory->at(memory->get().possible, 0, lane) == 0.0) return false;
  }
  auto const inputs_of = [&](BoxMemory& memory, std::vector<Interval>& inputs) {
    for (int k = 0; k < network_.inputs; ++k) {
      inputs[static_cast<std::size_t>(k)] = {memory.at(memory.get().low, k, lane),
                                             memory.at(memory.get().high, k, lane)};
    }
  };
  inputs_of(upper_, inputs_);
  inputs_of(lower_, other_inputs_);
  if (!node.beside.empty()) {
    return domain_.narrow((node.upper_is_own ? inputs_ : other_inputs_).data(), node.groups) &&
           domain_.narrow((node.upper_is_own ? other_inputs_ : inputs_).data(), node.beside) &&
           domain_.link(node.groups, node.beside);
  }
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    inputs_[k] = {std::max(inputs_[k].low, other_inputs_[k].low),
                  std::min(inputs_[k].high, other_inputs_[k].high)};
  }
  return domain_.narrow(inputs_.data(), node.groups);
}

void BoxDecider::save_sums(int lane, PairNode& node) {
  node.sums.clear();
  for (BoxMemory* memory : {&upper_, &lower_}) {
    for (int u = 0; u < network_.units; ++u) {
      node.sums.push_back(memory->at(memory->get().sum_low, u, lane));
      node.sums.push_back(memory->at(memory->get().sum_high, u, lane));
    }
  }
}

BoxDecider::UnitSplit BoxDecider::choose_unit(int lane) const {
  UnitSplit best;
  double widest = 0.0;
  int copy = 0;
  for (BoxMemory const* memory : {&upper_, &lower_}) {
    BoxLanes const& b = memory->get();
    for (int l = 0; l + 1 < network_.layers; ++l) {
      BoxLayer const& layer = network_.layer[l];
      if (layer.slope == 1.0) continue;
      for (int o = 0; o < layer.outputs; ++o) {
        int const u = layer.first_unit + o;
        double const low = b.sum_low[u * kernels_.lanes + lane];
        double const high = b.sum_high[u * kernels_.lanes + lane];
        if (!(low < 0.0 && high > 0.0)) continue;
        double const gap = -low * high / (high - low) * fan_out_[static_cast<std::size_t>(u)];
        if (gap > widest) {
          widest = gap;
          best = {copy, u};
        }
      }
    }
    ++copy;
  }
  return best;
}

void BoxDecider::enumerate(std::size_t i) {
  Decision& decision = decisions_[i];
  bool undefined = false;
  bool within_margin = false;
  each_point(decision.box, [&](std::vector<std::int32_t> const& entries) {
    auto pair = search_.certain_pair(entries, variants(i));
    undefined = undefined || search_.undefined();
    within_margin = within_margin || search_.within_margin();
    if (!pair) return true;
    decision.verdict = BoxVerdict::kUnfair;
    decision.example = std::move(*pair);
    return false;
  });
  if (decision.verdict != BoxVerdict::kOpen) return;
  decision.verdict = undefined       ? BoxVerdict::kUndefined
                     : within_margin ? BoxVerdict::kWithinMargin
                                     : BoxVerdict::kEnumerated;
}

CertainGroups BoxDecider::count_each(std::size_t i) {
  CertainGroups certain;
  each_point(decisions_[i].box, [&](std::vector<std::int32_t> const& entries) {
    if (search_.certain_pair(entries, variants(i))) {
      certain.unfair += 1.0;
    } else if (!search_.undefined()) {
      certain.fair += 1.0;
    }
    return true;
  });
  decisions_[i].verdict = BoxVerdict::kEnumerated;
  return certain;
}

void BoxDecider::choose_axis(std::size_t i) {
  Decision& decision = decisions_[i];
  Bounds const& bounds = merged_[i];
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
