#include "engine/verify/ensembles/tied_kinds.h"

#include <algorithm>

#include "kernels/core/bits.h"

namespace fairlane {
namespace {

constexpr double kMostCombinations = 0x1p14;

/// Finds what a set of rules ties together.
class Ties {
 public:
  Ties(BoxKinds const& kinds, RuleSet const& rules, TiedKinds& tied)
      : kinds_(kinds), rules_(rules), tied_(tied), sums_(rules_.size()) {
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
      std::uint64_t members = low_bits(static_cast<int>(kinds_.variants().size()));
      for (std::size_t r = 0; r < rules_.size(); ++r)
        members &= kinds_.allowed(*rules_[r], sums_[r]);
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

  BoxKinds const& kinds_;
  RuleSet const& rules_;
  TiedKinds& tied_;
  std::vector<std::int64_t> sums_;  // [rules] of the kinds so far
  std::vector<std::int32_t> place_;
};

}  // namespace

bool find_tied_kinds(BoxKinds const& kinds, std::vector<TiedKinds>& tied) {
  tied.clear();
  return std::ranges::all_of(tied_rules(kinds.open_rules()), [&](RuleSet const& set) {
    return Ties(kinds, set, tied.emplace_back()).find();
  });
}

}  // namespace fairlane
