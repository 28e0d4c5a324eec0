// The configuration in manifest.json.
#pragma once

#include <string>

#include "engine/config/config_keys.h"

namespace fairlane {

/// A manifest's `config`: every key that it records, paths relative to config.output.dir.
Json recorded_config(RunConfig const& config);

/// The keys of one section, as a command records them beside `config` where only it uses them.
Json recorded_section(RunConfig const& config, std::string const& section);

/// The configuration that recorded_config() wrote into the manifest of a directory, or an earlier
/// version did. Throws where it is something else.
RunConfig restored_config(Json const& json, std::string const& dir);

}  // namespace fairlane
