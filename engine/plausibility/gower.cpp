#include "engine/plausibility/gower.h"

#include <cmath>

namespace fairlane {

Gower::Gower(Domain const& domain) {
  for (std::size_t a = 0; a < domain.attributes.size(); ++a) {
    auto const& attribute = domain.attributes[a];
    std::int64_t const count = attribute.code_count();
    if (count < 2) continue;
    Term term;
    term.attribute = a;
    term.nominal = !attribute.categories.empty() && attribute.bins.empty();
    term.low = attribute.code_at(0);
    term.scale = 1.0 / (static_cast<double>(attribute.code_at(count - 1)) - term.low);
    terms_.push_back(term);
  }
}

double Gower::of_sum(double sum) const {
  constexpr double kSteps = 4294967296.0;  // 2^32: far above a sum's rounding, far below a term
  if (terms_.empty()) return 0.0;
  return std::round(sum / static_cast<double>(terms_.size()) * kSteps) / kSteps;
}

}  // namespace fairlane
