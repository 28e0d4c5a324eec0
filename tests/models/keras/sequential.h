// The configuration of a Keras model whose layers follow one another.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace fairlane {

/// layers: the configuration of each, as JSON.
inline std::string sequential(std::vector<std::string> const& layers) {
  return fmt::format(R"({{"class_name": "Sequential", "config": {{"name": "s", "layers": [{}]}}}})",
                     fmt::join(layers, ", "));
}

}  // namespace fairlane
