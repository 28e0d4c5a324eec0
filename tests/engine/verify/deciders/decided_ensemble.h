// Random ensembles over random domains, whose groups are evaluated one by one.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "engine/verify/deciders/group_pairs.h"
#include "models/trees/scorer.h"
#include "tests/kernels/random_subject.h"
#include "tests/models/trees/random_ensemble.h"

namespace fairlane {

/// An ensemble over the domain of a random subject.
class DecidedEnsemble {
 public:
  DecidedEnsemble(std::uint32_t seed, RegionRules rules, double margin, int most_depth = 8,
                  bool constrained = false)
      : random_(seed),
        shape_(shape_of(seed, constrained)),
        subject_(shape_),
        scorer_(ensemble(seed, margin, most_depth), 1),
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
  VerifyQuery const& query() const { return query_; }
  Backend& backend() { return *backend_; }
  SubjectView const& view() const { return view_; }
  float threshold() const { return view_.threshold; }

  /// Of every group of a box that exists, what the scorer says of its members.
  struct Truth {
    std::int64_t groups = 0;
    std::int64_t unfair = 0;
    std::int64_t close = 0;
  };
  Truth truth(GroupBox const& box) {
    Truth truth;
    GroupPairs pairs(domain_, *backend_, query_, view_.outputs());
    each_point(box, [&](std::vector<std::int32_t> const& entries) {
      bool const unfair = pairs.certain_pair(entries, query_.variants[0]).has_value();
      truth.groups += pairs.anybody() ? 1 : 0;
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
  static RandomSubject::Shape shape_of(std::uint32_t seed, bool constrained) {
    RandomSubject::Shape shape;
    shape.constrained = constrained;
    shape.attributes = 5;
    shape.counts = seed % 3 == 0 ? std::vector<int>{2, 2} : std::vector<int>{3};
    shape.range = 4;
    shape.encoded = seed % 2 == 0;
    shape.seed = seed;
    return shape;
  }
  TreeEnsemble ensemble(std::uint32_t seed, double margin, int most_depth) {
    int const inputs = subject_.view.network.front().inputs;
    int const sums = margin > 0.0 ? 1 : 0;
    TreeEnsemble trees = random_ensemble(random_, seed % 2 == 0, inputs, sums, most_depth);
    if (trees.sums > 1 && trees.width == trees.sums && seed % 3 != 0) make_probabilities(trees);
    return trees;
  }
  /// Every tree's leaves are probabilities, of which the mean is taken.
  static void make_probabilities(TreeEnsemble& trees) {
    trees.kind = ScoreKind::kProbabilities;
    trees.divisor = trees.trees();
    trees.base.assign(trees.base.size(), 0.0);
    auto const width = static_cast<std::size_t>(trees.width);
    for (std::size_t i = 0; i < trees.leaves.size(); i += width) {
      double rest = 1.0;
      for (std::size_t c = 0; c + 1 < width; ++c) {
        double& share = trees.leaves[i + c];
        share = std::abs(share) / (2.0 * static_cast<double>(width - 1));
        rest -= share;
      }
      trees.leaves[i + width - 1] = rest;
    }
  }
  SubjectView scored_view() {
    SubjectView view = subject_.view;
    view.network = {};
    view.scorer = &scorer_;
    view.scores = trees().kind;
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

}  // namespace fairlane
