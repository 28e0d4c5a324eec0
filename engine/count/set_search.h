// THEMIS's search for the smallest sets of attributes that discriminate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/count/estimate.h"
#include "engine/count/share_estimate.h"
#include "engine/job/job.h"

namespace fairlane {

/// Looks for the smallest sets whose causal score exceeds a share. The intervals of all sets hold
/// together with the estimate's confidence, however many there are.
/// Source: Galhotra, Brun and Meliou, ESEC/FSE 2017.
class SetSearch {
 public:
  /// Of options.search_above, which is there.
  SetSearch(RunConfig const& config, EstimateOptions const& options, TestSubject const& subject,
            Job const& job);

  /// Sets gone through, and all; of these are to be compared.
  std::int64_t done() const { return done_; }
  std::int64_t sets() const { return sets_; }
  std::int64_t compared() const { return compared_; }
  /// Goes through one more set; false where there is none. Throws Error; what a set has taken by
  /// then is lost.
  bool examine_next();
  /// As a JSON text. Sets that are left count as not examined.
  std::string json() const;
  /// What has been found, from which another process goes on.
  std::string state() const;
  void restore(std::string const& state);

 private:
  struct Finding {
    std::vector<int> set;
    KnownShare share;
    std::int64_t samples = 0;
  };

  /// Combinations of a set's values, kMostSetVariants + 1 where there are more.
  std::int64_t variants_of(std::vector<int> const& set) const;
  /// The next set, the smallest first; false at the end.
  bool advance(std::vector<int>& set) const;
  void examine(std::vector<int> const& set);

  RunConfig const& config_;
  EstimateOptions const& options_;
  TestSubject const& subject_;
  Job const& job_;
  int largest_;
  std::int64_t sets_ = 0;
  std::int64_t compared_ = 0;
  std::int64_t too_large_ = 0;
  std::int64_t done_ = 0;
  std::vector<int> next_;
  std::vector<Finding> found_;
  std::vector<Finding> undecided_;
};

}  // namespace fairlane
