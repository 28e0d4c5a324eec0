#include "models/improbable.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlane {

namespace {

constexpr std::size_t kShownValues = 40;  // of a row

}  // namespace

std::string improbable(float const* rows, int inputs, float const* scores, int outputs,
                       std::size_t count) {
  auto const is_bad = [](float p) { return p < 0.0F || p > 1.0F; };  // false for NaN
  std::size_t const all = count * static_cast<std::size_t>(outputs);
  float const* const bad = std::find_if(scores, scores + all, is_bad);
  if (bad == scores + all) return "";
  auto const at = static_cast<std::size_t>(bad - scores);
  float const* const row =
      rows + at / static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs);
  auto const shown = std::min(static_cast<std::size_t>(inputs), kShownValues);
  std::string text = fmt::format("{:g} as a probability of the row ", *bad);
  for (std::size_t i = 0; i < shown; ++i) text += fmt::format("{}{:g}", i == 0 ? "" : ",", row[i]);
  return text + (shown < static_cast<std::size_t>(inputs) ? ",..." : "");
}

}  // namespace fairlane
