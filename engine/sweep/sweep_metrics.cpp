#include "engine/sweep/sweep_metrics.h"

#include <fmt/format.h>

#include <map>

namespace fairlane {
namespace {

/// A label's value as the format wants it.
std::string quoted(std::string const& text) {
  std::string safe;
  for (char const c : text) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return "\"" + safe + "\"";
}

/// All are gauges: what Prometheus and OpenMetrics call the sum of a counter differs.
std::string head(char const* name, char const* help) {
  return fmt::format("# TYPE {} gauge\n# HELP {} {}\n", name, name, help);
}

}  // namespace

std::string sweep_metrics(SweepOverview const& overview, std::string const& name,
                          double seconds_left) {
  std::string const sweep = quoted(name);
  std::string text = head("fairlane_sweep_cells", "Cells of the plan by state.");
  for (auto const& word : kEnumWords<CellStanding>) {
    text += fmt::format("fairlane_sweep_cells{{sweep={},state=\"{}\"}} {}\n", sweep, word.name,
                        overview.count(word.value));
  }
  text += head("fairlane_sweep_cell_seconds", "Time that finished cells took.");
  text +=
      fmt::format("fairlane_sweep_cell_seconds{{sweep={}}} {:.3f}\n", sweep, overview.seconds());
  text += head("fairlane_sweep_model_evaluations", "Model evaluations of finished cells.");
  text += fmt::format("fairlane_sweep_model_evaluations{{sweep={}}} {:.0f}\n", sweep,
                      overview.evaluations());
  text += head("fairlane_sweep_left_seconds", "Expected time to the end, 0: not known.");
  text += fmt::format("fairlane_sweep_left_seconds{{sweep={}}} {:.0f}\n", sweep, seconds_left);
  std::map<std::string, double> by_host;
  for (std::size_t i = 0; i < overview.states.size(); ++i) {
    if (overview.states[i] == CellStanding::kDone)
      by_host[overview.results[i]->machine.host] += 1.0;
  }
  text += head("fairlane_sweep_host_cells", "Cells that a machine has finished.");
  for (auto const& [host, cells] : by_host) {
    text += fmt::format("fairlane_sweep_host_cells{{sweep={},host={}}} {:.0f}\n", sweep,
                        quoted(host), cells);
  }
  return text + "# EOF\n";
}

}  // namespace fairlane
