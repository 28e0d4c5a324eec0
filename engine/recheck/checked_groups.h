// Evaluates the groups of a box one by one, for the certificate's checker.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/recheck/checked_existence.h"
#include "engine/recheck/checked_neighbours.h"
#include "engine/recheck/contract_label.h"
#include "engine/verify/boxes/verify_query.h"

namespace fairlane {

/// What the contract says of a row in dataset order.
using OutcomeOfRow = std::function<ContractOutcome(std::int32_t const*)>;

/// One thread's.
class CheckedGroups {
 public:
  /// few  groups, and those that are compared with them, that are evaluated rather than split
  /// All outlive it.
  CheckedGroups(BoxDomain const& domain, CheckedNeighbours const& neighbours,
                VerifyQuery const& query, OutcomeOfRow outcome_of, double few);

  /// Whether a box is to be evaluated.
  bool are_few(std::span<AxisRange const> box) const;
  /// Whether no two variants that are compared have different labels, nor less than the margin
  /// between them, and all outputs are finite. existence: null where all exist
  bool are_fair(std::span<AxisRange const> box, std::span<int const> variants,
                CheckedExistence const* existence) const;

 private:
  /// Of one group. label below 0: undefined; there: exists
  struct Member {
    ContractOutcome outcome;
    bool there = true;
  };
  void evaluate(std::vector<std::int32_t> const& entries, std::span<int const> variants,
                CheckedExistence const* existence, std::vector<Member>& members) const;
  bool agree(std::span<Member const> own, std::span<Member const> other,
             std::span<int const> variants) const;

  BoxDomain const& domain_;
  CheckedNeighbours const& neighbours_;
  VerifyQuery const& query_;
  OutcomeOfRow outcome_of_;
  double few_;
};

}  // namespace fairlane
