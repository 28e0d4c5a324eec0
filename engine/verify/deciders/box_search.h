// A search for a discriminatory group in boxes: Newton steps on the lattice towards where the
// threshold lies between two variants, a box a lane.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_existence.h"
#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/deciders/group_pairs.h"
#include "kernels/backend.h"

namespace fairlane {

/// One thread's.
class BoxSearch {
 public:
  /// All outlive it.
  BoxSearch(BoxDomain const& domain, BoundNetwork const& network, Backend& backend,
            VerifyQuery const& query);

  /// Tasks at once.
  std::size_t lanes() const { return lanes_.size(); }

  /// A box to search, and where.
  /// id      from which its random numbers come
  /// middle  whether to begin there, and not at random
  struct Task {
    std::uint64_t id = 0;
    std::span<AxisRange const> box;
    std::span<int const> variants;
    int steps = 0;
    bool middle = true;
  };
  /// found [tasks], at most lanes(). classes: between whose outputs to look
  void search(std::span<Task const> tasks, int classes, std::span<std::optional<UnfairPair>> found);

 private:
  struct Lane {
    std::vector<std::int32_t> entries;  // [axes]
    std::vector<double> outputs;        // [variants] of the group, then of those beside it
    std::vector<char> exists;           // [outputs] whose it is; empty: all do
    std::vector<bool> rises;            // [axes] the output with the last entry it is compared with
    double middle = 0.0;                // between the extreme outputs, from the threshold
    double best = 0.0;                  // least |middle| since the last start
    int since = 0;                      // steps since it became less
    std::uint32_t draws = 0;

    bool counts(std::size_t output) const { return exists.empty() || exists[output] != 0; }
  };

  void begin(std::span<Task const> tasks);
  void restart(Lane& lane, Task const& task);
  /// Moves a lane to where the limits are kept and people exist, as far as that is found.
  void keep_limits(Lane& lane, Task const& task) const;
  void evaluate(std::span<Task const> tasks);
  /// Entries of whoever is compared with a lane's group and has the greatest output, or the least,
  /// by its slopes.
  std::vector<std::int32_t> beside(Lane const& lane, bool greatest) const;
  /// Whether a pair of a lane's group has different labels in double precision, too.
  bool holds_in_double(Lane const& lane, Task const& task, VariantPair const& pair) const;
  std::optional<UnfairPair> pair_at(std::size_t i, Task const& task);
  void move(std::span<Task const> tasks);
  void place(int lane, std::span<std::int32_t const> entries, int variant);
  void find_rises(int lane);
  void step_lane(int lane, Task const& task);
  double slope_of(int input, int lane) const {
    return memory_.at(memory_.get().below, input, lane);
  }

  BoxDomain const& domain_;
  BoxExistence existence_;
  BoundNetwork const& networks_;
  int classes_ = 0;
  GroupPairs groups_;
  VerifyQuery const& query_;
  std::unique_ptr<BoxBatch> batch_;
  BoxMemory& memory_;
  std::vector<Lane> lanes_;
  std::vector<Interval> inputs_;
};

}  // namespace fairlane
