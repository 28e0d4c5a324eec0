// Whether a model decides as the labels of its table say.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/subject/subject.h"

namespace fairlane {

/// Rows with a label, and those of them whose label the model gives.
struct LabelAgreement {
  std::int64_t rows = 0;
  std::int64_t agreed = 0;

  double share() const { return static_cast<double>(agreed) / static_cast<double>(rows); }
};

/// Evaluates the subject's data; nothing where it has no rows or no labels. An undefined output
/// agrees with no label. Throws Error where a scorer fails.
std::optional<LabelAgreement> label_agreement(TestSubject const& subject, Backend& backend);

}  // namespace fairlane
