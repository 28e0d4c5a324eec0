// A TensorFlow 1 checkpoint as a network; see read_tf_checkpoint in models/network.h.
#pragma once

#include <optional>
#include <string>

#include "models/network.h"

namespace fairlane {

/// The files of a checkpoint, each with its path for messages.
struct TfCheckpointFiles {
  std::string index_path;
  std::string index;
  std::string data_path;
  std::string data;
  std::string meta_path;
  std::optional<std::string> meta;  // nothing where there is none
};

/// Throws Error(kData).
Network parse_tf_checkpoint(TfCheckpointFiles const& files);

}  // namespace fairlane
