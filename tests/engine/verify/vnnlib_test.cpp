// What verify writes for other verifiers asks what it answers itself: whoever reads the properties
// and tries every pair of every cell finds an example exactly where verify does.
#include "engine/verify/vnnlib.h"

#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>

#include "engine/check/double_evaluator.h"
#include "engine/verify/verify.h"
#include "models/network_file.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// An expression of VNN-LIB: a word, or a list.
struct Expression {
  std::string word;
  std::vector<Expression> list;
};

/// The expressions of a text, without its comments.
class ExpressionReader {
 public:
  explicit ExpressionReader(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      text_ += line.substr(0, line.find(';')) + ' ';
  }
  std::vector<Expression> all() {
    std::vector<Expression> found;
    while (skip_space(), at_ < text_.size() && text_[at_] != ')') found.push_back(one());
    return found;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  Expression one() {
    if (text_[at_] != '(') {
      std::size_t const end = text_.find_first_of(" ()", at_);
      Expression const word{text_.substr(at_, end - at_), {}};
      at_ = end;
      return word;
    }
    ++at_;
    Expression list{"", all()};
    ++at_;
    return list;
  }

  std::string text_;
  std::size_t at_ = 0;
};

/// Values of a property's variables.
struct Point {
  std::vector<std::int32_t> x;
  std::vector<double> y;

  double value(std::string const& word) const {
    if (word[0] == 'X') return x.at(static_cast<std::size_t>(std::stoi(word.substr(2))));
    if (word[0] == 'Y') return y.at(static_cast<std::size_t>(std::stoi(word.substr(2))));
    return std::stod(word);
  }
  bool holds(Expression const& e) const {
    std::string const& what = e.list.at(0).word;
    auto const holds_one = [&](Expression const& part) { return holds(part); };
    if (what == "or") return std::any_of(e.list.begin() + 1, e.list.end(), holds_one);
    if (what == "and" || what == "assert")
      return std::all_of(e.list.begin() + 1, e.list.end(), holds_one);
    double const a = value(e.list.at(1).word);
    double const b = value(e.list.at(2).word);
    EXPECT_TRUE(what == "<=" || what == ">=") << what;
    return what == "<=" ? a <= b : a >= b;
  }
};

/// A property as a stranger reads it.
/// second  which input of the second member an input is, as comments say it
struct Property {
  int inputs = 0;
  int outputs = 0;
  std::vector<Expression> asserts;
  std::map<int, int> second;

  explicit Property(std::string const& text) {
    for (Expression const& e : ExpressionReader(text).all()) {
      if (e.list.at(0).word == "assert") {
        asserts.push_back(e);
      } else {
        EXPECT_EQ(e.list.at(0).word, "declare-const");
        ++(e.list.at(1).word[0] == 'X' ? inputs : outputs);
      }
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      int input = 0;
      int shared = 0;
      if (std::sscanf(line.c_str(), "; X_%d is X_%d of the second", &input, &shared) == 2)
        second[input] = shared;
    }
  }
};

/// A cell of cells.csv.
struct Cell {
  std::vector<std::int32_t> low;
  std::vector<std::int32_t> high;
  std::string verdict;
};
std::vector<Cell> read_cells(std::string const& path, std::size_t attributes) {
  std::istringstream lines(slurp(path));
  std::string line;
  std::getline(lines, line);
  std::vector<Cell> cells;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    std::getline(words, word, ',');
    Cell cell;
    for (std::size_t a = 0; a < 2 * attributes; ++a) {
      std::getline(words, word, ',');
      (a % 2 == 0 ? cell.low : cell.high).push_back(std::stoi(word));
    }
    std::getline(words, cell.verdict, ',');
    cells.push_back(cell);
  }
  return cells;
}

/// Calls use(row) for all rows between two, until it returns true. Whether it did.
template <class Use>
bool any_row(std::vector<std::int32_t> const& low, std::vector<std::int32_t> const& high,
             Use const& use) {
  std::vector<std::int32_t> row = low;
  for (;;) {
    if (use(row)) return true;
    std::size_t a = 0;
    while (a < row.size() && row[a] == high[a]) {
      row[a] = low[a];
      ++a;
    }
    if (a == row.size()) return false;
    ++row[a];
  }
}

class VnnLibFiles : public ::testing::Test {
 protected:
  RunConfig config(int classes) const {
    SmallShape shape;
    shape.ranges = {4, 3, 3, 4, 2, 4};
    shape.selected = {1, 4};
    shape.seed = 3;
    shape.widths.back() = classes;
    return small_config(folder_, shape);
  }
  static VerifyOptions options(std::string const& vnnlib) {
    VerifyOptions options;
    options.execution.backend = "cpu";
    options.execution.threads = 1;
    options.vnnlib = vnnlib;
    return options;
  }

  TemporaryFolder folder_;
};

class VnnLib : public VnnLibFiles, public ::testing::WithParamInterface<int> {};

TEST_P(VnnLib, AsksWhatVerifyAnswers) {
  RunConfig const config = this->config(GetParam());
  for (auto const semantics : {PairSemantics::kAny, PairSemantics::kAll}) {
    VerifyOptions how = options(folder_.file("asked"));
    how.cell_size = 2;
    how.semantics = semantics;
    how.overwrite = true;
    verify(config, how);
    Network const network = load_network(config.model);
    Network const pair = load_network(folder_.file("asked/network.onnx"));
    auto const cells =
        read_cells(config.output.dir + "/cells.csv", static_cast<std::size_t>(network.inputs()));
    std::map<std::string, int> verdicts;
    std::string instances;
    for (std::size_t n = 0; n < cells.size(); ++n) {
      std::string const name = "vnnlib/cell_" + std::to_string(n) + ".vnnlib";
      instances += "network.onnx," + name + ",100\n";
      Property const property(slurp(folder_.file("asked/" + name)));
      ASSERT_EQ(property.inputs, network.inputs() + 2);
      ASSERT_EQ(property.inputs, pair.inputs());
      ASSERT_EQ(property.outputs, pair.outputs());
      ASSERT_EQ(property.second.size(), 2U);
      std::vector<std::int32_t> low = cells[n].low;
      std::vector<std::int32_t> high = cells[n].high;
      for (auto const& [input, shared] : property.second) {
        low.push_back(low[static_cast<std::size_t>(shared)]);
        high.push_back(high[static_cast<std::size_t>(shared)]);
      }
      std::vector<double> bound;
      bool const example = any_row(low, high, [&](std::vector<std::int32_t> const& x) {
        Point point{x, {}};
        evaluate_double(pair, x.data(), point.y, bound);
        return std::all_of(property.asserts.begin(), property.asserts.end(),
                           [&](Expression const& e) { return point.holds(e); });
      });
      ASSERT_EQ(cells[n].verdict, example ? "sat" : "unsat") << "cell " << n;
      ++verdicts[cells[n].verdict];
    }
    EXPECT_EQ(verdicts.size(), 2U);
    EXPECT_EQ(slurp(folder_.file("asked/instances.csv")), instances);
  }
}

TEST_P(VnnLib, TheNetworkIsBothMembersSideBySide) {
  RunConfig const config = this->config(GetParam());
  verify(config, options(folder_.file("asked")));
  Network const network = load_network(config.model);
  Network const pair = load_network(folder_.file("asked/network.onnx"));
  Property const property(slurp(folder_.file("asked/vnnlib/cell_0.vnnlib")));
  std::mt19937 random(7);
  std::vector<double> both;
  std::vector<double> one;
  std::vector<double> bound;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int32_t> x;
    for (int k = 0; k < pair.inputs(); ++k) x.push_back(static_cast<std::int32_t>(random() % 9));
    std::vector<std::int32_t> second(x.begin(), x.begin() + network.inputs());
    for (auto const& [input, shared] : property.second)
      second[static_cast<std::size_t>(shared)] = x[static_cast<std::size_t>(input)];
    evaluate_double(pair, x.data(), both, bound);
    evaluate_double(network, x.data(), one, bound);
    std::vector<double> expected = one;
    evaluate_double(network, second.data(), one, bound);
    expected.insert(expected.end(), one.begin(), one.end());
    ASSERT_EQ(both, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Outputs, VnnLib, ::testing::Values(1, 2, 3));

TEST_F(VnnLibFiles, ASecondQuestionReplacesTheFirst) {
  RunConfig const config = this->config(1);
  VerifyOptions how = options(folder_.file("asked"));
  how.cell_size = 2;
  verify(config, how);
  how.cell_size = 0;
  how.overwrite = true;
  verify(config, how);
  EXPECT_EQ(slurp(folder_.file("asked/instances.csv")), "network.onnx,vnnlib/cell_0.vnnlib,100\n");
  auto const files = std::filesystem::directory_iterator(folder_.file("asked/vnnlib"));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(VnnLibFiles, RefusesWhatItHasNoWordsForAndOthersFolders) {
  RunConfig const config = this->config(1);
  VerifyOptions how = options(folder_.file("asked"));
  how.relaxed = {{"a3", 1}};
  expect_error(ExitCode::kUnavailable, {"--vnnlib", "--relax"}, [&] { verify(config, how); });
  how.relaxed.clear();
  how.where = {"a0 + a3 <= 4"};
  expect_error(ExitCode::kUnavailable, {"--vnnlib", "--where"}, [&] { verify(config, how); });
  how.where.clear();
  folder_.write("theirs.txt", "mine");
  how.vnnlib = std::filesystem::path(folder_.file("theirs.txt")).parent_path().string();
  expect_error(ExitCode::kOutput, {"expected a new folder"}, [&] { verify(config, how); });
  EXPECT_EQ(slurp(folder_.file("theirs.txt")), "mine");
}

}  // namespace
}  // namespace fairlane
