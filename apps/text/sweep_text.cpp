#include "apps/text/sweep_text.h"

#include <fmt/format.h>

#include "apps/console.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kMostFailures = 20;

std::string work_text(double work) { return work > 0.0 ? short_count(work) : "unknown"; }

std::string time_text(std::optional<double> const& seconds) {
  return seconds ? seconds_text(*seconds) : "unknown";
}

/// What is expected of the cells that are not done.
struct Sum {
  double work = 0.0;
  double seconds = 0.0;
  std::int64_t unknown = 0;
};
Sum sum_of(SweepOverview const& overview, std::vector<std::optional<double>> const& seconds) {
  Sum sum;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (overview.states[i] == CellStanding::kDone) continue;
    sum.work += overview.cells.cells[i].work.evaluations;
    sum.seconds += seconds[i].value_or(0.0);
    if (!seconds[i]) ++sum.unknown;
  }
  return sum;
}

}  // namespace

std::string sweep_progress_text(SweepProgress const& progress) {
  std::string text =
      fmt::format("{} of {} cells done", with_commas(progress.done), with_commas(progress.total));
  if (progress.failed > 0) text += fmt::format(", {} failed", with_commas(progress.failed));
  if (progress.session > 0 && progress.seconds > 0.0) {
    double const rate = static_cast<double>(progress.session) / progress.seconds;
    text += rate >= 1.0 ? fmt::format("  {:.1f} cells/s", rate)
                        : fmt::format("  {:.1f} cells/min", 60.0 * rate);
  }
  if (progress.seconds_left > 0.0) text += "  " + seconds_text(progress.seconds_left) + " left";
  return text;
}

std::string sweep_plan_text(SweepOverview const& overview,
                            std::vector<std::optional<double>> const& seconds, int threads,
                            std::size_t most) {
  std::vector<std::vector<std::string>> rows = {{"cell", "command", "subject", "protected",
                                                 "method", "seed", "settings", "state",
                                                 "evaluations", "expected"}};
  auto const& cells = overview.cells.cells;
  for (std::size_t i = 0; i < std::min(cells.size(), most); ++i) {
    SweepCell const& cell = cells[i];
    rows.push_back({cell.id, cell.command->name,
                    escaped(fmt::format("{}", fmt::join(cell.subjects, " = "))), escaped(cell.set),
                    cell.method, cell.seed ? std::to_string(*cell.seed) : "",
                    escaped(cell.settings), name_of(overview.states[i]),
                    work_text(cell.work.evaluations), time_text(seconds[i])});
  }
  std::string text =
      aligned(rows, {"cell", "command", "subject", "protected", "method", "settings", "state"});
  if (cells.size() > most) text += fmt::format("... and {} more\n", cells.size() - most);
  Sum const sum = sum_of(overview, seconds);
  std::int64_t const done = overview.count(CellStanding::kDone);
  Facts facts;
  facts.add(
      "cells",
      fmt::format("{}{}{}", with_commas(static_cast<std::int64_t>(cells.size())),
                  done > 0 ? fmt::format(", {} of them done", with_commas(done)) : "",
                  overview.cells.repeated > 0 ? fmt::format("; the plan lists {} of them again",
                                                            with_commas(overview.cells.repeated))
                                              : ""));
  facts.add("expected work", short_count(sum.work) + " model evaluations at most");
  facts.add("expected time",
            fmt::format("{} on {} thread{}{}", seconds_text(sum.seconds / std::max(threads, 1)),
                        threads, threads == 1 ? "" : "s",
                        sum.unknown > 0
                            ? fmt::format(", and {} cells of which nothing is known", sum.unknown)
                            : ""));
  return text + "\n" + facts.text();
}

std::string sweep_plan_json(SweepOverview const& overview,
                            std::vector<std::optional<double>> const& seconds) {
  Json json;
  Sum const sum = sum_of(overview, seconds);
  json["cells"] = Json::array();
  for (std::size_t i = 0; i < overview.cells.cells.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    Json one;
    one["cell"] = cell.id;
    one["command"] = cell.command->name;
    one["subjects"] = cell.subjects;
    one["protected"] = cell.set;
    one["method"] = cell.method;
    one["seed"] = cell.seed;
    one["settings"] = cell.settings;
    one["state"] = name_of(overview.states[i]);
    one["words"] = cell.words;
    one["expected_evaluations"] = cell.work.evaluations;
    one["expected_seconds"] = seconds[i];
    json["cells"].push_back(std::move(one));
  }
  json["repeated"] = overview.cells.repeated;
  json["expected_evaluations"] = sum.work;
  json["expected_seconds"] = sum.seconds;
  json["cells_of_unknown_time"] = sum.unknown;
  return json.dump(2) + "\n";
}

std::string sweep_status_text(SweepOverview const& overview, double seconds_left) {
  Facts facts;
  auto const total = static_cast<std::int64_t>(overview.states.size());
  facts.add("done", fmt::format("{} of {} cells", with_commas(overview.count(CellStanding::kDone)),
                                with_commas(total)));
  for (CellStanding const state :
       {CellStanding::kRunning, CellStanding::kFailed, CellStanding::kWaiting}) {
    facts.add(name_of(state), with_commas(overview.count(state)));
  }
  facts.add("time", fmt::format("{} of workers' time so far{}", seconds_text(overview.seconds()),
                                seconds_left > 0.0 ? fmt::format(", about {} left for one core",
                                                                 seconds_text(seconds_left))
                                                   : ""));
  for (auto const& [journal, who] : overview.standings.holders)
    facts.add("at work", fmt::format("{} ({})", who, journal));
  std::string text = facts.text();
  std::size_t shown = 0;
  for (std::size_t i = 0; i < overview.states.size(); ++i) {
    if (overview.states[i] == CellStanding::kRunning) {
      auto const& running = overview.standings.running.at(overview.cells.cells[i].id);
      text += fmt::format("running  {}  {}  ({})\n", overview.cells.cells[i].id,
                          escaped(overview.cells.cells[i].text()), running.worker);
    }
    if (overview.states[i] != CellStanding::kFailed) continue;
    if (++shown <= kMostFailures) {
      text += fmt::format("failed   {}  {}: {} (exit code {})\n", overview.cells.cells[i].id,
                          escaped(overview.cells.cells[i].text()), overview.results[i]->error,
                          overview.results[i]->exit);
    }
  }
  if (shown > kMostFailures)
    text += fmt::format("... and {} more that failed; sweep.csv has all\n", shown - kMostFailures);
  return text;
}

std::string sweep_status_json(SweepOverview const& overview, double seconds_left) {
  Json json;
  json["cells"] = overview.states.size();
  for (auto const& word : kEnumWords<CellStanding>) json[word.name] = overview.count(word.value);
  json["seconds"] = overview.seconds();
  json["model_evaluations"] = overview.evaluations();
  json["expected_seconds_left"] = seconds_left;
  json["holders"] = Json::object();
  for (auto const& [journal, who] : overview.standings.holders) json["holders"][journal] = who;
  json["running_cells"] = Json::array();
  json["failed_cells"] = Json::array();
  for (std::size_t i = 0; i < overview.states.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    Json one = {{"cell", cell.id}, {"text", cell.text()}};
    if (overview.states[i] == CellStanding::kRunning) {
      one["worker"] = overview.standings.running.at(cell.id).worker;
      json["running_cells"].push_back(std::move(one));
    } else if (overview.states[i] == CellStanding::kFailed) {
      one["exit"] = overview.results[i]->exit;
      one["error"] = overview.results[i]->error;
      json["failed_cells"].push_back(std::move(one));
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace fairlane
