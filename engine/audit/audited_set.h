// One protected selection of an audit: how many people it changes the decision about, and whom.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/config/run_config.h"
#include "engine/plausibility/plausibility.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// People drawn from the table's tree, no stranger than most of its rows.
/// drawn  how many were drawn
/// rows   [people][attributes] of those that were kept
struct PlausiblePeople {
  std::int64_t drawn = 0;
  std::vector<std::int32_t> rows;
};

/// What the selections of one audit share.
/// execution    of searches and counts; a scorer stays as it is loaded
/// favourable   class
/// seconds      for one selection's count or sample of the domain, and its search
/// evaluations_per_second  of the model, about
/// work_folder  for what is thrown away
/// config_name  of the configuration, as the commands that repeat a part name it
/// show         what is being done
struct AuditSetting {
  Execution execution;
  std::int32_t favourable = 1;
  double seconds = 0.0;
  double evaluations_per_second = 0.0;
  std::string work_folder;
  std::string config_name;
  PlausibilityModel const* plausibility = nullptr;
  PlausiblePeople const* people = nullptr;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(std::string const&)> show;
};

/// Measures one selection.
/// config   that selects it, with a domain that is a file
/// subject  of it, with rows
/// commands takes those that repeat its parts
/// Returns an element of `sets` of audit.json. Throws Error.
Json audit_set(RunConfig const& config, TestSubject const& subject, AuditSetting const& setting,
               std::vector<std::string>& commands);

/// "age+race".
std::string selection_name(TestSubject const& subject);

}  // namespace fairlane
