// One protected selection of an audit: how many people it changes the decision about, and whom.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/config/run_config.h"
#include "engine/plausibility/plausibility.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// What the selections of one audit share.
/// execution    of searches and counts; a scorer stays as it is loaded
/// favourable   class
/// seconds      for one selection
/// work_folder  for what is thrown away
/// config_name  of the configuration, as the commands that repeat a part name it
/// changes      of the configuration, as their options: " --seed 7"
/// out          what their directories' names begin with
/// people       [people][attributes] that exist, drawn from the table's tree, no stranger than most
///              of its rows
/// show         what is being done
struct AuditSetting {
  Execution execution;
  std::int32_t favourable = 1;
  double seconds = 0.0;
  std::string work_folder;
  std::string config_name;
  std::string changes;
  std::string out;
  PlausibilityModel const* plausibility = nullptr;
  std::vector<std::int32_t> people;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(std::string const&)> show;
};

/// Measures one selection.
/// config   that selects it, with a domain that is a file
/// subject  of it, with rows
/// number   of the selection, from 1
/// commands takes those that repeat its parts
/// Returns an element of `sets` of audit.json. Throws Error.
Json audit_set(RunConfig const& config, TestSubject const& subject, AuditSetting const& setting,
               std::size_t number, std::vector<std::string>& commands);

/// "age+race".
std::string selection_name(TestSubject const& subject);

}  // namespace fairlane
