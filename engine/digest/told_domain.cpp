#include "engine/digest/told_domain.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/formats/json.h"
#include "engine/digest/results_digest.h"
#include "engine/results/instance_files.h"

namespace fairlane::digest {
namespace {

constexpr std::size_t kLongestIndex = std::size_t{1} << 28;

}  // namespace

std::optional<Domain> told_domain(std::string const& files) {
  std::string const path = files + "/" + kInstanceIndex;
  std::error_code ec;
  if (!std::filesystem::exists(path, ec) && !ec) return std::nullopt;
  std::string const text = read_file(path, kLongestIndex);
  Domain domain;
  try {
    Json const index = Json::parse(text);
    for (Json const& column : index.at("columns")) {
      if (column.at("holds") != "attribute") continue;
      Attribute attribute;
      attribute.name = column.at("attribute").get<std::string>();
      attribute.low = column.at("low").get<std::int32_t>();
      attribute.high = column.at("high").get<std::int32_t>();
      if (Json const* const words = column.find("words")) {
        for (auto const& [code, word] : words->items())
          attribute.categories.push_back(word.get<std::string>());
        if (attribute.code_count() != static_cast<std::int64_t>(words->size()))
          attribute.categories.clear();
      }
      domain.attributes.push_back(std::move(attribute));
    }
  } catch (JsonError const& error) {
    throw no_result(path, error);
  }
  return domain;
}

void take_bounds(Domain& domain, Domain const& told) {
  for (std::size_t i = 0; i < std::min(domain.attributes.size(), told.attributes.size()); ++i) {
    Attribute& attribute = domain.attributes[i];
    if (!attribute.low) attribute.low = told.attributes[i].low;
    if (!attribute.high) attribute.high = told.attributes[i].high;
  }
}

}  // namespace fairlane::digest
