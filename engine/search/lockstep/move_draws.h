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

/// What tests of moves have met: how many of them an IDI, by distance and predicted margins, and
/// for each step of each attribute. Recent waves weigh most.
/// tried, hits  [kMoveClasses], then by steps, see step_place
struct MoveOutcomes {
  std::vector<double> tried;
  std::vector<double> hits;

  explicit MoveOutcomes(Subject const& subject);
  void end_wave();

  /// What is to be saved, and back.
  std::vector<double> state() const;
  void restore(std::span<double const> state);
};

/// A wave's moves.
class MoveDraws {
 public:
  /// What tests of the wave met: counts, so that they add up to the same in any order.
  /// tried, hits  as MoveOutcomes has them
  struct Tally {
    std::vector<std::uint32_t> tried;
    std::vector<std::uint32_t> hits;

    void add(Tally const& other);
    void add_to(MoveOutcomes& outcomes) const;
  };

  /// subject outlives it.
  MoveDraws(Subject const& subject, std::uint64_t seed);

  /// So many moves of a wave, at most kMostMoveDraws, by at most so many threads.
  void draw(std::uint32_t wave, std::size_t count, MoveOutcomes const& outcomes, ThreadPool& pool,
            int threads);
  /// They and their rates; valid until the next ones are drawn. Without tested groups and trials.
  MoveTable table() const;
  /// The draw of a test.
  MoveDraw const& of(std::uint32_t word) const {
    return draws_[static_cast<std::size_t>(TrialWord::draw(word))];
  }
  Tally new_tally() const;
  /// Counts a test of the wave.
  void count(std::uint32_t word, bool hit, Tally& tally) const;

 private:
  MoveDraw draw_one(std::uint32_t number, std::uint32_t wave) const;
  void learn_rates(MoveOutcomes const& outcomes);
  void learn_weights(MoveOutcomes const& outcomes);
  void weigh(MoveDraw& move) const;
  /// Descending by bound, of equal ones the earlier draw first.
  void sort_draws();

  Subject const& subject_;
  std::uint64_t seed_;
  std::vector<MoveDraw> draws_;
  std::vector<MoveDraw> unsorted_;
  std::vector<std::uint32_t> places_;              // of a bound's draws, by its rank
  std::vector<float> rates_;                       // [kLookupValues], by class
  std::array<float, kMoveDistances> best_from_{};  // the best rate of that distance and beyond
  std::vector<float> weights_;                     // of steps, see step_place
};

}  // namespace fairlane
