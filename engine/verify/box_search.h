// A search for a discriminatory group in boxes: Newton steps on the lattice towards where the
// threshold lies between two variants, a box a lane.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/box_domain.h"
#include "engine/verify/verify_query.h"
#include "kernels/backend.h"

namespace fairlane {

/// Two people who are compared and have different labels.
/// entries  [axes] of the one with the higher label, and `other` of the one with the lower: the
///          same where no axis is relaxed
struct UnfairPair {
  std::vector<std::int32_t> entries;
  std::vector<std::int32_t> other;
  VariantPair pair;
};

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

  /// The first two people with different labels, in float32, of whom one is of a group, and the
  /// other too or of one that it is compared with.
  std::optional<UnfairPair> certain_pair(std::span<std::int32_t const> entries,
                                         std::span<int const> variants);

  /// Of the group evaluated last, where it has no such pair: whether an output is not finite, and
  /// whether one could be without the margin.
  bool undefined() const { return undefined_; }
  bool within_margin() const { return within_margin_; }

 private:
  struct Lane {
    std::vector<std::int32_t> entries;  // [axes]
    std::vector<double> outputs;        // [variants] of the group, then of those beside it
    std::vector<bool> rises;            // [axes] the output with the last entry it is compared with
    double middle = 0.0;                // between the extreme outputs, from the threshold
    double best = 0.0;                  // least |middle| since the last start
    int since = 0;                      // steps since it became less
    std::uint32_t draws = 0;
  };

  void begin(std::span<Task const> tasks);
  void restart(Lane& lane, Task const& task);
  /// Moves a lane to where the limits are kept, as far as that is found.
  void keep_limits(Lane& lane, Task const& task) const;
  void evaluate(std::span<Task const> tasks);
  /// Entries of whoever is compared with a lane's group and has the greatest output, or the least,
  /// by its slopes.
  std::vector<std::int32_t> beside(Lane const& lane, bool greatest) const;
  /// Labels of a group's variants as the subject has them, and of at most two outputs their leads.
  void evaluate_rows(std::span<std::int32_t const> entries, std::span<int const> variants);
  /// Compares a group's leads with those of a group beside it.
  std::optional<UnfairPair> compare(std::span<std::int32_t const> entries,
                                    std::span<std::int32_t const> other,
                                    std::span<int const> variants);
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
  BoundNetwork const& networks_;
  int classes_ = 0;
  RowDescriber& rows_;
  VerifyQuery const& query_;
  std::unique_ptr<BoxBatch> batch_;
  BoxMemory& memory_;
  std::vector<Lane> lanes_;
  /// Of the variants of a group.
  struct Outcomes {
    std::vector<std::int32_t> labels;  // [variants] -1: undefined
    std::vector<double> leads;         // [variants] what is compared with the threshold
  };
  Outcomes outcomes_;  // of the group evaluated last
  Outcomes own_;       // of the one that others are compared with
  bool undefined_ = false;
  bool within_margin_ = false;
  std::vector<std::int32_t> row_;
  std::vector<float> logits_;
  std::vector<Interval> inputs_;
};

}  // namespace fairlane
