// PLAN.yaml: the axes along which a sweep multiplies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/config_yaml.h"
#include "engine/sweep/sweep_command.h"

namespace fairlane {

/// A configuration, or one with another model.
/// config  path
/// model   path, in place of the configuration's; empty: its own
struct PlanSubject {
  std::string config;
  std::string model;
};

/// Protected attributes that are tested together, or all such sets of a kind.
enum class ProtectedSets { kAsConfigured, kListed, kSingles, kPairs, kAll };
/// value  of `protected` as YAML, where the set is listed
/// name   for people: "age+race"
/// place  in the plan: file:line:column
struct PlanProtected {
  ProtectedSets sets = ProtectedSets::kAsConfigured;
  std::string value;
  std::string name;
  std::string place;
};

/// Keys of a configuration that belong together, under a name for people.
struct PlanSettings {
  std::string name;
  std::vector<Override> changes;
};

/// A command and further words of its command line.
struct PlanCommand {
  SweepCommand const* command = nullptr;
  std::vector<std::string> options;
};

/// One matrix: a cell for each combination. An empty axis stands for what the configuration says.
struct PlanMatrix {
  std::vector<PlanSubject> subjects;
  std::vector<PlanProtected> protected_sets;
  std::vector<PlanCommand> commands;
  std::vector<std::string> methods;
  std::vector<std::uint64_t> seeds;
  std::vector<PlanSettings> settings;
  std::vector<Override> changes;  // for all of its cells
};

/// What stays of a cell once its result is in the journal.
enum class KeptResults { kAll, kSummary };
template <>
inline constexpr std::array kEnumWords<KeptResults> = std::to_array<Word<KeptResults>>(
    {{KeptResults::kAll, "all", "its directory"},
     {KeptResults::kSummary, "summary", "its figures; the directory is removed"}});

/// A plan as its file says.
/// source  the file
/// folder  of the file, to which paths in it are relative
/// out     the sweep's directory
/// report  whether it has a page of its cells; each cell's is its configuration's
struct SweepPlan {
  std::string source;
  std::string folder;
  std::string out;
  KeptResults keep = KeptResults::kAll;
  bool report = true;
  std::vector<PlanMatrix> matrices;
};

/// Reads a plan. out: in place of output.dir; empty: none. Throws Error(kNoInput | kConfig) with
/// file:line:column.
SweepPlan read_sweep_plan(std::string const& path, std::string const& out = {});

}  // namespace fairlane
