// The constraints of a domain, compiled to what kernels see.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/core/constraints.h"
#include "models/data/constraint.h"

namespace fairlane {

/// Whether a row of codes satisfies all.
bool allows(std::span<ConstraintView const> constraints, std::int32_t const* row);
/// Whether no input of a box can satisfy all; false where that is not known. Sound, and exact for a
/// box of one input.
/// low, high  [attributes] inclusive codes
bool excludes(std::span<ConstraintView const> constraints, std::int32_t const* low,
              std::int32_t const* high);

/// A domain's constraints as kernels see them, attributes by their index in the domain, codes as the
/// domain has them. Constraints that every input of the domain satisfies are left out, so that what
/// excludes nothing costs nothing. Immutable; copies share the arrays.
class CompiledConstraints {
 public:
  CompiledConstraints() = default;
  /// Bounds are resolved. Throws Error(kConfig) naming the constraint's place where no input can
  /// satisfy it, where a sum may leave int32, or where combinations are too many to be kept.
  explicit CompiledConstraints(Domain const& domain);

  std::span<ConstraintView const> views() const;
  bool empty() const { return views().empty(); }
  bool allows(std::int32_t const* row) const { return fairlane::allows(views(), row); }
  bool excludes(std::int32_t const* low, std::int32_t const* high) const {
    return fairlane::excludes(views(), low, high);
  }

 private:
  struct Arrays;
  std::shared_ptr<Arrays const> arrays_;
};

}  // namespace fairlane
