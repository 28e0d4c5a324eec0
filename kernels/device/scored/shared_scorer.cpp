#include "kernels/device/scored/shared_scorer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fairlane {

void SharedScorer::score(float const* rows, std::size_t count, float* scores) {
  if (count == 0) return;
  {
    std::lock_guard const guard(lock_);
    try {
      scorer_.score(rows, count, scores);
    } catch (Error const& error) {
      // Unlike a device that has failed, it leaves everything else whole.
      if (error.code() == ExitCode::kStopped) throw Error(ExitCode::kUnavailable, error.what());
      throw;
    }
  }
  std::size_t const values = count * static_cast<std::size_t>(scorer_.outputs());
  if (must_be_finite_ &&
      !std::all_of(scores, scores + values, [](float score) { return std::isfinite(score); })) {
    throw Error(ExitCode::kData, scorer_.name() +
                                     ": gives a score that is no finite number, expected finite "
                                     "scores alone where the domain has constraints");
  }
  if (scorer_.kind() == ScoreKind::kLogits) return;
  for (std::size_t i = 0; i < values; ++i) {
    if (scores[i] < 0.0F || scores[i] > 1.0F) {
      throw Error(ExitCode::kData, scorer_.name() + ": gives the score " +
                                       std::to_string(scores[i]) +
                                       ", expected a probability between 0 and 1");
    }
  }
}

}  // namespace fairlane
