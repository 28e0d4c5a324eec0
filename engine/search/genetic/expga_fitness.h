// ExpGA's fitness, and the memory of IDIs that it depends on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "engine/job/checkpoint.h"
#include "engine/record/row_codec.h"
#include "kernels/backend.h"

namespace fairlane {

/// Judges individuals: 1 + 2 |difference of labels|, as the authors' program takes it. An IDI that
/// is met for the first time has the difference to the first member of its similar set with another
/// label; one that is known, and a seed is from the start, that to the last member, which may be
/// none. Members come in the order of the protected combinations.
class ExpgaFitness {
 public:
  explicit ExpgaFitness(Backend& backend) : backend_(backend), codec_(backend.subject()) {}

  /// A seed is no news.
  void add_seed(std::int32_t const* row);
  /// Judges individuals in order, up to that with which `most` distinct IDIs are found, and
  /// remembers the IDIs among them.
  /// rows  [count][attributes]
  /// hits  [count] 1 for an IDI
  /// Returns the fitness of those that it has judged, [at most count]. Throws Error, and has then
  /// remembered nothing.
  std::vector<std::uint32_t> judge(std::span<std::int32_t const> rows,
                                   std::span<std::uint8_t const> hits, std::int64_t most);
  /// Distinct IDIs so far.
  std::int64_t found() const { return static_cast<std::int64_t>(known_.size()); }

  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  using Key = std::vector<std::uint64_t>;
  struct Differences {
    std::uint32_t first = 1;  // of labels, to the first member that differs
    std::uint32_t last = 1;   // to the last member
  };
  Key key_of(std::int32_t const* row) const;
  /// Differences of IDIs, rows [count][attributes].
  std::vector<Differences> differences(std::vector<std::int32_t> const& rows) const;

  Backend& backend_;
  RowCodec codec_;
  std::set<Key> seeds_;
  std::map<Key, std::uint32_t> known_;  // IDI -> difference to the last member
};

}  // namespace fairlane
