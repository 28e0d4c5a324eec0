#include "engine/verify/deciders/ensemble_decider.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/verify/deciders/box_draws.h"
#include "kernels/core/bits.h"
#include "kernels/core/lattice.h"

namespace fairlane {
namespace {

constexpr int kPartSteps = 2;  // of the search in a part of a cell
constexpr int kTries = 3;      // entries of an axis that a step looks at
constexpr std::uint64_t kAnyLabel = TreeTable::kAnyLabel;

}  // namespace

EnsembleDecider::EnsembleDecider(BoxDomain const& domain, TreeEnsemble const& trees,
                                 RowDescriber& rows, VerifyQuery const& query)
    : domain_(domain),
      existence_(domain),
      query_(query),
      trees_(domain, trees),
      bounds_(trees_),
      kinds_(trees_),
      units_(trees, query.threshold),
      table_(trees_, units_, query, rows),
      additive_(trees_, units_, query),
      groups_(domain, rows, query, trees.outputs()) {}

std::uint64_t EnsembleDecider::labels(GroupBox const& box, std::span<int const> variants) {
  bounds_.bound(box, variants);
  if (!bounds_.finite()) return kAnyLabel;
  return bounds_.labels(query_.least_upper(), query_.most_lower());
}

bool EnsembleDecider::prove_merged(Decision& decision) {
  GroupBox const& own = decision.box;
  std::uint64_t const all = possible_ =
      labels(domain_.relaxed() ? domain_.widened(own) : own, decision.variants);
  // With a margin, equal scores may still lie on both sides of what it leaves.
  bool const may_be_equal = !domain_.relaxed() && query_.margin == 0.0 && all != kAnyLabel;
  if (is_one_bit(all) || (may_be_equal && !bounds_.tells_variants_apart())) {
    decision.verdict = BoxVerdict::kMerged;
    return true;
  }
  if (!domain_.relaxed()) kinds_.find(bounds_, decision.box, decision.variants);
  return false;
}

bool EnsembleDecider::prove_variants(Decision& decision) {
  auto const& list = decision.variants;
  GroupBox const wide = domain_.relaxed() ? domain_.widened(decision.box) : GroupBox();
  own_labels_.clear();
  beside_labels_.clear();
  for (int const v : list) {
    int const only[] = {v};
    own_labels_.push_back(labels(decision.box, only));
    if (domain_.relaxed()) beside_labels_.push_back(labels(wide, only));
  }
  if (!domain_.relaxed()) beside_labels_ = own_labels_;
  for (std::size_t a = 0; a < list.size(); ++a) {
    for (std::size_t e = 0; e < list.size(); ++e) {
      std::uint64_t const both = own_labels_[a] | beside_labels_[e];
      if (a == e || is_one_bit(both) || !query_.compares(list[a], list[e])) continue;
      bool const may_be_equal =
          !domain_.relaxed() && query_.margin == 0.0 && own_labels_[a] != kAnyLabel;
      if (may_be_equal && !bounds_.separates(decision.box, list[a], list[e])) continue;
      return false;
    }
  }
  decision.verdict = BoxVerdict::kVariants;
  return true;
}

bool EnsembleDecider::decide_by_kinds(Decision& decision) {
  if (!table_.fill(kinds_, possible_)) return false;
  decision.verdict = BoxVerdict::kKinds;
  bool in_doubt = false;
  auto const take = [&](std::span<std::int32_t const> entries, double, TreeTable::Outcome outcome) {
    in_doubt = in_doubt || outcome == TreeTable::Outcome::kInDoubt;
    if (outcome != TreeTable::Outcome::kUnfair) return true;
    auto pair = groups_.certain_pair(entries, decision.variants);
    if (!pair) return true;
    decision.verdict = BoxVerdict::kUnfair;
    decision.example = std::move(*pair);
    return false;
  };
  table_.each_open(take);
  if (decision.verdict == BoxVerdict::kUnfair || !in_doubt) return true;
  table_.settle();
  table_.each_open(take);
  return true;
}

bool EnsembleDecider::count_kinds(ExistingGroups const& existing, Decision& decision,
                                  CertainGroups& certain) {
  if (!table_.fill(kinds_, possible_)) return false;
  decision.verdict = BoxVerdict::kKinds;
  table_.settle();
  table_.each_open([&](std::span<std::int32_t const>, double groups, TreeTable::Outcome) {
    certain.unfair += groups;
    return true;
  });
  certain.fair = existing.count(decision.box) - certain.unfair;
  return true;
}

double EnsembleDecider::lead(std::span<std::int32_t const> entries, int variant,
                             std::uint64_t& label) {
  GroupBox point;
  for (std::int32_t const entry : entries) point.push_back({entry, entry});
  int const only[] = {variant};
  label = labels(point, only);
  auto const& scores = bounds_.scores();
  if (scores.size() == 1) return scores[0].low - query_.threshold;
  double first = -std::numeric_limits<double>::infinity();
  double second = first;
  for (Interval const& score : scores) {
    second = std::max(second, std::min(first, score.low));
    first = std::max(first, score.low);
  }
  return first - second;
}

void EnsembleDecider::search(OpenBox const& box, Decision& decision) {
  auto const& all_variants = decision.variants;
  std::vector<int> list = all_variants;
  int const steps = box.depth == 0 ? kFirstSteps : kPartSteps;
  for (int start = 0; start < query_.starts; ++start) {
    std::uint64_t const id =
        start == 0 ? box.id : hash_word(box.id, static_cast<std::uint64_t>(start));
    std::uint32_t draws = 0;
    std::vector<std::int32_t> entries;
    for (AxisRange const& range : decision.box) {
      entries.push_back(start == 0 ? range.first + (range.last - range.first) / 2
                                   : range.first + draw_below(id, draws++, range.size()));
    }
    existence_.settle(decision.box, all_variants, entries);
    for (int step = 0; step < steps; ++step) {
      if (existence_.constrained()) list = existence_.members(entries, all_variants);
      if (list.empty()) list = all_variants;  // of nobody, so that the search goes on
      std::uint64_t all = 0;
      std::size_t nearest = 0;
      double distance = std::numeric_limits<double>::infinity();
      for (std::size_t v = 0; v < list.size(); ++v) {
        std::uint64_t label = 0;
        double const ahead = std::abs(lead(entries, list[v], label));
        all |= label;
        if (ahead < distance) {
          distance = ahead;
          nearest = v;
        }
      }
      if (!is_one_bit(all) || domain_.relaxed()) {
        if (auto found = groups_.certain_pair(entries, list)) {
          decision.verdict = BoxVerdict::kUnfair;
          decision.example = std::move(*found);
          return;
        }
      }
      // One axis to where the variant that was nearest to another label comes nearer, or anywhere.
      std::size_t axis = 0;
      std::int32_t entry = -1;
      double least = distance;
      for (std::size_t a = 0; a < entries.size(); ++a) {
        AxisRange const& range = decision.box[a];
        if (range.size() < 2) continue;
        std::int32_t const here = entries[a];
        for (int i = 0; i < kTries; ++i) {
          entries[a] = range.first + draw_below(id, draws++, range.size());
          std::uint64_t label = 0;
          double const ahead = std::abs(lead(entries, list[nearest], label));
          if (!(ahead < least) || domain_.excess(entries) > 0) continue;
          if (existence_.constrained() && !existence_.has_pair(entries, all_variants)) continue;
          least = ahead;
          axis = a;
          entry = entries[a];
        }
        entries[a] = here;
      }
      if (entry >= 0) {
        entries[axis] = entry;
        continue;
      }
      for (std::size_t a = 0; a < entries.size(); ++a) {
        AxisRange const& range = decision.box[a];
        entries[a] = range.first + draw_below(id, draws++, range.size());
      }
      existence_.settle(decision.box, all_variants, entries);
    }
  }
}

std::vector<double> EnsembleDecider::weights() const {
  std::vector<double> weights(domain_.axes());
  for (std::int32_t const c : bounds_.open()) {
    std::int32_t const axis = trees_.condition(c).axis;
    if (axis != BoxTrees::kVariants) weights[static_cast<std::size_t>(axis)] += bounds_.weight(c);
  }
  return weights;
}

void EnsembleDecider::choose_cut(std::span<double const> weights, Decision& decision) {
  std::size_t axis = 0;
  double most = -1.0;
  for (std::size_t a = 0; a < weights.size(); ++a) {
    if (decision.box[a].size() < 2 || !(weights[a] > most)) continue;
    most = weights[a];
    axis = a;
  }
  // Where no leaf is in doubt, it is who exists.
  if (most == 0.0) axis = existence_.axis_in_doubt(decision.box).value_or(axis);
  decision.cut = middle_cut(decision.box, axis);
  if (!domain_.ordered(axis) || most == 0.0) return;
  std::vector<std::pair<std::int32_t, double>> cuts;
  double all = 0.0;
  for (std::int32_t const c : bounds_.open()) {
    auto const& condition = trees_.condition(c);
    // Those beside the box are open where it is compared with others.
    AxisRange const& range = decision.box[axis];
    if (condition.axis != static_cast<std::int32_t>(axis) || condition.cut <= range.first ||
        condition.cut > range.last)
      continue;
    cuts.emplace_back(condition.cut, bounds_.weight(c));
    all += bounds_.weight(c);
  }
  std::ranges::sort(cuts);
  double below = 0.0;
  for (auto const& [cut, weight] : cuts) {
    below += weight;
    if (2.0 * below < all) continue;
    decision.cut.entry = cut - 1;
    return;
  }
}

void EnsembleDecider::decide(std::span<OpenBox const> boxes, std::span<Decision> decisions) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Decision& decision = decisions[i] = begin_decision(domain_, existence_, query_, boxes[i]);
    if (decision.verdict != BoxVerdict::kOpen || prove_merged(decision)) continue;
    choose_cut(weights(), decision);
    if (decide_by_kinds(decision) || prove_variants(decision)) continue;
    if (is_small(domain_, decision.box)) {
      evaluate_groups(existence_, groups_, decision);
      continue;
    }
    search(boxes[i], decision);
  }
}

void EnsembleDecider::measure(ExistingGroups const& existing, std::span<OpenBox const> boxes,
                              bool in_part, std::span<Decision> decisions,
                              std::span<CertainGroups> certain) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Decision& decision = decisions[i] = begin_decision(domain_, existence_, query_, boxes[i]);
    certain[i] = {};
    if (decision.verdict != BoxVerdict::kOpen || prove_merged(decision)) {
      certain[i].fair = existing.count(decision.box);
      continue;
    }
    if (count_kinds(existing, decision, certain[i])) continue;
    if (is_small(domain_, decision.box)) {
      certain[i] = count_groups(groups_, decision);
      continue;
    }
    bool const additive = in_part && additive_.find(kinds_, bounds_, decision.box, possible_);
    if (auto const cut = existing.clearing_cut(decision.box)) {
      decision.cut = *cut;
    } else {
      choose_cut(additive ? additive_.weights() : weights(), decision);
    }
    if (additive) {
      count_additive(existing, decision, certain[i]);
    } else if (in_part) {
      count_by_variants(existing, decision, certain[i]);
    }
  }
}

void EnsembleDecider::count_additive(ExistingGroups const& existing, Decision const& decision,
                                     CertainGroups& certain) {
  certain.fair = additive_.count_fair();
  auto const [pair, groups] = additive_.count_unfair();
  certain.unfair = groups;
  if (additive_.knows_who_exists()) return;
  // At worst all that do not exist are among those that are counted.
  double const all = domain_.groups(decision.box);
  certain.fair = std::max(certain.fair - (all - existing.count(decision.box)), 0.0);
  if (groups == 0.0) return;
  double const missing = all - existing.count_both(decision.box, pair.upper, pair.lower);
  certain.unfair = std::max(groups - missing, 0.0);
}

void EnsembleDecider::count_by_variants(ExistingGroups const& existing, Decision& decision,
                                        CertainGroups& certain) {
  double const all = existing.count(decision.box);
  if (prove_variants(decision)) {
    certain.fair = all;
    return;
  }
  auto const& list = decision.variants;
  for (std::size_t a = 0; a < list.size(); ++a) {
    for (std::size_t e = 0; e < list.size(); ++e) {
      bool const differ = is_one_bit(own_labels_[a]) && is_one_bit(own_labels_[e]) &&
                          own_labels_[a] != own_labels_[e];
      if (differ && query_.compares(list[a], list[e])) {
        certain.unfair =
            std::max(certain.unfair, existing.count_both(decision.box, list[a], list[e]));
      }
    }
  }
  if (certain.unfair == all) decision.verdict = BoxVerdict::kVariants;
}

}  // namespace fairlane
