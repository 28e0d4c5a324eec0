#include "engine/sweep/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "engine/sweep/paper_tables.h"
#include "engine/sweep/sweep_files.h"

namespace fairlane {
namespace {

std::string value_text(Json const& value) {
  std::string const* const text = value.string();
  return text != nullptr ? *text : value.dump();
}

std::string seed_text(SweepCell const& cell) { return cell.seed ? std::to_string(*cell.seed) : ""; }

/// What a cell is, as the first columns of both tables.
std::vector<std::string> names(SweepCell const& cell, std::string const& subject,
                               std::string const& method) {
  return {cell.id,
          subject,
          cell.command->name,
          cell.set,
          method.empty() ? cell.method : method,
          seed_text(cell),
          cell.settings};
}
std::vector<std::string> const kNameColumns = {"cell",   "subject", "command", "protected",
                                               "method", "seed",    "settings"};

/// The rows of a cell; an empty one where it has none.
std::vector<FigureRow> rows_of(CellResult const* result) {
  if (result == nullptr || result->rows.empty()) return std::vector<FigureRow>(1);
  return result->rows;
}

/// Evaluations a second, and per billion operations that the machine could have done meanwhile.
struct Rate {
  double per_second = 0.0;
  double per_gflop = 0.0;
};
Rate rate_of(FigureRow const& row, CellMachine const& machine) {
  Rate rate;
  // What samples says nothing of a search beside all of its time.
  double const seconds = row.search_seconds > 0.0 ? row.search_seconds : row.total_seconds;
  if (seconds > 0.0) rate.per_second = number_of(row, "model_evaluations") / seconds;
  if (machine.peak_gflops > 0.0) rate.per_gflop = rate.per_second / machine.peak_gflops;
  return rate;
}

Json cell_json(SweepCell const& cell, CellStanding state, CellResult const* result) {
  Json json;
  json["cell"] = cell.id;
  json["subjects"] = cell.subjects;
  json["command"] = cell.command->name;
  json["protected"] = cell.set;
  json["method"] = cell.method.empty() ? Json() : Json(cell.method);
  json["seed"] = cell.seed;
  json["settings"] = cell.settings.empty() ? Json() : Json(cell.settings);
  json["state"] = name_of(state);
  if (result == nullptr) return json;
  json["exit"] = result->exit;
  if (!result->error.empty()) json["error"] = result->error;
  Json rows = Json::array();
  for (FigureRow const& row : result->rows) {
    Json one = Json::object();
    if (!row.method.empty()) one["method"] = row.method;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      if (!row.values[i].is_null()) one.add_member(figures()[i].name, row.values[i]);
    }
    rows.push_back(std::move(one));
  }
  json["figures"] = std::move(rows);
  return json;
}

/// A cell's place in time, for people and for comparing machines.
Json timing_json(SweepCell const& cell, CellResult const& result) {
  Json json;
  json["cell"] = cell.id;
  json["worker"] = result.worker;
  json["seconds"] = result.seconds;
  json["machine"] = machine_json(result.machine);
  Json rows = Json::array();
  for (FigureRow const& row : result.rows) {
    Rate const rate = rate_of(row, result.machine);
    Json one = Json::object();
    if (!row.method.empty()) one["method"] = row.method;
    one["search_seconds"] = row.search_seconds;
    one["total_seconds"] = row.total_seconds;
    one["evaluations_per_second"] = rate.per_second;
    one["evaluations_per_gflop"] = rate.per_gflop;
    rows.push_back(std::move(one));
  }
  json["rows"] = std::move(rows);
  return json;
}

}  // namespace

SweepOverview::SweepOverview(SweepPlan const& its_plan, SweepCells const& its_cells,
                             SweepStandings const& its_standings)
    : plan(its_plan), cells(its_cells), standings(its_standings) {
  for (SweepCell const& cell : cells.cells) {
    auto const found = standings.results.find(cell.id);
    CellResult const* const result = found == standings.results.end() ? nullptr : &found->second;
    bool const is_running = standings.running.contains(cell.id);
    states.push_back(result != nullptr && result->is_done() ? CellStanding::kDone
                     : is_running                           ? CellStanding::kRunning
                     : result != nullptr                    ? CellStanding::kFailed
                                                            : CellStanding::kWaiting);
    results.push_back(result);
  }
}

std::int64_t SweepOverview::count(CellStanding state) const {
  return std::count(states.begin(), states.end(), state);
}

double SweepOverview::seconds() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] == CellStanding::kDone) sum += results[i]->seconds;
  }
  return sum;
}

double SweepOverview::evaluations() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] != CellStanding::kDone) continue;
    for (FigureRow const& row : results[i]->rows) sum += number_of(row, "model_evaluations");
  }
  return sum;
}

std::string sweep_csv(SweepOverview const& overview) {
  std::vector<std::string> head = kNameColumns;
  head.insert(head.end(), {"state", "exit", "error"});
  for (Figure const& figure : figures()) head.emplace_back(figure.name);
  std::string csv = csv_line(head);
  for (std::size_t i = 0; i < overview.cells.cells.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    CellResult const* const result = overview.results[i];
    for (std::string const& subject : cell.subjects) {
      for (FigureRow const& row : rows_of(result)) {
        std::vector<std::string> line = names(cell, subject, row.method);
        line.emplace_back(name_of(overview.states[i]));
        line.push_back(result == nullptr ? "" : std::to_string(result->exit));
        line.push_back(result == nullptr ? "" : result->error);
        for (std::size_t f = 0; f < figures().size(); ++f) {
          bool const is_there = f < row.values.size() && !row.values[f].is_null();
          line.push_back(is_there ? value_text(row.values[f]) : "");
        }
        csv += csv_line(line);
      }
    }
  }
  return csv;
}

std::string timing_csv(SweepOverview const& overview) {
  std::vector<std::string> head = kNameColumns;
  head.insert(head.end(), {"worker", "host", "cpu", "cores", "device", "threads", "peak_gflops",
                           "seconds", "search_seconds", "total_seconds", "evaluations_per_second",
                           "evaluations_per_gflop"});
  std::string csv = csv_line(head);
  for (std::size_t i = 0; i < overview.cells.cells.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    CellResult const* const result = overview.results[i];
    if (result == nullptr) continue;
    CellMachine const& machine = result->machine;
    for (FigureRow const& row : rows_of(result)) {
      Rate const rate = rate_of(row, machine);
      std::vector<std::string> line = names(cell, cell.subject(), row.method);
      line.insert(line.end(),
                  {result->worker, machine.host, machine.cpu, std::to_string(machine.cores),
                   machine.device, std::to_string(machine.threads)});
      for (double const value : {machine.peak_gflops, result->seconds, row.search_seconds,
                                 row.total_seconds, rate.per_second, rate.per_gflop})
        line.push_back(value > 0.0 ? fmt::format("{:.6g}", value) : "");
      csv += csv_line(line);
    }
  }
  return csv;
}

std::string sweep_json(SweepOverview const& overview) {
  // A line for each cell: there may be a million.
  std::string cells;
  std::string timing;
  for (std::size_t i = 0; i < overview.cells.cells.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    CellResult const* const result = overview.results[i];
    cells +=
        (cells.empty() ? "\n    " : ",\n    ") + cell_json(cell, overview.states[i], result).dump();
    if (result != nullptr)
      timing += (timing.empty() ? "\n      " : ",\n      ") + timing_json(cell, *result).dump();
  }
  Json const counts = {{"cells", overview.cells.cells.size()},
                       {"done", overview.count(CellStanding::kDone)},
                       {"failed", overview.count(CellStanding::kFailed)},
                       {"waiting", overview.count(CellStanding::kWaiting)},
                       {"running", overview.count(CellStanding::kRunning)},
                       {"repeated", overview.cells.repeated}};
  return fmt::format(
      "{{\n  \"fairlane\": {},\n  \"counts\": {},\n  \"cells\": [{}\n  ],\n"
      "  \"timing\": {{\n    \"seconds\": {},\n    \"cells\": [{}\n    ]\n  }}\n}}\n",
      Json(FAIRLANE_VERSION).dump(), counts.dump(), cells, Json(overview.seconds()).dump(), timing);
}

void write_sweep_report(SweepOverview const& overview, SweepDir const& dir) {
  SweepFiles files(dir.path());
  files.write("sweep.csv", sweep_csv(overview));
  files.write("timing.csv", timing_csv(overview));
  files.write("methods.csv", methods_csv(overview));
  files.write("verify.csv", verify_csv(overview));
  files.write("tables.md", tables_markdown(overview));
  files.write("sweep.json", sweep_json(overview));
}

}  // namespace fairlane
