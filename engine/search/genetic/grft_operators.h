// What GRFT does to individuals: first populations, their fitness, the generations behind them, and
// the local phase's steps. Every draw is a pure function of its counter and the run's seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.h"

namespace fairlane {

inline constexpr int kGrftPopulation = 100;  // individuals of a seed

/// The attributes that a search may change, by the places of their codes: what steps lead along.
class MovablePlaces {
 public:
  explicit MovablePlaces(PackedSubject const& packed);

  std::size_t count() const { return columns_.size(); }
  /// Place of a row's code of the m-th of them.
  std::int32_t place(std::size_t m, std::int32_t const* row) const {
    return packed_.place_of(columns_[m], row[attributes_[m]]);
  }
  /// Gives a row the code at a place, or at the domain's nearest one.
  void set_clipped(std::size_t m, std::int64_t place, std::int32_t* row) const;
  /// Moves a row's code by so many places, within the domain.
  void shift(std::size_t m, std::int32_t by, std::int32_t* row) const {
    set_clipped(m, std::int64_t{place(m, row)} + by, row);
  }
  /// Copies one row's code to another.
  void copy(std::size_t m, std::int32_t const* from, std::int32_t* to) const {
    to[attributes_[m]] = from[attributes_[m]];
  }
  PackedSubject const& subject() const { return packed_; }

 private:
  PackedSubject const& packed_;
  std::vector<int> columns_;             // [count] of the kernels
  std::vector<std::size_t> attributes_;  // [count] of the dataset
};

/// Where a population stands: its draws' counter.
struct GrftGeneration {
  std::uint32_t seed = 0;        // number
  std::uint32_t generation = 0;  // whose individuals are drawn; the first population's is 0
  std::uint64_t run_seed = 0;
};

/// The first population: the seed's row, and others that move two attributes of it, the same for
/// all, by at most 5 places.
/// seed  [attributes]
/// rows  [kGrftPopulation][attributes] out
/// Source: GRFT.py, create_image_indvs.
void grft_first_population(MovablePlaces const& places, GrftGeneration const& at,
                           std::int32_t const* seed, std::int32_t* rows);

/// Fitness of populations that stand behind each other: the sum over the members of an individual's
/// similar set of |p - p'|, of all outputs, as the authors' program computes it: p is not always the
/// individual's own. It lays the individuals' own outputs out individual by individual, each as
/// often as there are members, but the members' outputs member by member.
/// rows     [populations][kGrftPopulation][attributes]
/// fitness  [populations][kGrftPopulation] out
/// Source: GRFT.py, untarget_object_func.
void grft_fitness(PackedSubject const& packed, RowDescriber& describer,
                  std::span<std::int32_t const> rows, float* fitness);

/// The next generation: the fittest individual stays where it is; every other one is crossed from
/// the winners of two tournaments among the ten fittest, and half of them are mutated: three
/// attributes move by at most 3 places.
/// rows     [kGrftPopulation][attributes]
/// fitness  [kGrftPopulation], ties go to the first
/// next     [kGrftPopulation][attributes] out
/// Source: GeneticAlgorithm.py, evolvePopulation; GRFT.py, build_mutate_func.
void grft_breed(MovablePlaces const& places, GrftGeneration const& at, std::int32_t const* rows,
                float const* fitness, std::int32_t* next);

/// What a step of the local phase changes, of all origins: the attribute and which way.
struct GrftMove {
  std::size_t movable = 0;
  std::int32_t direction = 1;
};

/// Source: GRFT.py, local_generation_random.
GrftMove grft_move(MovablePlaces const& places, std::uint32_t step, std::uint64_t run_seed);

}  // namespace fairlane
