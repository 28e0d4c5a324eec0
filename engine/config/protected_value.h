// The key that says which attributes are tested, and which of their values are compared.
#pragma once

#include <string>

#include "engine/config/config_values.h"

namespace fairlane {

/// Attributes and the values of them that are compared.
class ProtectedValue final : public ConfigValue {
 public:
  void read(ConfigPlace const& at, YamlNode const& node, RunConfig& config) const override;
  void record(RunConfig const& config, std::string const& name, Json& section) const override;
  void restore(Json const& section, std::string const& name, RunConfig& config) const override;
  Json schema() const override;
  std::string expected() const override;
};

}  // namespace fairlane
