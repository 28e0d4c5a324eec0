#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlane {
namespace {

TEST(Text, NearestName) {
  std::vector<std::string> const names = {"age", "race", "gender", "hours-per-week"};
  EXPECT_EQ(nearest_name("rcae", names), "race");
  EXPECT_EQ(nearest_name("Gender", names), "gender");
  EXPECT_EQ(nearest_name("hours_per_week", names), "hours-per-week");
  EXPECT_EQ(nearest_name("income", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("age", {}), "");
}

TEST(CsvCell, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_cell("hours-per-week"), "hours-per-week");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_line({"a", "", "b,c"}), "a,,\"b,c\"\n");
  EXPECT_EQ(csv_line({}), "\n");
}

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("--set=local.num=10"), "--set=local.num=10");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$HOME/a b"), "'$HOME/a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

TEST(YamlText, QuotesWhatAReaderWouldTakeForSomethingElse) {
  EXPECT_EQ(yaml_text("out/census"), "out/census");
  EXPECT_EQ(yaml_text("no"), "\"no\"");
  EXPECT_EQ(yaml_text("a: \"b\""), "\"a: \\\"b\\\"\"");
}

}  // namespace
}  // namespace fairlane
