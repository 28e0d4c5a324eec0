#include "engine/sweep/figures.h"

#include "base/error.h"
#include "base/files.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestResult = std::size_t{1} << 28;

std::vector<Figure> const& table() {
  static std::vector<Figure> const kFigures = {
      {"variants", {"variants"}, "combinations of protected values"},
      {"unique_groups", {"counts.unique_groups", "measures.unique_groups.mean"}, "profiles found"},
      {"unique_instances",
       {"counts.unique_instances", "measures.unique_instances.mean"},
       "inputs found (IDIs)"},
      {"unique_generated",
       {"counts.unique_generated", "measures.unique_generated.mean"},
       "distinct inputs that were tried"},
      {"success_rate",
       {"success_rate.share", "measures.success_rate.mean", "success_rate"},
       "IDIs among the inputs that were tried; of a sample or a count: of all inputs"},
      {"iterations", {"counts.iterations", "measures.iterations.mean"}, "tests and steps"},
      {"model_evaluations",
       {"counts.model_evaluations", "measures.model_evaluations.mean"},
       "evaluations of the model"},
      {"evaluations_per_instance",
       {"evaluations_per_instance", "measures.evaluations_per_instance.mean"},
       "evaluations of the model for an IDI"},
      {"global_seeds", {"counts.global_seeds"}, "seeds"},
      {"global_found", {"counts.global_found"}, "seeds that led to an IDI"},
      {"severity_mean", {"severity.mean"}, "mean difference in output within a similar set"},
      {"severity_max", {"severity.max"}, "largest one"},
      {"domain_share", {"domain_share.share"}, "IDIs among all inputs, by a sample"},
      {"share_low", {"success_rate.low", "domain_share.low"}, "lower end of that share's interval"},
      {"share_high", {"success_rate.high", "domain_share.high"}, "upper end"},
      {"groups", {"counts.groups"}, "groups of the domain"},
      {"group_rate", {"group_rate", "group_score.share"}, "groups that are decided differently"},
      {"undefined", {"undefined"}, "inputs without a finite output"},
      {"cells_sat", {"cells.sat"}, "cells of verify with an example of unfair treatment"},
      {"cells_unsat", {"cells.unsat"}, "cells that are proven fair"},
      {"cells_unknown", {"cells.unknown"}, "cells that are not decided"},
      {"certainly_fair", {"shares.fair"}, "share of the groups that is proven fair"},
      {"certainly_unfair", {"shares.unfair"}, "share that is proven unfair"},
      {"boxes", {"boxes.all"}, "boxes of a proof"},
      {"signature", {"signature"}, "digest of the findings"},
  };
  return kFigures;
}

/// A member of members; null where there is none.
Json const* member(Json const& json, std::string_view path) {
  Json const* at = &json;
  while (at != nullptr) {
    if (!at->is_object()) return nullptr;
    std::size_t const dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

double number_at(Json const& json, std::string_view path) {
  Json const* const found = member(json, path);
  return found != nullptr && found->is_number() ? found->get<double>() : 0.0;
}

FigureRow row_of(Json const& json) {
  FigureRow row;
  for (Figure const& figure : figures()) {
    Json& value = row.values.emplace_back();
    for (std::string const& path : figure.paths) {
      Json const* const found = member(json, path);
      if (found == nullptr || !(found->is_number() || found->is_string())) continue;
      value = *found;
      break;
    }
  }
  row.search_seconds = number_at(json, "timing.search_seconds");
  row.total_seconds = number_at(json, "timing.total_seconds");
  return row;
}

}  // namespace

std::span<Figure const> figures() { return table(); }

Json const* value_of(FigureRow const& row, std::string_view figure) {
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    if (figure == figures()[i].name) return row.values[i].is_null() ? nullptr : &row.values[i];
  }
  return nullptr;
}

double number_of(FigureRow const& row, std::string_view figure) {
  Json const* const found = value_of(row, figure);
  return found != nullptr && found->is_number() ? found->get<double>() : 0.0;
}

std::vector<FigureRow> figures_of(SweepCommand const& command, Json const& json) {
  if (!command.lists_methods) return {row_of(json)};
  std::vector<FigureRow> rows;
  for (Json const& method : json.at("methods")) {
    rows.push_back(row_of(method));
    FigureRow& row = rows.back();
    row.method = method.at("method").get<std::string>();
    // Times stand apart, by method.
    row.search_seconds = number_at(json, "timing.methods." + row.method + ".search_seconds.mean");
  }
  return rows;
}

std::vector<FigureRow> read_figures(SweepCommand const& command, std::string const& dir) {
  std::string const path = dir + "/" + command.result;
  try {
    return figures_of(command, Json::parse(read_file(path, kLongestResult)));
  } catch (JsonError const& error) {
    throw data_error(path, error.what());
  }
}

Json figure_rows_json(std::vector<FigureRow> const& rows) {
  Json json = Json::array();
  for (FigureRow const& row : rows) {
    Json one;
    if (!row.method.empty()) one["method"] = row.method;
    Json values = Json::object();
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      if (!row.values[i].is_null()) values.add_member(figures()[i].name, row.values[i]);
    }
    one["values"] = std::move(values);
    one["search_seconds"] = row.search_seconds;
    one["total_seconds"] = row.total_seconds;
    json.push_back(std::move(one));
  }
  return json;
}

std::vector<FigureRow> figure_rows_of(Json const& json) {
  std::vector<FigureRow> rows;
  for (Json const& one : json) {
    FigureRow& row = rows.emplace_back();
    row.method = one.value("method", "");
    row.search_seconds = one.at("search_seconds").get<double>();
    row.total_seconds = one.at("total_seconds").get<double>();
    Json const& values = one.at("values");
    for (Figure const& figure : figures()) {
      Json const* const found = values.find(figure.name);
      row.values.push_back(found == nullptr ? Json() : *found);
    }
  }
  return rows;
}

}  // namespace fairlane
