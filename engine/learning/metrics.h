// How good a classifier is on rows whose labels are known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/formats/json.h"

namespace fairlane {

/// precision, recall, f1  of class 1 where there are two classes, otherwise the mean over the
///                        classes; 0 where a class is never decided, or never occurs
/// auc                    two classes: the probability that a row of class 1 has a higher score
///                        than one of class 0, half of it for equal scores; none where a class is
///                        missing
/// decided_classes        how many classes are decided at all
struct Metrics {
  std::int64_t rows = 0;
  double accuracy = 0.0;
  double precision = 0.0;
  double recall = 0.0;
  double f1 = 0.0;
  std::optional<double> auc;
  int decided_classes = 0;
};

/// labels   [rows] true classes
/// scores   [rows][outputs] logits or probabilities
/// decided  [rows] classes; -1: an undefined output, which agrees with no label
Metrics measure(std::span<std::int32_t const> labels, std::span<float const> scores,
                std::span<std::int32_t const> decided, int classes);

Json metrics_json(Metrics const& metrics);

}  // namespace fairlane
