// Pairs of members of one similar set, whose outputs a fairness term brings together.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/subject/subject.h"
#include "engine/train/fit.h"
#include "engine/train/training_table.h"

namespace fairlane {

/// Random members of random similar sets: of the table's rows, and of inputs of the whole domain.
class SimilarPairs final : public PairSource {
 public:
  /// subject       the domain and the compared protected values; outlives this
  /// rows          of the table; outlive this
  /// random_share  of pairs whose first member is a random input of the domain
  SimilarPairs(TestSubject const& subject, LabelledRows const& rows, double random_share,
               std::uint64_t seed);

  void draw(std::uint32_t batch, std::size_t pairs, std::vector<float>& first,
            std::vector<float>& second) const override;

 private:
  TestSubject const& subject_;
  LabelledRows const& rows_;
  double random_share_;
  std::uint64_t seed_;
};

/// Sets the protected values of a row of codes to a random combination other than its own.
/// words: random
void draw_other_member(TestSubject const& subject, std::uint32_t word, std::int32_t* row);

}  // namespace fairlane
