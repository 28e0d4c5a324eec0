// One cell of a sweep: a command line, and what it is in the plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/subject/backend_choice.h"
#include "engine/sweep/plan.h"
#include "models/data/domain.h"

namespace fairlane {

/// id         16 hexadecimal digits: a digest of the command, its configuration as resolved and the
///            bytes of its input files, so that equal work has the same id in every plan
/// subjects   for people: the configuration's name, and the model's where the plan names it;
///            several where equal bytes have several names, which make one cell
/// method     empty: the command has none
/// set        protected attributes for people: "age+race"
/// seed       none: the command has none
/// settings   for people; empty: none
/// words      of the command line, but for --out and what the machine decides
/// work       expected at most; no evaluations: not known
struct SweepCell {
  std::string id;
  std::vector<std::string> subjects;
  std::string config;
  SweepCommand const* command = nullptr;
  std::string method;
  std::string set;
  std::optional<std::uint64_t> seed;
  std::string settings;
  std::vector<std::string> words;
  Workload work;

  std::string const& subject() const { return subjects.front(); }
  /// "census age eidig seed 42".
  std::string text() const;
};

/// The configuration of a cell. Throws Error.
RunConfig cell_config(SweepPlan const& plan, SweepCell const& cell);

/// The cells of a plan, in its order, each once.
/// repeated  cells that the plan lists again, also under other names
struct SweepCells {
  std::vector<SweepCell> cells;
  std::int64_t repeated = 0;
};
/// Throws Error(kNoInput | kConfig) where a configuration, a domain or an input cannot be read, or
/// the plan changes what no configuration has.
SweepCells sweep_cells(SweepPlan const& plan);

/// Which of `count` shards does a cell, as `--shard` deals them out: in the order of their ids, so
/// that each has cells of all kinds. Returns the cells' indices in the order of the plan.
std::vector<std::size_t> shard_of(SweepCells const& cells, std::int64_t index, std::int64_t count);

/// The one cell whose id begins with `id`. Throws Error(kUsage).
std::size_t find_cell(SweepCells const& cells, std::string const& id);

}  // namespace fairlane
