#include "engine/verify/ensembles/tied_kinds.h"

#include <algorithm>
#include <numeric>

#include "kernels/core/bits.h"

namespace fairlane {
namespace {

constexpr double kMostCombinations = 0x1p14;

/// Rules that speak of axes in common, or of variants.
class Ties {
 public:
  Ties(BoxKinds const& kinds, std::vector<ExistenceRule const*> rules, TiedKinds& tied)
      : kinds_(kinds), rules_(std::move(rules)), tied_(tied), sums_(rules_.size()) {
    tied_ = {};
    for (std::size_t a = 0; a < kinds_.axes().size(); ++a) {
      if (std::ranges::any_of(rules_, [a](auto const* rule) { return rule->speaks_of(a); }))
        tied_.axes.push_back(a);
    }
    place_.resize(tied_.axes.size());
    for (std::size_t r = 0; r < rules_.size(); ++r) sums_[r] = rules_[r]->constant;
  }
  bool find() {
    double combinations = 1.0;
    for (std::size_t const a : tied_.axes)
      combinations *= static_cast<double>(kinds_.axes()[a].kinds());
    if (combinations > kMostCombinations) return false;
    take(0, 1.0);
    return true;
  }

 private:
  void take(std::size_t i, double groups) {
    if (i == tied_.axes.size()) {
      std::uint64_t const members = who_exists();
      if (members == 0) return;
      tied_.kinds.insert(tied_.kinds.end(), place_.begin(), place_.end());
      tied_.groups.push_back(groups);
      tied_.members.push_back(members);
      return;
    }
    std::size_t const a = tied_.axes[i];
    BoxKinds::Axis const& axis = kinds_.axes()[a];
    for (std::size_t kind = 0; kind < axis.kinds(); ++kind) {
      for (std::size_t r = 0; r < rules_.size(); ++r)
        sums_[r] += rules_[r]->added(a, axis.first[kind]);
      place_[i] = static_cast<std::int32_t>(kind);
      take(i + 1, groups * axis.sizes[kind]);
      for (std::size_t r = 0; r < rules_.size(); ++r)
        sums_[r] -= rules_[r]->added(a, axis.first[kind]);
    }
  }
  std::uint64_t who_exists() const {
    auto const& variants = kinds_.variants();
    std::uint64_t members = low_bits(static_cast<int>(variants.size()));
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      ExistenceRule const& rule = *rules_[r];
      if (rule.of_variant.empty()) {
        if (!rule.allows(sums_[r])) return 0;
        continue;
      }
      for (std::size_t v = 0; v < variants.size(); ++v)
        if (!rule.allows(sums_[r] + rule.added_by(variants[v].front())))
          members &= ~(std::uint64_t{1} << v);
    }
    return members;
  }

  BoxKinds const& kinds_;
  std::vector<ExistenceRule const*> rules_;
  TiedKinds& tied_;
  std::vector<std::int64_t> sums_;  // [rules] of the kinds so far
  std::vector<std::int32_t> place_;
};

bool share_something(ExistenceRule const& one, ExistenceRule const& other) {
  if (!one.of_variant.empty() && !other.of_variant.empty()) return true;
  for (std::size_t a = 0; a < one.of_axis.size(); ++a)
    if (one.speaks_of(a) && other.speaks_of(a)) return true;
  return false;
}

}  // namespace

bool find_tied_kinds(BoxKinds const& kinds, std::vector<TiedKinds>& tied) {
  tied.clear();
  std::vector<std::vector<ExistenceRule const*>> sets;
  for (ExistenceRule const* rule : kinds.open_rules()) {
    std::vector<ExistenceRule const*> joined = {rule};
    std::erase_if(sets, [&](std::vector<ExistenceRule const*> const& set) {
      bool const shares = std::ranges::any_of(
          set, [&](ExistenceRule const* other) { return share_something(*rule, *other); });
      if (shares) joined.insert(joined.end(), set.begin(), set.end());
      return shares;
    });
    sets.push_back(std::move(joined));
  }
  return std::ranges::all_of(sets, [&](std::vector<ExistenceRule const*> const& set) {
    return Ties(kinds, set, tied.emplace_back()).find();
  });
}

}  // namespace fairlane
