#include "models/onnx/linear_classifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace fairlane::onnx {
namespace {

Error bad(Node const& node, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", node.where, what));
}

// Whether the first class has the second one's coefficients with the other sign.
bool is_mirrored(std::vector<double> const& first, std::vector<double> const& second) {
  return std::ranges::equal(first, second, [](double a, double b) { return a == -b; });
}

}  // namespace

LinearScores read_linear_classifier(Node const& node) {
  std::vector<double> coefficients = node.numbers("coefficients");
  std::vector<double> intercepts = node.numbers("intercepts");
  std::size_t const labels =
      std::max(node.integers("classlabels_ints").size(), node.texts("classlabels_strings").size());
  std::size_t const rows = intercepts.size();
  if (labels < 2 || (rows != labels && !(rows == 1 && labels == 2))) {
    throw bad(node,
              fmt::format("has {} intercepts for {} classes, expected one each", rows, labels));
  }
  if (coefficients.empty() || coefficients.size() % rows != 0) {
    throw bad(node, fmt::format("has {} coefficients, expected a multiple of {}",
                                coefficients.size(), rows));
  }
  std::size_t const inputs = coefficients.size() / rows;
  std::string_view const transform = node.text("post_transform", "NONE");
  LinearScores scores;
  scores.mirrored = labels == 2;
  if (rows == 2) {
    auto const middle = coefficients.begin() + static_cast<std::ptrdiff_t>(inputs);
    // Softmax of -z and z is the sigmoid of 2z: it stays a softmax.
    scores.mirrored = transform != "SOFTMAX" && intercepts[0] == -intercepts[1] &&
                      is_mirrored({coefficients.begin(), middle}, {middle, coefficients.end()});
    if (scores.mirrored) {
      coefficients.erase(coefficients.begin(), middle);
      intercepts.erase(intercepts.begin());
    }
  }
  bool const logistic = transform == "LOGISTIC" && scores.mirrored;
  bool const softmax = transform == "SOFTMAX" && !scores.mirrored;
  if (!logistic && !softmax && transform != "NONE") {
    throw bad(node, fmt::format(
                        "makes {} of the scores of {} classes, which no layer gives, expected "
                        "LOGISTIC for two classes that mirror each other, SOFTMAX for several, or "
                        "NONE; the model can be tested as a black box (exec:)",
                        in_quotes(transform), labels));
  }
  scores.activation = logistic  ? Activation::kSigmoid
                      : softmax ? Activation::kSoftmax
                                : Activation::kLinear;
  std::size_t const outputs = intercepts.size();
  scores.inputs = static_cast<std::int64_t>(inputs);
  scores.outputs = static_cast<std::int64_t>(outputs);
  scores.bias = std::move(intercepts);
  scores.weights.resize(inputs * outputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i)
      scores.weights[i * outputs + o] = coefficients[o * inputs + i];
  }
  return scores;
}

}  // namespace fairlane::onnx
