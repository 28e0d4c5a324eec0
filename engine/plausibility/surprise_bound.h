// A bound on the surprise of an input, in the form that kernels know.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plausibility/chow_liu.h"
#include "kernels/core/constraints.h"
#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {

/// "The input's surprise is at most so many of the tree's steps" as a constraint: each attribute's
/// cell and that of its parent look up what both add. Owns what view() points to.
class SurpriseBound {
 public:
  /// The bound that keeps inputs whose PlausibilityModel::score of that table has at most that
  /// surprise_percentile.
  /// table  rows in the domain, whose bounds are resolved
  /// Throws Error(kData) for a table without rows, Error(kUnavailable) naming an attribute of too
  /// many codes.
  SurpriseBound(Domain const& domain, Dataset const& table, double percentile);
  SurpriseBound(SurpriseBound&&) noexcept = default;
  SurpriseBound& operator=(SurpriseBound&&) noexcept = default;

  ConstraintView view() const { return {terms_, most_steps_, {}}; }
  /// [kSlacks] how many steps more than an input's own surprise a move from it may lead to, for a
  /// search that prefers plausible inputs by that weight, above 0: equally likely quantiles of an
  /// exponential distribution with mean 1 / weight nats, so that a move that adds d nats is taken
  /// with probability exp(-weight * d). Source: Metropolis and others, Journal of Chemical Physics
  /// 21, 1953.
  std::vector<std::int32_t> slack(double weight) const;
  /// Whether a row of codes of the domain keeps the bound.
  bool allows(std::int32_t const* row) const { return constraint_sum(view(), row) <= most_steps_; }

 private:
  /// scale  times a code's cell is what it moves the index by
  void add_index(Domain const& domain, ChowLiuTree const& tree, std::size_t attribute,
                 std::size_t scale);
  void add_term(TermKind kind, std::size_t attribute, std::int32_t from,
                std::vector<std::int32_t> table);

  std::int32_t most_steps_ = 0;
  double nats_per_step_ = 0.0;
  std::vector<TermView> terms_;
  std::vector<std::vector<std::int32_t>> tables_;
};

}  // namespace fairlane
