#include "apps/init/input_trials.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "engine/check/double_evaluator.h"
#include "engine/check/scorer_evaluator.h"
#include "engine/subject/subject.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostRows = 2000;
constexpr std::int64_t kLeastRows = 100;
/// Parameters of a network times rows times ways: a second or two.
constexpr std::int64_t kMostWork = 2'000'000'000;

std::int64_t rows_to_try(Model const& model, std::int64_t rows, std::int64_t ways) {
  std::int64_t most = kMostRows;
  if (!model.scorer()) {
    std::int64_t const parameters = model.network("init").parameters();
    most = std::clamp(kMostWork / (parameters * ways), kLeastRows, kMostRows);
  }
  return std::min(rows, most);
}

/// rows  [count][attributes] in the order of the way
/// labels  [count]
std::int64_t count_agreeing(Model const& model, Domain const& domain,
                            std::vector<std::int32_t> const& rows,
                            std::vector<std::int32_t> const& labels) {
  std::mutex lock;
  std::unique_ptr<RowEvaluator> evaluator;
  if (model.scorer()) {
    evaluator = std::make_unique<ScorerEvaluator>(*model.scorer(), domain, lock);
  } else {
    evaluator = std::make_unique<DoubleEvaluator>(model.network("init"), &domain);
  }
  evaluator->announce(rows);
  double const threshold = static_cast<double>(label_threshold(model.scores(), 0.5));
  std::int64_t agreeing = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    evaluator->evaluate(rows.data() + i * domain.attributes.size());
    if (evaluator->label(threshold).label == labels[i]) ++agreeing;
  }
  return agreeing;
}

}  // namespace

InputTrials try_ways(Model const& model, Dataset const& data, std::span<InputWay const> ways) {
  InputTrials trials;
  trials.rows = rows_to_try(model, data.count(), std::ssize(ways));
  Domain const& table = ways.front().domain;
  std::vector<std::size_t> sample;  // rows of the table
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < trials.rows; ++i) {
    sample.push_back(static_cast<std::size_t>(i * data.count() / trials.rows));
    labels.push_back(data.labels[sample.back()]);
  }
  for (InputWay const& way : ways) {
    std::vector<std::size_t> from;  // place of each attribute among the table's
    for (Attribute const& attribute : way.domain.attributes)
      from.push_back(static_cast<std::size_t>(table.find(attribute.name)));
    std::vector<std::int32_t> rows;
    for (std::size_t const row : sample) {
      for (std::size_t const place : from) rows.push_back(data.rows[row * from.size() + place]);
    }
    trials.agreement.push_back(
        static_cast<double>(count_agreeing(model, way.domain, rows, labels)) /
        static_cast<double>(trials.rows));
  }
  trials.best = static_cast<std::size_t>(std::ranges::max_element(trials.agreement) -
                                         trials.agreement.begin());
  return trials;
}

}  // namespace fairlane
