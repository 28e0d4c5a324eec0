#include "engine/count/binomial_interval.h"

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace fairlane {

ShareInterval clopper_pearson(std::int64_t successes, std::int64_t samples, double confidence) {
  using Beta = boost::math::beta_distribution<double>;
  double const tail = (1.0 - confidence) / 2.0;
  auto const k = static_cast<double>(successes);
  auto const n = static_cast<double>(samples);
  ShareInterval interval;
  if (successes > 0) interval.low = boost::math::quantile(Beta(k, n - k + 1.0), tail);
  if (successes < samples) {
    interval.high = boost::math::quantile(boost::math::complement(Beta(k + 1.0, n - k), tail));
  }
  return interval;
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

ShareInterval interval_of(Hits const& hits, std::int64_t samples,
                          std::optional<double> confidence) {
  if (!confidence) return {share_of(hits.known, samples), share_of(hits.possible, samples)};
  return {clopper_pearson(hits.known, samples, *confidence).low,
          clopper_pearson(hits.possible, samples, *confidence).high};
}

double normal_half_width(double deviation, std::int64_t count, double confidence) {
  double const z = boost::math::quantile(boost::math::complement(
      boost::math::normal_distribution<double>(), (1.0 - confidence) / 2.0));
  return z * deviation / std::sqrt(static_cast<double>(count));
}

}  // namespace fairlane
