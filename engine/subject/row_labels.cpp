#include "engine/subject/row_labels.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fairlane {
namespace {

constexpr std::size_t kRowsAtOnce = std::size_t{1} << 14;

/// Label of one row's scores; -1 where one of them is not finite.
std::int32_t label_of(float const* scores, std::size_t outputs, float threshold) {
  float const* const end = scores + outputs;
  if (!std::all_of(scores, end, [](float z) { return std::isfinite(z); })) return -1;
  if (outputs == 1) return scores[0] > threshold ? 1 : 0;
  return static_cast<std::int32_t>(std::max_element(scores, end) - scores);
}

}  // namespace

RowLabels label_rows(TestSubject const& subject, Backend& backend,
                     std::span<std::int32_t const> rows) {
  auto const attributes = static_cast<std::size_t>(subject.domain().size());
  auto const outputs = static_cast<std::size_t>(subject.model().outputs());
  std::size_t const count = rows.size() / attributes;
  RowLabels result;
  result.scores.resize(count * outputs);
  result.labels.resize(count);
  for (std::size_t first = 0; first < count; first += kRowsAtOnce) {
    std::size_t const some = std::min(kRowsAtOnce, count - first);
    float* const scores = result.scores.data() + first * outputs;
    backend.logits(rows.data() + first * attributes, some, scores);
    for (std::size_t i = 0; i < some; ++i) {
      result.labels[first + i] = label_of(scores + i * outputs, outputs, subject.view().threshold);
    }
  }
  return result;
}

std::optional<LabelAgreement> label_agreement(TestSubject const& subject, Backend& backend) {
  Dataset const* const data = subject.data();
  if (data == nullptr || data->labels.empty()) return std::nullopt;
  LabelAgreement agreement{data->count()};
  std::map<std::int32_t, std::int64_t> counts;
  for (std::int32_t const label : data->labels)
    agreement.majority = std::max(agreement.majority, ++counts[label]);
  auto const attributes = static_cast<std::size_t>(data->attributes);
  for (std::size_t first = 0; first < data->labels.size(); first += kRowsAtOnce) {
    std::size_t const some = std::min(kRowsAtOnce, data->labels.size() - first);
    RowLabels const decided =
        label_rows(subject, backend, {&data->rows[first * attributes], some * attributes});
    for (std::size_t i = 0; i < some; ++i)
      agreement.agreed += decided.labels[i] == data->labels[first + i] ? 1 : 0;
  }
  return agreement;
}

}  // namespace fairlane
