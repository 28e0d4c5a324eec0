#include "engine/verify/box_decider.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "engine/verify/cells.h"
#include "engine/verify/certain_shares.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

/// A subject whose boxes are decided, and all of whose groups are evaluated one by one.
class DecidedSubject {
 public:
  DecidedSubject(RandomSubject& subject, bool all_differ)
      : view_(subject.view),
        backend_(make_cpu_backend(subject.view, {})),
        domain_(view_, backend_->subject(), free_lists(view_)),
        network_(view_.network),
        query_({{}, {}, view_.outputs() == 1 ? static_cast<double>(view_.threshold) : 0.0}),
        decider_(domain_, network_, box_kernels(), *backend_, query_) {
    query_.variants.emplace_back();
    for (int v = 0; v < domain_.variants(); ++v) query_.variants[0].push_back(v);
    query_.compares = [this, all_differ](int v, int w) { return differs(v, w, all_differ); };
    find_unfair();
  }

  BoxDomain const& domain() const { return domain_; }

  /// Decides a box with all its parts, and compares with what is known.
  void expect_right(GroupBox const& box, std::uint64_t id) {
    std::vector<OpenBox> open = {{id, 0, 0, 0, 0, box}};
    bool unfair = false;
    while (!open.empty() && !unfair) {
      std::vector<Decision> decisions(open.size());
      decider_.decide(open, decisions);
      std::vector<OpenBox> parts;
      for (std::size_t i = 0; i < open.size(); ++i) {
        Decision const& decision = decisions[i];
        ++verdicts[static_cast<std::size_t>(decision.verdict)];
        if (decision.verdict == BoxVerdict::kUnfair) {
          unfair = true;
          expect_example(open[i].box, decision);
        } else if (decision.verdict == BoxVerdict::kOpen) {
          // What narrowing has left out holds nothing.
          for_groups(open[i].box, [&](std::vector<std::int32_t> const& entries, bool is_unfair) {
            bool inside = true;
            for (std::size_t a = 0; a < entries.size(); ++a) {
              inside = inside && entries[a] >= decision.box[a].first &&
                       entries[a] <= decision.box[a].last;
            }
            ASSERT_TRUE(inside || !is_unfair);
          });
          AxisRange const whole = decision.box[decision.axis];
          ASSERT_GT(whole.size(), 1);
          std::int32_t const middle = whole.first + whole.size() / 2;
          for (bool const upper : {false, true}) {
            OpenBox part{++id * 77, open[i].depth + 1, 0, 0, 0, decision.box};
            part.box[decision.axis] =
                upper ? AxisRange{middle, whole.last} : AxisRange{whole.first, middle - 1};
            parts.push_back(part);
          }
        } else {
          for_groups(open[i].box, [&](std::vector<std::int32_t> const&, bool is_unfair) {
            ASSERT_FALSE(is_unfair) << "by " << static_cast<int>(decision.verdict);
          });
        }
        if (testing::Test::HasFatalFailure()) return;
      }
      open = std::move(parts);
    }
    bool expected = false;
    for_groups(box, [&](std::vector<std::int32_t> const&, bool is_unfair) {
      expected = expected || is_unfair;
    });
    ASSERT_EQ(unfair, expected);
  }

  /// Counts what is certain of a box, in a look of either kind, and compares with what is known.
  void expect_certain(GroupBox const& box, std::int32_t wait) {
    std::vector<OpenBox> const open = {{1, 0, 0, wait, 0, box}};
    std::vector<Decision> decisions(1);
    std::vector<CertainGroups> certain(1);
    decider_.measure(open, decisions, certain);
    double fair = 0.0;
    double unfair = 0.0;
    visit(box, [&](std::vector<std::int32_t> const& entries) {
      std::size_t const number = number_of(entries);
      fair += unfair_[number] || undefined_[number] ? 0.0 : 1.0;
      unfair += unfair_[number] ? 1.0 : 0.0;
    });
    ASSERT_LE(certain[0].fair, fair);
    ASSERT_LE(certain[0].unfair, unfair);
    ASSERT_LE(certain[0].by_merged, fair);
    if (decisions[0].verdict != BoxVerdict::kOpen) {
      ASSERT_EQ(certain[0].fair + certain[0].unfair, fair + unfair);
    }
    counted += certain[0].fair + certain[0].unfair;
    counted_unfair += decisions[0].verdict == BoxVerdict::kOpen ? certain[0].unfair : 0.0;
    groups += fair + unfair;
  }

  /// Counts all groups, which ends where nothing is undecided.
  void expect_shares() {
    ShareQueue queue(domain_);
    std::vector<Decision> decisions;
    std::vector<CertainGroups> certain;
    while (true) {
      auto const& boxes = queue.next();
      if (boxes.empty()) break;
      decisions.resize(boxes.size());
      certain.resize(boxes.size());
      decider_.measure(boxes, decisions, certain);
      queue.take(decisions, certain);
    }
    CertainShares const shares = queue.shares();
    auto const unfair = static_cast<double>(std::ranges::count(unfair_, true));
    ASSERT_NEAR(shares.unfair, unfair, 1e-6);
    ASSERT_NEAR(shares.fair, static_cast<double>(unfair_.size()) - unfair, 1e-6);
  }

  std::array<int, 7> verdicts{};
  double counted = 0.0;
  double counted_unfair = 0.0;  // of boxes that are left open
  double groups = 0.0;

 private:
  bool differs(int v, int w, bool in_all) const {
    if (!in_all) return v != w;
    PackedSubject const& packed = backend_->subject();
    for (int s = 0; s < packed.get().selected; ++s) {
      if (packed.variant_value(v, s) == packed.variant_value(w, s)) return false;
    }
    return true;
  }
  std::int32_t label(std::vector<std::int32_t> const& entries, int variant) const {
    naive::Row row(view_.low.size());
    domain_.row(entries, variant, row.data());
    return naive::FloatReference(view_).label(row);
  }
  void find_unfair() {
    GroupBox const whole = domain_.whole();
    std::vector<std::int32_t> labels;
    visit(whole, [&](std::vector<std::int32_t> const& entries) {
      labels.clear();
      for (int v = 0; v < domain_.variants(); ++v) labels.push_back(label(entries, v));
      bool unfair = false;
      for (int v = 0; v < domain_.variants(); ++v) {
        for (int w = 0; w < domain_.variants(); ++w) {
          unfair = unfair || (labels[static_cast<std::size_t>(v)] == 1 &&
                              labels[static_cast<std::size_t>(w)] == 0 && query_.compares(v, w));
        }
      }
      unfair_.push_back(unfair);
      undefined_.push_back(std::ranges::count(labels, kUndefinedLabel) > 0);
    });
  }
  template <class Visit>
  void visit(GroupBox const& box, Visit const& what) const {
    std::vector<std::int32_t> entries;
    for (AxisRange const& range : box) entries.push_back(range.first);
    for (std::size_t a = entries.size(); a > 0 || entries.empty();) {
      what(entries);
      for (a = entries.size(); a > 0; --a) {
        if (entries[a - 1] < box[a - 1].last) {
          ++entries[a - 1];
          break;
        }
        entries[a - 1] = box[a - 1].first;
      }
      if (entries.empty()) break;
    }
  }
  template <class Visit>
  void for_groups(GroupBox const& box, Visit const& what) const {
    visit(box, [&](std::vector<std::int32_t> const& entries) {
      what(entries, unfair_[number_of(entries)]);
    });
  }
  std::size_t number_of(std::vector<std::int32_t> const& entries) const {
    std::size_t number = 0;
    for (std::size_t a = 0; a < entries.size(); ++a)
      number = number * static_cast<std::size_t>(domain_.axis(a).size()) +
               static_cast<std::size_t>(entries[a]);
    return number;
  }
  void expect_example(GroupBox const& box, Decision const& decision) const {
    for (std::size_t a = 0; a < box.size(); ++a) {
      ASSERT_GE(decision.example[a], box[a].first);
      ASSERT_LE(decision.example[a], box[a].last);
    }
    ASSERT_EQ(label(decision.example, decision.pair.upper), 1);
    ASSERT_EQ(label(decision.example, decision.pair.lower), 0);
    ASSERT_TRUE(query_.compares(decision.pair.upper, decision.pair.lower));
  }

  SubjectView const& view_;
  std::unique_ptr<Backend> backend_;
  BoxDomain domain_;
  BoundNetwork network_;
  VerifyQuery query_;
  BoxDecider decider_;
  std::vector<bool> unfair_;     // [groups]
  std::vector<bool> undefined_;  // [groups] some output is no number
};

GroupBox random_part(RandomSubject& subject, GroupBox box) {
  for (AxisRange& range : box) {
    std::int32_t const first = subject.uniform(0, range.last);
    if (subject.uniform(0, 2) > 0) range = {first, subject.uniform(first, range.last)};
  }
  return box;
}

/// Calls test(subject, decided, seed) for 80 networks of every kind.
template <class Test>
void for_subjects(Test const& test) {
  std::uint32_t seed = 1;
  for (Activation const activation :
       {Activation::kRelu, Activation::kLeakyRelu, Activation::kLinear, Activation::kTanh,
        Activation::kSigmoid, Activation::kElu, Activation::kSilu, Activation::kGelu,
        Activation::kRelu, Activation::kRelu}) {
    for (auto const& counts : std::vector<std::vector<int>>{{2}, {6}, {3, 2}, {2, 2, 2}}) {
      for (bool const encoded : {false, true}) {
        ++seed;
        RandomSubject::Shape shape;
        shape.attributes = 4 + static_cast<int>(counts.size());
        shape.counts = counts;
        shape.activation = activation;
        shape.encoded = encoded;
        shape.seed = seed;
        shape.range = 8;
        shape.widths = seed % 4 == 0   ? std::vector<int>{6, 2}
                       : seed % 4 == 1 ? std::vector<int>{8, 5, 1}
                       : seed % 4 == 2 ? std::vector<int>{5, 5, 5, 1}
                                       : std::vector<int>{7, 1};
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomSubject subject(shape);
        // On every other one, some input lies on the threshold itself.
        if (shape.widths.back() == 1 && seed % 2 == 0) {
          naive::FloatReference const exact(subject.view);
          subject.view.threshold = exact.logits(subject.row())[0];
        }
        DecidedSubject decided(subject, seed % 5 == 0);
        test(subject, decided, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// On thousands of boxes, against every group evaluated by itself.
TEST(BoxDecider, AgreesWithEvaluatingEveryGroup) {
  constexpr int kBoxes = 250;  // of each subject
  std::array<int, 7> all{};
  for_subjects([&](RandomSubject& subject, DecidedSubject& decided, std::uint32_t seed) {
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_right(random_part(subject, decided.domain().whole()),
                           seed * 1000 + static_cast<std::uint64_t>(i));
      if (HasFatalFailure()) return;
    }
    for (std::size_t v = 0; v < all.size(); ++v) all[v] += decided.verdicts[v];
  });
  for (BoxVerdict const verdict :
       {BoxVerdict::kOpen, BoxVerdict::kUnfair, BoxVerdict::kMerged, BoxVerdict::kVariants,
        BoxVerdict::kSplit, BoxVerdict::kEnumerated}) {
    EXPECT_GT(all[static_cast<std::size_t>(verdict)], 20) << static_cast<int>(verdict);
  }
}

// Outputs that are no numbers make a box neither fair nor unfair.
TEST(BoxDecider, LeavesWhatOverflowsUndefined) {
  constexpr int kBoxes = 40;  // of each subject
  int undefined = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.attributes = 5;
    shape.counts = {3};
    shape.range = 6;
    bool const one_sign = seed % 2 == 0;
    shape.widths = one_sign ? std::vector<int>{8, 6, 1} : std::vector<int>{8, 6, 5, 1};
    shape.scale = 3.0e12F;
    shape.seed = seed;
    RandomSubject subject(shape);
    if (one_sign) {
      // Only the output may overflow: its lines are numbers, far above the threshold.
      for (std::size_t layer = 0; layer < shape.widths.size(); ++layer) {
        for (float& w : subject.weights(layer)) w = std::abs(w);
      }
    }
    DecidedSubject decided(subject, false);
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_right(random_part(subject, decided.domain().whole()),
                           seed * 1000 + static_cast<std::uint64_t>(i));
      decided.expect_certain(random_part(subject, decided.domain().whole()), i % 2);
      if (HasFatalFailure()) return;
    }
    undefined += decided.verdicts[static_cast<std::size_t>(BoxVerdict::kUndefined)];
  }
  EXPECT_GT(undefined, 0);
}

TEST(BoxDecider, CountsNoGroupThatIsNotCertain) {
  constexpr int kBoxes = 60;  // of each subject
  double counted = 0.0;
  double counted_unfair = 0.0;
  double groups = 0.0;
  for_subjects([&](RandomSubject& subject, DecidedSubject& decided, std::uint32_t) {
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_certain(random_part(subject, decided.domain().whole()), i % 2);
      if (HasFatalFailure()) return;
    }
    counted += decided.counted;
    counted_unfair += decided.counted_unfair;
    groups += decided.groups;
  });
  EXPECT_GT(counted, 0.3 * groups);
  EXPECT_GT(counted_unfair, 100.0);
}

TEST(ShareQueue, EndsWithTheExactCounts) {
  for_subjects(
      [](RandomSubject&, DecidedSubject& decided, std::uint32_t) { decided.expect_shares(); });
}

}  // namespace
}  // namespace fairlane
