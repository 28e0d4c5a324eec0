// audit: what a model decides by protected attributes alone, from the table's people to the whole
// domain, as one verdict.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace fairlane {

/// Which share a policy is about: of the table's rows, of plausible people, or of all inputs of
/// the domain.
enum class AuditShare { kRows, kPlausible, kDomain };

template <>
inline constexpr std::array kEnumWords<AuditShare> = std::to_array<Word<AuditShare>>(
    {{AuditShare::kRows, "rows", "of the table's rows"},
     {AuditShare::kPlausible, "plausible", "of plausible people"},
     {AuditShare::kDomain, "domain", "of all inputs of the domain"}});

/// A share of all protected attributes together that is not to be exceeded.
struct AuditPolicy {
  AuditShare share = AuditShare::kRows;
  double above = 0.0;
};

/// What an audit is doing.
struct AuditProgress {
  std::string what;
  double seconds = 0.0;
};

/// seconds     that are shared out among samples, counts and searches; the rows are all evaluated,
///             whatever that takes
/// favourable  the better decision: a class or its word; empty: the greatest class
/// command     that is repeated
/// config_name, changes   the configuration as it names it, and the options that change that, but
///             for `protected`: " --seed 7"
/// assumed     what was assumed before, for people
/// progress    called by the calling thread
struct AuditOptions {
  Execution execution;
  double seconds = 60.0;
  std::string favourable;
  std::optional<AuditPolicy> policy;
  std::string command;
  std::string config_name;
  std::string changes;
  std::vector<std::string> assumed;
  bool overwrite = false;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(AuditProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// Audits every protected attribute of the domain or the configuration alone, then those of the
/// configuration together, and writes the output directory: manifest.json, audit.json (its schema:
/// docs/reports.md), report.html, report.md and junit.xml. Returns audit.json. A function of the
/// manifest, but for `timing`, where the seconds suffice for all that is sampled and searched.
/// Throws Error; kInterrupted where it was stopped: the same command begins anew.
std::string audit(RunConfig const& config, AuditOptions const& options);

}  // namespace fairlane
