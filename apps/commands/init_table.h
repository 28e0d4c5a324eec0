// `fairlane init TABLE`: the domain file of a raw table, for `prepare`.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace fairlane {

class Console;

/// What the command line says of a raw table; texts are empty where absent.
struct InitTableArguments {
  std::string table;
  std::string domain;
  std::string label;
  std::vector<std::string> drop;
  std::vector<std::string> protected_names;
  bool constraints = false;  // propose those that hold in the table
  bool force = false;
  bool json = false;
};

/// Writes the domain file that propose_domain() proposes, once `prepare` has taken the table with
/// it, and says what was assumed. Throws Error.
ExitCode init_table(InitTableArguments arguments, Console const& console);

}  // namespace fairlane
