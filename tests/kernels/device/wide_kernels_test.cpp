// Kernels of the wide route by themselves, on arrays that are written out here.
#include "kernels/device/wide_kernels.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlane {
namespace {

/// Two lanes over three columns, of which the last two move.
struct TwoLanes {
  std::vector<std::int32_t> low = {0, 0, 2};
  std::vector<std::int32_t> high = {1, 9, 5};
  std::vector<int> movable = {1, 2};
  std::vector<std::int32_t> x = {0, 1, 4, 9, 5, 2};  // [columns][lanes]

  Subject subject() const {
    Subject s;
    s.columns = 3;
    s.inputs = 3;
    s.low = low.data();
    s.high = high.data();
    s.movable = movable.data();
    s.movable_count = 2;
    s.network.classes = 1;
    return s;
  }
  LaneChunk chunk() const { return {x.data(), 2, nullptr, 2, 2}; }
};

TEST(WideKernels, StepsLeadToNeighboursInsideTheDomain) {
  TwoLanes const lanes;
  std::vector<float> rows(18);  // [member][lane][column]
  LoadMembers const load{
      lanes.subject(), lanes.chunk(), MemberKind::kSteps, 0, 0, 3, 0, rows.data(), 0, 0.0F, {}, {}};
  std::vector<int> const model_input = {0, 1, 2};
  LoadRows const kernel{load, model_input.data()};
  for (std::int64_t i = 0; i < 6; ++i) kernel(i);
  EXPECT_EQ(rows, (std::vector<float>{0, 4, 5, 1, 9, 2,  // as they are
                                      0, 5, 5, 1, 8, 2,  // down where the code is the highest
                                      0, 4, 4, 1, 9, 3}));
}

TEST(WideKernels, DifferencesOfTheMarginGrowTowardsTheOwnLabel) {
  TwoLanes const lanes;
  std::vector<float> logits = {2.0F, -1.0F, 2.5F, -3.0F, 1.25F, -0.5F};  // [member][lane]
  std::vector<float> gradient(6, 7.0F);                                  // [columns][lanes]
  StoredChunk const chunk{lanes.subject(), lanes.chunk(), logits.data(), nullptr, 0};
  DifferenceStored const kernel{chunk, {GradientKind::kMargin, 1.0F}, gradient.data(), 2};
  for (std::int64_t i = 0; i < 2; ++i) kernel(i);
  // Lane 0 has label 1, lane 1 label 0; steps go up but for column 1 of lane 1 and 2 of lane 0.
  EXPECT_EQ(gradient, (std::vector<float>{0.0F, 0.0F, 0.5F, -2.0F, 0.75F, -0.5F}));
}

}  // namespace
}  // namespace fairlane
