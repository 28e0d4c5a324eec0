// fairlane init TABLE: the domain file of a raw table without a model.
#include "apps/commands/init_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "apps/init/propose_domain.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "models/data/encode_table.h"
#include "tests/apps/command_line.h"
#include "tests/benchmarks.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

Domain proposed(std::string const& text, std::string const& label = "") {
  return propose_domain(describe_raw_table(text, "t.csv"), label, {}).domain;
}

/// A table of one column of these cells and a label.
std::string column_of(std::vector<std::string> const& cells) {
  std::string text = "x,label\n";
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += fmt::format("\"{}\",{}\n", cells[i], i % 2 == 0 ? "no" : "yes");
  return text;
}

TEST(InitRawTable, FindsTheFormOut) {
  for (auto const& [text, separator] :
       {std::pair("a,b\nx,1\ny,0\n", ','), std::pair("a;b,c\nx;1\ny;0\n", ';'),
        std::pair("a\tb\nx y\t1\nz\t0\n", '\t'), std::pair("a|b\nx|1\ny|0\n", '|'),
        std::pair("a b\nx 1\ny 0\n", ' '), std::pair("a, b\nx, 1\ny, 0\n", ','),
        std::pair("\"a,c\";b\n\"x,y\";1\n\"z,y\";0\n", ';')}) {
    RawTable const table = describe_raw_table(text, "t.csv");
    EXPECT_EQ(table.form.separator, separator) << text;
    EXPECT_EQ(table.columns.size(), 2U) << text;
    EXPECT_EQ(table.rows, 2) << text;
    EXPECT_TRUE(table.form.columns.empty()) << text;
  }
  // A first row that holds a number, or words of the rows below, names nothing.
  EXPECT_EQ(describe_raw_table("A11 6 1\nA12 7 2\n", "t").form.columns, (Words{"c1", "c2", "c3"}));
  EXPECT_EQ(describe_raw_table("p,q\nr,s\np,t\n", "t").form.columns, (Words{"c1", "c2"}));
  EXPECT_EQ(describe_raw_table("a,b\n?,1\nNA,0\n,0\n", "t").form.missing, (Words{"?", "NA"}));
}

TEST(InitRawTable, WantsUtf8) {
  EXPECT_EQ(proposed("t\xC3\xA4t,b\nx,1\ny,0\n").attributes[0].name, "t\xC3\xA4t");
  expect_error(ExitCode::kData, {"t.csv:2:2", "'\\xe4' is not UTF-8", "iconv"},
               [] { proposed("a,b\nt\xE4t,1\ny,0\n"); });
}

TEST(InitRawTable, CutsNumbersAtTheirQuantiles) {
  // 100 values 1..100: 25 rows a bin.
  std::vector<std::string> cells;
  for (int i = 100; i >= 1; --i) cells.push_back(std::to_string(i % 50 * 2 + 1));
  EXPECT_EQ(proposed(column_of(cells)).attributes[0].bins,
            (std::vector<double>{0, 25, 49, 75, 99}));
  // Equal quantiles are one edge.
  EXPECT_EQ(proposed(column_of({"0", "0", "0", "0", "0", "0", "0", "900"})).attributes[0].bins,
            (std::vector<double>{-1, 0, 900}));
  EXPECT_EQ(proposed(column_of({"0.5", "1.5", "2.5", "-0.25"})).attributes[0].bins,
            (std::vector<double>{-1, -0.25, 0.5, 1.5, 2.5}));
  Attribute const few = proposed(column_of({"3", "5", "18", "5"})).attributes[0];
  EXPECT_TRUE(few.bins.empty());
  EXPECT_EQ(few.low, 3);
  EXPECT_EQ(few.high, 18);
  EXPECT_FALSE(proposed(column_of({"3", "5", "19", "5"})).attributes[0].bins.empty());
}

TEST(InitRawTable, NamesWordsByFrequency) {
  Attribute const words = proposed(column_of({"b", "a", "c", "c", "?", "b", "c"})).attributes[0];
  EXPECT_EQ(words.categories, (Words{"c", "b", "a"}));
  EXPECT_TRUE(words.imputes);
  Attribute const mixed = proposed(column_of({"2", "3+", "1", "3+", "2", "1"})).attributes[0];
  EXPECT_EQ(mixed.categories, (Words{"1", "2", "3+"})) << "numbers keep their own codes";
  EXPECT_EQ(mixed.low, 1);
}

TEST(InitRawTable, LeavesOutWhatIsNoAttribute) {
  std::string text = ",id,name,gap,mixed,kept,label\n";
  for (int i = 0; i < 30; ++i)
    text += fmt::format("{},{},n{},,{},{},{}\n", i, 1000 + i, i,
                        i % 3 == 0   ? "7"
                        : i % 3 == 1 ? "9"
                                     : "x",
                        i % 4, i % 2);
  auto const result = propose_domain(describe_raw_table(text, "t.csv"), "", {});
  ASSERT_EQ(result.domain.size(), 1);
  EXPECT_EQ(result.domain.attributes[0].name, "kept");
  EXPECT_EQ(result.left_out.size(), 5U);
  EXPECT_TRUE(result.domain.labels.empty()) << "0 and 1 are their own classes";
}

TEST(InitRawTable, FindsTheLabel) {
  EXPECT_EQ(proposed("Class,a,b\np,1,2\nq,2,3\n").label, "Class");
  EXPECT_EQ(proposed("a,b,c\n1,2,p\n2,3,q\n").label, "c");
  Domain const numbers = proposed("a,b\n1,2\n2,1\n");
  EXPECT_EQ(numbers.label, "label")
      << "1 is the class of 2: another column's name tells them apart";
  EXPECT_EQ(numbers.raw_label(), "b");
  EXPECT_EQ(proposed("label,b\n1,2\n2,1\n", "b").label, "label_class");
  auto const expect_bad_label = [](std::string const& text, std::string const& part) {
    expect_error(ExitCode::kData, {"t.csv", "--label", part}, [&] { proposed(text); });
  };
  expect_bad_label("a,y\n1,p\n2,?\n", "missing");
  expect_bad_label("a,y\n1,p\n2,p\n", "1 different values");
  expect_error(ExitCode::kUsage, {"--label", "'z'"}, [] { proposed("a,y\n1,p\n2,q\n", "z"); });
}

TEST(InitRawTable, RandomTablesArePreparedAtOnce) {
  constexpr unsigned kSeed = 14;
  std::mt19937 draw(kSeed);
  static char const* const kCells[] = {
      "1", "2",   "17", "-3",  "0.5", "1e9",      "word", "two words", "no",  "yes", "?",   "NA",
      "",  "3.0", "+4", "a,b", "'",   "\xC3\xA9", "~",    "0x1",       "nan", "inf", "007", "null"};
  int prepared = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(fmt::format("seed {}, trial {}", kSeed, trial));
    std::size_t const columns = 1 + draw() % 5;
    std::vector<std::vector<char const*>> pools(columns);
    for (auto& pool : pools) {
      for (unsigned i = 0; i < 1 + draw() % 5; ++i)
        pool.push_back(kCells[draw() % std::size(kCells)]);
    }
    std::string text;
    for (std::size_t i = 0; i < columns; ++i) text += fmt::format("col{};", i);
    text += "label\n";
    for (int row = 0; row < 20; ++row) {
      for (auto const& pool : pools) text += fmt::format("\"{}\";", pool[draw() % pool.size()]);
      text += draw() % 2 == 0 ? "no\n" : "yes\n";
    }
    try {
      RawTable const raw = describe_raw_table(text, "t.csv");
      Domain const domain = parse_domain_yaml(
          format_domain_yaml(propose_domain(raw, "", {}).domain), "t.domain.yaml");
      EncodedTable const table = parse_raw_table(text, "t.csv", domain);
      std::string codes;
      format_table(domain, table.data, [&](std::string_view part) { codes += part; });
      Dataset const read = parse_csv(codes, "codes.csv", domain);
      EXPECT_EQ(read.rows, table.data.rows);
      EXPECT_EQ(read.labels, table.data.labels);
      for (std::size_t i = 0; i < read.rows.size(); ++i)
        EXPECT_TRUE(domain.attributes[i % domain.attributes.size()].allows(read.rows[i])) << codes;
      ++prepared;
    } catch (Error const& error) {
      EXPECT_TRUE(contains(error.what(), "of use")) << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(prepared, 250);
}

TEST(InitRawTable, WritesWhatPrepareTakes) {
  WorkingFolder const folder;
  std::string const samples = source_dir() + "/tests/models/data/samples/";
  Outcome const bank = run_fairlane({"init", samples + "bank.csv"});
  ASSERT_EQ(bank.code, 0) << bank.err;
  EXPECT_TRUE(contains(bank.err, "cells stand between semicolons")) << bank.err;
  EXPECT_TRUE(contains(bank.err, "guessed from their names: age")) << bank.err;
  EXPECT_TRUE(contains(bank.out, "label      y  (no: 0, yes: 1)")) << bank.out;
  EXPECT_EQ(run_fairlane({"prepare", samples + "bank.csv", "--domain", "bank.domain.yaml"}).code,
            0);
  Domain const domain = read_domain_yaml("bank.domain.yaml");
  EXPECT_TRUE(domain.attributes[0].is_protected);
  EXPECT_EQ(read_csv("bank.codes.csv", domain).count(), 12);

  Outcome const german = run_fairlane(
      {"init", samples + "german.data", "--protected", "c9,c13", "--domain", "g/d.yaml", "--json"});
  ASSERT_EQ(german.code, 0) << german.err;
  auto const json = nlohmann::json::parse(german.out);
  EXPECT_EQ(json.at("header"), false);
  EXPECT_EQ(json.at("separator"), "blanks");
  EXPECT_EQ(json.at("protected"), nlohmann::json({"c9", "c13"}));
  EXPECT_EQ(run_fairlane({"prepare", samples + "german.data", "--domain", "g/d.yaml"}).code, 0);
  Outcome const unnamed = run_fairlane({"init", samples + "german.data"});
  EXPECT_EQ(unnamed.code, 0);
  EXPECT_TRUE(contains(unnamed.err, "warning: no column is named like a protected")) << unnamed.err;
}

TEST(InitRawTable, RefusesWrongCommandLines) {
  WorkingFolder const folder;
  write_file("t.csv", "a,y\n1,p\n2,q\n");
  auto const expect_refused = [](std::vector<std::string> words, int code,
                                 std::string const& part) {
    words.insert(words.begin(), "init");
    Outcome const outcome = run_fairlane(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
  };
  expect_refused({"model.h5"}, 64, "DATA is missing");
  expect_refused({"exec:python3 x.csv"}, 64, "DATA is missing");
  expect_refused({"t.csv", "--out", "x.yaml"}, 64, "--out needs a model");
  expect_refused({"t.csv", "--standardise"}, 64, "--standardise needs a model");
  expect_refused({"t.csv", "--domain", "t.csv", "--force"}, 64, "the table itself");
  expect_refused({"t.csv", "--drop", "b"}, 64, "--drop");
  expect_refused({"t.csv", "--drop", "a"}, 65, "of use");
  expect_refused({"u.csv"}, 66, "no such file");
  EXPECT_EQ(run_fairlane({"init", "t.csv"}).code, 0);
  expect_refused({"t.csv"}, 73, "t.domain.yaml: exists already");
}

TEST(InitRawTable, ProposesTheCensus) {
  FL_NEED_BENCHMARKS(dir);
  std::string const raw = slurp(dir / "data" / "census.raw.csv");
  RawTable const table = describe_raw_table(raw, "census.raw.csv");
  Domain const domain = propose_domain(table, "", {"fnlwgt"}).domain;
  EXPECT_EQ(domain.size(), 13);
  EXPECT_EQ(domain.raw.missing, Words{"?"});
  EXPECT_EQ(domain.attributes[0].bins, (std::vector<double>{16, 28, 37, 48, 90}));
  EXPECT_EQ(domain.labels.size(), 2U);
  EXPECT_EQ(parse_raw_table(raw, "census.raw.csv", domain).data.count(), 48842);
}

}  // namespace
}  // namespace fairlane
