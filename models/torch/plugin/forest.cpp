#include "models/torch/plugin/forest.h"

#include <algorithm>
#include <opencv2/core.hpp>

namespace fairlane {
namespace {

constexpr int kTrees = 50;
constexpr int kMostDepth = 12;
constexpr int kLeastLeaf = 5;  // rows

/// Rows as OpenCV has them, which takes no const memory but does not write to it.
cv::Mat matrix(float const* inputs, std::int64_t rows, std::int32_t columns) {
  return cv::Mat(static_cast<int>(rows), columns, CV_32F, const_cast<float*>(inputs));
}

}  // namespace

Forest::Forest(float const* inputs, std::int32_t const* labels, std::int64_t rows,
               std::int32_t columns, std::int32_t classes, std::uint64_t seed)
    : columns_(columns), classes_(classes), forest_(cv::ml::RTrees::create()) {
  cv::setNumThreads(1);  // the same trees however many cores there are
  cv::theRNG().state = seed;
  cv::setRNGSeed(static_cast<int>(seed));
  forest_->setMaxDepth(kMostDepth);
  forest_->setMinSampleCount(kLeastLeaf);
  forest_->setTermCriteria(cv::TermCriteria(cv::TermCriteria::MAX_ITER, kTrees, 0.0));
  cv::Mat const classes_of_rows(static_cast<int>(rows), 1, CV_32S,
                                const_cast<std::int32_t*>(labels));
  forest_->train(cv::ml::TrainData::create(matrix(inputs, rows, columns), cv::ml::ROW_SAMPLE,
                                           classes_of_rows));
}

void Forest::vote(float const* inputs, std::int64_t count, float* shares) const {
  cv::Mat votes;
  forest_->getVotes(matrix(inputs, count, columns_), votes, 0);
  std::fill_n(shares, count * classes_, 0.0F);
  // The first row names the classes that occur; the others count their trees.
  for (std::int64_t i = 0; i < count; ++i) {
    int sum = 0;
    for (int c = 0; c < votes.cols; ++c) sum += votes.at<int>(static_cast<int>(i) + 1, c);
    for (int c = 0; c < votes.cols; ++c) {
      shares[i * classes_ + votes.at<int>(0, c)] =
          static_cast<float>(votes.at<int>(static_cast<int>(i) + 1, c)) / static_cast<float>(sum);
    }
  }
}

}  // namespace fairlane
