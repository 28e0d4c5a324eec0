// The lockstep search in LibTorch's own operations, as fast as they allow: the baseline that
// `fairlane bench` shows.
#pragma once

#include "bench/torch/lockstep_subject.h"

namespace fairlane {

/// What a search found, and the keys of its distinct IDIs [instances], ascending.
struct TorchFindings {
  TorchCounts counts{};
  torch::Tensor keys;
};

/// Runs both phases. Random numbers are torch's: runs agree with Fairlane's in distribution, not in
/// bits.
TorchFindings lockstep_search(LockstepSubject const& subject, TorchSearch const& search);

}  // namespace fairlane
