// The state of a block of lanes in device memory, and what every kernel over lanes needs.
#pragma once

#include "kernels/backend.h"
#include "kernels/core/lane_tiles.h"
#include "kernels/device/visit_set.h"

namespace fairlane {

/// Arrays over lanes: row r of an array at r * stride, padded to whole tiles.
/// x [columns]        codes in kernel column order
/// key [words]        group key; variant: protected combination
/// hit, labels        of the last test: an IDI, packed labels of the group
/// label, pair, partner, flags  of the last full evaluation (ProbeResult)
/// momentum, partner_momentum [columns]           global phase
/// origin [columns], origin_key [words], origin_labels, weights, origin_weights [movable], total, origin_total,
/// streak             local phase: where misses return to; hits in a row since the last renewal (AEQUITAS: misses since
///                    the last hit)
/// odds [2][movable], events [4 * movable]        AEQUITAS: of a round, StepOdds and its events
/// rows [columns], gradient [columns]             gathered rows, their partners `stride` behind: 2 * stride apart
/// mark               flags that Device::compact turns into a list
/// list, open [..]    lanes of a round's list; places of the list that a stage leaves open
/// counts [3]         lanes in the list, places in either stage
/// place_seed, place_iteration, chosen, second, found_labels, found_flags   of each place of the list: what its draws
///                    depend on, variants of partners, its group's labels
struct LaneState {
  /// Places of a list on their way through classification in stages; the rows of stage 1 lie `stride` behind those of
  /// stage 0. place [..] in the list, label: first one met, flags: of this stage
  struct Stage {
    std::int32_t* place = nullptr;
    std::int32_t* label = nullptr;
    std::int32_t* flags = nullptr;

    FL_HD void begin(std::int64_t i, std::int32_t from, std::int32_t first_label) const {
      place[i] = from;
      label[i] = first_label;
      flags[i] = 0;
    }
  };

  long stride = 0;
  std::int32_t* x = nullptr;
  std::uint64_t* key = nullptr;
  std::uint32_t* variant = nullptr;
  std::uint32_t* seed = nullptr;
  std::uint32_t* iteration = nullptr;
  std::uint32_t* renewals = nullptr;
  std::int32_t* hit = nullptr;
  std::uint32_t* labels = nullptr;
  std::int32_t* label = nullptr;
  std::int32_t* pair = nullptr;
  std::int32_t* partner = nullptr;
  std::int32_t* flags = nullptr;

  float* momentum = nullptr;
  float* partner_momentum = nullptr;

  std::int32_t* origin = nullptr;
  std::uint64_t* origin_key = nullptr;
  std::uint32_t* origin_labels = nullptr;
  float* weights = nullptr;
  float* origin_weights = nullptr;
  float* total = nullptr;
  float* origin_total = nullptr;
  std::uint32_t* streak = nullptr;
  std::int32_t* odds = nullptr;
  std::uint64_t* events = nullptr;

  std::int32_t* rows = nullptr;
  float* gradient = nullptr;
  std::uint8_t* mark = nullptr;
  std::int32_t* list = nullptr;
  std::int32_t* open = nullptr;
  std::int32_t* counts = nullptr;
  std::uint32_t* place_seed = nullptr;
  std::uint32_t* place_iteration = nullptr;
  std::int32_t* chosen = nullptr;
  std::int32_t* second = nullptr;
  Stage stages[2];
  std::uint32_t* found_labels = nullptr;
  std::int32_t* found_flags = nullptr;
};

/// Where columns come from and how they make a key, in device memory.
/// attribute_of [columns], word [columns], key_stride [columns]
/// model_input  [columns] where a column's inputs begin in the model's
struct ColumnMap {
  int const* attribute_of = nullptr;
  int const* model_input = nullptr;
  int const* word = nullptr;
  std::uint64_t const* key_stride = nullptr;
};

/// Visits that the record has no room for.
/// group [capacity][words], variant, finder, state [capacity]; used: how many there are
struct VisitOverflow {
  std::uint64_t* group = nullptr;
  std::uint32_t* variant = nullptr;
  std::uint64_t* finder = nullptr;
  std::uint8_t* state = nullptr;
  std::uint64_t* used = nullptr;
};

/// What every kernel over lanes is given by value.
/// full  new inputs go to the overflow, the record takes no more
struct LaneContext {
  Subject subject;
  ColumnMap columns;
  LaneState lanes;
  VisitSet visits;
  VisitOverflow overflow;
  bool full = false;
  bool labels_kept = false;
  Phase phase = Phase::kGlobal;
  std::uint64_t run_seed = 0;

  FL_HD GroupKey key_of(long lane) const { return {lanes.key + lane, lanes.stride}; }
  FL_HD std::uint64_t finder_of(long lane) const {
    return Finder::pack(phase, lanes.seed[lane], lanes.iteration[lane]);
  }
  FL_HD RandomWords<ScalarPack> draw(long lane, std::uint32_t number) const {
    return philox<ScalarPack>(lanes.seed[lane], static_cast<std::uint32_t>(phase),
                              lanes.iteration[lane], number, run_seed);
  }
  /// Moves column c of a lane to `value` and its key along.
  FL_HD void move(long lane, int c, std::int32_t value) const {
    std::int32_t& cell = lanes.x[c * lanes.stride + lane];
    lanes.key[columns.word[c] * lanes.stride + lane] +=
        static_cast<std::uint64_t>(static_cast<std::int64_t>(value) - cell) * columns.key_stride[c];
    cell = value;
  }
  /// Key of a lane from its row.
  FL_HD void compute_key(long lane) const {
    for (int w = 0; w < visits.words; ++w) lanes.key[w * lanes.stride + lane] = 0;
    for (int c = 0; c < subject.columns; ++c) {
      if (columns.word[c] < 0) continue;
      lanes.key[columns.word[c] * lanes.stride + lane] +=
          static_cast<std::uint64_t>(static_cast<std::int64_t>(lanes.x[c * lanes.stride + lane]) -
                                     subject.low[c]) *
          columns.key_stride[c];
    }
  }
  /// Looks a lane's input up, counting this visit.
  FL_HD VisitKnown find(long lane) const {
    return visits.find(key_of(lane), lanes.variant[lane], finder_of(lane));
  }
  /// Records a lane's input, which find did not see.
  FL_HD void record(long lane, std::uint32_t labels, std::uint32_t flags) const {
    if (!full) {
      visits.insert(key_of(lane), lanes.variant[lane], labels, flags, finder_of(lane));
      return;
    }
    std::uint64_t const at = atomic_count(overflow.used, 1);
    for (int w = 0; w < visits.words; ++w) {
      overflow
          .group[at * static_cast<std::uint64_t>(visits.words) + static_cast<std::uint64_t>(w)] =
          lanes.key[w * lanes.stride + lane];
    }
    overflow.variant[at] = lanes.variant[lane];
    overflow.finder[at] = finder_of(lane);
    overflow.state[at] = visit_state(flags);
  }
};

}  // namespace fairlane
