// Everybody of a small domain, evaluated and held against the constraints' words one by one: what a
// verification may say of cells.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/recheck/contract_label.h"
#include "engine/subject/subject.h"
#include "engine/verify/verify.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// Lines of a CSV file without its header, as numbers; words that are none are 0. texts: the words
struct CsvLines {
  std::vector<std::vector<int>> numbers;
  std::vector<std::vector<std::string>> texts;

  explicit CsvLines(std::string const& path) {
    std::istringstream text(slurp(path));
    std::string line;
    std::getline(text, line);
    while (std::getline(text, line)) {
      std::istringstream words(line);
      numbers.emplace_back();
      texts.emplace_back();
      for (std::string word; std::getline(words, word, ',');) {
        numbers.back().push_back(std::atoi(word.c_str()));
        texts.back().push_back(word);
      }
    }
  }
};

/// Who is compared with whom. relaxed: an attribute, -1: none. keeps: the limits that a row keeps;
/// pair: attributes that take only combinations of the table's rows
struct SmallQuery {
  PairSemantics semantics = PairSemantics::kAny;
  int relaxed = -1;
  std::int32_t by = 0;
  std::function<bool(std::vector<std::int32_t> const&)> keeps = [](auto const&) { return true; };
  std::optional<std::pair<int, int>> pair;
};

/// Labels of all inputs of a domain, and whether they exist.
class Everybody {
 public:
  using Row = std::vector<std::int32_t>;

  Everybody(TestSubject const& subject, SmallQuery query)
      : subject_(subject), query_(std::move(query)), label_(make_contract_label(subject)) {
    if (!query_.pair) return;
    Dataset const& data = *subject.data();
    for (std::int64_t i = 0; i < data.count(); ++i) {
      auto const* const row = &data.rows[static_cast<std::size_t>(i * data.attributes)];
      pairs_.emplace(row[query_.pair->first], row[query_.pair->second]);
    }
  }

  bool exists(Row const& row) const { return satisfies(subject_.domain().constraints, row.data()); }
  std::int32_t label(Row const& row) { return (*label_)(row.data()).label; }

  /// Of a cell: whether somebody exists in it, whether two people are compared and decided
  /// differently, and whether that would be so if everybody existed.
  struct Cell {
    bool anybody = false;
    bool unfair = false;
    bool unfair_if_all = false;
  };
  Cell look(std::vector<std::int32_t> const& low, std::vector<std::int32_t> const& high) {
    Cell cell;
    each_row(low, high, [&](Row const& one) {
      if (!is_in_region(one)) return;
      bool const there = exists(one);
      cell.anybody = cell.anybody || there;
      std::int32_t const own = label(one);
      Row from = one;
      Row to = one;
      for (std::int32_t const s : subject_.selected()) {
        from[at(s)] = low[at(s)];
        to[at(s)] = high[at(s)];
      }
      if (query_.relaxed >= 0) {
        Attribute const& attribute = subject_.domain().attributes[at(query_.relaxed)];
        from[at(query_.relaxed)] = std::max(*attribute.low, one[at(query_.relaxed)] - query_.by);
        to[at(query_.relaxed)] = std::min(*attribute.high, one[at(query_.relaxed)] + query_.by);
      }
      each_row(from, to, [&](Row const& other) {
        if (!compares(one, other) || !query_.keeps(other) || label(other) == own) return;
        cell.unfair_if_all = true;
        cell.unfair = cell.unfair || (there && exists(other));
      });
    });
    return cell;
  }

  /// Groups of whom somebody exists, and unfair ones of them.
  struct Groups {
    std::int64_t all = 0;
    std::int64_t unfair = 0;
  };
  Groups count_groups() {
    Groups groups;
    Row low;
    Row high;
    for (Attribute const& attribute : subject_.domain().attributes) {
      low.push_back(*attribute.low);
      high.push_back(*attribute.high);
    }
    Row first = low;
    Row last = high;
    for (std::int32_t const s : subject_.selected()) last[at(s)] = first[at(s)];
    each_row(first, last, [&](Row const& group) {
      Row from = group;
      Row to = group;
      for (std::int32_t const s : subject_.selected()) to[at(s)] = high[at(s)];
      Cell const cell = look(from, to);
      groups.all += cell.anybody ? 1 : 0;
      groups.unfair += cell.unfair ? 1 : 0;
    });
    return groups;
  }

  bool compares(Row const& one, Row const& other) const {
    std::size_t differing = 0;
    for (std::int32_t const s : subject_.selected())
      differing += one[at(s)] != other[at(s)] ? 1 : 0;
    return query_.semantics == PairSemantics::kAll ? differing == subject_.selected().size()
                                                   : differing > 0;
  }

 private:
  static std::size_t at(std::int32_t attribute) { return static_cast<std::size_t>(attribute); }
  bool is_in_region(Row const& row) const {
    if (!query_.keeps(row)) return false;
    return !query_.pair ||
           pairs_.contains({row[at(query_.pair->first)], row[at(query_.pair->second)]});
  }
  template <class Take>
  static void each_row(Row const& low, Row const& high, Take const& take) {
    Row row = low;
    while (true) {
      take(row);
      std::size_t a = row.size();
      while (a > 0 && row[a - 1] == high[a - 1]) {
        row[a - 1] = low[a - 1];
        --a;
      }
      if (a == 0) return;
      ++row[a - 1];
    }
  }

  TestSubject const& subject_;
  SmallQuery query_;
  std::unique_ptr<ContractLabel> label_;
  std::set<std::pair<std::int32_t, std::int32_t>> pairs_;
};

/// What the cells of a directory say, counted. empty: of the fair ones; spared: fair ones that
/// would be unfair if everybody existed
struct SaidCells {
  int fair = 0;
  int unfair = 0;
  int unknown = 0;
  int empty = 0;
  int spared = 0;
};

/// Every cell of a directory says what is true of everybody, and every example is one.
inline void expect_said(std::string const& dir, Everybody& everybody, std::size_t attributes,
                        std::vector<std::int32_t> const& beside, SaidCells& said) {
  std::vector<std::vector<std::int32_t>> lows;
  std::vector<std::vector<std::int32_t>> highs;
  CsvLines const cells(dir + "/cells.csv");
  for (std::size_t i = 0; i < cells.texts.size(); ++i) {
    auto const& numbers = cells.numbers[i];
    auto& low = lows.emplace_back();
    auto& high = highs.emplace_back();
    for (std::size_t a = 0; a < attributes; ++a) {
      low.push_back(numbers[1 + 2 * a]);
      high.push_back(numbers[2 + 2 * a]);
    }
    Everybody::Cell const truth = everybody.look(low, high);
    std::string const& verdict = cells.texts[i][1 + 2 * attributes];
    bool const empty = cells.texts[i][2 + 2 * attributes] == "empty";
    ASSERT_EQ(verdict, truth.unfair ? "sat" : "unsat") << "cell " << i;
    ASSERT_FALSE(empty && truth.anybody) << "cell " << i;
    (truth.unfair ? said.unfair : said.fair) += 1;
    said.empty += empty ? 1 : 0;
    said.spared += truth.unfair_if_all && !truth.unfair ? 1 : 0;
  }
  for (auto const& example : CsvLines(dir + "/counterexamples.csv").numbers) {
    std::vector<std::int32_t> const one(example.begin() + 1,
                                        example.begin() + 1 + static_cast<int>(attributes));
    std::vector<std::int32_t> other = one;
    for (std::size_t k = 0; k < beside.size(); ++k)
      other[static_cast<std::size_t>(beside[k])] = example[1 + attributes + k];
    EXPECT_TRUE(everybody.exists(one));
    EXPECT_TRUE(everybody.exists(other));
    EXPECT_TRUE(everybody.compares(one, other));
    EXPECT_GT(everybody.label(one), everybody.label(other));
  }
}

}  // namespace fairlane
