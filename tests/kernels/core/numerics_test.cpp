#include "kernels/core/numerics.h"
#include "tests/kernels/core/special_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace fairlane {
namespace {

/// Distance of a result from the exact value in units of the last place of a float32 of that size.
double ulps(float got, long double exact) {
  constexpr int kDigits = 24;
  constexpr int kLeastExponent = -149;
  int const exponent = exact == 0.0L ? kLeastExponent : std::ilogb(exact) - (kDigits - 1);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, std::max(exponent, kLeastExponent)));
}

struct Worst {
  double error = 0.0;
  float at = 0.0F;
};

/// Largest error over [low, high]: every `stride`-th float32, both bounds included.
template <class Function, class Exact>
Worst sweep(float low, float high, std::uint32_t stride, Function function, Exact exact) {
  // Floats in order of value as integers in order.
  auto const ordered = [](float x) {
    std::int64_t const bits = ScalarPack::bits_of(x);
    return bits >= 0 ? bits
                     : static_cast<std::int64_t>(std::numeric_limits<std::int32_t>::min()) - bits;
  };
  auto const value = [](std::int64_t n) {
    return ScalarPack::float_of(
        static_cast<std::int32_t>(n >= 0 ? n : std::numeric_limits<std::int32_t>::min() - n));
  };
  Worst worst;
  std::int64_t const last = ordered(high);
  for (std::int64_t n = ordered(low);; n = std::min(last, n + stride)) {
    float const x = value(n);
    double const error = ulps(function(x), exact(static_cast<long double>(x)));
    if (!(error <= worst.error)) worst = {error, x};
    if (n == last) break;
  }
  return worst;
}

void report(char const* name, Worst const& worst) {
  ::testing::Test::RecordProperty(name, std::to_string(worst.error));
  std::printf("  %-24s largest error %.4f ulp, at %a\n", name, worst.error,
              static_cast<double>(worst.at));
}

long double exact_sigmoid(long double x) { return 1.0L / (1.0L + std::exp(-x)); }

// A stride that is prime and leaves about half a million values in the widest sweep.
constexpr std::uint32_t kStride = 4001;
// Below it 1 + exp(-x) is infinite: the sigmoid is zero, although float32 could hold a denormal.
constexpr float kSigmoidLowest = -88.72283F;

float sigmoid1(float x) { return sigmoid<ScalarPack>(x); }
float exp1(float x) {
  auto const e = exp_twofold<ScalarPack>(x, 0.0F);
  return e.high + e.low;
}
float tanh1(float x) { return tanh<ScalarPack>(x); }
float expm1_1(float x) { return expm1_negative<ScalarPack>(x); }

// The series ends at r^7 and is summed in float32: a fifth of a unit beside the last rounding.
TEST(Numerics, ExpIsCorrectlyRoundedAlmostAlways) {
  constexpr double kExpUlps = 0.73;
  auto const exact = [](long double x) { return std::exp(x); };
  Worst const worst =
      sweep(-80.0F, 88.72283F, kStride, exp1, exact);  // below, the low part is denormal
  report("exp", worst);
  EXPECT_LE(worst.error, kExpUlps) << worst.at;

  constexpr int kDraws = 300'000;
  constexpr double kShare = 0.02;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-80.0F, 88.0F);
  int wrong = 0;
  for (int i = 0; i < kDraws; ++i) {
    float const x = uniform(random);
    wrong += exp1(x) != static_cast<float>(std::exp(static_cast<long double>(x))) ? 1 : 0;
  }
  std::printf("  exp is not correctly rounded for %d of %d arguments\n", wrong, kDraws);
  EXPECT_LE(wrong, kShare * kDraws);
}

// Denormal results are rounded more than once; the scale is still right.
TEST(Numerics, ExpReachesDenormalsZeroAndInfinity) {
  constexpr double kDenormalUlps = 1.0;
  auto const exact = [](long double x) { return std::exp(x); };
  Worst const worst = sweep(-105.0F, -80.0F, kStride, exp1, exact);
  report("exp, denormal", worst);
  EXPECT_LE(worst.error, kDenormalUlps) << worst.at;
  EXPECT_EQ(exp1(0.0F), 1.0F);
  EXPECT_EQ(exp1(-104.5F), 0.0F);
  EXPECT_EQ(exp1(-kInfinity), 0.0F);
  EXPECT_EQ(exp1(89.0F), kInfinity);
  EXPECT_EQ(exp1(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(exp1(kNan)));
}

// 1 / (1 + exp(-x)) as the authors' programs compute it: exp, the sum and the quotient round half a
// unit each, and a unit of the sum may be two of the quotient. More accurate would leave the golden
// paths: where a sigmoid saturates to 1 decides where gradients vanish.
TEST(Numerics, SigmoidErrsAsTheFormulaDoes) {
  constexpr double kSigmoidUlps = 2.481;
  // The largest error of all float32 arguments, found by trying every one.
  constexpr float kWorst = -0x1.0a2bd8p+4F;
  EXPECT_NEAR(ulps(sigmoid1(kWorst), exact_sigmoid(static_cast<long double>(kWorst))), kSigmoidUlps,
              1e-3);
  Worst const worst = sweep(kSigmoidLowest, 120.0F, kStride, sigmoid1, exact_sigmoid);
  report("sigmoid", worst);
  EXPECT_LE(worst.error, kSigmoidUlps) << worst.at;
  EXPECT_GT(worst.error, 1.0) << "more accurate than the authors' formula: is that on purpose?";
}

TEST(Numerics, SigmoidIsTheFloatFormula) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(-100.0F, 100.0F);
  int differ = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    float const x = uniform(random);
    float const e = static_cast<float>(std::exp(-static_cast<long double>(x)));
    float const formula = 1.0F / (1.0F + e);
    differ += sigmoid1(x) != formula ? 1 : 0;
  }
  constexpr double kShare =
      0.01;  // where exp is not correctly rounded; for most x > 0 it does not show
  EXPECT_LE(differ, kShare * kDraws);
}

TEST(Numerics, SigmoidSaturates) {
  EXPECT_EQ(sigmoid1(0.0F), 0.5F);
  // exp(-x) is lost in 1 + exp(-x) once it is at most 2^-24: the first such float32 is above 24 ln
  // 2.
  float const saturated = 16.6355324F;
  EXPECT_EQ(sigmoid1(saturated), 1.0F);
  EXPECT_LT(sigmoid1(std::nextafter(saturated, 0.0F)), 1.0F);
  EXPECT_GT(sigmoid1(kSigmoidLowest), 0.0F);
  EXPECT_EQ(sigmoid1(-89.0F), 0.0F);
  EXPECT_EQ(sigmoid1(kInfinity), 1.0F);
  EXPECT_EQ(sigmoid1(-kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(sigmoid1(kNan)));
}

TEST(Numerics, SigmoidNeverDecreases) {
  float before = 0.0F;
  for (float x = -120.0F; x < 20.0F; x += 1.0F / 512.0F) {
    float const p = sigmoid1(x);
    ASSERT_GE(p, before) << x;
    before = p;
  }
}

TEST(Numerics, TanhIsWithinThreeUnits) {
  constexpr double kTanhUlps = 3.0;
  Worst const worst =
      sweep(-20.0F, 20.0F, kStride, tanh1, [](long double x) { return std::tanh(x); });
  report("tanh", worst);
  EXPECT_LE(worst.error, kTanhUlps) << worst.at;
  EXPECT_EQ(tanh1(0.0F), 0.0F);
  EXPECT_EQ(tanh1(kInfinity), 1.0F);
  EXPECT_EQ(tanh1(-kInfinity), -1.0F);
  EXPECT_TRUE(std::isnan(tanh1(kNan)));
  for (float const x : {0.25F, 1.5F, 7.0F}) EXPECT_EQ(tanh1(-x), -tanh1(x));
}

TEST(Numerics, Expm1IsWithinTwoUnits) {
  constexpr double kExpm1Ulps = 2.0;
  Worst const worst =
      sweep(-110.0F, -0.0F, kStride, expm1_1, [](long double x) { return std::expm1(x); });
  report("expm1", worst);
  EXPECT_LE(worst.error, kExpm1Ulps) << worst.at;
  EXPECT_EQ(expm1_1(0.0F), 0.0F);
  EXPECT_EQ(expm1_1(-kInfinity), -1.0F);
  EXPECT_TRUE(std::isnan(expm1_1(kNan)));
}

long double exact_below(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2.0L; }
long double exact_density(long double x) {
  constexpr long double kOneOverRootTwoPi = 0.398942280401432677939946L;
  return std::exp(-x * x / 2.0L) * kOneOverRootTwoPi;
}
/// What the sigmoid in GELU by tanh is of, and its derivative.
long double inner(long double x) { return 1.59576912160573071176L * (x + 0.044715L * x * x * x); }
long double inner_slope(long double x) {
  return 1.59576912160573071176L * (1.0L + 3.0L * 0.044715L * x * x);
}

double distance(float got, long double exact) {
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact));
}

// From there on results are denormal.
constexpr float kNormalLowest = -12.9F;

TEST(Numerics, NormalIsWithinSixUnitsAndItsDensityWithinTwo) {
  constexpr double kBelowUlps = 6.0;
  constexpr double kDensityUlps = 2.0;
  auto const below = [](float x) { return normal<ScalarPack>(x).below; };
  auto const density = [](float x) { return normal<ScalarPack>(x).density; };
  Worst worst = sweep(kNormalLowest, 20.0F, kStride, below, exact_below);
  report("normal", worst);
  EXPECT_LE(worst.error, kBelowUlps) << worst.at;
  worst = sweep(kNormalLowest, -kNormalLowest, kStride, density, exact_density);
  report("normal density", worst);
  EXPECT_LE(worst.error, kDensityUlps) << worst.at;
  worst = sweep(-15.0F, kNormalLowest, kStride, below, exact_below);
  report("normal, denormal", worst);
  constexpr double kDenormalUlps = 2.0;
  EXPECT_LE(worst.error, kDenormalUlps) << worst.at;
  EXPECT_EQ(below(-kInfinity), 0.0F);
  EXPECT_EQ(below(kInfinity), 1.0F);
  EXPECT_EQ(density(kInfinity), 0.0F);
  EXPECT_TRUE(std::isnan(below(kNan)));
}

TEST(Numerics, GatedActivationsAreWithinTheirUnits) {
  constexpr double kSiluUlps = 3.0;
  constexpr double kGeluUlps = 6.0;
  constexpr double kGeluTanhUlps = 3.0;  // of positive arguments
  auto const exact_gelu = [](long double x) { return x * exact_below(x); };
  auto const exact_gelu_tanh = [](long double x) { return x * exact_sigmoid(inner(x)); };
  Worst worst = sweep(-87.0F, 1e6F, kStride, silu<ScalarPack>,
                      [](long double x) { return x * exact_sigmoid(x); });
  report("silu", worst);
  EXPECT_LE(worst.error, kSiluUlps) << worst.at;
  worst = sweep(kNormalLowest, 1e6F, kStride, gelu<ScalarPack>, exact_gelu);
  report("gelu", worst);
  EXPECT_LE(worst.error, kGeluUlps) << worst.at;
  worst = sweep(0.0F, 1e6F, kStride, gelu_tanh<ScalarPack>, exact_gelu_tanh);
  report("gelu by tanh", worst);
  EXPECT_LE(worst.error, kGeluTanhUlps) << worst.at;
  constexpr double kAbsolute = 0x1p-22;  // negative results are small differences of large ones
  for (float x = -20.0F; x < 0.0F; x += 1.0F / 4096.0F)
    ASSERT_LE(distance(gelu_tanh<ScalarPack>(x), exact_gelu_tanh(x)), kAbsolute) << x;
}

TEST(Numerics, GatedActivationsEndWell) {
  for (auto* const f : {silu<ScalarPack>, gelu<ScalarPack>, gelu_tanh<ScalarPack>}) {
    EXPECT_EQ(f(0.0F), 0.0F);
    EXPECT_EQ(f(3e38F), 3e38F);
    EXPECT_EQ(f(kInfinity), kInfinity);
    EXPECT_EQ(f(-3e38F), 0.0F);
    EXPECT_TRUE(std::isnan(f(-kInfinity)));
    EXPECT_TRUE(std::isnan(f(kNan)));
  }
  for (auto* const f :
       {silu_slope<ScalarPack>, gelu_slope<ScalarPack>, gelu_tanh_slope<ScalarPack>}) {
    EXPECT_EQ(f(0.0F), 0.5F);
    EXPECT_EQ(f(3e38F), 1.0F);
    EXPECT_EQ(f(-3e38F), 0.0F);
    EXPECT_TRUE(std::isnan(f(kNan)));
  }
}

TEST(Numerics, SlopesOfGatedActivationsAreNearTheDerivatives) {
  constexpr double kSlopeError = 0x1p-18;
  for (float x = -100.0F; x < 100.0F; x += 1.0F / 1024.0F) {
    auto const exact = static_cast<long double>(x);
    long double const s = exact_sigmoid(exact);
    long double const t = exact_sigmoid(inner(exact));
    long double const silu_exact = s * (1.0L + exact * (1.0L - s));
    long double const gelu_exact = exact_below(exact) + exact * exact_density(exact);
    long double const tanh_exact = t * (1.0L + exact * (1.0L - t) * inner_slope(exact));
    ASSERT_LE(distance(silu_slope<ScalarPack>(x), silu_exact), kSlopeError) << x;
    ASSERT_LE(distance(gelu_slope<ScalarPack>(x), gelu_exact), kSlopeError) << x;
    ASSERT_LE(distance(gelu_tanh_slope<ScalarPack>(x), tanh_exact), kSlopeError) << x;
  }
}

TEST(Numerics, SoftmaxIsWithinOneUnit) {
  constexpr double kSoftmaxUlps = 1.0;
  constexpr int kMost = 5;
  constexpr int kDraws = 200'000;
  std::mt19937 random(3);
  Worst worst;
  for (int i = 0; i < kDraws; ++i) {
    int const count = 2 + i % (kMost - 1);
    // logits far apart and near each other
    float const scale = std::ldexp(1.0F, i % 8 - 2);
    std::normal_distribution<float> normal(0.0F, scale);
    float z[kMost];
    float p[kMost];
    float terms[2 * kMost];
    for (int c = 0; c < count; ++c) z[c] = normal(random);
    softmax<ScalarPack>(z, count, 1, p, terms);
    long double sum = 0.0L;
    for (int c = 0; c < count; ++c) sum += std::exp(static_cast<long double>(z[c]));
    for (int c = 0; c < count; ++c) {
      long double const exact = std::exp(static_cast<long double>(z[c])) / sum;
      if (exact < 1e-37L) continue;  // denormals have fewer digits
      double const error = ulps(p[c], exact);
      if (error > worst.error) worst = {error, z[c]};
    }
  }
  report("softmax", worst);
  EXPECT_LE(worst.error, kSoftmaxUlps) << worst.at;
}

TEST(Numerics, SoftmaxOfExtremes) {
  float terms[6];
  float equal[3] = {4.0F, 4.0F, 4.0F};
  softmax<ScalarPack>(equal, 3, 1, equal, terms);
  EXPECT_EQ(equal[0], 1.0F / 3.0F);
  EXPECT_EQ(equal[0], equal[2]);
  float far[3] = {1e30F, 0.0F, -1e30F};
  softmax<ScalarPack>(far, 3, 1, far, terms);
  EXPECT_EQ(far[0], 1.0F);
  EXPECT_EQ(far[1], 0.0F);
  EXPECT_EQ(far[2], 0.0F);
  float beyond[3] = {2e38F, -2e38F, 0.0F};  // a distance that is no float32
  softmax<ScalarPack>(beyond, 3, 1, beyond, terms);
  EXPECT_EQ(beyond[0], 1.0F);
  EXPECT_EQ(beyond[1], 0.0F);
  EXPECT_EQ(beyond[2], 0.0F);
  float bad[3] = {kNan, 0.0F, 1.0F};
  softmax<ScalarPack>(bad, 3, 1, bad, terms);
  EXPECT_TRUE(std::isnan(bad[0]));
}

TEST(Numerics, FiniteMeansNeitherInfiniteNorNan) {
  EXPECT_TRUE(is_finite<ScalarPack>(std::numeric_limits<float>::max()));
  EXPECT_TRUE(is_finite<ScalarPack>(0.0F));
  for (float const x : {kInfinity, -kInfinity, kNan}) EXPECT_FALSE(is_finite<ScalarPack>(x));
}

TEST(Relu, KeepsNanAndMakesEveryZeroPositive) {
  for (float const x : {-kInfinity, -2.5F, -std::numeric_limits<float>::denorm_min(), -0.0F, 0.0F,
                        std::numeric_limits<float>::denorm_min(), 2.5F, kInfinity, kNan, -kNan}) {
    float const expected = x <= 0.0F ? 0.0F : x;
    EXPECT_EQ(ScalarPack::bits_of(ScalarPack::relu(x)), ScalarPack::bits_of(expected));
  }
}

}  // namespace
}  // namespace fairlane
