#include "engine/verify/boxes/box_existence.h"

#include <algorithm>
#include <limits>

#include "models/data/constraints.h"

namespace fairlane {
namespace {

constexpr std::int32_t kTries = 64;  // entries of an axis that are looked at on the way to a group

/// By how much a row violates a constraint, 0 where it does not.
std::int64_t violation(ConstraintView const& constraint, std::int32_t const* row) {
  if (!constraint.set.empty()) return allows({&constraint, 1}, row) ? 0 : 1;
  return std::max<std::int64_t>(constraint_sum(constraint, row) - constraint.bound, 0);
}

}  // namespace

BoxExistence::BoxExistence(BoxDomain const& domain) : domain_(domain) {
  if (!constrained()) return;
  of_axis_.resize(domain.axes());
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    auto const& attributes = domain.axis(a).attributes;
    for (ConstraintView const& constraint : domain.constraints()) {
      bool const speaks_of_it = std::ranges::any_of(constraint.terms, [&](TermView const& term) {
        return std::ranges::count(attributes, term.attribute) > 0;
      });
      if (speaks_of_it) of_axis_[a].push_back(constraint);
    }
  }
}

bool BoxExistence::exists(std::span<std::int32_t const> entries, int variant) const {
  if (!constrained()) return true;
  std::vector<std::int32_t> row(domain_.attributes());
  domain_.row(entries, variant, row.data());
  return allows(domain_.constraints(), row.data());
}

std::vector<int> BoxExistence::members(std::span<std::int32_t const> entries,
                                       std::span<int const> variants) const {
  std::vector<int> there(variants.begin(), variants.end());
  if (constrained()) std::erase_if(there, [&](int v) { return !exists(entries, v); });
  return there;
}

void BoxExistence::set_axis(std::size_t axis, AxisRange range, Codes& codes) const {
  ValueList const& list = domain_.axis(axis);
  std::size_t const width = list.attributes.size();
  for (std::size_t i = 0; i < width; ++i) {
    auto const a = static_cast<std::size_t>(list.attributes[i]);
    auto const code = [&](std::int32_t entry) {
      return list.values[static_cast<std::size_t>(entry) * width + i];
    };
    codes.low[a] = code(range.first);
    codes.high[a] = code(range.last);
    if (width == 1) return;  // its values ascend
    for (std::int32_t e = range.first; e <= range.last; ++e) {
      codes.low[a] = std::min(codes.low[a], code(e));
      codes.high[a] = std::max({codes.high[a], codes.low[a], code(e)});
    }
  }
}

BoxExistence::Codes BoxExistence::codes_of(std::span<AxisRange const> box) const {
  Codes codes{std::vector<std::int32_t>(domain_.attributes()),
              std::vector<std::int32_t>(domain_.attributes())};
  for (std::size_t a = 0; a < box.size(); ++a) set_axis(a, box[a], codes);
  return codes;
}

bool BoxExistence::excludes(std::span<ConstraintView const> constraints, int variant,
                            Codes& codes) const {
  domain_.set_variant(variant, codes.low.data());
  domain_.set_variant(variant, codes.high.data());
  return fairlane::excludes(constraints, codes.low.data(), codes.high.data());
}

std::vector<int> BoxExistence::possible(std::span<AxisRange const> box,
                                        std::span<int const> variants) const {
  Codes codes = codes_of(box);
  std::vector<int> possible;
  for (int const v : variants) {
    if (!excludes(domain_.constraints(), v, codes)) possible.push_back(v);
  }
  return possible;
}

bool BoxExistence::narrow(std::span<int const> variants, std::span<AxisRange> box) const {
  std::vector<int> const left = possible(box, variants);
  if (left.empty()) return false;
  Codes codes = codes_of(box);
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (of_axis_[a].empty()) continue;
    AxisRange& range = box[a];
    // The other axes are as they were: only what speaks of this one can say more of its entries.
    auto const nobody = [&](std::int32_t entry) {
      set_axis(a, {entry, entry}, codes);
      return std::ranges::all_of(left, [&](int v) { return excludes(of_axis_[a], v, codes); });
    };
    while (range.first <= range.last && nobody(range.first)) ++range.first;
    while (range.first <= range.last && nobody(range.last)) --range.last;
    if (range.first > range.last) return false;
    set_axis(a, range, codes);
  }
  return true;
}

std::int64_t BoxExistence::shortfall(std::span<std::int32_t const> entries,
                                     std::span<int const> variants) const {
  std::vector<std::int32_t> row(domain_.attributes());
  // Of the two variants that miss the least.
  std::int64_t first = std::numeric_limits<std::int32_t>::max();
  std::int64_t second = first;
  for (std::size_t v = 0; v < variants.size() && second > 0; ++v) {
    if (v == 0) domain_.row(entries, variants[0], row.data());
    domain_.set_variant(variants[v], row.data());
    std::int64_t sum = 0;
    for (ConstraintView const& constraint : domain_.constraints())
      sum += violation(constraint, row.data());
    second = std::min(second, std::max(first, sum));
    first = std::min(first, sum);
  }
  return first + second;
}

void BoxExistence::settle(std::span<AxisRange const> box, std::span<int const> variants,
                          std::span<std::int32_t> entries) const {
  if (!constrained()) return;
  std::int64_t least = shortfall(entries, variants);
  for (std::size_t a = 0; a < box.size() && least > 0; ++a) {
    if (of_axis_[a].empty()) continue;
    std::int32_t best = entries[a];
    std::int32_t const step = (box[a].size() - 1) / kTries + 1;
    for (std::int32_t e = box[a].first; e <= box[a].last && least > 0; e += step) {
      entries[a] = e;
      std::int64_t const now = shortfall(entries, variants);
      if (now >= least) continue;
      least = now;
      best = e;
    }
    entries[a] = best;
  }
}

std::optional<std::size_t> BoxExistence::axis_in_doubt(std::span<AxisRange const> box) const {
  std::optional<std::size_t> longest;
  for (std::size_t a = 0; a < of_axis_.size(); ++a) {
    if (of_axis_[a].empty() || box[a].size() < 2) continue;
    if (!longest || box[a].size() > box[*longest].size()) longest = a;
  }
  return longest;
}

}  // namespace fairlane
