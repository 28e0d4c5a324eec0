#include "engine/recheck/exact_label.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>

namespace fairlane {

using Rational = boost::multiprecision::cpp_rational;

std::int32_t exact_label(Network const& network, std::vector<double> const& inputs,
                         double threshold) {
  std::vector<Rational> values;
  for (double const x : inputs) values.emplace_back(x);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    DenseLayer const& layer = network.layers[l];
    std::vector<Rational> sums;
    for (std::size_t o = 0; o < static_cast<std::size_t>(layer.outputs); ++o) {
      Rational sum(static_cast<double>(layer.bias[o]));
      for (std::size_t k = 0; k < values.size(); ++k) {
        std::size_t const at = k * static_cast<std::size_t>(layer.outputs) + o;
        sum += values[k] * Rational(static_cast<double>(layer.weights[at]));
      }
      bool const negative = l + 1 < network.layers.size() && sum < 0;
      if (negative && layer.activation == Activation::kRelu) sum = 0;
      if (negative && layer.activation == Activation::kLeakyRelu)
        sum *= Rational(static_cast<double>(layer.alpha));
      sums.push_back(std::move(sum));
    }
    values = std::move(sums);
  }
  if (values.size() == 1) return values[0] > Rational(threshold) ? 1 : 0;
  return static_cast<std::int32_t>(std::ranges::max_element(values) - values.begin());
}

}  // namespace fairlane
