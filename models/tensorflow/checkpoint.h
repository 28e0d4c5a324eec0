// A TensorFlow 1 checkpoint as a network.
#pragma once

#include <optional>
#include <string>

#include "models/network.h"

namespace fairlane {

/// TensorFlow 1 checkpoint NAME.index with NAME.data-00000-of-00001: kernels and biases whose
/// shapes make one chain, in the order of their names. It does not say the activations: those of
/// NAME.meta where that is there, else ReLU between the layers; softmax over several outputs,
/// sigmoid for one.
/// Source: tf.train.Saver (V2), as the programs of ADF and NeuronFair save their networks.
Network read_tf_checkpoint(std::string const& index_path);

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
