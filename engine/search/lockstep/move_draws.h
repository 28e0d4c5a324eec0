// The moves that a wave's origins choose from, and how likely they are to meet an IDI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads/thread_pool.h"
#include "kernels/core/lattice.h"

namespace fairlane {

/// Draws moves for a wave, and learns from its tests: the share of hits by distance and predicted
/// margins, and for each step of each attribute.
class MoveDraws {
 public:
  /// What tests of a wave met: counts, so that they add up to the same in any order.
  struct Tally {
    std::vector<std::uint32_t> tried;  // [kMoveClasses], then by steps, see step_place
    std::vector<std::uint32_t> hits;   // the same
  };

  /// subject outlives it.
  MoveDraws(Subject const& subject, std::uint64_t seed);

  /// So many moves of a wave, at most kMostMoveDraws, by at most so many threads.
  void draw(std::uint32_t wave, std::size_t count, ThreadPool& pool, int threads);
  /// They and their rates; valid until the next ones are drawn. Without tested groups and trials.
  MoveTable table() const;
  /// The draw of a test.
  MoveDraw const& of(std::uint32_t word) const {
    return draws_[static_cast<std::size_t>(TrialWord::draw(word))];
  }
  Tally new_tally() const;
  /// Counts a test of the wave.
  void count(std::uint32_t word, bool hit, Tally& tally) const;
  void learn(Tally const& tally);
  void end_wave();

  /// What is to be saved, and back.
  std::vector<double> state() const;
  void restore(std::span<double const> state);

 private:
  /// Tests of moves and how many met an IDI, as a Tally has them; recent waves weigh most.
  struct Outcomes {
    std::vector<double> tried;
    std::vector<double> hits;
  };
  MoveDraw draw_one(std::uint32_t number, std::uint32_t wave) const;
  void learn_rates();
  void learn_weights();
  void weigh(MoveDraw& move) const;
  /// Descending by bound, of equal ones the earlier draw first.
  void sort_draws();

  Subject const& subject_;
  std::uint64_t seed_;
  Outcomes outcomes_;
  std::vector<MoveDraw> draws_;
  std::vector<MoveDraw> unsorted_;
  std::vector<std::uint32_t> places_;              // of a bound's draws, by its rank
  std::vector<float> rates_;                       // [kLookupValues], by class
  std::array<float, kMoveDistances> best_from_{};  // the best rate of that distance and beyond
  std::vector<float> weights_;                     // of steps, see step_place
};

}  // namespace fairlane
