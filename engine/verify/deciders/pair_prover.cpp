#include "engine/verify/deciders/pair_prover.h"

#include <algorithm>
#include <cmath>

namespace fairlane {
namespace {

constexpr std::size_t kMostPairs = 24;  // of variants in a box; with more it is split at once
// Nodes beyond the pairs' own in which units are looked at by their sides: where that does not help
// at once, halves of the box are worth more.
constexpr int kUnitNodes = 2;
constexpr int kNarrowings = 3;       // of a node
constexpr double kWorthwhile = 0.9;  // of its groups that a narrowing leaves, or it was the last
constexpr double kMargin = 0x1p-40;  // more than sums of lines are rounded by

constexpr int kMeanSteps = 12;  // of a search for the best mean of two lines

/// Of a function: its value and its slope at a place.
struct SlopedValue {
  double value;
  double slope;
};

/// Whether a convex function on [0, 1] is found to be below 0 somewhere: it lies above its tangents.
template <class Function>
bool dips_below_zero(Function const& function) {
  double low = 0.0;
  double high = 1.0;
  SlopedValue at_low = function(low);
  SlopedValue at_high = function(high);
  for (int i = 0; i < kMeanSteps; ++i) {
    if (at_low.value < 0.0 || at_high.value < 0.0) return true;
    if (!(at_low.slope < 0.0) || !(at_high.slope > 0.0)) return false;
    double const x = (at_high.value - at_low.value + at_low.slope * low - at_high.slope * high) /
                     (at_low.slope - at_high.slope);
    if (at_low.value + at_low.slope * (x - low) >= 0.0) return false;
    if (!(x > low) || !(x < high)) return false;
    SlopedValue const here = function(x);
    (here.slope < 0.0 ? low : high) = x;
    (here.slope < 0.0 ? at_low : at_high) = here;
  }
  return at_low.value < 0.0 || at_high.value < 0.0;
}

bool is_possible(LaneBounds& bounds, int lane) {
  return bounds.memory().at(bounds.memory().get().possible, 0, lane) != 0.0;
}

}  // namespace

PairProver::PairProver(BoxDomain const& domain, BoundNetwork const& network, Backend& backend,
                       VerifyQuery const& query)
    : domain_(domain),
      query_(query),
      upper_(domain, network, backend),
      lower_(domain, network, backend),
      inputs_(static_cast<std::size_t>(network.get().inputs)),
      other_inputs_(inputs_) {}

void PairProver::begin(std::size_t boxes, int classes) {
  nodes_.clear();
  hull_.assign(boxes, {});
  left_.assign(boxes, 0);
  upper_.compare_classes(classes);
  lower_.compare_classes(classes);
  fan_out_.clear();
  for (int l = 0; l + 1 < network().layers; ++l) {
    BoxLayer const& next = network().layer[l + 1];
    for (int k = 0; k < next.inputs; ++k) {
      double sum = 0.0;
      for (int o = 0; o < next.outputs; ++o) sum += next.magnitudes[k * next.outputs + o];
      fan_out_.push_back(sum);
    }
  }
}

bool PairProver::add(std::size_t i, GroupBox const& box, std::span<int const> variants,
                     std::span<OutputLines const> own, std::span<OutputLines const> beside) {
  GroupBox const wide = domain_.relaxed() ? domain_.widened(box) : GroupBox();
  std::vector<PairNode> nodes;
  std::size_t const most = !network().straight ? 0
                           : domain_.relaxed() ? 2 * kMostPairs
                                               : kMostPairs;
  for (bool const upper_is_own : {true, false}) {
    if (!upper_is_own && !domain_.relaxed()) break;  // the same pairs again
    auto const& upper = upper_is_own ? own : beside;
    auto const& lower = upper_is_own ? beside : own;
    for (std::size_t a = 0; a < variants.size(); ++a) {
      if (upper[a].most <= query_.least_upper()) continue;
      for (std::size_t e = 0; e < variants.size(); ++e) {
        if (a == e || lower[e].least > query_.most_lower() ||
            !query_.compares(variants[a], variants[e]))
          continue;
        nodes.push_back({i, true, {variants[a], variants[e]}, upper_is_own, box, wide, {}});
        if (excluded(upper[a], lower[e], nodes.back())) nodes.pop_back();
        if (nodes.size() > most) return true;
      }
    }
  }
  if (nodes.empty()) return false;
  left_[i] = kUnitNodes + static_cast<int>(nodes.size());
  for (PairNode& node : nodes) nodes_.push_back(std::move(node));
  return true;
}

void PairProver::prove() {
  while (!nodes_.empty()) step();
}

bool PairProver::excluded(OutputLines const& upper, OutputLines const& lower,
                          PairNode const& node) {
  auto const& beside = node.beside.empty() ? node.groups : node.beside;
  domain_.enclose(node.upper_is_own ? node.groups : beside, inputs_.data());
  domain_.enclose(node.upper_is_own ? beside : node.groups, other_inputs_.data());
  // Where f_a > t >= f_e, every mean of f_a - t and t - f_e is at least 0.
  auto const most = [&](double share) -> SlopedValue {
    // The slope in the share, where groups do not differ.
    double by_share =
        upper.above_constant - query_.least_upper() - query_.most_lower() + lower.below_constant;
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
        double const x = slope > 0.0 ? in.high : in.low;
        constant += slope * x;
        by_share += (upper.above[k] + lower.below[k]) * x;
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
    return {constant + kMargin * size, by_share};
  };
  if (!upper.has_lines() || !lower.has_lines()) return false;
  if (!domain_.relaxed()) return dips_below_zero(most);
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < kMeanSteps; ++i) {
    double const left = low + (high - low) * 0.45;
    double const right = low + (high - low) * 0.55;
    double const at_left = most(left).value;
    double const at_right = most(right).value;
    if (at_left < 0.0 || at_right < 0.0) return true;
    (at_left < at_right ? high : low) = at_left < at_right ? right : left;
  }
  return most(0.0).value < 0.0 || most(1.0).value < 0.0;
}

void PairProver::step() {
  std::size_t const lanes = upper_.lanes();
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
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    PairNode const& node = nodes[i];
    int const lane = static_cast<int>(i);
    for (bool const above : {true, false}) {
      int const variant[] = {above ? node.pair.upper : node.pair.lower};
      (above ? upper_ : lower_).load(lane, node.box_of(above), variant);
    }
    upper_.memory().at(upper_.memory().get().wanted, 0, lane) = 1.0;
    lower_.memory().at(lower_.memory().get().wanted, 0, lane) = -1.0;
    if (node.sums.empty()) continue;
    double const* sum = node.sums.data();
    for (BoxMemory* memory : {&upper_.memory(), &lower_.memory()}) {
      for (int u = 0; u < network().units; ++u) {
        memory->at(memory->get().sum_low, u, lane) = *sum++;
        memory->at(memory->get().sum_high, u, lane) = *sum++;
      }
    }
  }
  std::vector<bool> closed(nodes.size());
  // A lane that goes on for its neighbours' sake alone is not looked at: no box depends on others.
  std::vector<bool> goes_on(nodes.size(), true);
  for (int turn = 0; turn < kNarrowings; ++turn) {
    upper_.bound(nodes.size());
    lower_.bound(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!goes_on[i]) continue;
      int const lane = static_cast<int>(i);
      bool const possible = is_possible(upper_, lane) && is_possible(lower_, lane);
      OutputLines const of_upper = upper_.read(lane);
      OutputLines const of_lower = lower_.read(lane);
      if (!possible || of_upper.most <= query_.least_upper() ||
          of_lower.least > query_.most_lower() || excluded(of_upper, of_lower, nodes[i]))
        closed[i] = true;
      goes_on[i] = !closed[i];
    }
    upper_.narrow(query_.least_upper(), nodes.size());
    lower_.narrow(query_.most_lower(), nodes.size());
    bool any = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!goes_on[i]) continue;
      int const lane = static_cast<int>(i);
      PairNode& node = nodes[i];
      double const before = domain_.groups(node.groups);
      if (!narrow_groups(lane, node)) {
        closed[i] = true;
        goes_on[i] = false;
        continue;
      }
      goes_on[i] = domain_.groups(node.groups) <= kWorthwhile * before;
      any = any || goes_on[i];
      save_sums(lane, node);
    }
    if (turn + 1 == kNarrowings || !any) break;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!goes_on[i]) continue;
      int const lane = static_cast<int>(i);
      for (bool const above : {true, false}) {
        int const variant[] = {above ? nodes[i].pair.upper : nodes[i].pair.lower};
        (above ? upper_ : lower_).load_inputs(lane, nodes[i].box_of(above), variant);
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
    UnitSplit const split = left_[node.box] < 0 ? UnitSplit{} : choose_unit(node);
    if (split.copy < 0) {
      left_[node.box] = -1;
      continue;
    }
    // The sides, of which the one below zero keeps it: a sum of zero is on both lines.
    auto const at = static_cast<std::size_t>(2 * (split.copy * network().units + split.unit));
    PairNode other = node;
    node.sums[at] = std::max(node.sums[at], 0.0);
    other.sums[at + 1] = std::min(other.sums[at + 1], 0.0);
    nodes_.push_back(std::move(node));
    nodes_.push_back(std::move(other));
  }
}

bool PairProver::narrow_groups(int lane, PairNode& node) {
  if (!is_possible(upper_, lane) || !is_possible(lower_, lane)) return false;
  auto const inputs_of = [&](BoxMemory& memory, std::vector<Interval>& inputs) {
    for (int k = 0; k < network().inputs; ++k) {
      inputs[static_cast<std::size_t>(k)] = {memory.at(memory.get().low, k, lane),
                                             memory.at(memory.get().high, k, lane)};
    }
  };
  inputs_of(upper_.memory(), inputs_);
  inputs_of(lower_.memory(), other_inputs_);
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

void PairProver::save_sums(int lane, PairNode& node) {
  node.sums.clear();
  for (BoxMemory* memory : {&upper_.memory(), &lower_.memory()}) {
    for (int u = 0; u < network().units; ++u) {
      node.sums.push_back(memory->at(memory->get().sum_low, u, lane));
      node.sums.push_back(memory->at(memory->get().sum_high, u, lane));
    }
  }
}

PairProver::UnitSplit PairProver::choose_unit(PairNode const& node) const {
  UnitSplit best;
  double widest = 0.0;
  for (int copy = 0; copy < 2; ++copy) {
    for (int l = 0; l + 1 < network().layers; ++l) {
      BoxLayer const& layer = network().layer[l];
      if (layer.slope == 1.0) continue;
      for (int o = 0; o < layer.outputs; ++o) {
        int const u = layer.first_unit + o;
        auto const at = static_cast<std::size_t>(2 * (copy * network().units + u));
        double const low = node.sums[at];
        double const high = node.sums[at + 1];
        if (!(low < 0.0 && high > 0.0)) continue;
        double const gap = -low * high / (high - low) * fan_out_[static_cast<std::size_t>(u)];
        if (gap > widest) {
          widest = gap;
          best = {copy, u};
        }
      }
    }
  }
  return best;
}

}  // namespace fairlane
