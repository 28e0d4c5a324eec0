#include "engine/plausibility/plausibility.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "engine/plausibility/distinct_rows.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr std::int64_t kPiece = 64;  // people that a thread takes at once

/// Numbers of a sample's distinct rows, ascending; one that is drawn twice stands there twice.
std::vector<std::size_t> sample_rows(DistinctRows const& rows) {
  constexpr std::int64_t kMost = 4096;  // a percentile's standard error is below one
  constexpr std::uint64_t kSeed = 0x706C617573696265U;
  auto const all = std::accumulate(rows.counts.begin(), rows.counts.end(), std::int64_t{0});
  std::int64_t const count = std::min(all, kMost);
  std::vector<std::size_t> sample;
  std::size_t at = 0;
  std::int64_t end = rows.counts[0];  // rows up to the distinct one at `at`
  for (std::int64_t i = 0; i < count; ++i) {
    // One row out of each of `count` runs of nearly the same length.
    std::int64_t const first = all * i / count;
    auto const length = static_cast<std::uint32_t>(all * (i + 1) / count - first);
    auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(i),
                                          static_cast<std::uint32_t>(Phase::kSample), 0, 0, kSeed);
    std::int64_t const row = first + below<ScalarPack>(words.w[0], length);
    while (row >= end) end += rows.counts[++at];
    sample.push_back(at);
  }
  return sample;
}

}  // namespace

PlausibilityModel::PlausibilityModel(Domain const& domain, Dataset const& table, int threads)
    : PlausibilityModel(domain, rows_to_compare_with(table), threads) {}

PlausibilityModel::PlausibilityModel(Domain const& domain, DistinctRows const& rows, int threads)
    : attributes_(rows.attributes),
      pool_(std::make_unique<ThreadPool>()),
      threads_(1 + pool_->reserve(threads - 1)),
      gower_(domain),
      tree_(domain, rows, *pool_, threads_),
      surprises_(tree_, rows, *pool_, threads_),
      nearest_(gower_, rows) {
  measure_distances(rows);
}

void PlausibilityModel::measure_distances(DistinctRows const& rows) {
  auto const sample = sample_rows(rows);
  distances_.resize(sample.size());
  pool_->share(threads_, 0, static_cast<std::int64_t>(sample.size()), kPiece,
               [&](int, std::int64_t first, std::int64_t count) {
                 for (auto i = static_cast<std::size_t>(first);
                      i < static_cast<std::size_t>(first + count); ++i) {
                   bool const has_equal = rows.counts[sample[i]] > 1;
                   distances_[i] = has_equal ? 0.0 : nearest_.nearest_other(rows.row(sample[i]));
                 }
               });
  std::sort(distances_.begin(), distances_.end());
}

Plausibility PlausibilityModel::score_one(std::int32_t const* row) const {
  Plausibility score;
  score.surprise = tree_.surprise(row);  // throws, for a code that is none
  score.distance = nearest_.nearest(row);
  auto const beyond = std::ranges::upper_bound(distances_, score.distance);
  score.distance_percentile = 100.0 * static_cast<double>(beyond - distances_.begin()) /
                              static_cast<double>(distances_.size());
  score.surprise_percentile = surprises_.percentile(score.surprise);
  return score;
}

std::vector<Plausibility> PlausibilityModel::score(std::span<std::int32_t const> rows) const {
  std::size_t const count = attributes_ == 0 ? 0 : rows.size() / attributes_;
  std::vector<Plausibility> scores(count);
  pool_->share(threads_, 0, static_cast<std::int64_t>(count), kPiece,
               [&](int, std::int64_t first, std::int64_t piece) {
                 for (auto i = static_cast<std::size_t>(first);
                      i < static_cast<std::size_t>(first + piece); ++i) {
                   scores[i] = score_one(rows.data() + i * attributes_);
                 }
               });
  return scores;
}

std::vector<std::int32_t> PlausibilityModel::draw(std::int64_t count, std::uint64_t seed) const {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count) * attributes_);
  pool_->share(threads_, 0, count, kPiece, [&](int, std::int64_t first, std::int64_t piece) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + piece); ++i)
      tree_.draw(i, seed, rows.data() + i * attributes_);
  });
  return rows;
}

}  // namespace fairlane
