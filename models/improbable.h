// What scorers of others' models check of probabilities.
#pragma once

#include <cstddef>
#include <string>

namespace fairlane {

/// The first score that is no probability: "1.5 as a probability of the row 3,1,4", or nothing.
/// rows    [count][inputs]
/// scores  [count][outputs], NaN is allowed
std::string improbable(float const* rows, int inputs, float const* scores, int outputs,
                       std::size_t count);

}  // namespace fairlane
