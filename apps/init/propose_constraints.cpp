#include "apps/init/propose_constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/number_text.h"
#include "models/data/constraints_yaml.h"

namespace fairlane {
namespace {

/// Fewer rows say little, however small the table.
constexpr std::int64_t kLeastSupport = 30;
/// A value with a smaller share of the rows has been seen too rarely to speak for all people.
constexpr std::int64_t kRowsPerValue = 1000;
/// Chance makes one in e^20 = 5e8 of what is tried look like a constraint: none, that is.
constexpr double kLeastSurprise = 20.0;
/// Attributes with more codes hardly repeat a value often enough.
constexpr std::size_t kMaxCodes = 256;
/// Pairs are counted over all rows; beyond this many attributes that would take minutes.
constexpr std::size_t kMaxAttributes = 64;

/// An attribute's codes that occur, ascending, and each row's place among them.
struct Column {
  int attribute = 0;
  std::vector<std::int32_t> codes;
  std::vector<std::uint16_t> places;
  std::vector<std::int64_t> rows;  // of each code
};

/// What was found, until the strongest are known.
/// surprise  minus the logarithm of the chance that independent attributes do the same
/// excluded  cells [first code][second code] of the pair, first < second, that it forbids
struct Candidate {
  ProposedConstraint proposed;
  double surprise = 0.0;
  std::pair<std::size_t, std::size_t> pair;
  std::vector<std::size_t> excluded;
};

std::vector<Column> columns_of(Domain const& domain, Dataset const& data) {
  std::vector<Column> columns;
  auto const stride = static_cast<std::size_t>(data.attributes);
  for (bool const is_protected : {true, false}) {  // those that are tested matter most
    for (std::size_t a = 0; a < stride && columns.size() < kMaxAttributes; ++a) {
      if (domain.attributes[a].is_protected != is_protected) continue;
      std::map<std::int32_t, std::int64_t> counts;
      for (std::size_t at = a; at < data.rows.size() && counts.size() <= kMaxCodes; at += stride)
        ++counts[data.rows[at]];
      if (counts.size() < 2 || counts.size() > kMaxCodes) continue;
      Column column;
      column.attribute = static_cast<int>(a);
      for (auto const& [code, count] : counts) {
        column.codes.push_back(code);
        column.rows.push_back(count);
      }
      for (std::size_t at = a; at < data.rows.size(); at += stride) {
        auto const place = std::ranges::lower_bound(column.codes, data.rows[at]);
        column.places.push_back(static_cast<std::uint16_t>(place - column.codes.begin()));
      }
      columns.push_back(std::move(column));
    }
  }
  std::ranges::sort(columns, {}, &Column::attribute);
  return columns;
}

/// The pair's rows by the codes of both, seen from either side.
struct Counts {
  std::vector<std::int64_t> cells;
  std::size_t width = 0;
  bool turned = false;

  std::int64_t at(std::size_t of, std::size_t other) const { return cells[cell(of, other)]; }
  std::size_t cell(std::size_t of, std::size_t other) const {
    return turned ? other * width + of : of * width + other;
  }
};

class ConstraintFinder {
 public:
  ConstraintFinder(Domain const& domain, Dataset const& data)
      : domain_(domain), columns_(columns_of(domain, data)), rows_(data.count()) {}

  std::vector<ProposedConstraint> find() {
    for (std::size_t first = 0; first < columns_.size(); ++first) {
      for (std::size_t second = first + 1; second < columns_.size(); ++second)
        try_pair(first, second);
    }
    std::ranges::stable_sort(candidates_, std::ranges::greater(), &Candidate::surprise);
    std::vector<ProposedConstraint> proposed;
    std::map<std::pair<std::size_t, std::size_t>, std::vector<bool>> known;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> lines;
    for (Candidate& candidate : candidates_) {
      if (proposed.size() == kMaxProposed) break;
      if (lines[candidate.pair] == kMaxOfPair) continue;
      // What stronger ones forbid already needs no line of its own.
      std::vector<bool>& forbidden = known[candidate.pair];
      forbidden.resize(columns_[candidate.pair.first].codes.size() *
                       columns_[candidate.pair.second].codes.size());
      bool is_new = false;
      for (std::size_t const cell : candidate.excluded) {
        is_new = is_new || !forbidden[cell];
        forbidden[cell] = true;
      }
      if (!is_new) continue;
      ++lines[candidate.pair];
      proposed.push_back(std::move(candidate.proposed));
    }
    return proposed;
  }

 private:
  void try_pair(std::size_t first, std::size_t second) {
    Column const& one = columns_[first];
    Column const& other = columns_[second];
    Counts counts;
    counts.width = other.codes.size();
    counts.cells.resize(one.codes.size() * other.codes.size());
    for (std::size_t r = 0; r < one.places.size(); ++r)
      ++counts.cells[counts.cell(one.places[r], other.places[r])];
    try_settled(first, second, counts);
    try_values(one, other, counts, {first, second});
    counts.turned = true;
    try_values(other, one, counts, {first, second});
  }

  /// Surprise at a column's values being settled by another's, or nothing where they are not.
  double settled_surprise(Column const& by, Column const& settled, Counts const& counts) const {
    double surprise = 0.0;
    for (std::size_t i = 0; i < by.codes.size(); ++i) {
      std::size_t values = 0;
      for (std::size_t k = 0; k < settled.codes.size(); ++k) {
        if (counts.at(i, k) == 0) continue;
        ++values;
        surprise -= static_cast<double>(by.rows[i]) * std::log(share(settled.rows[k]));
      }
      if (values != 1) return 0.0;
    }
    // Which value it is was not foretold.
    return surprise - static_cast<double>(by.codes.size()) *
                          std::log(static_cast<double>(settled.codes.size()));
  }

  void try_settled(std::size_t first, std::size_t second, Counts& counts) {
    Column const& one = columns_[first];
    Column const& other = columns_[second];
    double surprise = settled_surprise(one, other, counts);
    counts.turned = true;
    surprise = std::max(surprise, settled_surprise(other, one, counts));
    counts.turned = false;
    Candidate candidate;
    std::int64_t combinations = 0;
    for (std::size_t cell = 0; cell < counts.cells.size(); ++cell) {
      if (counts.cells[cell] == 0) candidate.excluded.push_back(cell);
      if (counts.cells[cell] != 0) ++combinations;
    }
    if (surprise < kLeastSurprise || rows_ < combinations * kLeastSupport) return;
    Constraint& constraint = candidate.proposed.constraint;
    constraint.kind = ConstraintKind::kCombinations;
    constraint.from_data = true;
    constraint.attributes = {one.attribute, other.attribute};
    candidate.proposed.rows = rows_;
    candidate.surprise = surprise;
    candidate.pair = {first, second};
    candidates_.push_back(std::move(candidate));
  }

  /// The values that are left to another attribute: those that occur or, of numbers, all between.
  std::vector<std::size_t> left_values(Column const& other, Counts const& counts,
                                       std::size_t value) const {
    std::vector<std::size_t> left;
    for (std::size_t k = 0; k < other.codes.size(); ++k)
      if (counts.at(value, k) > 0) left.push_back(k);
    if (!is_ordered(other)) return left;
    std::size_t const from = left.front();
    std::size_t const count = left.back() - from + 1;
    left.resize(count);
    for (std::size_t i = 0; i < count; ++i) left[i] = from + i;
    return left;
  }

  bool is_ordered(Column const& column) const {
    return domain_.attributes[static_cast<std::size_t>(column.attribute)].categories.empty();
  }

  double share(std::int64_t rows) const {
    return static_cast<double>(rows) / static_cast<double>(rows_);
  }

  /// Values of `of` that leave the other attribute the same values are told in one line.
  void try_values(Column const& of, Column const& other, Counts const& counts,
                  std::pair<std::size_t, std::size_t> pair) {
    std::map<std::vector<std::size_t>, std::vector<std::size_t>> by_left;
    for (std::size_t i = 0; i < of.codes.size(); ++i) {
      if (of.rows[i] < std::max(kLeastSupport, (rows_ + kRowsPerValue - 1) / kRowsPerValue))
        continue;
      auto left = left_values(other, counts, i);
      if (left.size() == 1 || 2 * left.size() <= other.codes.size())
        by_left[std::move(left)].push_back(i);
    }
    for (auto const& [left, values] : by_left) {
      Candidate candidate;
      std::int64_t left_rows = 0;
      for (std::size_t const k : left) left_rows += other.rows[k];
      for (std::size_t const value : values) {
        candidate.proposed.rows += of.rows[value];
        for (std::size_t k = 0; k < other.codes.size(); ++k)
          if (!std::ranges::binary_search(left, k))
            candidate.excluded.push_back(counts.cell(value, k));
      }
      // Which of the values are left was not foretold: as many sets, or intervals, could have been.
      auto const codes = static_cast<double>(other.codes.size());
      double const choices = left.size() == 1    ? std::log(codes)
                             : is_ordered(other) ? 2.0 * std::log(codes)
                                                 : codes * std::log(2.0);
      candidate.surprise =
          static_cast<double>(candidate.proposed.rows) * -std::log(share(left_rows)) -
          static_cast<double>(values.size()) * choices;
      if (candidate.surprise < kLeastSurprise) continue;
      candidate.proposed.constraint.when = {condition(of, values)};
      candidate.proposed.constraint.then = {condition(other, left)};
      candidate.pair = pair;
      candidates_.push_back(std::move(candidate));
    }
  }

  CodeCondition condition(Column const& column, std::vector<std::size_t> const& places) const {
    CodeCondition condition{column.attribute, {}};
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::int32_t const code = column.codes[places[i]];
      // Numbers of which none occurs between two that hold are theirs, too.
      bool const joins = i > 0 && is_ordered(column) && places[i] == places[i - 1] + 1;
      if (joins) {
        condition.ranges.back().to = code;
      } else {
        condition.ranges.push_back({code, code});
      }
    }
    auto const& attribute = domain_.attributes[static_cast<std::size_t>(column.attribute)];
    condition.ranges = settled_ranges(std::move(condition.ranges), attribute);
    return condition;
  }

  Domain const& domain_;
  std::vector<Column> columns_;
  std::int64_t rows_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<ProposedConstraint> propose_constraints(Domain const& domain, Dataset const& data) {
  return ConstraintFinder(domain, data).find();
}

std::string proposed_constraints_text(std::vector<ProposedConstraint> const& proposed,
                                      Domain const& domain) {
  if (proposed.empty()) return "";
  std::string text =
      "# Constraints hold in every row of the table: an input that violates one does not exist. To "
      "accept some, remove the\n# first character of their lines and of `constraints:`; behind "
      "each stands how many rows it speaks of.\n#constraints:\n";
  for (ProposedConstraint const& one : proposed)
    text += fmt::format("#  - {}  # {} rows\n", format_constraint_yaml(one.constraint, domain),
                        with_commas(one.rows));
  return text;
}

std::string proposed_constraints_note(std::vector<ProposedConstraint> const& proposed) {
  if (proposed.empty()) return "constraints: none was found that every row satisfies";
  return fmt::format(
      "constraints: {} that every row satisfies {} in the domain file as comments; accept those "
      "that hold for all people",
      proposed.size(), proposed.size() == 1 ? "stands" : "stand");
}

}  // namespace fairlane
