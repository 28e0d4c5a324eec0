// A random forest by OpenCV, through the LibTorch plug-in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/torch/plugin_api.h"

namespace fairlane {

/// A fitted classifier: a function of what it was given.
class RandomForest {
 public:
  /// inputs  [rows][columns]
  /// labels  [rows] 0..classes-1
  /// Throws Error(kUnavailable) without the plug-in, or where it has no OpenCV.
  RandomForest(std::span<float const> inputs, std::span<std::int32_t const> labels, int classes,
               std::uint64_t seed);

  /// inputs: [rows][columns]. Returns [rows][classes], the shares of the trees, which add up to 1.
  /// Any thread. Throws Error(kUnavailable).
  std::vector<float> vote(std::span<float const> inputs) const;

 private:
  TorchPlugin const* plugin_;
  int columns_;
  int classes_;
  std::unique_ptr<TorchForest, void (*)(TorchForest*)> forest_;
};

/// Whether the plug-in has OpenCV. Throws Error(kUnavailable) without the plug-in.
bool has_forest();

}  // namespace fairlane
