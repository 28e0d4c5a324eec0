#include "engine/config/config_place.h"

#include <fmt/format.h>

#include "base/text.h"

namespace fairlane {

void ConfigPlace::fail(YamlNode const& node, std::string const& what) const {
  throw Error(code, fmt::format("{}: {}", position(node), what));
}

void ConfigPlace::expected(YamlNode const& node, std::string const& what) const {
  bool const could_be_number = node.quoted && !node.scalar.empty();
  fail(node, fmt::format("{} is {}, expected {}{}", key, node.shown(), what,
                         could_be_number ? " (without quotes)" : ""));
}

std::string ConfigPlace::position(YamlNode const& node) const {
  std::string const where = escaped(source, 4096);
  return is_flag ? where : fmt::format("{}:{}:{}", where, node.line, node.column);
}

}  // namespace fairlane
