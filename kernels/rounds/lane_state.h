// The state of a block of lanes, on the CPU as on a device, and what every stage of a round needs.
#pragma once

#include "kernels/core/lane_tiles.h"
#include "kernels/core/strided.h"
#include "kernels/visits.h"

namespace fairlane {

/// Arrays over lanes: row r of an array at r * stride, padded to whole tiles.
/// x [columns]        codes in kernel column order
/// key [words]        group key; variant: protected combination
/// hit, labels        of the last test: an IDI, packed labels of the group
/// label, pair, partner, flags  of the last full evaluation (ProbeResult)
/// momentum, partner_momentum [columns]           global phase
/// outcome            global phase: what a search that went on by itself ended with, see outcome_of
/// origin [columns], origin_key [words], origin_labels   local phase: where misses return to
/// weights, origin_weights [columns]              of the attribute draw, then their sum: as many as
///                                                movable ones and one more, which is at most all
/// total                                          that sum, the last row of weights
/// streak             hits in a row since the last renewal (AEQUITAS: misses since the last hit)
/// odds [2][movable], events [4 * movable]        AEQUITAS: of a round, StepOdds and its events
/// rows [columns], gradient [columns]             gathered rows, 2 * stride from one column to the
///                                                next, their partners behind them
/// mark               flags that become a list
/// list, open [..]    lanes of a round's list; places of the list that a stage leaves open
/// counts [3]         lanes in the list, places in either stage
/// place_seed, place_iteration, chosen, second, found_labels, found_flags   of each place of the
///                    list: what its draws depend on, variants of partners, its group's labels
struct LaneState {
  /// Places of a list on their way through classification in stages; the rows of stage 1 lie
  /// `stride` behind those of stage 0. place [..] in the list, label: first one met, flags: of this
  /// stage
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
  std::uint32_t* outcome = nullptr;

  std::int32_t* origin = nullptr;
  std::uint64_t* origin_key = nullptr;
  std::uint32_t* origin_labels = nullptr;
  float* weights = nullptr;
  float* origin_weights = nullptr;
  float* total = nullptr;
  std::int32_t* streak = nullptr;
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

/// A lane's tests, and whether the last one met an IDI, in one word.
FL_HD std::uint32_t outcome_of(std::uint32_t iteration, bool hit) {
  return iteration << 1 | (hit ? 1U : 0U);
}
FL_HD std::uint32_t tests_in(std::uint32_t outcome) { return outcome >> 1; }
FL_HD bool hit_in(std::uint32_t outcome) { return (outcome & 1U) != 0; }

/// Where columns come from and how they make a key.
/// attribute_of [columns], word [columns], key_stride [columns]
/// model_input  [columns] where a column's inputs begin in the model's
/// codes        [columns] how many a seed may draw; of a selected column, its compared values
/// variant_stride  [columns] what the next of those adds to the variant, 0: not selected
struct ColumnMap {
  int const* attribute_of = nullptr;
  int const* model_input = nullptr;
  int const* word = nullptr;
  std::uint64_t const* key_stride = nullptr;
  std::uint32_t const* codes = nullptr;
  std::uint32_t const* variant_stride = nullptr;
};

/// What every stage of a round is given by value.
/// words  of a group's key
struct LaneContext {
  Subject subject;
  ColumnMap columns;
  LaneState lanes;
  int words = 1;
  Phase phase = Phase::kGlobal;
  std::uint64_t run_seed = 0;

  FL_HD std::uint64_t finder_of(long lane) const {
    return Finder::pack(phase, lanes.seed[lane], lanes.iteration[lane]);
  }
  FL_HD RandomWords<ScalarPack> draw(long lane, std::uint32_t number) const {
    return philox<ScalarPack>(lanes.seed[lane], static_cast<std::uint32_t>(phase),
                              lanes.iteration[lane], number, run_seed);
  }
  /// Moves the key of a lane whose column c has changed by `by`.
  FL_HD void move_key(long lane, int c, std::int32_t by) const {
    int const word = words == 1 ? 0 : columns.word[c];
    lanes.key[word * lanes.stride + lane] +=
        static_cast<std::uint64_t>(std::int64_t{by}) * columns.key_stride[c];
  }
  /// Moves column c of a lane by `by`, and its key along.
  FL_HD void move(long lane, int c, std::int32_t by) const {
    lanes.x[c * lanes.stride + lane] += by;
    move_key(lane, c, by);
  }
  /// Key of a lane from its row.
  FL_HD void compute_key(long lane) const {
    for (int w = 0; w < words; ++w) {
      std::uint64_t key = 0;
      struct Part {
        std::uint64_t stride;
        std::int32_t code;
      };
      read_ahead(
          subject.columns,
          [&](int c) {
            bool const mine = columns.word[c] == w;
            return Part{mine ? columns.key_stride[c] : 0, lanes.x[c * lanes.stride + lane]};
          },
          [&](int c, Part part) {
            key +=
                static_cast<std::uint64_t>(std::int64_t{part.code - subject.low[c]}) * part.stride;
          });
      lanes.key[w * lanes.stride + lane] = key;
    }
  }
  /// The row of a lane becomes its origin, and the other way round; so do weights and key.
  FL_HD void keep_row(long lane) const {
    copy_strided(lanes.x + lane, lanes.origin + lane, subject.columns, lanes.stride);
  }
  FL_HD void return_row(long lane) const {
    copy_strided(lanes.origin + lane, lanes.x + lane, subject.columns, lanes.stride);
  }
  FL_HD void keep_weights(long lane) const {
    copy_strided(lanes.weights + lane, lanes.origin_weights + lane, subject.movable_count + 1,
                 lanes.stride);
  }
  /// Weights have memory for every column, so that both are as long.
  FL_HD void return_row_and_weights(long lane) const {
    copy_both_strided(lanes.origin + lane, lanes.x + lane, lanes.origin_weights + lane,
                      lanes.weights + lane, subject.columns, lanes.stride);
  }
  FL_HD void keep_key(long lane) const {
    for (int w = 0; w < words; ++w)
      lanes.origin_key[w * lanes.stride + lane] = lanes.key[w * lanes.stride + lane];
  }
  FL_HD void return_key(long lane) const {
    for (int w = 0; w < words; ++w) return_key_word(lane, w);
  }
  FL_HD void return_key_word(long lane, int w) const {
    lanes.key[w * lanes.stride + lane] = lanes.origin_key[w * lanes.stride + lane];
  }
};

}  // namespace fairlane
