#include "engine/results/results_page.h"

#include <filesystem>

namespace fairlane {

void write_results_page(RunConfig const& config, Execution const& execution, OutputDir& out) {
  if (!config.output.report || !execution.page) return;
  std::filesystem::path const summary = out.partial("summary.json");
  out.write("report.html", execution.page(summary.parent_path().string(), out.path()));
}

}  // namespace fairlane
