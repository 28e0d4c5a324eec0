// The directory of a sweep: a directory for each cell, journals, and what is made of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/sweep/figures.h"
#include "engine/sweep/plan.h"

namespace fairlane {

/// Where a cell was worked on.
/// device        "cpu avx512", or the GPU's name
/// threads       that it was given
/// peak_gflops   of that many threads' multiply-adds, measured beside it; 0: not known
struct CellMachine {
  std::string host;
  std::string cpu;
  std::string device;
  int cores = 0;
  int threads = 0;
  double peak_gflops = 0.0;
};
Json machine_json(CellMachine const& machine);
CellMachine machine_of(Json const& json);

/// A RESULT: how a cell ended.
/// exit     of its command
/// error    the one line that it ended with; empty where it is finished
/// worker   "cpu 1", "gpu 0", "rank 3"
/// seconds  from its start to its end
struct CellResult {
  std::string cell;
  int exit = 0;
  std::string error;
  std::string worker;
  double seconds = 0.0;
  CellMachine machine;
  std::vector<FigureRow> rows;

  /// Whether its results are there: all of them, or in part, or such as a policy refuses.
  bool is_done() const;
};
Json result_record(CellResult const& result);

/// A cell that somebody works on.
struct RunningCell {
  std::string worker;
  std::string journal;
};

/// What all journals of a sweep say.
/// results   by cell: the finished one, otherwise the last failure
/// running   by cell: begun by a process that is still there
/// journals  their names and who holds them, of those that are held
struct SweepStandings {
  std::map<std::string, CellResult> results;
  std::map<std::string, RunningCell> running;
  std::map<std::string, std::string> holders;

  bool is_done(std::string const& cell) const;
};

class SweepDir {
 public:
  explicit SweepDir(std::string path) : path_(std::move(path)) {}

  std::string const& path() const { return path_; }
  /// Makes the directory and its plan.json, by which it is known. Throws Error(kOutput) where it
  /// holds something else, Error(kDisk).
  void create(SweepPlan const& plan, std::size_t cells) const;
  /// Throws Error(kNoInput) where there is no sweep yet.
  void require() const;

  std::string file(std::string const& name) const { return path_ + "/" + name; }
  /// Of a cell: not more than a few thousand in one folder, however many there are.
  std::string cell_dir(std::string const& id) const;
  std::string journal(std::string const& name) const;
  /// Throws Error(kIntegrity | kNoInput).
  SweepStandings standings() const;

 private:
  std::string path_;
};

}  // namespace fairlane
