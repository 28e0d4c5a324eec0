#include "apps/init/protected_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "apps/init/column_list.h"
#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

/// More combinations than this are not tested together unless somebody asks for it.
constexpr double kManyCombinations = 1000.0;

constexpr char const* kProtectedWords[] = {
    "age",      "sex",         "gender",   "race",       "ethnicity", "ethnic",  "ethnie",
    "religion", "nationality", "national", "disability", "disabled",  "minority"};

double values_of(Attribute const& attribute) { return static_cast<double>(attribute.code_count()); }

}  // namespace

ProtectedColumns flag_protected(std::string const& source, std::vector<std::string> const& wanted,
                                Domain& domain) {
  ProtectedColumns result;
  std::vector<std::string> names;
  for (Attribute const& attribute : domain.attributes) names.push_back(attribute.name);
  for (std::string const& name : wanted) {
    int const index = domain.find(name);
    bool const has_label = domain.names_label || !domain.raw.label.empty();
    if (index < 0 && has_label && name == domain.raw_label()) {
      throw usage_error(
          fmt::format("--protected: column {} of {} is the label, expected an "
                      "attribute; --label names another label",
                      in_quotes(name), escaped(source, source.size())));
    }
    if (index < 0) throw no_column("--protected", "attribute", source, name, names);
    Attribute& attribute = domain.attributes[static_cast<std::size_t>(index)];
    if (values_of(attribute) < 2.0) {
      throw Error(ExitCode::kData,
                  fmt::format("--protected: column {} of {} has a single value, expected at least "
                              "two to compare",
                              in_quotes(name), escaped(source, source.size())));
    }
    attribute.is_protected = true;
  }
  result.guessed = wanted.empty();
  if (result.guessed) {
    for (Attribute& attribute : domain.attributes) {
      attribute.is_protected = is_protected_name(attribute.name) && values_of(attribute) > 1.0;
    }
  }
  std::vector<Attribute const*> by_size;
  for (Attribute const& attribute : domain.attributes) {
    if (!attribute.is_protected) continue;
    result.names.push_back(attribute.name);
    by_size.push_back(&attribute);
  }
  if (by_size.empty()) {
    throw usage_error(
        fmt::format("{}: no column is named like a protected attribute (age, sex, race, "
                    "...); name them with --protected a,b",
                    escaped(source, source.size())));
  }
  std::stable_sort(by_size.begin(), by_size.end(), [](Attribute const* a, Attribute const* b) {
    return values_of(*a) < values_of(*b);
  });
  double combinations = 1.0;
  for (Attribute const* attribute : by_size) {
    combinations *= values_of(*attribute);
    if (combinations > kManyCombinations && !result.tested.empty()) break;
    result.tested.push_back(attribute->name);
  }
  std::sort(
      result.tested.begin(), result.tested.end(),
      [&](std::string const& a, std::string const& b) { return domain.find(a) < domain.find(b); });
  return result;
}

bool is_protected_name(std::string const& name) {
  // Words of snake_case, kebab-case, spaces and CamelCase.
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    auto const c = static_cast<unsigned char>(name[i]);
    bool const hump =
        std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (std::isalpha(c) == 0 || hump) words.emplace_back();
    if (std::isalpha(c) != 0) words.back() += static_cast<char>(std::tolower(c));
  }
  return std::any_of(words.begin(), words.end(), [](std::string const& word) {
    return std::find(std::begin(kProtectedWords), std::end(kProtectedWords), word) !=
           std::end(kProtectedWords);
  });
}

}  // namespace fairlane
