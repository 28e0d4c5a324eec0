// The table of keys: what is recorded is read back, and schema and page say what is read.
#include "engine/config/config_keys.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "engine/config/config_json.h"
#include "engine/config/config_reference.h"
#include "engine/config/config_yaml.h"
#include "tests/checkout.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

RunConfig config_with(std::string const& key, std::string const& value) {
  return parse_run_config("{model: /m/m.h5, domain: /m/d.yaml, protected: a, output: {dir: /m/o}}",
                          "c.yaml", "", {{"--set " + key, key, value}});
}

Json recorded_value(ConfigKey const& key, RunConfig const& config) {
  Json section;
  key.value->record(config, "value", section);
  return section.at("value");
}

/// A value of a key other than its default, as YAML has it.
std::string other_value(ConfigKey const& key) {
  std::string const present = default_text(key.name);
  for (Choice const& choice : key.value->choices()) {
    if (choice.name != present) return choice.name;
  }
  Json const of_default = recorded_value(key, RunConfig());
  for (char const* value : {"7", "0.25", "true", "false", "[3]", "soft", "x/y.z"}) {
    try {
      if (recorded_value(key, config_with(key.name, value)) != of_default) return value;
    } catch (Error const&) {
    }
  }
  ADD_FAILURE() << key.name << " takes none of the values";
  return "";
}

/// What a run would record of a configuration in /m/o, whatever the kind of the key.
RunConfig recorded_and_restored(RunConfig const& config) {
  RunConfig again = restored_config(recorded_config(config), config.output.dir);
  return again;
}

TEST(ConfigKeys, EveryRowIsWhole) {
  std::set<std::string> names;
  for (ConfigKey const& key : config_keys()) {
    SCOPED_TRACE(key.name);
    EXPECT_TRUE(names.insert(key.name).second);
    EXPECT_EQ(find_key(key.name), &key);
    EXPECT_NE(std::string(key.help), "");
    EXPECT_EQ(std::string(key.help).find('\n'), std::string::npos);
    std::string const section = split_key(key.name).section;
    if (!section.empty()) {
      EXPECT_NO_THROW(section_named(section));
    }
    for (Choice const& choice : key.value->choices()) EXPECT_NE(choice.help, "") << choice.name;
  }
  for (ConfigSection const& section : config_sections()) {
    EXPECT_EQ(find_key(section.name), nullptr);
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](std::string const& name) {
      return split_key(name).section == section.name;
    })) << section.name;
  }
  EXPECT_EQ(find_key("global"), nullptr);
}

TEST(ConfigKeys, KeysOfASectionStandTogether) {
  std::set<std::string> left;
  std::string section;
  for (ConfigKey const& key : config_keys()) {
    std::string const next = split_key(key.name).section;
    if (next == section) continue;
    EXPECT_TRUE(left.insert(section).second) << key.name;
    section = next;
  }
  EXPECT_FALSE(left.contains(section)) << section;
}

TEST(ConfigKeys, EveryRowHasAMemberOfItsOwn) {
  for (ConfigKey const& key : config_keys()) {
    if (key.required != nullptr) continue;
    SCOPED_TRACE(key.name);
    RunConfig const changed = config_with(key.name, other_value(key));
    for (ConfigKey const& other : config_keys()) {
      if (other.required != nullptr) continue;
      bool const same = recorded_value(other, changed) == recorded_value(other, RunConfig());
      EXPECT_EQ(same, &other != &key) << other.name;
    }
  }
}

TEST(ConfigKeys, WhatIsRecordedIsRestored) {
  for (ConfigKey const& key : config_keys()) {
    if (key.required != nullptr || !key.recorded) continue;
    SCOPED_TRACE(key.name);
    RunConfig const changed = config_with(key.name, other_value(key));
    RunConfig const again = recorded_and_restored(changed);
    EXPECT_EQ(recorded_config(again).dump(), recorded_config(changed).dump());
    EXPECT_NE(recorded_config(again).dump(), recorded_config(config_with("seed", "42")).dump());
  }
}

TEST(ConfigKeys, EveryWordIsReadAndRecorded) {
  for (ConfigKey const& key : config_keys()) {
    for (Choice const& choice : key.value->choices()) {
      SCOPED_TRACE(std::string(key.name) + "=" + choice.name);
      EXPECT_EQ(recorded_value(key, config_with(key.name, choice.name)), choice.name);
    }
  }
}

TEST(ConfigKeys, ADefaultMayBeWrittenOut) {
  int written = 0;
  for (ConfigKey const& key : config_keys()) {
    std::string const value = default_text(key.name);
    if (value.empty()) continue;
    SCOPED_TRACE(key.name);
    EXPECT_EQ(recorded_value(key, config_with(key.name, value)), recorded_value(key, RunConfig()));
    ++written;
  }
  EXPECT_GT(written, 30);
}

TEST(ConfigKeys, PathsAreRecordedRelativeToTheResults) {
  TemporaryFolder const folder;
  RunConfig config;
  config.model = folder.file("models/m.h5");
  config.data = folder.file("d.csv");
  config.domain = folder.file("out/d.yaml");
  config.output.dir = folder.file("out");
  Json const json = recorded_config(config);
  EXPECT_EQ(json.at("model"), "../models/m.h5");
  EXPECT_EQ(json.at("data"), "../d.csv");
  EXPECT_EQ(json.at("domain"), "d.yaml");
  EXPECT_EQ(json.at("output").at("dir"), ".");
  EXPECT_TRUE(json.at("global").at("seeds").is_null());
  EXPECT_FALSE(json.contains("model_folder"));
  RunConfig const again = restored_config(json, "moved/out");
  EXPECT_EQ(again.model, "moved/models/m.h5");
  EXPECT_EQ(again.data, "moved/d.csv");
  EXPECT_EQ(again.domain, "moved/out/d.yaml");
  EXPECT_EQ(again.global.seeds, "");
  EXPECT_EQ(again.output.dir, "moved/out");
}

TEST(ConfigKeys, ACommandIsRecordedWithItsFolder) {
  TemporaryFolder const folder;
  RunConfig config;
  config.model = "exec:python3 m.py";
  config.model_folder = folder.file("here");
  config.output.dir = folder.file("here/out");
  Json const json = recorded_config(config);
  EXPECT_EQ(json.at("model"), "exec:python3 m.py");
  EXPECT_EQ(json.at("model_folder"), "..");
  RunConfig const again = restored_config(json, "moved/out");
  EXPECT_EQ(again.model, "exec:python3 m.py");
  EXPECT_EQ(again.model_folder, "moved/");
}

// What versions wrote that had no AEQUITAS, sg, expga, budget.evaluations, output.path_coverage,
// output.report, output.words or output.plausibility yet.
TEST(ConfigKeys, ManifestsOfEarlierVersionsAreRead) {
  Json json = recorded_config(config_with("seed", "9"));
  json["sg"].erase("order");
  json["budget"].erase("evaluations");
  json["output"].erase("path_coverage");
  json["output"].erase("report");
  json["output"].erase("words");
  json["output"].erase("plausibility");
  json["plausibility"].erase("weight");
  RunConfig const without_keys = restored_config(json, "o");
  EXPECT_EQ(without_keys.seed, 9U);
  EXPECT_EQ(without_keys.sg.order, QueueOrder::kProgram);  // the only one there was
  EXPECT_FALSE(without_keys.budget.evaluations.has_value());
  EXPECT_FALSE(without_keys.output.path_coverage);
  EXPECT_TRUE(without_keys.output.report);
  EXPECT_FALSE(without_keys.output.words);
  EXPECT_FALSE(without_keys.output.plausibility);
  EXPECT_EQ(without_keys.plausibility.weight, 0.0);
  json.erase("sg");
  json.erase("aequitas");
  json.erase("expga");
  json.erase("plausibility");
  RunConfig const without_sections = restored_config(json, "o");
  EXPECT_EQ(without_sections.sg.order, QueueOrder::kLeaf);
  EXPECT_EQ(without_sections.aequitas.lanes, AequitasConfig().lanes);
  EXPECT_EQ(without_sections.plausibility.at_least, 0.0);
  // What every version wrote is missed.
  for (char const* key : {"seed", "method", "global", "budget"}) {
    Json less = json;
    less.erase(key);
    EXPECT_ANY_THROW(restored_config(less, "o")) << key;
  }
  json["method"] = "eidgi";
  EXPECT_ANY_THROW(restored_config(json, "o"));
}

TEST(ConfigKeys, TheSchemaHasEveryKey) {
  Json const schema = Json::parse(config_schema());
  std::size_t keys = 0;
  for (ConfigKey const& key : config_keys()) {
    SCOPED_TRACE(key.name);
    auto const [section, last] = split_key(key.name);
    Json const& map = section.empty() ? schema : schema.at("properties").at(section);
    EXPECT_EQ(map.at("additionalProperties"), false);
    Json const& row = map.at("properties").at(last);
    EXPECT_EQ(row.at("description").get<std::string>().rfind(key.help, 0), 0U);
    std::string const value = default_text(key.name);
    EXPECT_EQ(row.contains("default"), !value.empty());
    ++keys;
  }
  for (auto const& [name, row] : schema.at("properties").items()) {
    keys -= row.contains("properties") ? row.at("properties").size() : 1;
  }
  EXPECT_EQ(keys, 0U) << "the schema has a key that the table does not have";
}

TEST(ConfigKeys, ThePageInTheDocsIsTheOneThatTheCommandPrints) {
  EXPECT_EQ(slurp(source_dir() + "/docs/configuration.md"), config_reference())
      << "run: fairlane config > docs/configuration.md";
}

}  // namespace
}  // namespace fairlane
