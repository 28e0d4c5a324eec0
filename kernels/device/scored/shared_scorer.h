// A scorer that several threads ask, one after the other, and whose answers are looked at before
// they are believed.
#pragma once

#include <mutex>

#include "kernels/core/scorer.h"

namespace fairlane {

class SharedScorer {
 public:
  /// must_be_finite: no row may be undefined, since that would say that it does not exist
  explicit SharedScorer(Scorer& scorer, bool must_be_finite = false)
      : scorer_(scorer), must_be_finite_(must_be_finite) {}
  std::string name() const { return scorer_.name(); }
  int inputs() const { return scorer_.inputs(); }
  int outputs() const { return scorer_.outputs(); }
  /// As Scorer::score. Any thread. Throws Error(kUnavailable) where the scorer fails, so that the
  /// search can be saved, and Error(kData) where it gives anything but probabilities instead of
  /// them; NaN is an undefined row, or the same error where none may be.
  void score(float const* rows, std::size_t count, float* scores);

 private:
  Scorer& scorer_;
  bool must_be_finite_;
  std::mutex lock_;
};

}  // namespace fairlane
