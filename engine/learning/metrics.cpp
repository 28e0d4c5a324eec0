#include "engine/learning/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fairlane {
namespace {

double ratio_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The area under the ROC curve, from the sum of the positives' ranks.
std::optional<double> area_under_curve(std::span<std::int32_t const> labels,
                                       std::span<float const> scores) {
  for (float const score : scores) {
    if (std::isnan(score)) return std::nullopt;
  }
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double ranks = 0.0;
  std::int64_t positives = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && scores[order[end]] == scores[order[begin]]) ++end;
    double const rank = (static_cast<double>(begin + end) + 1.0) / 2.0;  // equal scores share it
    for (std::size_t i = begin; i < end; ++i) {
      if (labels[order[i]] != 1) continue;
      ranks += rank;
      ++positives;
    }
  }
  auto const all = static_cast<std::int64_t>(labels.size());
  if (positives == 0 || positives == all) return std::nullopt;
  auto const p = static_cast<double>(positives);
  return (ranks - p * (p + 1.0) / 2.0) / (p * static_cast<double>(all - positives));
}

}  // namespace

Metrics measure(std::span<std::int32_t const> labels, std::span<float const> scores,
                std::span<std::int32_t const> decided, int classes) {
  Metrics metrics;
  metrics.rows = static_cast<std::int64_t>(labels.size());
  if (labels.empty()) return metrics;
  auto const size = static_cast<std::size_t>(classes);
  std::vector<std::int64_t> right(size);
  std::vector<std::int64_t> true_rows(size);
  std::vector<std::int64_t> decided_rows(size);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++true_rows[static_cast<std::size_t>(labels[i])];
    if (decided[i] < 0) continue;
    ++decided_rows[static_cast<std::size_t>(decided[i])];
    if (decided[i] == labels[i]) ++right[static_cast<std::size_t>(labels[i])];
  }
  metrics.accuracy =
      ratio_of(std::accumulate(right.begin(), right.end(), std::int64_t{0}), metrics.rows);
  for (std::int64_t const rows : decided_rows) metrics.decided_classes += rows > 0 ? 1 : 0;
  std::size_t const first = classes == 2 ? 1 : 0;
  for (std::size_t c = first; c < size; ++c) {
    double const precision = ratio_of(right[c], decided_rows[c]);
    double const recall = ratio_of(right[c], true_rows[c]);
    metrics.precision += precision;
    metrics.recall += recall;
    metrics.f1 += precision + recall > 0.0 ? 2.0 * precision * recall / (precision + recall) : 0.0;
  }
  auto const averaged = static_cast<double>(size - first);
  metrics.precision /= averaged;
  metrics.recall /= averaged;
  metrics.f1 /= averaged;
  if (classes == 2 && scores.size() == labels.size())
    metrics.auc = area_under_curve(labels, scores);
  return metrics;
}

Json metrics_json(Metrics const& metrics) {
  return {{"rows", metrics.rows},
          {"accuracy", metrics.accuracy},
          {"precision", metrics.precision},
          {"recall", metrics.recall},
          {"f1", metrics.f1},
          {"auc", metrics.auc ? Json(*metrics.auc) : Json(nullptr)},
          {"decided_classes", metrics.decided_classes}};
}

}  // namespace fairlane
