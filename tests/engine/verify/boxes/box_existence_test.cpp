// Which members of a box's groups exist, and how many, against the constraints' words one by one.
#include "engine/verify/boxes/box_existence.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/recheck/checked_existence.h"
#include "engine/verify/boxes/existing_groups.h"
#include "tests/engine/verify/constrained_subject.h"

namespace fairlane {
namespace {

// Both looks at boxes, that of the compiled constraints and that of their words, leave out nobody.
TEST(BoxExistence, NarrowingABoxLeavesOutNobody) {
  int narrowed = 0;
  int emptied = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject const constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) continue;
    PackedSubject const packed(subject->view(), 16);
    BoxDomain const domain(subject->view(), packed, region_lists(*subject, {}));
    BoxExistence const existence(domain);
    CheckedExistence const by_words(domain, subject->domain());
    std::vector<int> variants;
    for (int v = 0; v < domain.variants(); ++v) variants.push_back(v);
    std::mt19937 random(seed);
    std::vector<std::int32_t> row(domain.attributes());
    for (int i = 0; i < 20; ++i) {
      GroupBox box = domain.whole();
      for (AxisRange& range : box) {
        range.first += static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
        range.last -= static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
      }
      GroupBox left = box;
      bool const some = !existence.constrained() || existence.narrow(variants, left);
      narrowed += some && left != box ? 1 : 0;
      emptied += some ? 0 : 1;
      auto const possible = existence.possible(box, variants);
      auto const in_words = by_words.possible(box, variants);
      bool anybody = false;
      each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
        for (int const v : variants) {
          domain.row(entries, v, row.data());
          bool const exists = satisfies(subject->domain().constraints, row.data());
          EXPECT_EQ(existence.exists(entries, v), exists);
          EXPECT_EQ(by_words.exists(row.data()), exists);
          if (!exists) continue;
          anybody = true;
          EXPECT_TRUE(some);
          EXPECT_EQ(std::ranges::count(possible, v), 1);
          EXPECT_EQ(std::ranges::count(in_words, v), 1);
          for (std::size_t a = 0; a < box.size() && some; ++a) {
            EXPECT_LE(left[a].first, entries[a]);
            EXPECT_GE(left[a].last, entries[a]);
          }
        }
        return true;
      });
      EXPECT_EQ(by_words.look(box, variants, 1000),
                anybody ? Emptiness::kPeopled : Emptiness::kEmpty);
    }
  }
  EXPECT_GT(narrowed, 100);
  EXPECT_GT(emptied, 100);
}

// Of any box, it counts what the words let exist within the limits.
TEST(ExistingGroups, AreThoseOfTheWords) {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ConstrainedSubject const constrained(seed);
    auto const subject = constrained.subject();
    if (!subject) continue;
    PackedSubject const packed(subject->view(), 16);
    RegionRules rules;
    if (seed % 3 == 0) {
      LinearLimit& limit = rules.limits.emplace_back();
      limit.coefficients.assign(subject->domain().attributes.size(), 0);
      limit.coefficients[static_cast<std::size_t>(constrained.free_attribute())] = 2;
      limit.coefficients[static_cast<std::size_t>(constrained.other_free_attribute())] = -1;
      limit.most = 2;
    }
    BoxDomain const domain(subject->view(), packed, region_lists(*subject, {}), rules);
    std::vector<int> variants;
    for (int v = 0; v < domain.variants(); ++v) variants.push_back(v);
    ExistingGroups const existing(domain, variants);
    std::mt19937 random(seed);
    std::vector<std::int32_t> row(domain.attributes());
    for (int i = 0; i < 10; ++i) {
      GroupBox box = domain.whole();
      for (AxisRange& range : box) {
        if (i == 0) continue;
        range.first += static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
        range.last -= static_cast<std::int32_t>(random() % static_cast<unsigned>(range.size()));
      }
      double some = 0.0;
      double both = 0.0;
      std::vector<double> one(variants.size());
      each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
        std::vector<bool> there;
        for (int const v : variants) {
          domain.row(entries, v, row.data());
          bool const within = domain.excess(entries) == 0;
          there.push_back(within && satisfies(subject->domain().constraints, row.data()));
          one[static_cast<std::size_t>(v)] += there.back() ? 1.0 : 0.0;
        }
        some += std::ranges::count(there, true) > 0 ? 1.0 : 0.0;
        both += there[0] && there[1] ? 1.0 : 0.0;
        return true;
      });
      EXPECT_EQ(existing.count(box), some);
      for (int const v : variants)
        EXPECT_EQ(existing.count_one(box, v), one[static_cast<std::size_t>(v)]);
      EXPECT_LE(existing.count_both(box, 0, 1), both);
      if (variants.size() == 2) {
        EXPECT_EQ(existing.count_both(box, 0, 1), both);
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
