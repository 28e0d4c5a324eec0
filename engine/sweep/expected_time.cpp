#include "engine/sweep/expected_time.h"

#include <utility>

#include "base/error.h"
#include "engine/subject/backend_choice.h"
#include "models/model.h"

namespace fairlane {
namespace {

constexpr double kStartSeconds = 0.1;  // a cell without any work: reading, clustering, writing

/// Multiply-adds of one evaluation; nothing of a model that is no network or cannot be read.
std::optional<double> multiply_adds_of(std::string const& path) {
  if (runs_code(path)) return std::nullopt;
  try {
    Model const model = load_model(path, 0, {});
    if (model.scorer()) return std::nullopt;
    double sum = 0.0;
    for (DenseLayer const& layer : model.network("sweep").layers)
      sum += static_cast<double>(layer.inputs) * static_cast<double>(layer.outputs);
    return sum;
  } catch (Error const&) {
    return std::nullopt;  // its cells will say what is wrong
  }
}

struct Pace {
  double seconds = 0.0;
  double work = 0.0;
};

}  // namespace

std::vector<std::optional<double>> expected_seconds(SweepPlan const& plan, SweepCells const& cells,
                                                    SweepStandings const& standings) {
  using Kind = std::pair<std::string, std::string>;  // command and subject
  std::map<Kind, Pace> paces;
  auto const kind_of = [](SweepCell const& cell) {
    return Kind{cell.command->name, cell.subject()};
  };
  for (SweepCell const& cell : cells.cells) {
    auto const found = standings.results.find(cell.id);
    if (found == standings.results.end() || !found->second.is_done()) continue;
    Pace& pace = paces[kind_of(cell)];
    pace.seconds += found->second.seconds * found->second.machine.threads;
    pace.work += cell.work.evaluations;
  }
  std::map<std::string, std::optional<double>> sizes;  // by subject
  std::vector<std::optional<double>> expected;
  for (SweepCell const& cell : cells.cells) {
    auto& seconds = expected.emplace_back();
    if (cell.work.evaluations <= 0.0) continue;
    Pace const& pace = paces[kind_of(cell)];
    if (pace.work > 0.0) {
      seconds = cell.work.evaluations * pace.seconds / pace.work;
      continue;
    }
    auto [size, is_new] = sizes.try_emplace(cell.subject());
    if (is_new) size->second = multiply_adds_of(cell_config(plan, cell).model);
    if (!size->second) continue;
    seconds = kStartSeconds + core_seconds(cell.work, *size->second);
  }
  return expected;
}

}  // namespace fairlane
