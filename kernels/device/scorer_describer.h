// What a scorer says about rows, outside the lanes of a search.
#pragma once

#include "kernels/backend.h"
#include "kernels/device/shared_scorer.h"

namespace fairlane {

/// As Backend::describe. Any thread.
void describe_rows(PackedSubject const& subject, SharedScorer& scorer, std::int32_t const* rows,
                   std::size_t count, Description* out);

/// As Backend::logits: the scores themselves. Any thread.
void score_rows(PackedSubject const& subject, SharedScorer& scorer, std::int32_t const* rows,
                std::size_t count, float* out);

}  // namespace fairlane
