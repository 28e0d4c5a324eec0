#include "models/torch/plugin/voter.h"

#include <algorithm>
#include <opencv2/core.hpp>
#include <opencv2/ml.hpp>
#include <stdexcept>
#include <vector>

namespace fairlane {
namespace {

constexpr int kTrees = 50;
constexpr int kMostDepth = 12;
constexpr int kLeastLeaf = 5;  // rows
constexpr int kNeighbours = 15;

/// Rows as OpenCV has them, which takes no const memory but does not write to it.
cv::Mat matrix(float const* inputs, std::int64_t rows, std::int32_t columns) {
  return cv::Mat(static_cast<int>(rows), columns, CV_32F, const_cast<float*>(inputs));
}

/// Votes of a forest's trees.
class Forest final : public Voter {
 public:
  Forest(cv::Mat const& inputs, cv::Mat const& labels, std::int32_t classes)
      : columns_(inputs.cols), classes_(classes), forest_(cv::ml::RTrees::create()) {
    forest_->setMaxDepth(kMostDepth);
    forest_->setMinSampleCount(kLeastLeaf);
    forest_->setTermCriteria(cv::TermCriteria(cv::TermCriteria::MAX_ITER, kTrees, 0.0));
    forest_->train(cv::ml::TrainData::create(inputs, cv::ml::ROW_SAMPLE, labels));
  }

  void vote(float const* inputs, std::int64_t count, float* shares) const override {
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

 private:
  std::int32_t columns_;
  std::int32_t classes_;
  cv::Ptr<cv::ml::RTrees> forest_;
};

/// Labels of the nearest rows.
class Neighbours final : public Voter {
 public:
  Neighbours(cv::Mat const& inputs, cv::Mat const& labels, std::int32_t classes)
      : columns_(inputs.cols),
        classes_(classes),
        count_(std::min(kNeighbours, inputs.rows)),
        nearest_(cv::ml::KNearest::create()) {
    cv::Mat responses;
    labels.convertTo(responses, CV_32F);
    nearest_->train(inputs, cv::ml::ROW_SAMPLE, responses);
  }

  void vote(float const* inputs, std::int64_t count, float* shares) const override {
    std::fill_n(shares, count * classes_, 0.0F);
    cv::Mat result;
    cv::Mat near;
    nearest_->findNearest(matrix(inputs, count, columns_), count_, result, near);
    for (std::int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < count_; ++k) {
        auto const label = static_cast<std::int64_t>(near.at<float>(static_cast<int>(i), k));
        shares[i * classes_ + label] += 1.0F / static_cast<float>(count_);
      }
    }
  }

 private:
  std::int32_t columns_;
  std::int32_t classes_;
  int count_;
  cv::Ptr<cv::ml::KNearest> nearest_;
};

}  // namespace

std::unique_ptr<Voter> fit_voter(TorchVoterKind kind, float const* inputs,
                                 std::int32_t const* labels, std::int64_t rows,
                                 std::int32_t columns, std::int32_t classes, std::uint64_t seed) {
  cv::setNumThreads(1);  // the same trees however many cores there are
  cv::theRNG().state = seed;
  cv::setRNGSeed(static_cast<int>(seed));
  cv::Mat const table = matrix(inputs, rows, columns);
  cv::Mat const classes_of_rows(static_cast<int>(rows), 1, CV_32S,
                                const_cast<std::int32_t*>(labels));
  switch (kind) {
    case kTorchForest:
      return std::make_unique<Forest>(table, classes_of_rows, classes);
    case kTorchNeighbours:
      return std::make_unique<Neighbours>(table, classes_of_rows, classes);
  }
  throw std::invalid_argument("no such kind of classifier");
}

}  // namespace fairlane
