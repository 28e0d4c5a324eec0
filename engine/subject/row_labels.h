// What a model decides about rows, and whether that is as the labels of its table say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/subject/subject.h"

namespace fairlane {

/// What a subject says of rows.
/// scores  [rows][outputs]
/// labels  [rows] decided classes; -1: a score is no finite number
struct RowLabels {
  std::vector<float> scores;
  std::vector<std::int32_t> labels;
};

/// rows: [count][attributes] codes. Throws Error where a scorer fails.
RowLabels label_rows(TestSubject const& subject, Backend& backend,
                     std::span<std::int32_t const> rows);

/// Rows with a label, those of them whose label the model gives, and those with the most frequent
/// label: what a model that always gives it would agree with.
struct LabelAgreement {
  std::int64_t rows = 0;
  std::int64_t agreed = 0;
  std::int64_t majority = 0;

  double share() const { return static_cast<double>(agreed) / static_cast<double>(rows); }
  double majority_share() const {
    return static_cast<double>(majority) / static_cast<double>(rows);
  }
};

/// Evaluates the subject's data; nothing where it has no rows or no labels. An undefined output
/// agrees with no label. Throws Error where a scorer fails.
std::optional<LabelAgreement> label_agreement(TestSubject const& subject, Backend& backend);

}  // namespace fairlane
