// ExpGA's genetic operators: how a population becomes the next one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/views.h"

namespace fairlane {

/// What an attribute may become in an individual.
/// codes   ascending; for an attribute under test the compared values. Empty: low, low + 1, ...
/// fixed   no operator changes it
struct Gene {
  std::int32_t low = 0;
  std::int64_t count = 1;
  std::span<std::int32_t const> codes = {};
  bool fixed = false;

  std::int32_t code(std::int64_t i) const {
    return codes.empty() ? static_cast<std::int32_t>(low + i) : codes[static_cast<std::size_t>(i)];
  }
};

/// Genes [attributes] in dataset order; their codes are the view's.
std::vector<Gene> genes_of(SubjectView const& view);

/// Who is bred, and when: what draws depend on beside the run's seed.
struct Brood {
  std::uint32_t first_person = 0;  // of the population, among all
  std::uint32_t generation = 0;
  std::uint64_t run_seed = 0;
};

/// Replaces a population by its next generation, as the authors' program does: as many are drawn in
/// proportion to their fitness; then each in turn is overwritten with probability 0.9 by another's
/// attributes [begin, end), as that one then is, begin below the number of attributes and end below
/// what is left of them, so that the slice is mostly empty; then every attribute, those under test
/// too, is drawn anew with probability 0.05, from all of its codes but the highest.
/// fitness  [people] above 0
/// rows     [people][attributes]
void breed(std::span<Gene const> genes, std::span<std::uint32_t const> fitness, Brood const& brood,
           std::span<std::int32_t> rows);

}  // namespace fairlane
