#include "kernels/layout/near_order.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

// Every head of a period once, with the inputs that the walk's own load gives it.
TEST(NearOrder, HoldsEveryHeadWithItsInputs) {
  constexpr std::int64_t kMostPeriod = 1500;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    RandomSubject::Shape shape;
    shape.seed = seed;
    shape.attributes = 7;
    shape.encoded = seed % 2 == 0;
    RandomSubject subject(shape);
    PackedSubject const packed(subject.view, 8);
    Subject const& s = packed.get();
    std::vector<ValueList> lists;
    for (int a = 0; a < shape.attributes; ++a) {
      auto const& selected = subject.view.selected;
      if (std::find(selected.begin(), selected.end(), a) != selected.end()) continue;
      auto const i = static_cast<std::size_t>(a);
      ValueList list{{a}, {}};
      for (std::int64_t k = 0; k < subject.view.code_count(i); ++k)
        list.values.push_back(subject.view.code_at(i, k));
      lists.push_back(list);
    }
    WalkPlan const plan(packed, lists, 12);
    for (int const lanes : {1, 4, 16}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", lanes " + std::to_string(lanes));
      NearOrder const order(plan, lanes, kMostPeriod);
      std::int64_t const heads = plan.get().heads;
      ASSERT_LE(order.period(), std::max<std::int64_t>(kMostPeriod, 1));
      ASSERT_EQ(heads % order.period(), 0);
      std::vector<int> all(static_cast<std::size_t>(order.period()));
      std::iota(all.begin(), all.end(), 0);
      std::vector<int> sorted = order.heads();
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(sorted, all);
      std::vector<float> far;
      std::vector<std::int32_t> row(static_cast<std::size_t>(shape.attributes));
      for (std::int64_t base = 0; base < heads; base += order.period()) {
        order.far_values(base, far);
        ASSERT_EQ(far.size(), order.far_inputs().size());
        for (std::size_t i = 0; i < order.heads().size(); ++i) {
          plan.row((base + order.heads()[i]) * plan.get().groups, row.data());
          std::vector<float> inputs;
          for (int c = 0; c < s.columns; ++c) {
            auto const a =
                static_cast<std::size_t>(packed.attribute_of()[static_cast<std::size_t>(c)]);
            packed.append_inputs(c, packed.place_of(c, row[a]), inputs);
          }
          for (std::size_t f = 0; f < far.size(); ++f)
            ASSERT_EQ(far[f], inputs[static_cast<std::size_t>(order.far_inputs()[f])]);
          for (std::size_t j = 0; j < order.near_inputs().size(); ++j)
            ASSERT_EQ(order.near_values(j)[i],
                      inputs[static_cast<std::size_t>(order.near_inputs()[j])]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
