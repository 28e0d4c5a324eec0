// The label that an ensemble's scores mean, by the definition.
#pragma once

#include <algorithm>

#include "models/trees/scorer.h"

namespace fairlane {

/// scores [outputs] of one row.
inline int label_of(TreeScorer const& scorer, float const* scores) {
  if (scorer.outputs() > 1)
    return static_cast<int>(std::max_element(scores, scores + scorer.outputs()) - scores);
  return scores[0] > (scorer.kind() == ScoreKind::kLogits ? 0.0F : 0.5F) ? 1 : 0;
}

}  // namespace fairlane
