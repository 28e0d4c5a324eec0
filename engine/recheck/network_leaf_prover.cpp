#include "engine/recheck/network_leaf_prover.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlane {
namespace {

constexpr int kRounds = 4;           // of narrowing
constexpr double kWorthwhile = 0.9;  // of the groups that a round leaves, or it was the last
constexpr int kUnitSplits = 3;       // one within the other
constexpr double kDoubleUnit = 0x1p-53;

/// Widens a box to what it has together with another one.
void join(GroupBox& hull, GroupBox const& box) {
  for (std::size_t i = 0; i < hull.size(); ++i)
    hull[i] = {std::min(hull[i].first, box[i].first), std::max(hull[i].last, box[i].last)};
}

}  // namespace

NetworkLeafProver::NetworkLeafProver(BoxDomain const& domain, Network const& network,
                                     VerifyQuery const& query, OutcomeOfRow outcome_of, int effort,
                                     double few)
    : domain_(domain),
      classes_(network.outputs()),
      query_(query),
      effort_(effort),
      network_(network),
      inputs_(domain),
      neighbours_(domain),
      groups_(domain, neighbours_, query, std::move(outcome_of), few) {}

LeafOutcome NetworkLeafProver::prove(GroupBox const& box, std::span<int const> variants, int first,
                                     int second) {
  std::vector<GroupBox> open = {box};
  for (int looks = 0; !open.empty(); ++looks) {
    if (is_stopped() || looks == effort_) return LeafOutcome::kUnproven;
    GroupBox part = std::move(open.back());
    open.pop_back();
    if (!domain_.keep_limits(part)) continue;
    GroupBox const wide = neighbours_.beside(part);
    std::vector<int> const there = existing(wide, variants);
    if (there.empty()) continue;
    if (classes_ > 2 && is_outdone(wide, there, first, second)) continue;
    network_.compare(first, second);
    std::size_t axis = 0;
    switch (look_at(part, wide, there, axis)) {
      case Step::kFair:
        break;
      case Step::kRefuted:
        return LeafOutcome::kRefuted;
      case Step::kOpen: {
        AxisRange const whole = part[axis];
        std::int32_t const middle = whole.first + (whole.last - whole.first) / 2;
        part[axis] = {whole.first, middle};
        open.push_back(part);
        part[axis] = {middle + 1, whole.last};
        open.push_back(std::move(part));
      }
    }
  }
  return LeafOutcome::kProven;
}

LeafOutcome NetworkLeafProver::prove_evaluated(GroupBox const& box, std::span<int const> variants,
                                               int first, int second) {
  // With many groups beside each, splitting may be far less.
  if (neighbours_.relaxed()) return prove(box, variants, first, second);
  return evaluate(box, existing(box, variants)) == Step::kFair ? LeafOutcome::kProven
                                                               : LeafOutcome::kRefuted;
}

NetworkLeafProver::Step NetworkLeafProver::look_at(GroupBox& box, GroupBox const& wide,
                                                   std::span<int const> variants,
                                                   std::size_t& axis) {
  double const least_upper = query_.least_upper();
  double const most_lower = query_.most_lower();
  CheckedBox const merged = bounded(wide, variants);
  if (merged.finite && (!merged.possible || merged.sums.back().low[0] > most_lower ||
                        merged.sums.back().high[0] <= least_upper))
    return Step::kFair;
  std::vector<Variant> own;
  std::vector<Variant> others;
  if (merged.finite) own = each_of(box, variants);
  if (merged.finite && neighbours_.relaxed()) others = each_of(wide, variants);
  auto const& beside = neighbours_.relaxed() ? others : own;
  bool const finite = own.size() == variants.size() && beside.size() == variants.size();
  std::vector<Pair> pairs;
  for (bool const upper_is_own : {true, false}) {
    if (!finite || (!upper_is_own && !neighbours_.relaxed())) break;  // the same pairs again
    auto const& uppers = upper_is_own ? own : beside;
    auto const& lowers = upper_is_own ? beside : own;
    for (std::size_t a = 0; a < variants.size(); ++a) {
      if (uppers[a].box.sums.back().high[0] <= least_upper) continue;
      for (std::size_t e = 0; e < variants.size(); ++e) {
        if (lowers[e].box.sums.back().low[0] > most_lower ||
            !query_.compares(variants[a], variants[e]))
          continue;
        if (excluded({uppers[a].above, uppers[a].box.inputs, variants[a]},
                     {lowers[e].below, lowers[e].box.inputs, variants[e]}))
          continue;
        pairs.push_back(
            {box, wide, upper_is_own, uppers[a].box, lowers[e].box, variants[a], variants[e]});
      }
    }
  }
  if (finite && pairs.empty()) return Step::kFair;
  if (groups_.are_few(box)) return evaluate(box, variants);
  // What the pairs that cannot be disproved leave of the box.
  GroupBox hull;
  for (Pair& pair : pairs) {
    if (close(pair, kUnitSplits)) continue;
    if (hull.empty()) hull = pair.groups;
    join(hull, pair.groups);
  }
  if (finite && hull.empty()) return Step::kFair;
  if (finite) box = std::move(hull);
  if (groups_.are_few(box)) return evaluate(box, variants);
  double most = -1.0;
  for (std::size_t i = 0; i < domain_.axes(); ++i) {
    if (box[i].size() < 2) continue;
    double score = 0.0;
    for (int const input : domain_.axis_inputs(i)) {
      auto const k = static_cast<std::size_t>(input);
      double slope = 1.0;
      for (Variant const& variant : own)
        slope += std::abs(variant.above.slopes[k]) + std::abs(variant.below.slopes[k]);
      score += slope * (merged.inputs.high[k] - merged.inputs.low[k]);
    }
    if (score <= most) continue;
    most = score;
    axis = i;
  }
  return Step::kOpen;
}

bool NetworkLeafProver::is_outdone(GroupBox const& box, std::span<int const> variants, int first,
                                   int second) {
  for (int const own : {first, second}) {
    for (int other = 0; other < classes_; ++other) {
      if (other == own) continue;
      network_.compare(own, other);
      CheckedBox const merged = bounded(box, variants);
      if (!merged.finite) return false;
      // Of equal outputs the lower class is the label.
      double const least = merged.sums.back().low[0];
      if (least > 0.0 || (least >= 0.0 && other < own)) return true;
    }
  }
  return false;
}

NetworkLeafProver::Step NetworkLeafProver::evaluate(GroupBox const& box,
                                                    std::span<int const> variants) const {
  return groups_.are_fair(box, variants, existence()) ? Step::kFair : Step::kRefuted;
}

std::vector<NetworkLeafProver::Variant> NetworkLeafProver::each_of(
    GroupBox const& box, std::span<int const> variants) const {
  std::vector<Variant> all;
  for (int const v : variants) {
    int const only[] = {v};
    CheckedBox bounds = bounded(box, only);
    if (!bounds.finite) break;
    CheckedLine above = network_.line(bounds, true);
    CheckedLine below = network_.line(bounds, false);
    all.push_back({std::move(bounds), std::move(above), std::move(below)});
  }
  return all;
}

CheckedBox NetworkLeafProver::bounded(GroupBox const& box, std::span<int const> variants) const {
  CheckedBox bounds = network_.box_of(inputs_.enclose(box, variants));
  network_.bound(bounds);
  return bounds;
}

CheckedLine NetworkLeafProver::folded(CheckedLine line, int variant) const {
  auto const& of_variants = domain_.variant_inputs();
  for (std::size_t i = 0; i < of_variants.size(); ++i) {
    double& slope = line.slopes[static_cast<std::size_t>(of_variants[i])];
    line.constant += std::exchange(slope, 0.0) * inputs_.of_variant(variant, i);
  }
  return line;
}

bool NetworkLeafProver::excluded(Side const& upper_side, Side const& lower_side) const {
  // f_a > t >= f_e makes every mean of f_a - t and t - f_e at least 0.
  CheckedLine const& upper_line = upper_side.line;
  CheckedLine const& lower_line = lower_side.line;
  CheckedLine const upper = folded(upper_line, upper_side.variant);
  CheckedLine const lower = folded(lower_line, lower_side.variant);
  CheckedRange const& in = upper_side.inputs;
  CheckedRange const& other = lower_side.inputs;
  double size = std::abs(query_.threshold) + query_.margin + std::abs(upper_line.constant) +
                std::abs(lower_line.constant);
  for (std::size_t k = 0; k < in.low.size(); ++k) {
    // Both variants' values, too, where an input is one of an attribute under test.
    size += (std::abs(upper_line.slopes[k]) + std::abs(lower_line.slopes[k])) *
            (std::abs(in.low[k]) + std::abs(in.high[k]) + std::abs(other.low[k]) +
             std::abs(other.high[k]) + neighbours_.apart()[k]);
  }
  double const pad = (static_cast<double>(in.low.size()) + 8.0) * 8.0 * kDoubleUnit * size;
  auto const greatest = [](double slope, CheckedRange const& inputs, std::size_t k) {
    return slope * (slope > 0.0 ? inputs.high[k] : inputs.low[k]);
  };
  auto const most = [&](double share) {
    double sum = share * (upper.constant - query_.least_upper()) +
                 (1.0 - share) * (query_.most_lower() - lower.constant);
    for (std::size_t k = 0; k < upper.slopes.size(); ++k) {
      double const rise = share * upper.slopes[k];
      double const fall = (1.0 - share) * lower.slopes[k];
      double const apart = neighbours_.apart()[k];
      // Either both have one value there, or two that are not far apart, each in its own range.
      double const by_upper = greatest(rise - fall, in, k) + std::abs(fall) * apart;
      if (apart == 0.0) {
        sum += by_upper;
        continue;
      }
      double const by_lower = greatest(rise - fall, other, k) + std::abs(rise) * apart;
      sum += std::min({by_upper, by_lower, greatest(rise, in, k) + greatest(-fall, other, k)});
    }
    return sum + pad;
  };
  // A convex function of the share.
  double low = 0.0;
  double high = 1.0;
  constexpr int kThirds = 16;
  for (int i = 0; i < kThirds; ++i) {
    double const left = low + (high - low) / 3.0;
    double const right = high - (high - low) / 3.0;
    double const at_left = most(left);
    double const at_right = most(right);
    if (at_left < 0.0 || at_right < 0.0) return true;
    (at_left < at_right ? high : low) = at_left < at_right ? right : left;
  }
  return most(0.0) < 0.0 || most(1.0) < 0.0;
}

bool NetworkLeafProver::clip(CheckedLine const& line, double least, CheckedRange& inputs) const {
  // line >= least: an input may take no more from the greatest value than there is beyond.
  double const room = most_of(line, inputs) - least;
  if (room < 0.0) return false;
  for (std::size_t k = 0; k < line.slopes.size(); ++k) {
    double const slope = line.slopes[k];
    if (slope == 0.0) continue;
    double const by = room / std::abs(slope);
    double const slack =
        16.0 * kDoubleUnit * (by + std::abs(inputs.low[k]) + std::abs(inputs.high[k]));
    if (slope > 0.0) {
      inputs.low[k] = std::max(inputs.low[k], inputs.high[k] - by - slack);
    } else {
      inputs.high[k] = std::min(inputs.high[k], inputs.low[k] + by + slack);
    }
  }
  return true;
}

bool NetworkLeafProver::close(Pair& pair, int splits) const {
  for (int round = 0; round < kRounds; ++round) {
    if (!pair.upper.possible || !pair.lower.possible) return true;
    if (!pair.upper.finite || !pair.lower.finite) return false;
    double& upper_least = pair.upper.sums.back().low[0];
    double& lower_most = pair.lower.sums.back().high[0];
    if (pair.upper.sums.back().high[0] <= query_.least_upper() ||
        pair.lower.sums.back().low[0] > query_.most_lower())
      return true;
    upper_least = std::max(upper_least, query_.least_upper());
    lower_most = std::min(lower_most, query_.most_lower());
    CheckedLine const above = network_.line(pair.upper, true);
    CheckedLine below = network_.line(pair.lower, false);
    if (excluded({above, pair.upper.inputs, pair.upper_variant},
                 {below, pair.lower.inputs, pair.lower_variant}))
      return true;
    if (!clip(above, query_.least_upper(), pair.upper.inputs)) return true;
    for (double& slope : below.slopes) slope = -slope;
    below.constant = -below.constant;
    if (!clip(below, -query_.most_lower(), pair.lower.inputs)) return true;
    network_.narrow(pair.upper);
    network_.narrow(pair.lower);
    if (!pair.upper.possible || !pair.lower.possible) return true;
    CheckedRange upper_inputs = pair.upper.inputs;
    CheckedRange lower_inputs = pair.lower.inputs;
    for (std::size_t k = 0; k < upper_inputs.low.size(); ++k) {
      if (neighbours_.apart()[k] != 0.0) continue;
      double& low = upper_inputs.low[k];
      double& high = upper_inputs.high[k];
      low = lower_inputs.low[k] = std::max(low, lower_inputs.low[k]);
      high = lower_inputs.high[k] = std::min(high, lower_inputs.high[k]);
    }
    // Inputs of attributes under test differ, and are no axis's.
    double const before = domain_.groups(pair.groups);
    if (!inputs_.narrow(upper_inputs, pair.of_upper()) ||
        !inputs_.narrow(lower_inputs, pair.of_lower()) ||
        !neighbours_.link(pair.groups, pair.beside))
      return true;
    int const upper[] = {pair.upper_variant};
    int const lower[] = {pair.lower_variant};
    pair.upper.inputs = inputs_.enclose(pair.of_upper(), upper);
    pair.lower.inputs = inputs_.enclose(pair.of_lower(), lower);
    network_.bound(pair.upper);
    network_.bound(pair.lower);
    if (domain_.groups(pair.groups) > kWorthwhile * before) break;
  }
  if (!pair.upper.possible || !pair.lower.possible) return true;
  if (splits == 0 || !pair.upper.finite || !pair.lower.finite) return false;
  CheckedNetwork::Unit const of_upper = network_.widest_unit(pair.upper);
  CheckedNetwork::Unit const of_lower = network_.widest_unit(pair.lower);
  bool const in_upper = of_upper.cost >= of_lower.cost;
  CheckedNetwork::Unit const unit = in_upper ? of_upper : of_lower;
  if (unit.layer < 0) return false;
  GroupBox left;
  for (bool const positive : {true, false}) {
    Pair side = pair;
    CheckedRange& sums =
        (in_upper ? side.upper : side.lower).sums[static_cast<std::size_t>(unit.layer)];
    (positive ? sums.low : sums.high)[unit.unit] = 0.0;
    network_.bound(side.upper);
    network_.bound(side.lower);
    if (close(side, splits - 1)) continue;
    if (left.empty()) left = side.groups;
    join(left, side.groups);
  }
  if (left.empty()) return true;
  pair.groups = std::move(left);
  return false;
}

}  // namespace fairlane
