#include "engine/recheck/exact_label.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <span>

namespace fairlane {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// Numbers times two to the exponent. All that floating point can say is such, and so are sums and
/// products of it: no fraction is to be reduced.
struct Scaled {
  std::vector<Integer> numbers;
  int exponent = 0;

  void bring_to(int least) {
    if (least >= exponent) return;
    for (Integer& number : numbers) number <<= exponent - least;
    exponent = least;
  }
};

template <class Real>
Scaled scaled(std::span<Real const> values) {
  constexpr int kDigits = 53;
  Scaled all;
  std::vector<int> exponents;
  bool any = false;
  for (Real const value : values) {
    int exponent = 0;
    auto number = static_cast<std::int64_t>(
        std::ldexp(std::frexp(static_cast<double>(value), &exponent), kDigits));
    exponent -= kDigits;
    for (; number != 0 && number % 2 == 0; number /= 2) ++exponent;
    if (number != 0) all.exponent = any ? std::min(all.exponent, exponent) : exponent;
    any = any || number != 0;
    all.numbers.emplace_back(number);
    exponents.push_back(exponent);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (all.numbers[i] != 0) all.numbers[i] <<= exponents[i] - all.exponent;
  }
  return all;
}

/// What a layer's units add up to, before its activation.
Scaled sums_of(DenseLayer const& layer, Scaled const& values) {
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  Scaled const weights = scaled(std::span<float const>(layer.weights));
  Scaled sums = scaled(std::span<float const>(layer.bias));
  int const products = values.exponent + weights.exponent;
  sums.bring_to(products);
  int const shift = products - sums.exponent;
  for (std::size_t o = 0; o < outputs; ++o) {
    Integer sum = 0;
    for (std::size_t k = 0; k < values.numbers.size(); ++k) {
      if (values.numbers[k] != 0) sum += values.numbers[k] * weights.numbers[k * outputs + o];
    }
    sums.numbers[o] += sum << shift;
  }
  return sums;
}

void activate(DenseLayer const& layer, Scaled& values) {
  if (layer.activation == Activation::kRelu) {
    for (Integer& number : values.numbers) {
      if (number < 0) number = 0;
    }
  }
  if (layer.activation != Activation::kLeakyRelu) return;
  Scaled alpha = scaled(std::span<float const>(&layer.alpha, 1));
  alpha.bring_to(0);
  for (Integer& number : values.numbers) {
    if (number < 0) {
      number *= alpha.numbers[0];
    } else {
      number <<= -alpha.exponent;
    }
  }
  values.exponent += alpha.exponent;
}

}  // namespace

std::int32_t exact_label(Network const& network, std::vector<double> const& inputs,
                         double threshold) {
  Scaled values = scaled(std::span<double const>(inputs));
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    values = sums_of(network.layers[l], values);
    if (l + 1 < network.layers.size()) activate(network.layers[l], values);
  }
  auto const& numbers = values.numbers;
  if (numbers.size() == 1) {
    Scaled limit = scaled(std::span<double const>(&threshold, 1));
    limit.bring_to(values.exponent);
    values.bring_to(limit.exponent);
    return values.numbers[0] > limit.numbers[0] ? 1 : 0;
  }
  return static_cast<std::int32_t>(std::ranges::max_element(numbers) - numbers.begin());
}

}  // namespace fairlane
