#include "engine/verify/recorded_query.h"

#include <fmt/format.h>

#include <cmath>

#include "base/sha256.h"
#include "models/data/domain.h"

namespace fairlane {

void record_rules(VerifyOptions const& options, Json& json) {
  if (!options.relaxed.empty()) {
    json["relaxed"] = Json::object();
    for (RelaxedBy const& relaxed : options.relaxed)
      json["relaxed"][relaxed.attribute] = relaxed.by;
  }
  if (!options.where.empty()) json["where"] = options.where;
  if (options.margin > 0.0) json["margin"] = options.margin;
}

Json recorded_query(VerifyOptions const& options) {
  Json json = recorded_region(options.region);
  json["semantics"] = options.semantics == PairSemantics::kAny ? "any" : "all";
  record_rules(options, json);
  json["cell_size"] = options.cell_size;
  if (!options.cell_file.empty()) json["cell_file"] = sha256_file(options.cell_file);
  if (!options.against.empty()) json["against"] = sha256_file(options.against + "/cells.csv");
  if (options.fairify_csv) json["fairify_csv"] = true;
  json["most_boxes"] = options.most_boxes;
  json["quantify"] = options.quantify;
  return json;
}

VerifyOptions restored_query(Json const& json) {
  VerifyOptions options;
  for (auto const& [name, ends] : json.at("ranges").items()) {
    options.region.ranges.push_back(
        {name, ends.at(std::size_t{0}).get<std::int32_t>(), ends.at(1).get<std::int32_t>()});
  }
  for (Json const& names : json.at("from_data"))
    options.region.from_data.push_back(names.get<std::vector<std::string>>());
  for (auto const& names : options.region.from_data) {
    if (names.empty()) throw JsonError("from_data has a tuple of no attributes");
  }
  options.region.rows = json.at("rows").get<bool>();
  std::string const semantics = json.at("semantics").get<std::string>();
  if (semantics != "any" && semantics != "all") throw JsonError("semantics is " + semantics);
  options.semantics = semantics == "all" ? PairSemantics::kAll : PairSemantics::kAny;
  if (Json const* const relaxed = json.find("relaxed")) {
    for (auto const& [name, by] : relaxed->items())
      options.relaxed.push_back({name, by.get<std::int32_t>()});
  }
  if (Json const* const where = json.find("where"))
    options.where = where->get<std::vector<std::string>>();
  // A margin below 0 would make every cell fair, and runs of fewer than one value never end.
  options.margin = json.value("margin", 0.0);
  if (!std::isfinite(options.margin) || options.margin < 0.0)
    throw JsonError(fmt::format("margin is {}, expected a number of at least 0", options.margin));
  options.cell_size = json.at("cell_size").get<std::int64_t>();
  if (options.cell_size < 0 || options.cell_size > kMaxCode) {
    throw JsonError(fmt::format("cell_size is {}, expected 0 to {}", options.cell_size, kMaxCode));
  }
  options.cell_file = json.value("cell_file", "");
  return options;
}

}  // namespace fairlane
