// Labels in real numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "models/network.h"

namespace fairlane {

/// The label that a network of straight pieces gives inputs [inputs] in rational arithmetic.
/// threshold  of one output
std::int32_t exact_label(Network const& network, std::vector<double> const& inputs,
                         double threshold);

}  // namespace fairlane
