#include "engine/compare/mann_whitney.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace fairlane {
namespace {

/// Twice the rank of each value in the pool, an integer also where ties share a rank.
std::vector<int> doubled_ranks(std::vector<double> const& pool) {
  std::vector<std::size_t> order(pool.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return pool[a] < pool[b]; });
  std::vector<int> ranks(pool.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && pool[order[last]] == pool[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i)
      ranks[order[i]] = static_cast<int>(first + 1 + last);  // ranks first + 1 .. last
  }
  return ranks;
}

}  // namespace

double mann_whitney(std::span<double const> a, std::span<double const> b) {
  if (a.empty() || b.empty()) return 1.0;
  std::vector<double> pool(a.begin(), a.end());
  pool.insert(pool.end(), b.begin(), b.end());
  auto const ranks = doubled_ranks(pool);
  auto const n = static_cast<std::size_t>(a.size());
  int const all = std::accumulate(ranks.begin(), ranks.end(), 0);
  // ways[k][s]: how many sets of k of the ranks so far have the sum s; a double holds them to 16
  // digits.
  auto const sums = static_cast<std::size_t>(all) + 1;
  std::vector<double> ways((n + 1) * sums, 0.0);
  ways[0] = 1.0;
  std::size_t reached = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    auto const rank = static_cast<std::size_t>(ranks[i]);
    for (std::size_t k = std::min(i + 1, n); k >= 1; --k) {
      double const* const without = &ways[(k - 1) * sums];
      double* const with = &ways[k * sums];
      for (std::size_t s = 0; s <= reached; ++s) with[s + rank] += without[s];
    }
    reached += rank;
  }
  // Times the number of values, so that the expectation, all * n / (n + m), is an integer.
  auto const size = static_cast<long long>(pool.size());
  auto const from_expected = [&](long long sum) {
    return std::llabs(sum * size - static_cast<long long>(all) * static_cast<long long>(n));
  };
  long long const own = std::accumulate(ranks.begin(), ranks.begin() + static_cast<long>(n), 0LL);
  double far = 0.0;
  double total = 0.0;
  for (std::size_t s = 0; s < sums; ++s) {
    double const count = ways[n * sums + s];
    total += count;
    if (from_expected(static_cast<long long>(s)) >= from_expected(own)) far += count;
  }
  return far / total;
}

double least_p(std::size_t n) {
  double deals = 1.0;  // C(2i, i)
  for (std::size_t i = 1; i <= n; ++i) {
    auto const size = static_cast<double>(i);
    deals *= 2.0 * (2.0 * size - 1.0) / size;
  }
  return std::min(1.0, 2.0 / deals);
}

std::size_t least_sample(std::size_t tests, double level) {
  for (std::size_t n = 1; n <= kMostRanked; ++n) {
    if (static_cast<double>(tests) * least_p(n) <= level) return n;
  }
  return kMostRanked + 1;
}

double a12(std::span<double const> a, std::span<double const> b) {
  if (a.empty() || b.empty()) return 0.5;
  double wins = 0.0;
  for (double const x : a) {
    for (double const y : b) wins += x > y ? 1.0 : x == y ? 0.5 : 0.0;
  }
  return wins / static_cast<double>(a.size() * b.size());
}

std::vector<double> holm(std::span<double const> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

}  // namespace fairlane
