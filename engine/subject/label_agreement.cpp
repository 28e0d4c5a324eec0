#include "engine/subject/label_agreement.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fairlane {
namespace {

constexpr std::int64_t kRowsAtOnce = 1 << 14;

/// Label of one row's scores; -1 where one of them is not finite.
std::int32_t label_of(float const* scores, std::size_t outputs, float threshold) {
  float const* const end = scores + outputs;
  if (!std::all_of(scores, end, [](float z) { return std::isfinite(z); })) return -1;
  if (outputs == 1) return scores[0] > threshold ? 1 : 0;
  return static_cast<std::int32_t>(std::max_element(scores, end) - scores);
}

}  // namespace

std::optional<LabelAgreement> label_agreement(TestSubject const& subject, Backend& backend) {
  Dataset const* const data = subject.data();
  if (data == nullptr || data->labels.empty()) return std::nullopt;
  auto const outputs = static_cast<std::size_t>(subject.model().outputs());
  LabelAgreement agreement{data->count(), 0};
  std::vector<float> scores;
  for (std::int64_t first = 0; first < agreement.rows; first += kRowsAtOnce) {
    auto const count = static_cast<std::size_t>(std::min(kRowsAtOnce, agreement.rows - first));
    scores.resize(count * outputs);
    backend.logits(data->rows.data() + first * data->attributes, count, scores.data());
    for (std::size_t i = 0; i < count; ++i) {
      auto const label = label_of(&scores[i * outputs], outputs, subject.view().threshold);
      auto const row = static_cast<std::size_t>(first) + i;
      agreement.agreed += label == data->labels[row] ? 1 : 0;
    }
  }
  return agreement;
}

}  // namespace fairlane
