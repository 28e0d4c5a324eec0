// Pairs of members of one similar set, whose outputs a fairness term brings together.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/learning/fit.h"
#include "engine/learning/training_table.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// Pairs of members of similar sets that somebody has found.
/// first, second  [pairs][attributes] codes
/// weights        [pairs] how often each is drawn, beside the others
struct KnownPairs {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  std::vector<float> weights;

  void append(KnownPairs const& more) {
    first.insert(first.end(), more.first.begin(), more.first.end());
    second.insert(second.end(), more.second.begin(), more.second.end());
    weights.insert(weights.end(), more.weights.begin(), more.weights.end());
  }
};

/// Random members of random similar sets: of the table's rows, and of inputs of the whole domain,
/// within its constraints unless hardly any input is; a quarter of them are known pairs where there
/// are any.
class SimilarPairs final : public PairSource {
 public:
  /// subject       the domain and the compared protected values; outlives this
  /// rows          of the table; outlive this
  /// random_share  of the other pairs, whose first member is a random input of the domain
  /// known         may be empty, else some weight is above 0; outlives this
  SimilarPairs(TestSubject const& subject, TrainingRows const& rows, double random_share,
               std::uint64_t seed, KnownPairs const& known);

  void draw(std::uint32_t batch, std::size_t pairs, std::vector<float>& first,
            std::vector<float>& second) const override;

 private:
  TestSubject const& subject_;
  TrainingRows const& rows_;
  double random_share_;
  std::uint64_t seed_;
  KnownPairs const& known_;
  std::vector<double> known_sums_;  // [known] of the weights up to each
};

/// Sets the protected values of a row of codes to combination `variant`, in product order.
void set_variant(TestSubject const& subject, std::int64_t variant, std::int32_t* row);

/// Sets the protected values of a row of codes to a random combination other than its own, of which
/// a member exists; leaves them where there is none.
/// word: random
void draw_other_member(TestSubject const& subject, std::uint32_t word, std::int32_t* row);

}  // namespace fairlane
