#include "engine/learning/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "engine/learning/training_draws.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;

Error bad_table(RunConfig const& config, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", escaped(config.data, kLongestPath), what));
}

/// Number of classes, from labels that are class numbers.
int class_count(RunConfig const& config, Dataset const& data) {
  std::int32_t most = 0;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    std::int32_t const label = data.labels[i];
    if (label < 0 || label >= kMaxUnits) {
      throw Error(ExitCode::kData, fmt::format("{}:{}: the label is {}, expected a class 0..{}",
                                               escaped(config.data, kLongestPath), data.lines[i],
                                               label, kMaxUnits - 1));
    }
    most = std::max(most, label);
  }
  bool const is_constant =
      std::ranges::all_of(data.labels, [&](std::int32_t label) { return label == most; });
  if (is_constant) {
    throw bad_table(config,
                    fmt::format("every row has the label {}, expected at least two classes", most));
  }
  return std::max(2, most + 1);
}

}  // namespace

void TrainingRows::add(Domain const& domain, std::int32_t const* row, std::int32_t label) {
  std::vector<double> encoded;
  domain.encode(row, encoded);
  rows.insert(rows.end(), row, row + attributes);
  for (double const value : encoded) inputs.push_back(static_cast<float>(value));
  labels.push_back(label);
}

TrainingTable read_training_table(RunConfig const& config) {
  if (config.data.empty()) {
    throw Error(ExitCode::kConfig,
                fmt::format("{}: has no \"data\", expected the table to learn from",
                            escaped(config.source, kLongestPath)));
  }
  TrainingTable table;
  table.domain = read_domain_yaml(config.domain);
  Dataset data = read_csv(config.data, table.domain);
  resolve_bounds(table.domain, &data);
  apply_out_of_domain(data, table.domain, config.out_of_domain);
  if (data.dropped > 0) {
    table.notices.push_back(
        fmt::format("{} rows lie outside the domain and were dropped", data.dropped));
  }
  if (data.clipped > 0) {
    table.notices.push_back(
        fmt::format("{} rows lay outside the domain and were clipped", data.clipped));
  }
  if (data.labels.empty()) {
    throw bad_table(config, fmt::format("has no label column {}, expected one to learn from",
                                        in_quotes(table.domain.label)));
  }
  if (data.count() > std::numeric_limits<std::int32_t>::max())
    throw bad_table(config, fmt::format("has {} rows, expected at most 2^31", data.count()));
  table.classes = class_count(config, data);
  auto const count = static_cast<std::uint32_t>(data.count());
  auto const part = [&](double share) {
    return static_cast<std::uint32_t>(std::lround(share * static_cast<double>(count)));
  };
  std::uint32_t const test = part(config.train.test);
  std::uint32_t const validation = part(config.train.validation);
  bool const lacks = (config.train.test > 0.0 && test == 0) ||
                     (config.train.validation > 0.0 && validation == 0) ||
                     test + validation >= count;
  if (lacks) {
    throw bad_table(config,
                    fmt::format("{} rows are too few for train.test: {} and train.validation: {}, "
                                "which leave {} rows to learn from",
                                count, config.train.test, config.train.validation,
                                count - std::min(count, test + validation)));
  }
  std::vector<std::uint32_t> const order = shuffled(count, TrainingDraw::kSplit, 0, config.seed);
  auto const take = [&](std::uint32_t begin, std::uint32_t end, TrainingRows& rows) {
    std::vector<std::uint32_t> taken(order.begin() + begin, order.begin() + end);
    std::ranges::sort(taken);  // in the table's order
    rows.attributes = table.domain.size();
    rows.columns = table.domain.columns();
    for (std::uint32_t const i : taken)
      rows.add(table.domain,
               data.rows.data() + std::size_t{i} * static_cast<std::size_t>(data.attributes),
               data.labels[i]);
  };
  take(0, test, table.test);
  take(test, test + validation, table.validation);
  take(test + validation, count, table.train);
  return table;
}

TrainingTable read_training_table(RunConfig const& config, Model const& model) {
  TrainingTable table = read_training_table(config);
  int const classes = std::max(2, model.outputs());
  if (table.classes > classes) {
    throw bad_table(config, fmt::format("has {} classes, but {} decides on {}, expected no more",
                                        table.classes, escaped(config.model), classes));
  }
  table.classes = classes;
  return table;
}

}  // namespace fairlane
