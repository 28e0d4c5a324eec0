// manifest.json: what a run is a function of, written and read back.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "engine/config/run_config.h"
#include "engine/search/cut.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// manifest.json: version, configuration as resolved (every key), SHA-256 of every input, seed,
/// arithmetic; no times, no hardware. Paths are relative to the output directory. `cut` is recorded
/// when a budget of seconds ended the run. sections: names and JSON texts of what another command
/// than `run` adds.
std::string manifest_json(RunConfig const& config, TestSubject const& subject, Cut const& cut,
                          std::vector<std::pair<std::string, std::string>> const& sections = {});
/// The configuration that a finished directory's manifest records (paths resolved), and the digests
/// of its inputs. Throws Error(kNoInput | kData).
struct RecordedRun {
  std::string command = "run";   // that wrote it
  bool lists_instances = false;  // whether it has written instances, and a list of their files
  RunConfig config;
  Cut cut;
  std::string model_sha256;
  std::string data_sha256;
  std::string domain_sha256;
  std::string seeds_sha256;
};
RecordedRun read_manifest(std::string const& dir);

/// Whether the command of a manifest has written instances and the list of their files; earlier
/// versions wrote instances alone. Throws JsonError.
bool lists_instances(Json const& manifest);

}  // namespace fairlane
