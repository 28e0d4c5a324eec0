#include "engine/sweep/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

Json numbered(int number) {
  Json json;
  json["kind"] = "RESULT";
  json["number"] = number;
  return json;
}

std::vector<int> numbers(std::string const& path) {
  std::vector<int> found;
  read_journal(path, [&](Json const& record) { found.push_back(record.at("number").get<int>()); });
  return found;
}

class SweepJournal : public testing::Test {
 protected:
  /// Records 0..count-1, acknowledged `group` at a time.
  void write(int count, int group) const {
    JournalWriter writer(path_, "a test");
    for (int i = 0; i < count; ++i) {
      writer.add(numbered(i));
      if (i % group == group - 1) writer.commit();
    }
  }
  std::string bytes() const { return slurp(path_); }
  void replace(std::string const& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  ExitCode code_of_reading() const {
    try {
      read_journal(path_);
      return ExitCode::kOk;
    } catch (Error const& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      return error.code();
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("journal.log");
};

TEST_F(SweepJournal, KeepsWhatWasAcknowledged) {
  write(7, 3);  // the last one never is
  EXPECT_EQ(numbers(path_), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  JournalWriter writer(path_, "another");
  EXPECT_EQ(numbers(path_), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  writer.add(numbered(8));
  writer.commit();
  EXPECT_EQ(numbers(path_), (std::vector<int>{0, 1, 2, 3, 4, 5, 8}));
}

TEST_F(SweepJournal, GoesOnAfterAnyTruncation) {
  constexpr std::size_t kStep = 7;  // each of them is flushed to disk
  write(4, 2);
  std::string const whole = bytes();
  std::size_t const first_group = [&] {
    replace(whole.substr(0, whole.size() - 1));
    return read_journal(path_).bytes;
  }();
  for (std::size_t size = 0; size <= whole.size();
       size += size + kStep < whole.size() ? kStep : 1) {
    replace(whole.substr(0, size));
    auto const expected = size == whole.size()  ? std::vector<int>{0, 1, 2, 3}
                          : size >= first_group ? std::vector<int>{0, 1}
                                                : std::vector<int>{};
    ASSERT_EQ(numbers(path_), expected) << size;
    {
      JournalWriter writer(path_, "who goes on");
      writer.add(numbered(9));
      writer.commit();
    }
    auto after = expected;
    after.push_back(9);
    ASSERT_EQ(numbers(path_), after) << size;
  }
}

TEST_F(SweepJournal, FindsDamageAnywhere) {
  write(6, 2);
  std::string const whole = bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    replace(damaged);
    ASSERT_EQ(code_of_reading(), ExitCode::kIntegrity) << at;
  }
}

TEST_F(SweepJournal, TakesZerosAtTheEndForALossOfPower) {
  write(4, 2);
  std::string const whole = bytes();
  replace(whole.substr(0, whole.size() - 1));
  for (std::size_t at = read_journal(path_).bytes; at < whole.size(); ++at) {
    std::string torn = whole;
    std::fill(torn.begin() + static_cast<std::ptrdiff_t>(at), torn.end(), '\0');
    replace(torn);
    ASSERT_EQ(numbers(path_), (std::vector<int>{0, 1})) << at;
  }
}

TEST_F(SweepJournal, RefusesAnotherFile) {
  replace("cell,exit\n1,0\n");
  EXPECT_EQ(code_of_reading(), ExitCode::kIntegrity);
  EXPECT_THROW(JournalWriter(path_, "a test"), Error);
  EXPECT_EQ(bytes(), "cell,exit\n1,0\n");
}

TEST_F(SweepJournal, HasOneWriter) {
  EXPECT_FALSE(journal_holder(path_).held);
  {
    JournalWriter const writer(path_, "process 7 on a host");
    EXPECT_TRUE(journal_holder(path_).held);
    try {
      JournalWriter const second(path_, "process 8");
      FAIL();
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kOutput);
      EXPECT_NE(std::string(error.what()).find("process 7 on a host"), std::string::npos);
    }
  }
  EXPECT_FALSE(journal_holder(path_).held);
  JournalWriter const third(path_, "process 9");
}

}  // namespace
}  // namespace fairlane
