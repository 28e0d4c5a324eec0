// A random forest by OpenCV, which votes on labels.
#pragma once

#include <cstdint>
#include <opencv2/core/cvstd_wrapper.hpp>
#include <opencv2/ml.hpp>

namespace fairlane {

/// A fitted forest; voting does not change it.
class Forest {
 public:
  /// inputs [rows][columns], labels [rows] 0..classes-1. Throws std::exception.
  Forest(float const* inputs, std::int32_t const* labels, std::int64_t rows, std::int32_t columns,
         std::int32_t classes, std::uint64_t seed);
  /// inputs [count][columns], shares [count][classes] adding up to 1.
  void vote(float const* inputs, std::int64_t count, float* shares) const;

 private:
  std::int32_t columns_;
  std::int32_t classes_;
  cv::Ptr<cv::ml::RTrees> forest_;
};

}  // namespace fairlane
