#include "models/data/encode_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "models/data/csv.h"
#include "models/data/decode_table.h"
#include "models/data/domain_yaml.h"
#include "tests/benchmarks.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

using Rows = std::vector<std::int32_t>;

Domain raw_domain(std::string const& head = "") {
  return parse_domain_yaml(
      "label: y\nlabels: {no: 0, yes: 1}\n" + head +
          "attributes:\n"
          "  - {name: age, low: 1, bins: [15, 25, 45, 65.5]}\n"
          "  - {name: job, categories: [Clerk, \"Cook, sous\", none], missing: mode}\n"
          "  - {name: children, low: 0, high: 9, missing: mode}\n",
      "d.yaml");
}

std::string formatted(Domain const& domain, Dataset const& data) {
  std::string text;
  format_table(domain, data, [&](std::string_view part) { text += part; });
  return text;
}

std::string decoded(Domain const& domain, std::string const& text) {
  std::string words;
  decode_table(text, "t.csv", domain, [&](std::string_view part) { words += part; });
  return words;
}

TEST(EncodeTable, BinsAreRightClosed) {
  // The i-th code's numbers lie above the i-th edge, up to and with the next.
  Domain const domain = raw_domain();
  for (auto const& [cell, code] :
       {std::pair("15.0001", 1), std::pair("25", 1), std::pair("25.5", 2), std::pair("45", 2),
        std::pair("65.5", 3), std::pair("+5e1", 3)}) {
    auto const table =
        parse_raw_table(fmt::format("age,job,children,y\n{},Clerk,0,no\n", cell), "t", domain);
    EXPECT_EQ(table.data.rows[0], code) << cell;
  }
  for (char const* const outside : {"15", "65.51", "-3", "1e300"}) {
    expect_error(ExitCode::kData, {"t:2:1", "'age'", outside, "more than 15", "at most 65.5"}, [&] {
      parse_raw_table(fmt::format("age,job,children,y\n{},Clerk,0,no\n", outside), "t", domain);
    });
  }
}

TEST(EncodeTable, BinsTakeTheCodesThatOccur) {
  Domain const domain = parse_domain_yaml(
      "attributes:\n  - {name: a, values: [2, 4, 8], bins: [0, 1, 2, 3]}\n"
      "  - {name: b, high: 9, bins: [0, 1, 2, 3]}\n"
      "  - {name: c, bins: [0, 1, 2], categories: [young, old]}\n",
      "d.yaml");
  EXPECT_EQ(domain.attributes[1].low, 7);
  auto const table =
      parse_raw_table("a,b,c\n1,1,1\n2,2,1.5\n3,3,old\n1,2,young\n1,1,2\n", "t", domain);
  EXPECT_EQ(table.data.rows, (Rows{2, 7, 0, 4, 8, 1, 8, 9, 1, 2, 8, 0, 2, 7, 1}));
}

TEST(EncodeTable, ReadsEveryForm) {
  Rows const rows = {2, 1, 3, 1, 0, 0};
  auto const expect = [&](std::string const& head, std::string const& text) {
    Domain const domain = raw_domain(head);
    auto const table = parse_raw_table(text, "t", domain);
    EXPECT_EQ(table.data.rows, rows) << text;
    EXPECT_EQ(table.data.labels, (Rows{1, 0})) << text;
    EXPECT_EQ(formatted(domain, table.data), "age,job,children,y\n2,1,3,1\n1,0,0,0\n");
  };
  expect("", "y,age,x,job,children\nyes,45,,\"Cook, sous\",3.0\nno , 25,7, Clerk,0\n");
  expect("", "\xEF\xBB\xBFy,age,job,children\r\nyes,45,\"Cook, sous\",3\r\nno,25,Clerk,0\r\n\r\n");
  expect("raw: {separator: \";\"}\n",
         "\"y\";age;\"job\";children\n\"yes\";45;Cook, sous;3\nno;25;Clerk;\"0\"");
  expect("raw: {separator: tab}\n",
         "y\tage\tjob\tchildren\nyes\t45\tCook, sous\t3\nno\t 25\tClerk\t0\n");
  expect("raw: {separator: \"|\"}\n", "y|age|job|children\nyes|45|Cook, sous|3\nno|25|Clerk|0\n");
  expect("raw: {separator: blanks}\n",
         "  y age\tjob   children \nyes 45 \"Cook, sous\" 3  \r\nno\t25 Clerk 0");
  expect("raw: {columns: [x, age, job, children, y]}\n",
         "1,45,\"Cook, sous\",3,yes\n2,25,Clerk,0,no\n");
  expect("raw: {label: z}\n", "age,job,children,z\n45,\"Cook, sous\",3,yes\n25,Clerk,0,no\n");
}

TEST(EncodeTable, ImputesTheMostFrequentCode) {
  Domain const domain = raw_domain("raw: {missing: [\"?\", NA]}\n");
  auto const table = parse_raw_table(
      "age,job,children,y\n20,?,2,no\n21,none,,no\n22,NA,1,no\n23,none,1,no\n24,Clerk,2,yes\n", "t",
      domain);
  EXPECT_EQ(table.data.rows, (Rows{1, 2, 2, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 0, 2}))
      << "of 1 and 2, equally frequent, the lower";
  ASSERT_EQ(table.imputed.size(), 2U);
  EXPECT_EQ(table.imputed[0].attribute, 1);
  EXPECT_EQ(table.imputed[0].cells, 2);
  EXPECT_EQ(table.imputed[0].code, 2);
  EXPECT_EQ(table.imputed[1].cells, 1);
  expect_error(ExitCode::kData, {"t:3:1", "'age'", "'?'", "missing: mode"}, [&] {
    parse_raw_table("age,job,children,y\n20,none,2,no\n?,none,2,no\n", "t", domain);
  });
  expect_error(ExitCode::kData, {"t:2:11", "'y'", "a label in every row"},
               [&] { parse_raw_table("age,job,x,y,children\n20,none,x,?,1\n", "t", domain); });
  expect_error(ExitCode::kData, {"'job'", "missing values alone"},
               [&] { parse_raw_table("age,job,children,y\n20,?,2,no\n", "t", domain); });
}

TEST(EncodeTable, RefusesWithPlaceAndHint) {
  auto const expect_bad_raw = [](std::string const& text,
                                 std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { parse_raw_table(text, "t.csv", raw_domain()); });
  };
  std::string const head = "age,job,children,y\n";
  expect_bad_raw("", {"t.csv:1:1", "empty"});
  expect_bad_raw(head, {"no rows"});
  expect_bad_raw("age;job;children;y\n", {"separator seems to be ';'", "raw: {separator"});
  expect_bad_raw("age,jobs,children,y\n1,2,3,4\n", {"'job'", "did you mean 'jobs'"});
  expect_bad_raw("age,job,children,why\n1,2,3,4\n", {"no label column 'y'"});
  expect_bad_raw(head + "20,Clerk,1\n", {"t.csv:2:10", "3 cells", "4 as in the header"});
  expect_bad_raw(head + "20,Clerk,1,no,5\n", {"more than 4"});
  expect_bad_raw(head + "20,Clerk,1,no\n\n20,Clerk,1,no\n", {"t.csv:3:1", "empty"});
  expect_bad_raw(head + "20,Clark,1,no\n", {"t.csv:2:4", "'Clark'", "did you mean 'Clerk'"});
  expect_bad_raw(head + "20,0,1,no\n", {"t.csv:2:4", "'0'", "one of its 3 categories"});
  expect_bad_raw(head + "20,?,1,no\n", {"'?'", "raw: {missing: [\"?\"]}"});
  expect_bad_raw(head + "?,none,1,no\n", {"t.csv:2:1", "a number", "raw: {missing"});
  expect_bad_raw(head + "inf,none,1,no\n", {"a number"});
  expect_bad_raw(head + "0x20,none,1,no\n", {"a number"});
  expect_bad_raw(head + "20,none,10,no\n", {"'10'", "expected 0..9"});
  expect_bad_raw(head + "20,none,1.5,no\n", {"'1.5'", "`bins` takes other numbers"});
  expect_bad_raw(head + "20,none,99999999,no\n", {"float32"});
  expect_bad_raw(head + "20,none,1,maybe\n", {"t.csv:2:11", "'maybe'", "2 labels"});
}

TEST(EncodeTable, RefusesNamesThatAreOtherCodes) {
  auto const expect_refused = [](std::string const& domain, std::string const& part) {
    expect_error(ExitCode::kConfig, {"d.yaml", part},
                 [&] { parse_raw_table("a,y\n1,1\n", "t", parse_domain_yaml(domain, "d.yaml")); });
  };
  expect_refused("label: y\nattributes: [{name: a, categories: ['1', '2']}]\n", "their own codes");
  expect_refused("label: y\nlabels: {1: 0, 2: 1}\nattributes: [{name: a}]\n", "raw: {label: 'y'}");
  // With another name for the column of classes, and numbers that are their own codes, all is well.
  Domain const domain = parse_domain_yaml(
      "label: class\nlabels: {1: 0, 2: 1}\nraw: {label: y}\n"
      "attributes: [{name: a, low: 1, categories: ['1', 'x']}]\n",
      "d.yaml");
  auto const table = parse_raw_table("a,y\n1,2\nx,1.0\n", "t", domain);
  std::string const text = formatted(domain, table.data);
  EXPECT_EQ(text, "a,class\n1,1\n2,0\n");
  Dataset const read = parse_csv(text, "t", domain);
  EXPECT_EQ(read.rows, table.data.rows);
  EXPECT_EQ(read.labels, table.data.labels);
}

/// A name that needs every kind of care.
std::string random_word(std::mt19937& draw, int number) {
  static char const* const kParts[] = {"a", " b", ",", "\"", "\xC3\xA9", ";", "-", "x y", "|", "#"};
  std::string word = "w";
  for (unsigned i = 0; i < draw() % 4; ++i) word += kParts[draw() % std::size(kParts)];
  return word + std::to_string(number);
}

TEST(EncodeTable, DecodingUndoesIt) {
  constexpr unsigned kSeed = 20261124;
  std::mt19937 draw(kSeed);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(fmt::format("seed {}, trial {}", kSeed, trial));
    Domain domain;
    domain.source = "d.yaml";
    domain.label = "the label";
    domain.names_label = true;
    domain.labels = {{"no, never", 0}, {"yes", 1}, {"perhaps", 2}};
    int const attributes = 1 + static_cast<int>(draw() % 5);
    for (int a = 0; a < attributes; ++a) {
      Attribute& attribute = domain.attributes.emplace_back();
      attribute.name = random_word(draw, a);
      attribute.low = static_cast<std::int32_t>(draw() % 9) - 4;
      int const count = 1 + static_cast<int>(draw() % 12);
      attribute.high = *attribute.low + count - 1;
      if (draw() % 3 == 0) {
        for (int i = 0; i <= count; ++i)
          attribute.bins.push_back(-20 + 7 * i + (draw() % 2 == 0 ? 0.0 : 0.5));
      } else if (draw() % 4 != 0) {
        for (int i = 0; i < count; ++i) attribute.categories.push_back(random_word(draw, i));
      }
    }
    // The domain survives its own file, too.
    domain = parse_domain_yaml(format_domain_yaml(domain), "d.yaml");
    Dataset data;
    data.attributes = attributes;
    for (int row = 0; row < 20; ++row) {
      for (Attribute const& attribute : domain.attributes)
        data.rows.push_back(attribute.code_at(
            static_cast<std::int64_t>(draw() % static_cast<unsigned>(attribute.code_count()))));
      data.labels.push_back(static_cast<std::int32_t>(draw() % 3));
    }
    std::string const codes = formatted(domain, data);
    std::string const words = decoded(domain, codes);
    auto const again = parse_raw_table(words, "t.csv", domain);
    EXPECT_EQ(again.data.rows, data.rows) << words;
    EXPECT_EQ(again.data.labels, data.labels) << words;
    EXPECT_EQ(decoded(domain, formatted(domain, again.data)), words);
    Dataset const read = parse_csv(codes, "t.csv", domain);
    EXPECT_EQ(read.rows, data.rows);
    EXPECT_EQ(read.labels, data.labels);
  }
}

TEST(EncodeTable, ReproducesTheCensus) {
  FL_NEED_BENCHMARKS(dir);
  Domain const domain = read_domain_yaml(source_dir() + "/configs/census.domain.yaml");
  auto const table = encode_table((dir / "data" / "census.raw.csv").string(), domain);
  EXPECT_TRUE(formatted(domain, table.data) == slurp(dir / "data" / "census.csv"))
      << "the table of codes differs";
  EXPECT_EQ(table.left_out, (std::vector<std::string>{"fnlwgt", "education"}));
  // Its codes are the benchmark's domain, attribute by attribute.
  Domain const benchmark = read_domain_yaml((dir / "data" / "census.domain.yaml").string());
  ASSERT_EQ(domain.size(), benchmark.size());
  for (int i = 0; i < domain.size(); ++i) {
    auto const a = static_cast<std::size_t>(i);
    EXPECT_EQ(domain.attributes[a].name, benchmark.attributes[a].name);
    EXPECT_EQ(domain.attributes[a].low, benchmark.attributes[a].low);
    EXPECT_EQ(domain.attributes[a].high, benchmark.attributes[a].high);
    EXPECT_EQ(domain.attributes[a].is_protected, benchmark.attributes[a].is_protected);
  }
}

TEST(EncodeTable, ReadsGermanCreditAndBankMarketing) {
  std::string const samples = source_dir() + "/tests/models/data/samples/";
  Domain const german = read_domain_yaml(source_dir() + "/configs/german.domain.yaml");
  auto const credit = encode_table(samples + "german.data", german);
  ASSERT_EQ(credit.data.count(), 12);
  // A12 37 A30 A45 5800 A61 A74 4 A91 A101 2 A123 49 A143 A152 4 A172 1 A192 A202 2
  Rows const first(credit.data.rows.begin(), credit.data.rows.begin() + german.size());
  EXPECT_EQ(first, (Rows{1, 4, 0, 5, 4, 0, 3, 4, 0, 0, 2, 2, 3, 2, 1, 4, 1, 1, 1, 1}));
  EXPECT_EQ(credit.data.labels[0], 1);
  EXPECT_TRUE(credit.left_out.empty());
  Domain const bank = read_domain_yaml(source_dir() + "/configs/bank.domain.yaml");
  auto const marketing = encode_table(samples + "bank.csv", bank);
  ASSERT_EQ(marketing.data.count(), 12);
  // 22 technician single primary no 41212 yes no unknown 11 feb 602 17 264 3 other, yes; contact's
  // most frequent word is telephone
  Rows const person(marketing.data.rows.begin(), marketing.data.rows.begin() + bank.size());
  EXPECT_EQ(person, (Rows{1, 9, 2, 0, 0, 4, 1, 0, 1, 2, 1, 4, 4, 4, 3, 1}));
  EXPECT_EQ(marketing.data.labels[0], 1);
  EXPECT_EQ(marketing.imputed.size(), 4U);
  for (auto const& [domain, table] : {std::pair(&german, &credit), std::pair(&bank, &marketing)}) {
    Dataset const read = parse_csv(formatted(*domain, table->data), "t", *domain);
    EXPECT_EQ(read.rows, table->data.rows);
    EXPECT_EQ(read.labels, table->data.labels);
  }
}

}  // namespace
}  // namespace fairlane
