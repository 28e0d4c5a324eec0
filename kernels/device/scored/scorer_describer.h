// What a scorer says about rows, outside the lanes of a search.
#pragma once

#include "kernels/device/scored/shared_scorer.h"
#include "kernels/layout/plan.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// As RowDescriber::describe. Any thread.
void describe_rows(PackedSubject const& subject, SharedScorer& scorer, std::int32_t const* rows,
                   std::size_t count, Description* out);

/// As RowDescriber::logits: the scores themselves. Any thread.
void score_rows(PackedSubject const& subject, SharedScorer& scorer, std::int32_t const* rows,
                std::size_t count, float* out);

}  // namespace fairlane
