#include "engine/plausibility/nearest_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace fairlane {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();
constexpr std::size_t kBuckets = 64;  // of nominal codes: the bits of a word

std::size_t bucket(Gower::Term const& term, std::int32_t code) {
  return static_cast<std::uint32_t>(code - term.low) % kBuckets;
}

/// How often rows have each bucket of a nominal attribute.
std::array<std::size_t, kBuckets> count_buckets(Gower::Term const& term, DistinctRows const& rows,
                                                std::vector<std::size_t> const& order,
                                                std::size_t first, std::size_t last) {
  std::array<std::size_t, kBuckets> counts{};
  for (std::size_t i = first; i < last; ++i)
    ++counts[bucket(term, rows.row(order[i])[term.attribute])];
  return counts;
}

/// Mean square of a term over two of the rows, each drawn from all.
double spread(Gower::Term const& term, DistinctRows const& rows,
              std::vector<std::size_t> const& order, std::size_t first, std::size_t last) {
  auto const all = static_cast<double>(last - first);
  if (term.nominal) {
    double same = 0.0;
    for (auto const count : count_buckets(term, rows, order, first, last))
      same += static_cast<double>(count) / all * (static_cast<double>(count) / all);
    return 1.0 - same;
  }
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = first; i < last; ++i) {
    auto const value = static_cast<double>(rows.row(order[i])[term.attribute] - term.low);
    sum += value;
    squares += value * value;
  }
  return 2.0 * (squares / all - sum / all * (sum / all)) * term.scale * term.scale;
}

}  // namespace

NearestRows::NearestRows(Gower gower, DistinctRows const& rows) : gower_(std::move(gower)) {
  if (!gower_.terms().empty()) {
    auto const most = static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max());
    unit_ = static_cast<std::int16_t>(most / gower_.terms().size());  // no sum overflows
  }
  Order order(rows.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  build(rows, order, 0, order.size());
}

std::size_t NearestRows::build(DistinctRows const& rows, Order& order, std::size_t first,
                               std::size_t last) {
  std::size_t const index = nodes_.size();
  nodes_.emplace_back();
  for (auto const& term : gower_.terms()) {
    Extent extent{std::numeric_limits<std::int32_t>::max(),
                  std::numeric_limits<std::int32_t>::min(), 0};
    for (std::size_t i = first; i < last; ++i) {
      std::int32_t const code = rows.row(order[i])[term.attribute];
      extent.low = std::min(extent.low, code);
      extent.high = std::max(extent.high, code);
      extent.codes |= std::uint64_t{1} << bucket(term, code);
    }
    extents_.push_back(extent);
  }
  std::size_t const middle = halve(rows, order, first, last);
  if (middle == last) {
    add_blocks(rows, order, first, last);
    return index;
  }
  std::size_t const left = build(rows, order, first, middle);
  std::size_t const right = build(rows, order, middle, last);
  nodes_[index].child = {left, right};
  return index;
}

std::size_t NearestRows::halve(DistinctRows const& rows, Order& order, std::size_t first,
                               std::size_t last) const {
  if (last - first <= kBlock) return last;
  Gower::Term const* widest = nullptr;
  double most = 0.0;
  auto const& terms = gower_.terms();
  Extent const* const extents = extents_.data() + (nodes_.size() - 1) * terms.size();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    bool const differs =
        terms[t].nominal ? std::popcount(extents[t].codes) > 1 : extents[t].low < extents[t].high;
    double const here = differs ? spread(terms[t], rows, order, first, last) : 0.0;
    if (here > most) {
      most = here;
      widest = &terms[t];
    }
  }
  if (widest == nullptr) return last;
  auto const begin = order.begin() + static_cast<std::ptrdiff_t>(first);
  auto const end = order.begin() + static_cast<std::ptrdiff_t>(last);
  auto const code = [&](std::size_t i) { return rows.row(i)[widest->attribute]; };
  if (!widest->nominal) {
    constexpr std::ptrdiff_t kLeastPart = 4;  // of the rows: where fewer lie below the median
    auto const half = begin + (end - begin) / 2;
    std::nth_element(begin, half, end, [&](auto a, auto b) { return code(a) < code(b); });
    std::int32_t const median = code(*half);
    auto split = std::partition(begin, end, [&](auto i) { return code(i) < median; });
    if (split - begin < (end - begin) / kLeastPart)
      split = std::partition(begin, end, [&](auto i) { return code(i) <= median; });
    if (split == end) split = std::partition(begin, end, [&](auto i) { return code(i) < median; });
    return static_cast<std::size_t>(split - order.begin());
  }
  auto const counts = count_buckets(*widest, rows, order, first, last);
  std::array<std::size_t, kBuckets> by_count{};
  std::iota(by_count.begin(), by_count.end(), std::size_t{0});
  std::stable_sort(by_count.begin(), by_count.end(),
                   [&](auto a, auto b) { return counts[a] > counts[b]; });
  std::uint64_t chosen = 0;
  std::size_t members = 0;
  for (std::size_t i = 0; i < kBuckets && (members == 0 || 2 * members < last - first); ++i) {
    if (members + counts[by_count[i]] == last - first) break;
    members += counts[by_count[i]];
    chosen |= std::uint64_t{1} << by_count[i];
  }
  auto const split = std::partition(
      begin, end, [&](auto i) { return (chosen >> bucket(*widest, code(i)) & 1U) != 0; });
  return static_cast<std::size_t>(split - order.begin());
}

void NearestRows::add_blocks(DistinctRows const& rows, Order const& order, std::size_t first,
                             std::size_t last) {
  Node& node = nodes_.back();
  auto const& terms = gower_.terms();
  node.first_block = terms.empty() ? 0 : codes_.size() / (terms.size() * kBlock);
  node.blocks = (last - first + kBlock - 1) / kBlock;
  for (std::size_t block = first; block < last; block += kBlock) {
    auto const row = [&](std::size_t i) { return rows.row(order[std::min(block + i, last - 1)]); };
    for (std::size_t i = 0; i < kBlock; ++i)
      for (auto const& term : terms) codes_.push_back(row(i)[term.attribute]);
    for (auto const& term : terms)
      for (std::size_t i = 0; i < kBlock; ++i) marks_.push_back(mark(term, row(i)[term.attribute]));
  }
}

/// Equal codes have equal marks; marks of an ordered attribute differ by the term in units, give or
/// take less than one.
std::int16_t NearestRows::mark(Gower::Term const& term, std::int32_t code) const {
  constexpr std::uint32_t kBits = 0x7FFF;
  auto const height = static_cast<std::uint32_t>(code - term.low);
  if (term.nominal) return static_cast<std::int16_t>(height & kBits);
  return static_cast<std::int16_t>(static_cast<double>(height) * term.scale * unit_);
}

double NearestRows::bound(std::size_t node, Query const& query) const {
  auto const& terms = gower_.terms();
  Extent const* const extents = extents_.data() + node * terms.size();
  // Added up in the order of the rows' own terms, none of which is less: nor is a sum, rounded.
  double sum = 0.0;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    std::int32_t const code = query.codes[t];
    if (terms[t].nominal) {
      sum += (extents[t].codes >> bucket(terms[t], code) & 1U) != 0 ? 0.0 : 1.0;
    } else {
      sum += terms[t](std::max({extents[t].low - code, code - extents[t].high, 0}));
    }
    if (sum >= query.best) return sum;
  }
  return sum;
}

void NearestRows::visit(std::size_t index, Query& query) const {
  Node const& node = nodes_[index];
  if (node.blocks > 0) return look_through(node, query);
  std::array<double, 2> const bounds = {bound(node.child[0], query), bound(node.child[1], query)};
  std::size_t const nearer = bounds[1] < bounds[0] ? 1 : 0;
  for (std::size_t const side : {nearer, 1 - nearer})
    if (bounds[side] < query.best) visit(node.child[side], query);
}

void NearestRows::look_through(Node const& node, Query& query) const {
  auto const& terms = gower_.terms();
  std::int16_t const* marks = marks_.data() + node.first_block * terms.size() * kBlock;
  std::int32_t const* codes = codes_.data() + node.first_block * terms.size() * kBlock;
  for (std::size_t block = 0; block < node.blocks; ++block, codes += terms.size() * kBlock) {
    std::array<std::int16_t, kBlock> sums{};
    for (std::size_t t = 0; t < terms.size(); ++t, marks += kBlock) {
      std::int16_t const mark = query.marks[t];
      std::int16_t const unit = unit_;
      if (terms[t].nominal) {
        for (std::size_t i = 0; i < kBlock; ++i)
          sums[i] = static_cast<std::int16_t>(sums[i] + (marks[i] != mark ? unit : 0));
      } else {
        for (std::size_t i = 0; i < kBlock; ++i) {
          std::int16_t const above = std::max(marks[i], mark);
          std::int16_t const below = std::min(marks[i], mark);
          sums[i] = static_cast<std::int16_t>(sums[i] + above - below);
        }
      }
    }
    // The marks' sum exceeds the terms' in units by less than one a term; one more for rounding.
    auto const slack = static_cast<double>(terms.size() + 1);
    double limit = query.best * unit_ + slack;
    for (std::size_t i = 0; i < kBlock; ++i) {
      if (sums[i] > limit) continue;
      double sum = 0.0;
      for (std::size_t t = 0; t < terms.size(); ++t)
        sum += terms[t](codes[i * terms.size() + t] - query.codes[t]);
      if (sum >= query.best || (query.leaves_out_equal && sum == 0.0)) continue;
      query.best = sum;
      limit = sum * unit_ + slack;
    }
  }
}

double NearestRows::least(std::int32_t const* row, bool leaves_out_equal) const {
  std::vector<std::int32_t> codes;
  std::vector<std::int16_t> marks;
  for (auto const& term : gower_.terms()) {
    codes.push_back(row[term.attribute]);
    marks.push_back(mark(term, codes.back()));
  }
  Query query{codes.data(), marks.data(), leaves_out_equal, kNowhere};
  visit(0, query);
  return query.best == kNowhere ? kNowhere : gower_.of_sum(query.best);
}

double NearestRows::nearest(std::int32_t const* row) const { return least(row, false); }
double NearestRows::nearest_other(std::int32_t const* row) const { return least(row, true); }

}  // namespace fairlane
