// How far two people are from each other.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/domain.h"

namespace fairlane {

/// Gower's distance of rows: 0 or 1 of an attribute that has categories and no bins, of any other
/// |a - b| / (high - low); mean over the attributes that can differ, 0 where none can.
/// Source: Gower, Biometrics 27, 1971.
class Gower {
 public:
  /// What one attribute adds to a sum.
  struct Term {
    std::size_t attribute = 0;
    bool nominal = false;
    std::int32_t low = 0;
    double scale = 1.0;  // 1 / (high - low)

    double operator()(std::int32_t difference) const {
      if (nominal) return difference != 0 ? 1.0 : 0.0;
      return static_cast<double>(difference < 0 ? -difference : difference) * scale;
    }
  };

  /// Bounds of the domain are resolved.
  explicit Gower(Domain const& domain);

  /// Of the attributes that can differ, in the domain's order.
  std::vector<Term> const& terms() const { return terms_; }
  double distance(std::int32_t const* a, std::int32_t const* b) const {
    double sum = 0.0;
    for (auto const& term : terms_) sum += term(a[term.attribute] - b[term.attribute]);
    return of_sum(sum);
  }
  /// The distance whose terms add up to that: a multiple of 2^-32, so that distances that are equal
  /// compare equal, whichever terms they come from. Never falls where the sum rises.
  double of_sum(double sum) const;

 private:
  std::vector<Term> terms_;
};

}  // namespace fairlane
