// Encoded tables: integer rows in the domain's attribute order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/domain.h"

namespace fairlane {

/// rows    [count][attributes] row-major codes in domain order
/// labels  [count] class of each row, or empty when the table has no label column
/// lines   [count] 1-based line in the file, for messages
struct Dataset {
  std::string source;
  int attributes = 0;
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> lines;
  std::int64_t dropped = 0;  // rows left out by OutOfDomain::kDrop
  std::int64_t clipped = 0;  // rows changed by OutOfDomain::kClip

  std::int64_t count() const {
    return attributes == 0 ? 0 : static_cast<std::int64_t>(rows.size()) / attributes;
  }
};

/// What to do with rows outside the domain.
enum class OutOfDomain { kError, kDrop, kClip };

/// Applies the policy to rows outside a domain with resolved bounds; kError lists the first 20 in
/// one line. Throws Error(kData).
void apply_out_of_domain(Dataset& data, Domain const& domain, OutOfDomain policy);

}  // namespace fairlane
