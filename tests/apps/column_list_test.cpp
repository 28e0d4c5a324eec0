#include "apps/init/column_list.h"

#include <gtest/gtest.h>

#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

using Names = std::vector<std::string>;

TEST(ColumnList, IsALineOfCsv) {
  EXPECT_EQ(parse_columns("--drop", {}), Names{});
  EXPECT_EQ(parse_columns("--drop", {"age"}), Names{"age"});
  EXPECT_EQ(parse_columns("--drop", {"age,race", "y z"}), (Names{"age", "race", "y z"}));
  EXPECT_EQ(parse_columns("--drop", {R"("born, year",age,"a ""b"", c",5"6)"}),
            (Names{"born, year", "age", R"(a "b", c)", "5\"6"}));
}

TEST(ColumnList, IsReadAsItIsWritten) {
  EXPECT_EQ(column_list({}), "");
  for (Names const& names : {Names{"age"}, Names{"a,b", "\"", "c\"d", " e ", "f,\"g\""}})
    EXPECT_EQ(parse_columns("--drop", {column_list(names)}), names);
}

TEST(ColumnList, SaysWhatIsNoList) {
  for (char const* text : {"", ",", "a,", ",a", "a,,b", "\"", "\"a", "\"a\"b", "\"\"", "a,\"b,c"}) {
    expect_error(ExitCode::kUsage,
                 {"--drop is", "expected names such as age,race", "double quotes"}, [&] {
                   parse_columns("--drop", {"age", text});
                 });
  }
}

TEST(ColumnList, WhatIsMissingMayBeAPartOfAName) {
  auto const said = [](std::string const& name) {
    return std::string(no_column("--drop", "column", "t.csv", name, {"age", "born, year"}).what());
  };
  EXPECT_EQ(
      said("born"),
      "--drop: t.csv has no column 'born'; a name that holds a comma stands in double quotes: "
      "'\"born, year\"'");
  EXPECT_EQ(said("aga"), "--drop: t.csv has no column 'aga'; did you mean 'age'?");
  EXPECT_EQ(said("zzzzz"), "--drop: t.csv has no column 'zzzzz'");
}

}  // namespace
}  // namespace fairlane
