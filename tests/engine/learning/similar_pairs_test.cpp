#include "engine/learning/similar_pairs.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/engine/learning/small_table.h"

namespace fairlane {
namespace {

/// The small table as a subject with a network that nobody has trained.
class PairedTable {
 public:
  /// constraints: the section of the domain file
  explicit PairedTable(std::string const& protected_names, std::string const& constraints = "")
      : small_(constraints),
        config_(small_.config("", protected_names)),
        table_(read_training_table(config_)),
        subject_(config_,
                 Model("untrained", initial_network(config_.train, table_.domain.columns(), 1, 1)),
                 table_.domain) {}

  SmallTable small_;
  RunConfig config_;
  TrainingTable table_;
  TestSubject subject_;

  /// A table of a single row, which random inputs seldom are: skill 7, group 2, side 1.
  TrainingRows one_row() const {
    TrainingRows one;
    one.attributes = 3;
    one.columns = 4;
    std::int32_t const row[] = {7, 2, 1};
    one.add(table_.domain, row, 1);
    return one;
  }
};

/// Codes of an encoded input: skill, group, side.
std::vector<int> codes(float const* inputs) {
  return {static_cast<int>(inputs[0]), static_cast<int>(inputs[1]), inputs[3] == 1.0F ? 1 : 0};
}

TEST(SimilarPairs, DifferInProtectedAttributesAlone) {
  PairedTable const paired("side, group");
  KnownPairs const none;
  SimilarPairs const pairs(paired.subject_, paired.table_.train, 0.5, 3, none);
  std::vector<float> first;
  std::vector<float> second;
  std::map<std::vector<int>, std::set<std::vector<int>>> met;
  for (std::uint32_t batch = 0; batch < 40; ++batch) {
    pairs.draw(batch, 50, first, second);
    ASSERT_EQ(first.size(), 50U * 4U);
    ASSERT_EQ(second.size(), first.size());
    for (std::size_t k = 0; k < 50; ++k) {
      auto const a = codes(&first[k * 4]);
      auto const b = codes(&second[k * 4]);
      EXPECT_EQ(a[0], b[0]);
      EXPECT_NE(a, b);
      met[{a[1], a[2]}].insert({b[1], b[2]});
    }
  }
  // All six combinations, each beside all of the five others.
  EXPECT_EQ(met.size(), 6U);
  for (auto const& [own, others] : met) EXPECT_EQ(others.size(), 5U);
}

TEST(SimilarPairs, ComeFromTheTableAsOftenAsAsked) {
  PairedTable const paired("side");
  TrainingRows const one = paired.one_row();
  KnownPairs const none;
  std::vector<float> first;
  std::vector<float> second;
  SimilarPairs(paired.subject_, one, 0.0, 3, none).draw(0, 100, first, second);
  for (std::size_t k = 0; k < 100; ++k) {
    EXPECT_EQ(codes(&first[k * 4]), (std::vector<int>{7, 2, 1}));
    EXPECT_EQ(codes(&second[k * 4]), (std::vector<int>{7, 2, 0}));
  }
  SimilarPairs(paired.subject_, one, 1.0, 3, none).draw(0, 300, first, second);
  std::set<std::vector<int>> inputs;
  for (std::size_t k = 0; k < 300; ++k) inputs.insert(codes(&first[k * 4]));
  EXPECT_GT(inputs.size(), 50U);  // of 60
}

TEST(SimilarPairs, TakeKnownOnesAmongOthers) {
  PairedTable const paired("side");
  KnownPairs const known{{9, 1, 0}, {9, 1, 1}, {1.0F}};
  TrainingRows const one = paired.one_row();
  std::vector<float> first;
  std::vector<float> second;
  SimilarPairs(paired.subject_, one, 0.0, 3, known).draw(0, 400, first, second);
  int taken = 0;
  for (std::size_t k = 0; k < 400; ++k) {
    if (codes(&first[k * 4]) != std::vector<int>{9, 1, 0}) continue;
    EXPECT_EQ(codes(&second[k * 4]), (std::vector<int>{9, 1, 1}));
    ++taken;
  }
  EXPECT_NEAR(taken, 100, 45);  // a quarter, within five deviations
}

TEST(SimilarPairs, TakeKnownOnesAsOftenAsTheyWeigh) {
  PairedTable const paired("side");
  KnownPairs const known{
      {3, 0, 0, 4, 0, 0, 5, 0, 0}, {3, 0, 1, 4, 0, 1, 5, 0, 1}, {1.0F, 0.0F, 3.0F}};
  TrainingRows const one = paired.one_row();
  std::vector<float> first;
  std::vector<float> second;
  SimilarPairs(paired.subject_, one, 0.0, 3, known).draw(0, 4000, first, second);
  std::map<int, int> taken;
  for (std::size_t k = 0; k < 4000; ++k) ++taken[codes(&first[k * 4])[0]];
  EXPECT_NEAR(taken[3], 250, 80);  // within five deviations
  EXPECT_EQ(taken[4], 0);
  EXPECT_NEAR(taken[5], 750, 130);
}

TEST(SimilarPairs, AreOfMembersThatExist) {
  PairedTable const paired("side, group",
                           "constraints:\n"
                           "  - {if: {side: 1}, then: {group: [0, 2]}}\n"
                           "  - {if: {skill: {at_least: 8}}, then: {side: 0}}\n"
                           "  - {if: {skill: 9}, then: {group: 1}}\n");
  auto const exists = [](std::vector<int> const& a) {
    return !(a[2] == 1 && a[1] == 1) && !(a[0] >= 8 && a[2] == 1) && !(a[0] == 9 && a[1] != 1);
  };
  KnownPairs const none;
  SimilarPairs const pairs(paired.subject_, paired.table_.train, 1.0, 3, none);
  std::vector<float> first;
  std::vector<float> second;
  std::set<std::vector<int>> met;
  for (std::uint32_t batch = 0; batch < 20; ++batch) {
    pairs.draw(batch, 50, first, second);
    for (std::size_t k = 0; k < 50; ++k) {
      auto const a = codes(&first[k * 4]);
      auto const b = codes(&second[k * 4]);
      ASSERT_TRUE(exists(a));
      ASSERT_TRUE(exists(b));
      ASSERT_EQ(a[0], b[0]);
      ASSERT_EQ(a == b, a[0] == 9);  // beside whom nobody exists
      met.insert(a);
    }
  }
  EXPECT_EQ(met.size(), 8U * 5U + 3U + 1U);
}

TEST(SimilarPairs, LeaveTheValuesThatAreNotCompared) {
  SmallTable const small;
  RunConfig config = small.config();
  config.protected_attributes = {{"group", {0, 2}}};
  TrainingTable const table = read_training_table(config);
  TestSubject const subject(
      config, Model("untrained", initial_network(config.train, table.domain.columns(), 1, 1)),
      table.domain);
  std::set<int> from_one;
  for (std::uint32_t word = 0; word < 64; ++word) {
    std::int32_t row[] = {5, 0, 1};
    draw_other_member(subject, word << 26, row);
    EXPECT_EQ(row[1], 2);
    row[1] = 1;  // is in no similar set: either member is another one
    draw_other_member(subject, word << 26, row);
    from_one.insert(row[1]);
    EXPECT_EQ(row[0], 5);
    EXPECT_EQ(row[2], 1);
  }
  EXPECT_EQ(from_one, (std::set<int>{0, 2}));
}

}  // namespace
}  // namespace fairlane
