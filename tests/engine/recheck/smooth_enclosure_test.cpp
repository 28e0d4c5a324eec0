#include "engine/recheck/smooth_enclosure.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "kernels/core/numerics.h"
#include "kernels/core/pack.h"
#include "models/network.h"

namespace fairlane {
namespace {

constexpr std::array kSmooth = {Activation::kElu,  Activation::kTanh, Activation::kSigmoid,
                                Activation::kSilu, Activation::kGelu, Activation::kGeluTanh};

/// As the contract has it.
float in_float32(Activation activation, float alpha, float z) {
  switch (activation) {
    case Activation::kElu:
      return z < 0.0F ? alpha * expm1_negative<ScalarPack>(z) : z;
    case Activation::kTanh:
      return tanh<ScalarPack>(z);
    case Activation::kSigmoid:
      return sigmoid<ScalarPack>(z);
    case Activation::kSilu:
      return silu<ScalarPack>(z);
    case Activation::kGelu:
      return gelu<ScalarPack>(z);
    default:
      return gelu_tanh<ScalarPack>(z);
  }
}

// Whatever float32 gives is between both lines and both ends, over ranges of all sizes and places;
// and narrow ranges are enclosed narrowly.
TEST(SmoothEnclosure, EnclosesFloat32) {
  std::mt19937 random(3);
  auto const uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (Activation const activation : kSmooth) {
    for (int trial = 0; trial < 4000; ++trial) {
      float const alpha = trial % 3 == 0 ? 1.0F : static_cast<float>(uniform(0.0, 3.0));
      double const reach = std::pow(10.0, uniform(-3.0, trial % 50 == 0 ? 30.0 : 2.2));
      double const width = std::pow(10.0, uniform(-6.0, 2.2));
      auto const low = static_cast<float>(uniform(-reach, reach));
      auto const high = std::max(low, static_cast<float>(static_cast<double>(low) + width));
      SCOPED_TRACE(std::string(activation_name(activation)) + " " + std::to_string(alpha) + " " +
                   std::to_string(low) + " to " + std::to_string(high));
      SmoothEnclosure const lines =
          smooth_enclosure(activation, static_cast<double>(alpha), static_cast<double>(low),
                           static_cast<double>(high));
      for (int i = 0; i <= 40; ++i) {
        auto z = static_cast<float>(uniform(static_cast<double>(low), static_cast<double>(high)));
        if (i < 2) z = i == 0 ? low : high;
        if (i == 2 && low < 0.0F && high > 0.0F) z = 0.0F;
        auto const value = static_cast<double>(in_float32(activation, alpha, z));
        double const line = lines.slope * static_cast<double>(z);
        // The test's own sum is rounded.
        double const slack = 0x1p-50 * (std::abs(line) + std::abs(value));
        ASSERT_GE(value, line + lines.below - slack) << z;
        ASSERT_LE(value, line + lines.above + slack) << z;
        ASSERT_GE(value, lines.least) << z;
        ASSERT_LE(value, lines.most) << z;
      }
      double const bend = std::max(1.0, static_cast<double>(alpha));
      if (std::abs(low) < 100.0F && width < 1.0) {
        double const size = 1.0 + static_cast<double>(std::abs(low)) + bend;
        ASSERT_LE(lines.above - lines.below, bend * (width * width + 2.0 * width) + 1e-4 * size);
        ASSERT_LE(lines.most - lines.least, 1.2 * bend * width + 1e-4 * size);
      }
    }
  }
}

// The bounds of second derivatives that the header's argument needs, and where gated functions have
// their least value, measured by differences.
TEST(SmoothEnclosure, KnowsHowFunctionsBend) {
  for (Activation const activation : kSmooth) {
    SCOPED_TRACE(activation_name(activation));
    constexpr double kStep = 1.0 / 1024.0;
    double least = 0.0;
    double most_left = -1.0;
    for (double low = -45.0; low < 45.0; low += kStep) {
      if (activation == Activation::kElu && low + 3.0 * kStep > 0.0) break;  // bends at 0
      auto const f = [&](double z) { return smooth_value(activation, 1.0, z); };
      double const middle = low + kStep / 2.0;
      SmoothEnclosure const lines = smooth_enclosure(activation, 1.0, low, low + kStep);
      // The middle is off the chord by f'' h^2 / 8.
      double const off = std::abs(f(middle) - (f(low) + f(low + kStep)) / 2.0);
      double const bend = activation == Activation::kElu ? 1.0 : 0.8;
      ASSERT_LE(off, bend * kStep * kStep / 8.0 + 1e-14);
      ASSERT_LE(lines.below + lines.slope * middle, f(middle));
      ASSERT_GE(lines.above + lines.slope * middle, f(middle));
      least = std::min(least, f(low));
      // Falls, and then rises: never beyond both ends.
      if (is_gated(activation) && low < 0.0) most_left = std::max(most_left, f(low));
    }
    if (is_gated(activation)) {
      EXPECT_GT(least, -0.2785);
      EXPECT_LE(most_left, 0.0);
    }
  }
}

}  // namespace
}  // namespace fairlane
