#include "apps/commands/region_options.h"

#include <fmt/format.h>

#include "apps/arguments.h"
#include "apps/console.h"
#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

/// "age=1..2" or "age=3".
AttributeRange parse_range(std::string const& text) {
  std::size_t const equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw usage_error(
        fmt::format("--range is {}, expected NAME=LOW..HIGH or NAME=VALUE", in_quotes(text)));
  }
  AttributeRange range;
  range.attribute = text.substr(0, equals);
  std::string const values = text.substr(equals + 1);
  std::size_t const dots = values.find("..");
  std::string const flag = "--range " + range.attribute;
  auto const code = [&](std::string const& part) {
    return static_cast<std::int32_t>(parse_integer(flag, part, -kMaxCode, kMaxCode));
  };
  range.low = code(values.substr(0, dots));
  range.high = dots == std::string::npos ? range.low : code(values.substr(dots + 2));
  return range;
}

/// "a,b=from-data".
std::vector<std::string> parse_tuple(std::string const& text) {
  constexpr std::string_view kSource = "=from-data";
  bool const known = text.size() > kSource.size() &&
                     text.compare(text.size() - kSource.size(), kSource.size(), kSource) == 0;
  if (!known) {
    throw usage_error(fmt::format("--tuple is {}, expected NAME,NAME=from-data", in_quotes(text)));
  }
  std::string const list = text.substr(0, text.size() - kSource.size());
  std::vector<std::string> names;
  for (std::size_t from = 0, to = 0; from <= list.size(); from = to + 1) {
    to = std::min(list.find(',', from), list.size());
    names.push_back(list.substr(from, to - from));
  }
  return names;
}

}  // namespace

void RegionOptions::add_to(Arguments& app, char const* rows_help) {
  app.add_option("--range", ranges, "only these values of an attribute that is not under test")
      ->type_name("NAME=LOW..HIGH")
      ->one_at_a_time();
  app.add_option("--tuple", tuples, "only combinations of these attributes that occur in the data")
      ->type_name("NAME,NAME=from-data")
      ->one_at_a_time();
  app.add_flag("--rows", rows, rows_help);
}

Region RegionOptions::region() const {
  Region region;
  for (auto const& text : ranges) region.ranges.push_back(parse_range(text));
  for (auto const& text : tuples) region.from_data.push_back(parse_tuple(text));
  region.rows = rows;
  return region;
}

std::string RegionOptions::flags() const {
  std::string flags;
  for (auto const& text : ranges) flags += " --range " + shell_word(text);
  for (auto const& text : tuples) flags += " --tuple " + shell_word(text);
  return rows ? flags + " --rows" : flags;
}

}  // namespace fairlane
