#include "engine/verify/deciders/group_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/data/constraints.h"

namespace fairlane {

void GroupPairs::evaluate(std::span<std::int32_t const> entries, std::span<int const> variants) {
  std::size_t const width = domain_.attributes();
  auto const outputs = static_cast<std::size_t>(outputs_);
  row_.resize(width * variants.size());
  logits_.resize(outputs * variants.size());
  outcomes_.labels.resize(variants.size());
  outcomes_.leads.resize(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i)
    domain_.row(entries, variants[i], &row_[i * width]);
  rows_.logits(row_.data(), variants.size(), logits_.data());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    float const* const z = &logits_[i * outputs];
    bool finite = true;
    for (std::size_t o = 0; o < outputs; ++o) finite = finite && std::isfinite(z[o]);
    // Of equal outputs the first is the greatest.
    double const lead = outputs == 1 ? static_cast<double>(z[0])
                                     : static_cast<double>(z[1]) - static_cast<double>(z[0]);
    auto const label = static_cast<std::int32_t>(
        outputs == 1 ? (lead > query_.threshold ? 1 : 0) : std::max_element(z, z + outputs) - z);
    outcomes_.labels[i] = finite ? label : -1;
    if (!allows(domain_.constraints(), &row_[i * width])) outcomes_.labels[i] = kNobody;
    outcomes_.leads[i] = lead;
  }
}

void GroupPairs::take_own(std::span<std::int32_t const> entries, std::span<int const> variants) {
  evaluate(entries, variants);
  own_ = outcomes_;
  anybody_ = std::ranges::any_of(own_.labels, [](std::int32_t l) { return l != kNobody; });
}

std::optional<UnfairPair> GroupPairs::compare(std::span<std::int32_t const> entries,
                                              std::span<std::int32_t const> other,
                                              std::span<int const> variants) {
  evaluate(other, variants);
  return match(entries, other, variants);
}

bool GroupPairs::none_differs() const {
  std::int32_t known = kNobody;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (Outcomes const* const outcomes : {&own_, &outcomes_}) {
    for (std::size_t i = 0; i < outcomes->labels.size(); ++i) {
      std::int32_t const label = outcomes->labels[i];
      if (label < 0) continue;
      if (known >= 0 && label != known) return false;
      known = label;
      least = std::min(least, outcomes->leads[i]);
      most = std::max(most, outcomes->leads[i]);
    }
  }
  return query_.margin == 0.0 || most <= query_.least_upper() || least > query_.most_lower();
}

std::optional<UnfairPair> GroupPairs::match(std::span<std::int32_t const> entries,
                                            std::span<std::int32_t const> other,
                                            std::span<int const> variants) {
  auto const found = [&](bool own_is_upper, std::size_t i, std::size_t j) {
    std::vector<std::int32_t> own(entries.begin(), entries.end());
    std::vector<std::int32_t> beside(other.begin(), other.end());
    if (own_is_upper) return UnfairPair{own, beside, {variants[i], variants[j]}};
    return UnfairPair{beside, own, {variants[j], variants[i]}};
  };
  for (std::int32_t const label : outcomes_.labels) undefined_ = undefined_ || label == -1;
  if (none_differs()) return std::nullopt;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t j = 0; j < variants.size(); ++j) {
      std::int32_t const own = own_.labels[i];
      std::int32_t const label = outcomes_.labels[j];
      if (own < 0 || label < 0) continue;
      auto const [least, most] = std::minmax(own_.leads[i], outcomes_.leads[j]);
      bool const close =
          query_.margin > 0.0 && most > query_.least_upper() && least <= query_.most_lower();
      if ((own == label && !close) || !query_.compares(variants[i], variants[j])) continue;
      if (own != label) return found(own > label, i, j);
      within_margin_ = true;
    }
  }
  return std::nullopt;
}

std::optional<UnfairPair> GroupPairs::certain_pair(std::span<std::int32_t const> entries,
                                                   std::span<int const> variants) {
  anybody_ = false;
  undefined_ = false;
  within_margin_ = false;
  if (domain_.excess(entries) > 0) return std::nullopt;
  take_own(entries, variants);
  if (!domain_.relaxed()) return match(entries, entries, variants);
  GroupBox wide;
  for (std::size_t a = 0; a < entries.size(); ++a) wide.push_back(domain_.near(a, entries[a]));
  std::optional<UnfairPair> pair;
  each_point(wide, [&](std::vector<std::int32_t> const& other) {
    if (domain_.excess(other) > 0) return true;
    pair = compare(entries, other, variants);
    return !pair;
  });
  return pair;
}

}  // namespace fairlane
