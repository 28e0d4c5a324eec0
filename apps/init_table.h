// What `fairlane init` reads out of a table: attributes, label, protected columns.
#pragma once

#include <string>
#include <vector>

#include "models/dataset.h"
#include "models/model.h"

namespace fairlane {

/// A domain drawn from a table, and what a person should know about it.
struct DrawnDomain {
  Domain domain;
  bool has_label = false;
  bool guessed = false;              // the protected columns were recognised by name
  std::vector<std::string> encoded;  // columns of text that became categories
  std::vector<std::string> protected_names;
  std::vector<std::string> tested;  // those that the configuration tests together
};

/// Draws a domain from the columns. label and protected_names as on the command line, empty where absent.
/// Throws Error(kData) where table and model do not fit, Error(kUsage) for unknown names.
DrawnDomain draw_domain(Table const& table, Model const& model, std::string const& label,
                        std::vector<std::string> const& protected_names);

/// Whether a column's name is one of the well-known protected attributes, such as age or race.
bool is_protected_name(std::string const& name);

}  // namespace fairlane
