#include "engine/learning/electorate.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/train/forest.h"
#include "tests/engine/learning/ruled_table.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

TEST(Electorate, IsBlindToProtectedAttributes) {
  FL_NEED_TORCH(dir);
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)";
  RuledTable const ruled;
  Electorate const electorate(*ruled.subject, ruled.table, 42, nullptr);
  ASSERT_EQ(electorate.members().size(), 5U);
  for (auto const& member : electorate.members()) {
    EXPECT_EQ(member.held_out.rows, 120);
    EXPECT_GT(member.held_out.accuracy, 0.8) << member.name;  // skill alone tells 9 of 10
  }
  for (Vote const vote : {Vote::kHard, Vote::kSoft}) {
    for (std::int32_t skill = 0; skill < 10; ++skill) {
      std::vector<std::int32_t> rows;
      for (std::int32_t member = 0; member < 6; ++member)
        rows.insert(rows.end(), {skill, member % 3, member / 3});
      Votes const votes = electorate.vote(rows, vote);
      ASSERT_EQ(votes.labels.size(), 6U);
      for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(votes.labels[i], votes.labels[0]);
        EXPECT_EQ(votes.shares[i], votes.shares[0]);
      }
      // Nobody else in a batch has a say.
      Votes const alone = electorate.vote({rows.data(), 3}, vote);
      EXPECT_EQ(alone.labels[0], votes.labels[0]);
      EXPECT_EQ(alone.shares[0], votes.shares[0]);
      EXPECT_GE(votes.shares[0], vote == Vote::kHard ? 0.6F : 0.5F);
      bool const is_clear = skill <= 3 || skill >= 6;  // on both sides
      if (is_clear) {
        EXPECT_EQ(votes.labels[0], skill >= 6 ? 1 : 0);
      }
    }
  }
}

TEST(Electorate, OfAConfigurationIsDividedAsTrainDoesByDefault) {
  FL_NEED_TORCH(dir);
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)";
  RuledTable const plain;
  RuledTable const other("train: {test: 0.5, layers: [3], epochs: 1}\n");
  std::vector<std::int32_t> const rows = {4, 0, 0, 5, 1, 1, 6, 2, 0};
  Electorate const expected(*plain.subject, plain.table, 42, nullptr);
  Electorate const found = table_electorate(other.config, *other.subject, nullptr);
  EXPECT_EQ(found.vote(rows, Vote::kSoft).shares, expected.vote(rows, Vote::kSoft).shares);
  EXPECT_EQ(voters_json(found.members()), voters_json(expected.members()));
}

TEST(Electorate, NeedsSomethingToLearnFrom) {
  FL_NEED_TORCH(dir);
  RuledTable const ruled;
  RunConfig all = ruled.config;
  all.protected_attributes = {{"skill", {}}};
  TestSubject const subject(all);  // the domain flags the others
  expect_error(ExitCode::kData, {"every attribute is protected"},
               [&] { Electorate(subject, ruled.table, 42, nullptr); });
}

}  // namespace
}  // namespace fairlane
