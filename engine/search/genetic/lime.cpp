#include "engine/search/genetic/lime.h"

#include <algorithm>
#include <cmath>

#include "engine/search/genetic/lime_math.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr double kPenalty = 1.0;
constexpr double kWidth = 0.75;  // of the kernel, times the root of the number of attributes

ColumnScale scale_of(std::span<std::int32_t const> values, std::size_t stride) {
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < values.size(); i += stride, count += 1.0) sum += values[i];
  double const mean = sum / count;
  double squares = 0.0;
  for (std::size_t i = 0; i < values.size(); i += stride)
    squares += (values[i] - mean) * (values[i] - mean);
  double const scale = std::sqrt(squares / count);
  return {mean, scale > 0.0 ? scale : 1.0};
}

/// Uniform in (-1, 1), never 0.
double centred(std::uint32_t word) { return (word + 0.5) * 0x1p-31 - 1.0; }

/// Solves a symmetric positive definite system in place, by Cholesky's factors.
/// matrix  [n][n], of which the lower half is read and overwritten
/// x       [n] right side in, solution out
void solve(std::vector<double>& matrix, std::vector<double>& x) {
  std::size_t const n = x.size();
  auto const at = [&](std::size_t i, std::size_t j) -> double& { return matrix[i * n + j]; };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
    }
    for (std::size_t k = 0; k < i; ++k) x[i] -= at(i, k) * x[k];
    x[i] /= at(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= at(k, i) * x[k];
    x[i] /= at(i, i);
  }
}

}  // namespace

std::vector<ColumnScale> column_scales(TestSubject const& subject) {
  auto const& view = subject.view();
  Dataset const* const data = subject.data();
  std::size_t const attributes = view.low.size();
  std::vector<ColumnScale> scales;
  for (std::size_t a = 0; a < attributes; ++a) {
    if (data != nullptr && data->count() > 0) {
      scales.push_back(scale_of(std::span(data->rows).subspan(a), attributes));
      continue;
    }
    std::vector<std::int32_t> codes;
    for (std::int64_t i = 0; i < view.code_count(a); ++i) codes.push_back(view.code_at(a, i));
    scales.push_back(scale_of(codes, 1));
  }
  return scales;
}

std::vector<double> ridge(std::span<double const> rows, std::span<double const> targets,
                          std::span<double const> weights, double penalty) {
  std::size_t const count = targets.size();
  std::size_t const n = rows.size() / count;
  std::vector<double> mean(n, 0.0);
  double total = 0.0;
  double mean_target = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    total += weights[i];
    mean_target += weights[i] * targets[i];
    for (std::size_t c = 0; c < n; ++c) mean[c] += weights[i] * rows[i * n + c];
  }
  if (total == 0.0) return mean;
  mean_target /= total;
  for (double& m : mean) m /= total;

  std::vector<double> matrix(n * n, 0.0);
  std::vector<double> solution(n, 0.0);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < n; ++c) x[c] = rows[i * n + c] - mean[c];
    for (std::size_t c = 0; c < n; ++c) {
      double const weighted = weights[i] * x[c];
      solution[c] += weighted * (targets[i] - mean_target);
      for (std::size_t d = 0; d <= c; ++d) matrix[c * n + d] += weighted * x[d];
    }
  }
  for (std::size_t c = 0; c < n; ++c) matrix[c * n + c] += penalty;
  solve(matrix, solution);
  return solution;
}

int rank_of(std::span<double const> coefficients, std::size_t attribute) {
  double const own = std::abs(coefficients[attribute]);
  int rank = 0;
  for (std::size_t a = 0; a < coefficients.size(); ++a) {
    double const other = std::abs(coefficients[a]);
    rank += other > own || (other == own && a < attribute) ? 1 : 0;
  }
  return rank;
}

LimeExplainer::LimeExplainer(TestSubject const& subject, int samples, std::uint64_t run_seed)
    : model_(subject),
      scales_(column_scales(subject)),
      samples_(static_cast<std::size_t>(samples)),
      run_seed_(run_seed) {}

/// Normal numbers by Marsaglia's polar method: a pair of uniform ones gives two, or none.
void LimeExplainer::draw(std::uint32_t number, std::uint32_t sample, double* row) const {
  std::size_t filled = 0;
  auto const put = [&](double normal) {
    if (filled == scales_.size()) return;
    row[filled] = model_.taken(filled, scales_[filled].mean + scales_[filled].scale * normal);
    ++filled;
  };
  for (std::uint32_t attempt = 0; filled < scales_.size(); ++attempt) {
    auto const words = philox<ScalarPack>(number, static_cast<std::uint32_t>(Phase::kSample),
                                          sample, attempt, run_seed_);
    for (int pair = 0; pair < 2; ++pair) {
      double const u = centred(words.w[2 * pair]);
      double const v = centred(words.w[2 * pair + 1]);
      double const s = u * u + v * v;
      if (s >= 1.0) continue;
      double const factor = std::sqrt(-2.0 * portable_log(s) / s);
      put(u * factor);
      put(v * factor);
    }
  }
}

std::vector<double> LimeExplainer::samples(std::int32_t const* row, std::uint32_t number) const {
  std::size_t const n = scales_.size();
  std::vector<double> rows(samples_ * n);
  std::copy_n(row, n, rows.begin());
  for (std::size_t i = 1; i < samples_; ++i)
    draw(number, static_cast<std::uint32_t>(i), &rows[i * n]);
  return rows;
}

std::vector<double> LimeExplainer::explain(std::int32_t const* row, std::uint32_t number) const {
  std::size_t const n = scales_.size();
  std::vector<double> rows = samples(row, number);
  std::vector<double> targets(samples_);
  model_.probabilities(rows.data(), static_cast<std::int64_t>(samples_), targets.data());

  double const width = kWidth * std::sqrt(static_cast<double>(n));
  std::vector<double> weights(samples_, 0.0);
  for (std::size_t i = 0; i < samples_; ++i) {
    double squares = 0.0;
    for (std::size_t c = 0; c < n; ++c) {
      double& x = rows[i * n + c];
      x = (x - scales_[c].mean) / scales_[c].scale;
      squares += (x - rows[c]) * (x - rows[c]);
    }
    if (std::isfinite(targets[i])) {
      weights[i] = portable_exp(-squares / (2.0 * width * width));
    } else {
      targets[i] = 0.0;  // a sample without a probability says nothing
    }
  }
  return ridge(rows, targets, weights, kPenalty);
}

}  // namespace fairlane
