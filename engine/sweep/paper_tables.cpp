#include "engine/sweep/paper_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "engine/sweep/sweep_report.h"

namespace fairlane {
namespace {

/// A line of the papers' tables.
struct Benchmark {
  std::string subject;
  std::string command;
  std::string set;
  std::string settings;
  auto operator<=>(Benchmark const&) const = default;
};

/// What a method found on a benchmark, over its seeds.
struct MethodFigures {
  std::vector<double> groups;
  std::vector<double> instances;
  std::vector<double> success;
  std::vector<double> evaluations;
  std::vector<double> speed;  // IDIs a second of search
};

double mean(std::vector<double> const& values) {
  double sum = 0.0;
  for (double const value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

double deviation(std::vector<double> const& values) {
  if (values.size() < 2) return 0.0;
  double const middle = mean(values);
  double sum = 0.0;
  for (double const value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// Benchmarks and methods in the order of the plan.
struct MethodTable {
  std::vector<Benchmark> benchmarks;
  std::vector<std::string> methods;
  std::map<std::pair<Benchmark, std::string>, MethodFigures> figures;
};

void add_row(FigureRow const& row, MethodFigures& figures) {
  double const instances = number_of(row, "unique_instances");
  figures.groups.push_back(number_of(row, "unique_groups"));
  figures.instances.push_back(instances);
  figures.success.push_back(number_of(row, "success_rate"));
  figures.evaluations.push_back(number_of(row, "model_evaluations"));
  figures.speed.push_back(row.search_seconds > 0.0 ? instances / row.search_seconds : 0.0);
}

/// Cells that search; those of compare are means over its repeats.
MethodTable method_table(SweepOverview const& overview) {
  MethodTable table;
  std::set<Benchmark> known;
  for (std::size_t i = 0; i < overview.cells.cells.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    bool const searches = cell.command->takes_method || cell.command->lists_methods;
    if (!searches || overview.states[i] != CellStanding::kDone) continue;
    for (std::string const& subject : cell.subjects) {
      Benchmark const benchmark{subject, cell.command->name, cell.set, cell.settings};
      if (known.insert(benchmark).second) table.benchmarks.push_back(benchmark);
      for (FigureRow const& row : overview.results[i]->rows) {
        std::string const& method = row.method.empty() ? cell.method : row.method;
        if (std::ranges::find(table.methods, method) == table.methods.end())
          table.methods.push_back(method);
        add_row(row, table.figures[{benchmark, method}]);
      }
    }
  }
  return table;
}

struct Column {
  char const* name;
  char const* title;
  std::vector<double> MethodFigures::*values;
  int decimals;
  double factor;
};
constexpr Column kColumns[] = {
    {"unique_groups", "profiles", &MethodFigures::groups, 1, 1.0},
    {"unique_instances", "#IDIs", &MethodFigures::instances, 1, 1.0},
    {"success_rate", "success rate (%)", &MethodFigures::success, 2, 100.0},
    {"model_evaluations", "model evaluations", &MethodFigures::evaluations, 0, 1.0},
    {"instances_per_second", "IDIs per second", &MethodFigures::speed, 0, 1.0},
};

/// What verify says of a cell, as Fairify's table has it.
struct VerifyFigures {
  double sat = 0.0;
  double unsat = 0.0;
  double unknown = 0.0;
  double partitions() const { return sat + unsat + unknown; }
  double coverage() const {
    return partitions() > 0.0 ? 100.0 * (sat + unsat) / partitions() : 0.0;
  }
};

void each_verified(SweepOverview const& overview,
                   std::function<void(std::string const& subject, SweepCell const&,
                                      CellResult const&, VerifyFigures const&)> const& take) {
  for (std::size_t i = 0; i < overview.cells.cells.size(); ++i) {
    SweepCell const& cell = overview.cells.cells[i];
    if (overview.states[i] != CellStanding::kDone || overview.results[i]->rows.empty()) continue;
    FigureRow const& row = overview.results[i]->rows.front();
    if (value_of(row, "cells_sat") == nullptr) continue;
    for (std::string const& subject : cell.subjects) {
      take(subject, cell, *overview.results[i],
           {number_of(row, "cells_sat"), number_of(row, "cells_unsat"),
            number_of(row, "cells_unknown")});
    }
  }
}

std::string markdown_cell(std::string const& text) {
  std::string safe;
  for (char const c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe.empty() ? "-" : safe;
}

std::string markdown_row(std::vector<std::string> const& cells) {
  std::string line = "|";
  for (std::string const& cell : cells) line += " " + markdown_cell(cell) + " |";
  return line + "\n";
}

std::string markdown_head(std::vector<std::string> const& titles, std::size_t left) {
  std::string line = "|";
  for (std::size_t i = 0; i < titles.size(); ++i) line += i < left ? "---|" : "---:|";
  return markdown_row(titles) + line + "\n";
}

}  // namespace

std::string methods_csv(SweepOverview const& overview) {
  MethodTable const table = method_table(overview);
  std::vector<std::string> head = {"subject",  "command", "protected",
                                   "settings", "method",  "seeds"};
  for (Column const& column : kColumns) {
    head.push_back(std::string(column.name) + "_mean");
    head.push_back(std::string(column.name) + "_sd");
  }
  std::string csv = csv_line(head);
  for (Benchmark const& benchmark : table.benchmarks) {
    for (std::string const& method : table.methods) {
      auto const found = table.figures.find({benchmark, method});
      if (found == table.figures.end()) continue;
      std::vector<std::string> line = {benchmark.subject,
                                       benchmark.command,
                                       benchmark.set,
                                       benchmark.settings,
                                       method,
                                       std::to_string(found->second.groups.size())};
      for (Column const& column : kColumns) {
        auto const& values = found->second.*column.values;
        line.push_back(Json(mean(values)).dump());
        line.push_back(Json(deviation(values)).dump());
      }
      csv += csv_line(line);
    }
  }
  return csv;
}

std::string verify_csv(SweepOverview const& overview) {
  std::string csv =
      csv_line({"subject", "protected", "settings", "partitions", "decided", "coverage_percent",
                "sat", "unsat", "unknown", "certainly_fair", "certainly_unfair"});
  each_verified(overview, [&](std::string const& subject, SweepCell const& cell,
                              CellResult const& result, VerifyFigures const& figures) {
    auto const value = [&](char const* name) {
      Json const* const found = value_of(result.rows.front(), name);
      return found == nullptr ? std::string() : found->dump();
    };
    csv += csv_line({subject, cell.set, cell.settings, fmt::format("{:.0f}", figures.partitions()),
                     fmt::format("{:.0f}", figures.sat + figures.unsat),
                     fmt::format("{:.4f}", figures.coverage()), fmt::format("{:.0f}", figures.sat),
                     fmt::format("{:.0f}", figures.unsat), fmt::format("{:.0f}", figures.unknown),
                     value("certainly_fair"), value("certainly_unfair")});
  });
  return csv;
}

std::string tables_markdown(SweepOverview const& overview) {
  std::string text = "# Sweep\n\n";
  text += fmt::format("{} of {} cells are done, {} failed.\n", overview.count(CellStanding::kDone),
                      overview.states.size(), overview.count(CellStanding::kFailed));
  MethodTable const table = method_table(overview);
  for (Column const& column : kColumns) {
    if (table.benchmarks.empty()) break;
    text += fmt::format("\n## {} by method, mean over the seeds\n\n", column.title);
    std::vector<std::string> titles = {"subject", "command", "protected", "settings"};
    titles.insert(titles.end(), table.methods.begin(), table.methods.end());
    text += markdown_head(titles, 4);
    for (Benchmark const& benchmark : table.benchmarks) {
      std::vector<std::string> line = {benchmark.subject, benchmark.command, benchmark.set,
                                       benchmark.settings};
      for (std::string const& method : table.methods) {
        auto const found = table.figures.find({benchmark, method});
        line.push_back(found == table.figures.end()
                           ? ""
                           : fmt::format("{:.{}f}",
                                         column.factor * mean(found->second.*column.values),
                                         column.decimals));
      }
      text += markdown_row(line);
    }
  }
  bool any = false;
  each_verified(overview, [&](std::string const& subject, SweepCell const& cell,
                              CellResult const& result, VerifyFigures const& figures) {
    if (!any) {
      text += "\n## Partitions verified (as Fairify's table II)\n\n";
      text += markdown_head(
          {"model", "protected", "settings", "#P", "Cov (%)", "SAT", "UNSAT", "UNK", "time (s)"},
          3);
      any = true;
    }
    text +=
        markdown_row({subject, cell.set, cell.settings, fmt::format("{:.0f}", figures.partitions()),
                      fmt::format("{:.2f}", figures.coverage()), fmt::format("{:.0f}", figures.sat),
                      fmt::format("{:.0f}", figures.unsat), fmt::format("{:.0f}", figures.unknown),
                      fmt::format("{:.2f}", result.seconds)});
  });
  return text;
}

}  // namespace fairlane
