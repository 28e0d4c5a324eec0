#include "engine/results/trace.h"

#include <fmt/format.h>

#include <string>

#include "base/files.h"
#include "base/text.h"

namespace fairlane {

void write_trace(RunConfig const& config, TestSubject const& subject, SearchResult const& result,
                 OutputDir& out) {
  FileWriter file(out.partial("global.csv"));
  std::string line = "method,seed,found,iterations";
  for (auto const& attribute : subject.domain().attributes) line += "," + csv_cell(attribute.name);
  line += '\n';
  auto const width = subject.domain().attributes.size();
  for (std::size_t seed = 0; seed < result.global.size(); ++seed) {
    auto const& outcome = result.global[seed];
    line +=
        fmt::format("{},{},{},{}", config.method, seed, outcome.found ? 1 : 0, outcome.iterations);
    for (std::size_t a = 0; a < width; ++a)
      line += fmt::format(",{}", result.last_rows[seed * width + a]);
    line += '\n';
    file.write(line.data(), line.size());
    line.clear();
  }
  file.write(line.data(), line.size());
  file.close();
}

}  // namespace fairlane
