#include "engine/verify/boxes/existing_groups.h"

#include <algorithm>
#include <numeric>

#include "models/data/constraints.h"

namespace fairlane {

ExistingGroups::ExistingGroups(BoxDomain const& domain, std::vector<int> variants)
    : domain_(domain), variants_(std::move(variants)), free_(domain.axes(), 1) {
  if (domain.constraints().empty() || variants_.empty() || !find_tied()) return;
  std::vector<std::int32_t> row(domain.attributes());
  std::vector<std::int32_t> entries(domain.axes());
  auto const exists = [&](Tied const& tied, int variant) {
    domain_.row(entries, variant, row.data());
    return allows(tied.constraints, row.data());
  };
  for (Tied const& tied : tied_) {
    of_tied_.push_back(sums_of(tied, [&](std::vector<std::int32_t> const& point) {
      for (std::size_t i = 0; i < tied.axes.size(); ++i) entries[tied.axes[i]] = point[i];
      return exists(tied, 0);
    }));
  }
  auto const place = [&](std::vector<std::int32_t> const& point) {
    for (std::size_t i = 0; i < to_variants_.axes.size(); ++i)
      entries[to_variants_.axes[i]] = point[i];
  };
  of_any_ = sums_of(to_variants_, [&](std::vector<std::int32_t> const& point) {
    place(point);
    return std::ranges::any_of(variants_, [&](int v) { return exists(to_variants_, v); });
  });
  of_one_.resize(static_cast<std::size_t>(domain.variants()));
  for (int const v : variants_) {
    of_one_[static_cast<std::size_t>(v)] =
        sums_of(to_variants_, [&](std::vector<std::int32_t> const& point) {
          place(point);
          return exists(to_variants_, v);
        });
  }
}

bool ExistingGroups::find_tied() {
  // Axes by the one that stands for all that are tied to it; behind them those under test.
  std::size_t const under_test = domain_.axes();
  std::vector<std::size_t> of(under_test + 1);
  std::iota(of.begin(), of.end(), std::size_t{0});
  auto const axis_of = [&](int attribute) {
    std::size_t a = 0;
    while (a < under_test && std::ranges::count(domain_.axis(a).attributes, attribute) == 0) ++a;
    return a;
  };
  for (ConstraintView const& constraint : domain_.constraints()) {
    std::size_t const first = of[axis_of(constraint.terms.front().attribute)];
    for (TermView const& term : constraint.terms) {
      std::size_t const axis = axis_of(term.attribute);
      if (axis < under_test) free_[axis] = 0;
      std::size_t const joined = of[axis];
      for (std::size_t& other : of) other = other == joined ? first : other;
    }
  }
  for (std::size_t stands = 0; stands <= under_test; ++stands) {
    Tied tied;
    for (std::size_t a = 0; a < under_test; ++a) {
      if (of[a] == stands && free_[a] == 0) tied.axes.push_back(a);
    }
    bool const with_variants = of[under_test] == stands;
    if (tied.axes.empty() && !with_variants) continue;
    for (ConstraintView const& constraint : domain_.constraints()) {
      if (of[axis_of(constraint.terms.front().attribute)] == stands)
        tied.constraints.push_back(constraint);
    }
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
  each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& point) {
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
  if (domain_.constraints().empty()) return domain_.groups(box);
  return of_any_.empty() ? 0.0 : rest(box) * sum(to_variants_, of_any_, box);
}

double ExistingGroups::count_both(std::span<AxisRange const> box, int one, int other) const {
  if (domain_.constraints().empty()) return domain_.groups(box);
  auto const of = [&](int variant) {
    return sum(to_variants_, of_one_[static_cast<std::size_t>(variant)], box);
  };
  if (of_any_.empty()) return 0.0;
  // Who has one or the other has some: both are what the two have beyond that.
  double const both = of(one) + of(other) - sum(to_variants_, of_any_, box);
  return rest(box) * std::max(both, 0.0);
}

}  // namespace fairlane
