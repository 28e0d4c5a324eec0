#include "engine/plausibility/chow_liu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr double kHalf = 0.5;  // what each pair of cells counts beyond its rows

/// Cells of all rows, attribute by attribute.
struct CellColumns {
  std::size_t rows = 0;
  std::vector<std::uint16_t> cells;  // [attributes][rows]; a domain's cells are fewer than 2^16
  std::vector<double> weights;       // [rows], whole numbers

  /// [a's cells][b's cells] rows and a half.
  std::vector<double> count(std::size_t a, std::size_t a_cells, std::size_t b,
                            std::size_t b_cells) const {
    std::vector<double> counts(a_cells * b_cells, 0.0);
    std::uint16_t const* const of_a = cells.data() + a * rows;
    std::uint16_t const* const of_b = cells.data() + b * rows;
    for (std::size_t i = 0; i < rows; ++i) counts[of_a[i] * b_cells + of_b[i]] += weights[i];
    for (double& count : counts) count += kHalf;
    return counts;
  }
};

double information_of(std::vector<double> const& counts, std::size_t columns) {
  std::size_t const rows = counts.size() / columns;
  std::vector<double> of_row(rows, 0.0);
  std::vector<double> of_column(columns, 0.0);
  double all = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double const count = counts[i * columns + j];
      of_row[i] += count;
      of_column[j] += count;
      all += count;
    }
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double const count = counts[i * columns + j];
      sum += count / all * std::log(count * all / (of_row[i] * of_column[j]));
    }
  }
  return sum;
}

}  // namespace

ChowLiuTree::ChowLiuTree(Domain const& domain, DistinctRows const& rows, ThreadPool& pool,
                         int threads) {
  std::size_t const width = rows.attributes;
  for (std::size_t a = 0; a < width; ++a) cells_.emplace_back(domain, a, rows);
  CellColumns columns;
  columns.rows = rows.count();
  columns.cells.resize(width * columns.rows);
  columns.weights.assign(rows.counts.begin(), rows.counts.end());
  pool.share(threads, 0, static_cast<std::int64_t>(width), 1, [&](int, std::int64_t at, auto) {
    auto const a = static_cast<std::size_t>(at);
    for (std::size_t i = 0; i < columns.rows; ++i) {
      columns.cells[a * columns.rows + i] =
          static_cast<std::uint16_t>(cells_[a].cell_of(rows.row(i)[a]));
    }
  });
  information_.assign(width * width, 0.0);
  pool.share(threads, 0, static_cast<std::int64_t>(width), 1, [&](int, std::int64_t at, auto) {
    auto const a = static_cast<std::size_t>(at);
    for (std::size_t b = a + 1; b < width; ++b) {
      auto const counts = columns.count(a, cells_[a].count(), b, cells_[b].count());
      double const shared = information_of(counts, cells_[b].count());
      information_[a * width + b] = shared;
      information_[b * width + a] = shared;
    }
  });
  span();
  for (std::size_t a = 0; a < width; ++a) {
    if (parents_[a] >= 0) {
      auto const parent = static_cast<std::size_t>(parents_[a]);
      auto const counts = columns.count(parent, cells_[parent].count(), a, cells_[a].count());
      conditionals_.push_back(conditional(a, counts));
    } else {
      std::vector<double> counts(cells_[a].count(), kHalf);
      for (std::size_t i = 0; i < columns.rows; ++i)
        counts[columns.cells[a * columns.rows + i]] += columns.weights[i];
      conditionals_.push_back(conditional(a, counts));
    }
  }
  count_steps();
}

void ChowLiuTree::count_steps() {
  double most = 0.0;  // of any row, with what rounding adds
  for (auto const& known : conditionals_) most += std::ranges::max(known.surprise);
  auto const attributes = static_cast<double>(cells_.size());
  while (most / nats_per_step_ + attributes > std::numeric_limits<std::int32_t>::max())
    nats_per_step_ *= 2.0;
  for (auto& known : conditionals_) {
    for (double const surprise : known.surprise)
      known.steps.push_back(static_cast<std::int32_t>(std::llround(surprise / nats_per_step_)));
  }
}

/// Kruskal's algorithm, then the parents from the first attribute on.
void ChowLiuTree::span() {
  std::size_t const width = cells_.size();
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < width; ++a)
    for (std::size_t b = a + 1; b < width; ++b) pairs.emplace_back(a, b);
  std::stable_sort(pairs.begin(), pairs.end(), [&](auto const& x, auto const& y) {
    return mutual_information(x.first, x.second) > mutual_information(y.first, y.second);
  });
  std::vector<std::size_t> part(width);
  std::iota(part.begin(), part.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> neighbours(width);
  for (auto const& [a, b] : pairs) {
    if (part[a] == part[b]) continue;
    std::replace(part.begin(), part.end(), std::size_t{part[b]}, std::size_t{part[a]});
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  parents_.assign(width, -1);
  if (width > 0) order_.push_back(0);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    std::size_t const a = order_[i];
    for (std::size_t const b : neighbours[a]) {
      if (static_cast<int>(b) == parents_[a]) continue;
      parents_[b] = static_cast<int>(a);
      order_.push_back(b);
    }
  }
}

/// counts [parent's cells][cells] rows and a half
ChowLiuTree::Conditional ChowLiuTree::conditional(std::size_t a,
                                                  std::vector<double> const& counts) const {
  std::size_t const count = cells_[a].count();
  Conditional made;
  for (std::size_t row = 0; row < counts.size(); row += count) {
    double all = 0.0;
    for (std::size_t c = 0; c < count; ++c) all += counts[row + c];
    double reach = 0.0;
    for (std::size_t c = 0; c < count; ++c) {
      reach += counts[row + c];
      made.surprise.push_back(
          std::log(all * static_cast<double>(cells_[a].width(c)) / counts[row + c]));
      made.reach.push_back(reach / all);
    }
  }
  return made;
}

std::int32_t ChowLiuTree::steps(std::int32_t const* row) const {
  std::int32_t sum = 0;
  for (std::size_t const a : order_) {
    std::size_t const cell = cells_[a].cell_of(row[a]);
    auto const parent = static_cast<std::size_t>(std::max(parents_[a], 0));
    std::size_t const given = parents_[a] < 0 ? 0 : cells_[parent].cell_of(row[parent]);
    sum += conditionals_[a].steps[given * cells_[a].count() + cell];
  }
  return sum;
}

void ChowLiuTree::draw(std::uint64_t number, std::uint64_t seed, std::int32_t* row) const {
  constexpr std::uint32_t kPeople = 0x80000000U;  // estimates draw by the same phase, from 0 on
  constexpr double kUnit = 1.0 / 4294967296.0;    // 2^-32
  for (std::size_t const a : order_) {
    auto const parent = static_cast<std::size_t>(std::max(parents_[a], 0));
    std::size_t const given = parents_[a] < 0 ? 0 : cells_[parent].cell_of(row[parent]);
    auto const words = philox<ScalarPack>(
        static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(Phase::kSample),
        static_cast<std::uint32_t>(number >> 32), kPeople + static_cast<std::uint32_t>(a), seed);
    std::size_t const count = cells_[a].count();
    double const* const reach = conditionals_[a].reach.data() + given * count;
    // The last cell takes what rounding leaves.
    auto const cell = static_cast<std::size_t>(
        std::upper_bound(reach, reach + count - 1, static_cast<double>(words.w[0]) * kUnit) -
        reach);
    auto const codes = static_cast<std::uint32_t>(cells_[a].width(cell));
    row[a] = cells_[a].code(cell, below<ScalarPack>(words.w[1], codes));
  }
}

}  // namespace fairlane
