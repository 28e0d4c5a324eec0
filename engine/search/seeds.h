// Seeds of the global phase: clustered, all rows, uniform, or given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/search/method.h"
#include "engine/subject/subject.h"
#include "kernels/lane_block.h"

namespace fairlane {

/// global.seeding that draws.
inline constexpr char const* kUniformSeeding = "uniform";

/// Where seeds come from where no table of seeds is given: global.seeding, or its default.
std::string resolved_seeding(RunConfig const& config, MethodSpec const& method,
                             TestSubject const& subject);

/// Produces seed rows by number; a pure function of configuration, data and run seed. Thread-safe
/// after construction.
class SeedSource {
 public:
  /// Clusters the data where the seeding needs it (cluster_seconds tells how long it took), on the
  /// backend where one is given: the clusters are the same. Throws Error(kConfig | kNoInput) when
  /// rows are needed and there are none.
  SeedSource(RunConfig const& config, MethodSpec const& method, TestSubject const& subject,
             Backend* backend = nullptr);

  TestSubject const& subject() const { return subject_; }
  std::int64_t count() const { return count_; }
  double cluster_seconds() const { return cluster_seconds_; }
  /// Rows come from a table: there are no more than count().
  bool fixed() const { return table_ != nullptr; }
  /// Appends the lanes of seeds first, first + 1, ... to a block.
  void place(std::int64_t first, std::int64_t count, LaneBlock& block) const;
  /// rows [count][attributes] of seeds first, first + 1, ...
  void rows(std::int64_t first, std::int64_t count, std::int32_t* out) const;
  /// row [attributes] of a seed that is drawn uniformly, whatever the seeding.
  void uniform_row(std::int64_t number, std::int32_t* row) const;

 private:
  void round_robin(RunConfig const& config, MethodSpec const& method, Dataset const& data,
                   Backend* backend);

  TestSubject const& subject_;
  std::uint64_t run_seed_;
  std::int64_t count_ = 0;
  double cluster_seconds_ = 0.0;
  Dataset const* table_ = nullptr;   // rows are taken from here, by order_ or in file order
  std::vector<std::int64_t> order_;  // row of each seed; empty: seed i is row i
};

}  // namespace fairlane
