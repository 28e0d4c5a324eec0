#include "engine/config/config_json.h"

namespace fairlane {

Json recorded_config(RunConfig const& config) {
  Json json;
  for (ConfigKey const& key : config_keys()) {
    if (!key.recorded) continue;
    auto const [section, last] = split_key(key.name);
    key.value->record(config, last, section.empty() ? json : json[section]);
  }
  return json;
}

Json recorded_section(RunConfig const& config, std::string const& section) {
  Json json;
  for (ConfigKey const& key : config_keys()) {
    auto const [own, last] = split_key(key.name);
    if (own == section) key.value->record(config, last, json);
  }
  return json;
}

RunConfig restored_config(Json const& json, std::string const& dir) {
  RunConfig config;
  config.source = dir + "/manifest.json";
  config.output.dir = dir;  // paths are relative to it
  for (ConfigKey const& key : config_keys()) {
    if (!key.recorded) continue;
    auto const [section, last] = split_key(key.name);
    bool const has_section = section.empty() || json.contains(section);
    if (!has_section && !section_named(section).in_every_manifest) continue;
    Json const& keys = section.empty() ? json : json.at(section);
    if (key.before == nullptr || keys.contains(last)) {
      key.value->restore(keys, last, config);
      continue;
    }
    Json meant;
    meant[last] = Json::parse(key.before);
    key.value->restore(meant, last, config);
  }
  return config;
}

}  // namespace fairlane
