#include "models/data/dataset.h"

#include <cmath>

#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "tests/benchmarks.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

// age 0..9, job with category names, label "y".
Domain domain() {
  return parse_domain_yaml(
      "label: y\nattributes: [{name: age, low: 0, high: 9}, {name: job, low: 5, categories: "
      "[Clerk, \"Cook, sous\", 'say \"hi\"']}]",
      "d.yaml");
}

Dataset parse(std::string const& text) { return parse_csv(text, "t.csv", domain()); }

void expect_bad(std::string const& text, std::initializer_list<std::string> parts) {
  expect_error(ExitCode::kData, parts, [&] { parse(text); });
}

using Codes = std::vector<std::int32_t>;

TEST(Csv, MatchesColumnsByName) {
  Dataset const data = parse("y,extra,job,age\n1,foo,6,3\n0,,7,-2.00\n");
  EXPECT_EQ(data.source, "t.csv");
  EXPECT_EQ(data.attributes, 2);
  EXPECT_EQ(data.count(), 2);
  EXPECT_EQ(data.rows, (Codes{3, 6, -2, 7}));
  EXPECT_EQ(data.labels, (Codes{1, 0}));
  EXPECT_EQ(data.lines, (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(parse("age,job\n1,5\n").labels.empty());
}

TEST(Csv, AcceptsWhatProgramsWrite) {
  Codes const expected = {1, 5, 2, 6, 3, 7};
  EXPECT_EQ(parse("age,job\n1,Clerk\n2,\"Cook, sous\"\n3,\"say \"\"hi\"\"\"\n").rows, expected);
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "age,job\r\n1,5\r\n2,6\r\n3,7\r\n")
                .rows,
            expected);
  EXPECT_EQ(parse("age,job\n1,5\n2,6\n3,7").rows, expected);
  EXPECT_EQ(parse("age,job\r\n1,5\r\n2,6\r\n3,\"7\"\r\n\r\n\n").rows, expected);
  EXPECT_EQ(parse("\"age\", job\n1, 5\n2,\t6 \n3,Clerk\n").rows, (Codes{1, 5, 2, 6, 3, 5}));
  EXPECT_EQ(parse(",age,job\n0,1,5\n1,2,6\n2,3,7\n").rows, expected)
      << "an index column without a name";
  Dataset const lines = parse("note,age,job,y\n\"two\nlines\",1,5,0\nx,2,6,1\n");
  EXPECT_EQ(lines.lines, (std::vector<std::int64_t>{2, 4}));
}

TEST(Csv, RejectsWithPlaceAndHint) {
  expect_bad("", {"t.csv:1:1", "empty"});
  expect_bad("\xEF\xBB\xBF", {"empty"});
  expect_bad("\n\n", {"empty"});
  expect_bad("age,job\n", {"no rows"});
  expect_bad("age,jbo\n1,5\n", {"t.csv:1:1", "'job'", "did you mean 'jbo'?"});
  expect_bad("1,2\n3,4\n", {"'age'", "and 1 more", "header row missing"});
  expect_bad("age;job\n3;4\n", {"separator", "';'"});
  expect_bad("age,job,age\n1,5,1\n", {"t.csv:1:9", "'age' occurs twice"});
  expect_bad("age,job\n1,5\nx,5\n", {"t.csv:3:1", "'age'", "'x'", "integer"});
  expect_bad("age,job\n3.5,5\n", {"'3.5'"});
  expect_bad("age,job\n3.,5\n", {"'3.'"});
  expect_bad("age,job\n1e3,5\n", {"'1e3'"});
  expect_bad("age,job\n+1,5\n", {"'+1'"});
  expect_bad("age,job\n-,5\n", {"'-'"});
  expect_bad("age,job\n,5\n", {"t.csv:2:1", "''"});
  expect_bad("age,job\nnan,5\n", {"'nan'"});
  expect_bad("age,job\n16777217,5\n", {"16777217", "float32"});
  expect_bad("age,job\n-99999999999999999999999999,5\n", {"float32"});
  expect_bad("age,job\n1,Clark\n",
             {"t.csv:2:3", "'Clark'", "3 category names", "did you mean 'Clerk'?"});
  expect_bad("age,job\n1\n", {"t.csv:2:1", "1 cell,", "expected 2"});
  expect_bad("age,job\n1,5,9\n", {"t.csv:2:5", "more than 2"});
  expect_bad("age,job\n1,5\n\n2,5\n", {"t.csv:3:1", "line is empty"});
  expect_bad(std::string("age,job\n1,\0\n", 11), {"t.csv:2:3", "NUL"});
  expect_bad("age,job\n1,\"5\n2,6\n", {"t.csv:2:3", "quote is not closed"});
  expect_bad("age,job\n1,\"5\"6\n", {"t.csv:2:6", "after a closing quote"});
  expect_bad("age,job,y\n1,5,yes\n", {"'y'", "'yes'", "label"});
  expect_bad("age,job,y\n1,5,-1\n", {"'-1'", "label"});
  expect_bad("age,job\n1\r2,5\n", {"'1\\r2'"});
  expect_bad("age,job\n1," + std::string(2 << 20, '5') + "\n", {"longer than"});
  expect_bad("age,job\n" + std::string(5000, 'x') + ",5\n", {"xxx...'"});
}

TEST(Csv, LabelsOfTheDomainNameClasses) {
  Domain const words = parse_domain_yaml(
      "label: y\nlabels: {no: 0, 'yes': 1, maybe: 0}\nattributes: [{name: a}]", "d.yaml");
  EXPECT_EQ(parse_csv("a,y\n1,yes\n2,no\n3, maybe\n", "t.csv", words).labels, (Codes{1, 0, 0}));
  expect_error(ExitCode::kData, {"t.csv:3:3", "'yse'", "3 labels of the domain d.yaml", "'yes'?"},
               [&] { parse_csv("a,y\n1,yes\n2,yse\n", "t.csv", words); });
  // A table that is prepared has the classes in their place, but not one beside the other.
  EXPECT_EQ(parse_csv("a,y\n1,1\n2,0\n", "t.csv", words).labels, (Codes{1, 0}));
  expect_error(ExitCode::kData, {"t.csv:3:3", "'1'"},
               [&] { parse_csv("a,y\n1,no\n2,1\n", "t.csv", words); });
  expect_error(ExitCode::kData, {"t.csv:3:3", "'no'"},
               [&] { parse_csv("a,y\n1,1\n2,no\n", "t.csv", words); });
  expect_error(ExitCode::kData, {"'2'"}, [&] { parse_csv("a,y\n1,2\n", "t.csv", words); });
  Domain const signs =
      parse_domain_yaml("label: y\nlabels: {-1: 0, 1: 1}\nattributes: [{name: a}]", "d.yaml");
  EXPECT_EQ(parse_csv("a,y\n1,-1\n2,1\n3,1.0\n4,-1.0\n", "t.csv", signs).labels,
            (Codes{0, 1, 1, 0}));
  EXPECT_EQ(parse_csv("a,y\n1,1\n2,0\n", "t.csv", signs).labels, (Codes{1, 0}));
  expect_error(ExitCode::kData, {"t.csv:4:3", "'0'"},
               [&] { parse_csv("a,y\n1,1\n2,-1\n3,0\n", "t.csv", signs); });
  // Of a raw table's 1, 2 and the classes 0, 1 the columns' names say which they are.
  Domain const raw =
      parse_domain_yaml("label: y\nlabels: {1: 0, 2: 1}\nattributes: [{name: a}]", "d");
  EXPECT_EQ(parse_csv("a,y\n1,1\n2,2\n", "t.csv", raw).labels, (Codes{0, 1}));
  expect_error(ExitCode::kData, {"'0'"}, [&] { parse_csv("a,y\n1,1\n2,0\n", "t.csv", raw); });
  Domain const prepared = parse_domain_yaml(
      "label: y\nlabels: {1: 0, 2: 1}\nraw: {label: z}\nattributes: [{name: a}]", "d");
  EXPECT_EQ(parse_csv("a,y\n1,1\n2,0\n", "t.csv", prepared).labels, (Codes{1, 0}));
  expect_error(ExitCode::kData, {"'2'"}, [&] { parse_csv("a,y\n1,2\n", "t.csv", prepared); });
}

TEST(Csv, SaysWhereATableIsRaw) {
  Domain const domain =
      parse_domain_yaml("label: y\nraw: {label: income}\nattributes: [{name: a}]", "d.yaml");
  expect_error(ExitCode::kData, {"no label column 'y'", "raw table, which `fairlane prepare`"},
               [&] { parse_csv("a,income\n1,2\n", "t.csv", domain); });
}

TEST(Csv, NumbersAsCategoryNamesMustAgree) {
  Domain const shifted =
      parse_domain_yaml("attributes: [{name: a, categories: ['1', '2']}]", "d.yaml");
  expect_error(ExitCode::kData, {"'1'", "code 0"}, [&] { parse_csv("a\n1\n", "t.csv", shifted); });
  EXPECT_EQ(parse_csv("a\n0\n", "t.csv", shifted).rows, Codes{0});
  Domain const same =
      parse_domain_yaml("attributes: [{name: a, low: 1, categories: ['1', '2']}]", "d.yaml");
  EXPECT_EQ(parse_csv("a\n1\n2\n", "t.csv", same).rows, (Codes{1, 2}));
}

TEST(Csv, FilesAreFoundOrNamed) {
  TemporaryFolder const folder;
  expect_error(ExitCode::kNoInput, {"none.csv: no such file"},
               [&] { read_csv(folder.file("none.csv"), domain()); });
  expect_error(ExitCode::kNoInput, {"is a directory"}, [&] { describe_csv(folder.file("")); });
  EXPECT_EQ(read_csv(folder.write("t.csv", "age,job\n1,5\n"), domain()).rows, (Codes{1, 5}));
}

TEST(Csv, DescribesATable) {
  TemporaryFolder const folder;
  Table const table =
      describe_csv(folder.write("t.csv", "n,s,big,mixed\n3,b,99999999,1\n-1,a,1,x\n3.0,b,2,1\n"));
  EXPECT_EQ(table.count, 3);
  ASSERT_EQ(table.columns.size(), 4U);
  EXPECT_TRUE(table.columns[0].integer);
  EXPECT_EQ(table.columns[0].low, -1);
  EXPECT_EQ(table.columns[0].high, 3);
  EXPECT_EQ(table.columns[0].distinct, 2);
  EXPECT_EQ(table.columns[0].values, (Codes{-1, 3}));
  EXPECT_DOUBLE_EQ(table.columns[0].mean, 5.0 / 3.0);
  EXPECT_DOUBLE_EQ(table.columns[0].std, std::sqrt(32.0 / 9.0));
  EXPECT_TRUE(table.columns[0].categories.empty());
  EXPECT_FALSE(table.columns[1].integer);
  EXPECT_EQ(table.columns[1].categories, (std::vector<std::string>{"b", "a"}));
  EXPECT_FALSE(table.columns[2].integer) << "beyond float32's exact integers";
  EXPECT_EQ(table.columns[3].categories, (std::vector<std::string>{"1", "x"}));
  std::string const ragged = folder.write("r.csv", "a,b\n1,2\n3\n");
  expect_error(ExitCode::kData, {"r.csv:3:1"}, [&] { describe_csv(ragged); });
}

TEST(OutOfDomain, ErrorListsTwentyRows) {
  std::string text = "age,job\n";
  for (int i = 0; i < 30; ++i) text += "10,5\n";
  Dataset data = parse(text);
  expect_error(ExitCode::kData,
               {"t.csv: 30 of 30 rows", "d.yaml", "line 2 age = 10 (expected 0..9)", "line 21 ",
                "and 10 more", "drop"},
               [&] { apply_out_of_domain(data, domain(), OutOfDomain::kError); });
  Dataset fine = parse("age,job\n0,5\n9,7\n");
  apply_out_of_domain(fine, domain(), OutOfDomain::kError);
  EXPECT_EQ(fine.count(), 2);
}

TEST(OutOfDomain, DropKeepsRowsLabelsAndLinesTogether) {
  Dataset data = parse("age,job,y\n1,5,0\n10,5,1\n2,9,1\n3,6,1\n");
  apply_out_of_domain(data, domain(), OutOfDomain::kDrop);
  EXPECT_EQ(data.rows, (Codes{1, 5, 3, 6}));
  EXPECT_EQ(data.labels, (Codes{0, 1}));
  EXPECT_EQ(data.lines, (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(data.dropped, 2);
  Dataset all = parse("age,job\n10,5\n");
  expect_error(ExitCode::kData, {"none is left"},
               [&] { apply_out_of_domain(all, domain(), OutOfDomain::kDrop); });
}

TEST(OutOfDomain, ClipMovesEveryValueOfTheRow) {
  Dataset data = parse("age,job\n-5,99\n4,6\n");
  apply_out_of_domain(data, domain(), OutOfDomain::kClip);
  EXPECT_EQ(data.rows, (Codes{0, 7, 4, 6}));
  EXPECT_EQ(data.clipped, 1);
}

TEST(Csv, ReadsTheBenchmarkTables) {
  FL_NEED_BENCHMARKS(dir);
  for (auto const& [name, count] :
       {std::pair{"census", 48842}, std::pair{"bank", 4521}, std::pair{"credit", 1000}}) {
    Domain const known =
        read_domain_yaml((dir / "data" / (std::string(name) + ".domain.yaml")).string());
    Dataset data = read_csv((dir / "data" / (std::string(name) + ".csv")).string(), known);
    EXPECT_EQ(data.count(), count);
    EXPECT_EQ(static_cast<std::int64_t>(data.labels.size()), count);
    EXPECT_NO_THROW(apply_out_of_domain(data, known, OutOfDomain::kError));
  }
  Table const raw = describe_csv((dir / "data" / "census.raw.csv").string());
  EXPECT_EQ(raw.count, 48842);
  EXPECT_EQ(raw.columns[0].low, 17);
  EXPECT_EQ(raw.columns[0].high, 90);
  EXPECT_EQ(raw.columns[9].categories, (std::vector<std::string>{"Male", "Female"}));
}

}  // namespace
}  // namespace fairlane
