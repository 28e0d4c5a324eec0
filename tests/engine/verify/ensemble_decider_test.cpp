#include "engine/verify/ensemble_decider.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "engine/verify/certain_shares.h"
#include "models/trees/scorer.h"
#include "tests/kernels/random_subject.h"
#include "tests/models/trees/random_ensemble.h"

namespace fairlane {
namespace {

/// An ensemble over the domain of a random subject.
class DecidedEnsemble {
 public:
  DecidedEnsemble(std::uint32_t seed, RegionRules rules, double margin)
      : random_(seed),
        shape_(shape_of(seed)),
        subject_(shape_),
        scorer_(ensemble(seed, margin), 1),
        view_(scored_view()),
        backend_(make_scorer_backend(view_, {})),
        domain_(view_, backend_->subject(), part_of(free_lists(view_), rules), rules) {
    query_.threshold = view_.outputs() == 1 ? static_cast<double>(view_.threshold) : 0.0;
    query_.margin = margin;
    query_.starts = seed % 2 == 0 ? 1 : 3;
    query_.variants.emplace_back();
    for (int v = 0; v < domain_.variants(); ++v) query_.variants[0].push_back(v);
    query_.compares = [](int v, int w) { return v != w; };
  }

  BoxDomain const& domain() const { return domain_; }
  TreeEnsemble const& trees() const { return scorer_.trees(); }
  EnsembleDecider decider() { return {domain_, scorer_.trees(), *backend_, query_}; }

  /// Of every group of a box, what the scorer says of its members.
  struct Truth {
    std::int64_t groups = 0;
    std::int64_t unfair = 0;
    std::int64_t close = 0;
  };
  Truth truth(GroupBox const& box) {
    Truth truth;
    GroupPairs pairs(domain_, *backend_, query_, view_.outputs());
    each_point(box, [&](std::vector<std::int32_t> const& entries) {
      ++truth.groups;
      bool const unfair = pairs.certain_pair(entries, query_.variants[0]).has_value();
      truth.unfair += unfair ? 1 : 0;
      truth.close += !unfair && pairs.within_margin() ? 1 : 0;
      return true;
    });
    return truth;
  }

  /// Scores of a group's variant, as doubles.
  std::vector<double> scores(std::vector<std::int32_t> const& entries, int variant) {
    naive::Row row(domain_.attributes());
    domain_.row(entries, variant, row.data());
    std::vector<float> z(static_cast<std::size_t>(view_.outputs()));
    backend_->logits(row.data(), 1, z.data());
    return {z.begin(), z.end()};
  }
  GroupBox part(GroupBox box) {
    for (AxisRange& range : box) {
      std::int32_t const first = subject_.uniform(range.first, range.last);
      if (subject_.uniform(0, 2) > 0) range = {first, subject_.uniform(first, range.last)};
    }
    return box;
  }

 private:
  static RandomSubject::Shape shape_of(std::uint32_t seed) {
    RandomSubject::Shape shape;
    shape.attributes = 5;
    shape.counts = seed % 3 == 0 ? std::vector<int>{2, 2} : std::vector<int>{3};
    shape.range = 4;
    shape.encoded = seed % 2 == 0;
    shape.seed = seed;
    return shape;
  }
  TreeEnsemble ensemble(std::uint32_t seed, double margin) {
    int const inputs = subject_.view.network.front().inputs;
    int const sums = margin > 0.0 ? 1 : 0;
    TreeEnsemble trees = random_ensemble(random_, seed % 2 == 0, inputs, sums);
    if (trees.sums == 2 && trees.width == 2 && seed % 3 != 0) make_probabilities(trees);
    return trees;
  }
  /// Every tree's leaves are two probabilities, of which the mean is taken.
  static void make_probabilities(TreeEnsemble& trees) {
    trees.kind = ScoreKind::kProbabilities;
    trees.divisor = trees.trees();
    trees.base.assign(2, 0.0);
    for (std::size_t i = 0; i < trees.leaves.size(); i += 2) {
      trees.leaves[i] = std::abs(trees.leaves[i]) / 2.0;
      trees.leaves[i + 1] = 1.0 - trees.leaves[i];
    }
  }
  SubjectView scored_view() {
    SubjectView view = subject_.view;
    view.network = {};
    view.scorer = &scorer_;
    view.threshold = trees().kind == ScoreKind::kProbabilities ? 0.5F : 0.1F;
    return view;
  }
  /// A relaxed attribute's region ends before its values do.
  static std::vector<ValueList> part_of(std::vector<ValueList> lists, RegionRules const& rules) {
    for (ValueList& list : lists) {
      bool const relaxed =
          !rules.relaxed.empty() && list.attributes.front() == rules.relaxed.front().attribute;
      if (relaxed && list.values.size() > 2) list.values.pop_back();
    }
    return lists;
  }

  std::mt19937 random_;
  RandomSubject::Shape shape_;
  RandomSubject subject_;
  TreeScorer scorer_;
  SubjectView view_;
  std::unique_ptr<Backend> backend_;
  BoxDomain domain_;
  VerifyQuery query_;
};

/// What a decider says of a box and all its parts.
struct Verdicts {
  bool unfair = false;
  bool close = false;
};

Verdicts decide_all(DecidedEnsemble& ensemble, GroupBox const& box, std::array<int, 9>& counts) {
  EnsembleDecider decider = ensemble.decider();
  std::vector<OpenBox> open = {{.id = 5, .box = box}};
  Verdicts verdicts;
  while (!open.empty() && !verdicts.unfair) {
    std::vector<Decision> decisions(open.size());
    decider.decide(open, decisions);
    std::vector<OpenBox> parts;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Decision const& decision = decisions[i];
      ++counts[static_cast<std::size_t>(decision.verdict)];
      verdicts.unfair = verdicts.unfair || decision.verdict == BoxVerdict::kUnfair;
      verdicts.close = verdicts.close || decision.verdict == BoxVerdict::kWithinMargin;
      if (decision.verdict != BoxVerdict::kOpen) continue;
      EXPECT_GT(decision.box[decision.axis].size(), 1);
      for (bool const upper : {false, true})
        parts.push_back(half_of(open[i], decision.axis, upper, upper ? 1 : 0));
    }
    open = std::move(parts);
  }
  return verdicts;
}

TEST(EnsembleDecider, AgreesWithEvaluatingEveryGroup) {
  std::array<int, 9> counts{};
  int unfair = 0;
  int fair = 0;
  int close = 0;
  for (std::uint32_t seed = 1; seed <= 700; ++seed) {
    RegionRules rules;
    if (seed % 5 == 0) rules.relaxed.push_back({4, 1});
    if (seed % 7 == 0) rules.limits.push_back({{0, 0, 0, 1, 1}, 1});
    double const margin = seed % 4 == 0 ? 0.2 : 0.0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, rules, margin);
    for (int i = 0; i < 6; ++i) {
      GroupBox const box =
          i == 0 ? ensemble.domain().whole() : ensemble.part(ensemble.domain().whole());
      auto const truth = ensemble.truth(box);
      auto const verdicts = decide_all(ensemble, box, counts);
      ASSERT_EQ(verdicts.unfair, truth.unfair > 0);
      ASSERT_TRUE(verdicts.unfair || verdicts.close == (truth.close > 0));
      unfair += truth.unfair > 0 ? 1 : 0;
      fair += truth.unfair == 0 ? 1 : 0;
      close += truth.unfair == 0 && truth.close > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(unfair, 100);
  EXPECT_GT(fair, 100);
  EXPECT_GT(close, 10);
  for (BoxVerdict const verdict :
       {BoxVerdict::kOpen, BoxVerdict::kUnfair, BoxVerdict::kMerged, BoxVerdict::kVariants,
        BoxVerdict::kEnumerated, BoxVerdict::kWithinMargin, BoxVerdict::kEmpty}) {
    EXPECT_GT(counts[static_cast<std::size_t>(verdict)], 10) << static_cast<int>(verdict);
  }
}

TEST(EnsembleDecider, CountsEveryGroup) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0);
    auto const truth = ensemble.truth(ensemble.domain().whole());
    EnsembleDecider decider = ensemble.decider();
    ShareQueue queue(ensemble.domain());
    std::vector<Decision> decisions;
    std::vector<CertainGroups> certain;
    while (true) {
      auto const& boxes = queue.next();
      if (boxes.empty()) break;
      decisions.resize(boxes.size());
      certain.resize(boxes.size());
      decider.measure(boxes, decisions, certain);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        auto const known = ensemble.truth(boxes[i].box);
        ASSERT_LE(certain[i].unfair, static_cast<double>(known.unfair));
        ASSERT_LE(certain[i].fair, static_cast<double>(known.groups - known.unfair));
      }
      queue.take(decisions, certain);
    }
    CertainShares const shares = queue.shares();
    EXPECT_EQ(shares.unfair, static_cast<double>(truth.unfair));
    EXPECT_EQ(shares.fair, static_cast<double>(truth.groups - truth.unfair));
  }
}

// At a point the bounds are the scorer's scores, and over a box they hold them all.
TEST(TreeBounds, HoldWhatTheScorerSays) {
  int inside = 0;
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0);
    BoxDomain const& domain = ensemble.domain();
    TreeBounds bounds(ensemble.trees());
    std::vector<Interval> inputs(static_cast<std::size_t>(domain.inputs()));
    int const only[] = {domain.variants() - 1};
    GroupBox const box = ensemble.part(domain.whole());
    domain.enclose(box, inputs.data());
    domain.enclose_variants(only, inputs.data());
    bounds.bound(inputs);
    std::vector<Interval> const over_box = bounds.scores();
    each_point(box, [&](std::vector<std::int32_t> const& entries) {
      auto const scores = ensemble.scores(entries, only[0]);
      GroupBox point;
      for (std::int32_t const entry : entries) point.push_back({entry, entry});
      domain.enclose(point, inputs.data());
      bounds.bound(inputs);
      for (std::size_t c = 0; c < scores.size(); ++c) {
        // Of several scores the scorer's are rounded to float32.
        auto const rounded = [&](double x) {
          return scores.size() > 1 ? static_cast<double>(static_cast<float>(x)) : x;
        };
        EXPECT_NEAR(rounded(bounds.scores()[c].low), scores[c],
                    scores.size() > 1 ? 1e-6 * std::abs(scores[c]) : 0.0);
        EXPECT_EQ(bounds.scores()[c].low, bounds.scores()[c].high);
        EXPECT_LE(over_box[c].low, bounds.scores()[c].low);
        EXPECT_GE(over_box[c].high, bounds.scores()[c].high);
        inside += over_box[c].low < bounds.scores()[c].low ? 1 : 0;
      }
      return true;
    });
  }
  EXPECT_GT(inside, 1000);
}

}  // namespace
}  // namespace fairlane
