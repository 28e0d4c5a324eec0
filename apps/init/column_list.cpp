#include "apps/init/column_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace fairlane {
namespace {

[[noreturn]] void fail(char const* option, std::string const& text) {
  throw usage_error(
      fmt::format("{} is {}, expected names such as age,race; one that holds a comma "
                  "stands in double quotes: 'age,\"born, year\"'",
                  option, in_quotes(text)));
}

/// The name at a place, which moves to the comma behind it or the end.
std::string parse_name(char const* option, std::string const& text, std::size_t& at) {
  std::string name;
  if (at == text.size() || text[at] != '"') {
    std::size_t const begin = at;
    at = std::min(text.find(',', at), text.size());
    name = text.substr(begin, at - begin);
  } else {
    for (++at;; ++at) {
      std::size_t const quote = text.find('"', at);
      if (quote == std::string::npos) fail(option, text);
      name += text.substr(at, quote - at);
      at = quote + 1;
      if (at == text.size() || text[at] != '"') break;
      name += '"';  // doubled
    }
    if (at < text.size() && text[at] != ',') fail(option, text);
  }
  if (name.empty()) fail(option, text);
  return name;
}

}  // namespace

std::vector<std::string> parse_columns(char const* option, std::vector<std::string> const& texts) {
  std::vector<std::string> names;
  for (std::string const& text : texts) {
    for (std::size_t at = 0; at <= text.size(); ++at) names.push_back(parse_name(option, text, at));
  }
  return names;
}

std::string column_list(std::vector<std::string> const& names) {
  std::string list = csv_line(names);
  list.pop_back();
  return list;
}

Error no_column(char const* option, char const* kind, std::string const& source,
                std::string const& name, std::vector<std::string> const& names) {
  auto const of_comma = std::ranges::find_if(names, [&](std::string const& other) {
    return other.find(',') != std::string::npos && other.find(name) != std::string::npos;
  });
  std::string const hint = of_comma == names.end()
                               ? did_you_mean(name, names)
                               : "; a name that holds a comma stands in double quotes: " +
                                     shell_word(csv_cell(*of_comma));
  return usage_error(fmt::format("{}: {} has no {} {}{}", option, escaped(source, source.size()),
                                 kind, in_quotes(name), hint));
}

}  // namespace fairlane
