#include "engine/job/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A state at a path, and what opening it says.
class Checkpoint : public ::testing::Test {
 protected:
  std::unique_ptr<CheckpointReader> open(std::string const& identity = "mine") {
    lines_.clear();
    return open_checkpoint(path_, identity,
                           [this](std::string const& line) { lines_.push_back(line); });
  }
  void save(std::vector<std::uint32_t> const& numbers) const {
    CheckpointWriter writer(path_, "mine");
    writer.add("numbers", numbers);
    writer.section("text");
    writer.write("one ", 4);
    writer.write("two", 3);
    writer.add("empty", std::vector<double>{});
    writer.commit();
  }
  static std::string text_of(CheckpointReader const& state) {
    std::string text;
    state.read("text", 2, [&](void const* data, std::size_t bytes) {
      EXPECT_LE(bytes, 2U);
      text.append(static_cast<char const*>(data), bytes);
    });
    return text;
  }

  TemporaryFolder const folder_;
  std::string const path_ = folder_.file("state");
  std::vector<std::string> lines_;
};

TEST_F(Checkpoint, GivesBackItsSections) {
  EXPECT_EQ(open(), nullptr);
  save({3, 1, 4});
  auto const state = open();
  ASSERT_NE(state, nullptr);
  EXPECT_THAT(state->values<std::uint32_t>("numbers"), ElementsAre(3, 1, 4));
  EXPECT_EQ(state->size("text"), 7U);
  EXPECT_EQ(text_of(*state), "one two");
  EXPECT_EQ(state->size("empty"), 0U);
  EXPECT_TRUE(state->values<double>("absent").empty());
  EXPECT_TRUE(lines_.empty());
}

TEST_F(Checkpoint, ReplacesTheEarlierStateWhenItIsWhole) {
  save({1});
  {
    CheckpointWriter writer(path_, "mine");
    writer.add("numbers", std::vector<std::uint32_t>(1 << 20, 7));
    auto const state = open();
    ASSERT_NE(state, nullptr) << "while the next one is written";
    EXPECT_THAT(state->values<std::uint32_t>("numbers"), ElementsAre(1));
  }
  ASSERT_NE(open(), nullptr) << "without commit()";
  save({2});
  auto const state = open();
  EXPECT_THAT(state->values<std::uint32_t>("numbers"), ElementsAre(2));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.file("")), {}), 1)
      << "the unfinished file stayed";
}

TEST_F(Checkpoint, OfAnotherIdentityIsRemoved) {
  save({1});
  EXPECT_EQ(open("another"), nullptr);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_THAT(lines_[0], HasSubstr("belongs to another run"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Checkpoint, OfAnEarlierVersionIsRemoved) {
  save({1});
  std::string bytes = slurp(path_);
  std::string const first = bytes.substr(0, bytes.find('\n'));
  ASSERT_EQ(first, "fairlane state 13") << "a new number: expect the one before below";
  bytes.resize(bytes.size() - 64);  // the digest
  bytes.replace(0, first.size(), "fairlane state 12");
  folder_.write("state", bytes + sha256(bytes));
  EXPECT_EQ(open(), nullptr);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_THAT(lines_[0], HasSubstr("is not of this version"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Checkpoint, CutShortOrDamagedAnywhereIsRemoved) {
  save({3, 1, 4, 1, 5});
  std::string const whole = slurp(path_);
  ASSERT_NE(open(), nullptr);
  std::vector<std::string> broken;
  for (std::size_t size = 0; size < whole.size(); ++size) broken.push_back(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    broken.push_back(whole);
    broken.back()[at] = static_cast<char>(broken.back()[at] ^ 0x10);
  }
  broken.push_back(whole + "x");
  broken.push_back(whole + whole);
  std::mt19937 random(7);
  broken.emplace_back(4096, '\0');
  for (char& c : broken.back()) c = static_cast<char>(random());
  for (std::size_t i = 0; i < broken.size(); ++i) {
    SCOPED_TRACE(i);
    folder_.write("state", broken[i]);
    ASSERT_EQ(open(), nullptr);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_THAT(lines_[0], HasSubstr("begins anew"));
    ASSERT_FALSE(std::filesystem::exists(path_));
  }
}

// Its checksum says that it is whole, so only a mistake of ours could have written it: it is
// refused all the same.
TEST_F(Checkpoint, WithAnImpossibleTableIsRemoved) {
  for (std::uint64_t const table_bytes : {std::uint64_t{5}, std::uint64_t{1} << 60}) {
    save({1});
    std::string bytes = slurp(path_);
    bytes.resize(bytes.size() - 64 - sizeof table_bytes);
    bytes.append(reinterpret_cast<char const*>(&table_bytes), sizeof table_bytes);
    folder_.write("state", bytes + sha256(bytes));
    EXPECT_EQ(open(), nullptr);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_THAT(lines_[0], HasSubstr("its table is"));
  }
}

TEST_F(Checkpoint, NamesThePathWhereItCannotBeWritten) {
  std::string const path = folder_.file("no/such/folder");
  expect_error(ExitCode::kDisk, {path}, [&] { CheckpointWriter const writer(path, "mine"); });
}

TEST(CheckpointClock, KeepsItsDistance) {
  double now = 100.0;
  CheckpointClock clock(10.0, [&] { return now; });
  EXPECT_FALSE(clock.due());
  now = 110.0;
  EXPECT_TRUE(clock.due());
  clock.run([&] { now += 0.25; });
  now += 9.75;
  EXPECT_FALSE(clock.due());
  now += 0.25;
  EXPECT_TRUE(clock.due());
  clock.run([&] { now += 2.0; });  // a twentieth of the time
  now += 39.0;
  EXPECT_FALSE(clock.due());
  now += 1.0;
  EXPECT_TRUE(clock.due());
}

TEST(CheckpointClock, NeverIsNever) {
  double now = 0.0;
  CheckpointClock const clock(0.0, [&] { return now; });
  now = 1e12;
  EXPECT_FALSE(clock.due());
}

}  // namespace
}  // namespace fairlane
