#include "engine/results/changed_inputs.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"

namespace fairlane {

std::string ChangedInput::text() const {
  constexpr std::size_t kLongestPath = 4096;
  return fmt::format("{}: has SHA-256 {}, but the manifest records {}", escaped(path, kLongestPath),
                     found, recorded.empty() ? "none" : escaped(recorded));
}

std::vector<ChangedInput> changed_inputs(RecordedRun const& run) {
  std::vector<ChangedInput> changed;
  auto const compare = [&](std::string const& path, std::string const& recorded) {
    if (path.empty()) return;
    std::string const found = sha256_file(path);
    if (found != recorded) changed.push_back({path, recorded, found});
  };
  compare(model_file(run.config.model), run.model_sha256);
  compare(run.config.data, run.data_sha256);
  compare(run.config.domain, run.domain_sha256);
  compare(run.config.global.seeds, run.seeds_sha256);
  return changed;
}

}  // namespace fairlane
