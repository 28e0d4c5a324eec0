#include "engine/verify/boxes/existing_groups.h"

#include <algorithm>
#include <numeric>

namespace fairlane {

ExistingGroups::ExistingGroups(BoxDomain const& domain, std::vector<int> variants)
    : domain_(domain), variants_(std::move(variants)), free_(domain.axes(), 1) {
  if (variants_.empty()) return;
  rules_ = existence_rules(domain);
  if (rules_.empty() || !find_tied()) return;
  using Point = std::span<std::int32_t const>;
  for (Tied const& tied : tied_)
    of_tied_.push_back(sums_of(tied, [&](Point point) { return tied.allows(point, 0); }));
  of_any_ = sums_of(to_variants_, [&](Point point) {
    return std::ranges::any_of(variants_, [&](int v) { return to_variants_.allows(point, v); });
  });
  of_one_.resize(static_cast<std::size_t>(domain.variants()));
  for (int const v : variants_) {
    of_one_[static_cast<std::size_t>(v)] =
        sums_of(to_variants_, [&](Point point) { return to_variants_.allows(point, v); });
  }
}

bool ExistingGroups::Tied::allows(std::span<std::int32_t const> point, int variant) const {
  return std::ranges::all_of(rules, [&](ExistenceRule const* rule) {
    std::int64_t sum = rule->constant + rule->added_by(variant);
    for (std::size_t i = 0; i < axes.size(); ++i) sum += rule->added(axes[i], point[i]);
    return rule->allows(sum);
  });
}

bool ExistingGroups::find_tied() {
  // Axes by the one that stands for all that are tied to it; behind them those under test, to which
  // is tied what speaks of no axis.
  std::size_t const under_test = domain_.axes();
  std::vector<std::size_t> of(under_test + 1);
  std::iota(of.begin(), of.end(), std::size_t{0});
  auto const first_of = [&](ExistenceRule const& rule) {
    std::size_t a = 0;
    while (a < under_test && !rule.speaks_of(a)) ++a;
    return a;
  };
  for (ExistenceRule const& rule : rules_) {
    std::size_t const first = of[first_of(rule)];
    auto const join = [&](std::size_t axis) {
      std::size_t const joined = of[axis];
      for (std::size_t& other : of) other = other == joined ? first : other;
    };
    for (std::size_t a = 0; a < under_test; ++a) {
      if (!rule.speaks_of(a)) continue;
      free_[a] = 0;
      join(a);
    }
    if (!rule.of_variant.empty()) join(under_test);
  }
  for (std::size_t stands = 0; stands <= under_test; ++stands) {
    Tied tied;
    for (std::size_t a = 0; a < under_test; ++a) {
      if (of[a] == stands && free_[a] == 0) tied.axes.push_back(a);
    }
    bool const with_variants = of[under_test] == stands;
    if (tied.axes.empty() && !with_variants) continue;
    for (ExistenceRule const& rule : rules_)
      if (of[first_of(rule)] == stands) tied.rules.push_back(&rule);
    for (std::size_t const a : tied.axes) {
      tied.strides.push_back(tied.sums);
      tied.sums *= static_cast<std::size_t>(domain_.axis(a).size()) + 1;
      if (tied.sums <= static_cast<std::size_t>(kMostCombinations)) continue;
      for (std::size_t const one : tied.axes)
        too_many_.insert(too_many_.end(), domain_.axis(one).attributes.begin(),
                         domain_.axis(one).attributes.end());
      return false;
    }
    if (with_variants) {
      to_variants_ = std::move(tied);
    } else {
      tied_.push_back(std::move(tied));
    }
  }
  return true;
}

template <class Counts>
ExistingGroups::Sums ExistingGroups::sums_of(Tied const& tied, Counts const& counts) const {
  Sums sums(tied.sums);
  GroupBox box;
  for (std::size_t const a : tied.axes)
    box.push_back({0, static_cast<std::int32_t>(domain_.axis(a).size()) - 1});
  each_point(box, [&](std::vector<std::int32_t> const& point) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < point.size(); ++i)
      at += (static_cast<std::size_t>(point[i]) + 1) * tied.strides[i];
    sums[at] = counts(point) ? 1 : 0;
    return true;
  });
  for (std::size_t i = 0; i < tied.axes.size(); ++i) {
    std::size_t const stride = tied.strides[i];
    std::size_t const entries = static_cast<std::size_t>(box[i].size()) + 1;
    for (std::size_t at = stride; at < sums.size(); ++at) {
      if (at / stride % entries != 0) sums[at] += sums[at - stride];
    }
  }
  return sums;
}

double ExistingGroups::sum(Tied const& tied, Sums const& sums, std::span<AxisRange const> box) {
  std::int64_t total = 0;
  std::size_t const corners = std::size_t{1} << tied.axes.size();
  for (std::size_t corner = 0; corner < corners; ++corner) {
    std::size_t at = 0;
    bool odd = false;
    for (std::size_t i = 0; i < tied.axes.size(); ++i) {
      AxisRange const& range = box[tied.axes[i]];
      bool const upper = (corner >> i & 1U) != 0;
      odd = odd != !upper;
      at += static_cast<std::size_t>(upper ? range.last + 1 : range.first) * tied.strides[i];
    }
    total += odd ? -std::int64_t{sums[at]} : std::int64_t{sums[at]};
  }
  return static_cast<double>(total);
}

double ExistingGroups::rest(std::span<AxisRange const> box) const {
  double product = 1.0;
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (free_[a] != 0) product *= box[a].size();
  }
  for (std::size_t i = 0; i < tied_.size(); ++i) product *= sum(tied_[i], of_tied_[i], box);
  return product;
}

double ExistingGroups::count(std::span<AxisRange const> box) const {
  if (rules_.empty()) return domain_.groups(box);
  return of_any_.empty() ? 0.0 : rest(box) * sum(to_variants_, of_any_, box);
}

double ExistingGroups::count_one(std::span<AxisRange const> box, int variant) const {
  if (rules_.empty()) return domain_.groups(box);
  return of_any_.empty() ? 0.0 : rest(box) * one_of_tied(box, variant);
}

double ExistingGroups::count_both(std::span<AxisRange const> box, int one, int other) const {
  if (rules_.empty()) return domain_.groups(box);
  if (of_any_.empty()) return 0.0;
  // Who has one or the other has some: both are what the two have beyond that.
  double const both =
      one_of_tied(box, one) + one_of_tied(box, other) - sum(to_variants_, of_any_, box);
  return rest(box) * std::max(both, 0.0);
}

double ExistingGroups::doubt(std::span<AxisRange const> box) const {
  if (rules_.empty() || of_any_.empty()) return 0.0;
  double const all = domain_.groups(box);
  double const tied = rest(box);
  double doubt = 0.0;
  for (int const v : variants_) {
    double const there = tied * one_of_tied(box, v);
    doubt += std::min(there, all - there);
  }
  return doubt;
}

}  // namespace fairlane
