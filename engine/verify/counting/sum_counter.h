// How many sums of one number out of each of several lists fall short.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/boxes/box_kernels.h"

namespace fairlane {

/// Numbers, each with the groups that it stands for.
/// sums    [count], with room for a register behind them
/// groups  [count]
/// least, most  of the sums
struct SumList {
  std::vector<double> sums;
  std::vector<double> groups;
  std::size_t count = 0;
  double least = 0.0;
  double most = 0.0;
};

/// Puts numbers into bins, rounded down; one thread's.
class SumCounter {
 public:
  /// bins  more of them round less
  explicit SumCounter(std::size_t bins);

  /// Groups of all lists together, an entry of each list one group's, whose sums, less the lists'
  /// least ones, are at most `need`, above 0; those whose sums are rounded down to that among them.
  /// Sorts the lists.
  double count_short(std::vector<SumList>& lists, double need);

 private:
  /// Bins outside of which there is nothing.
  struct Filled {
    std::size_t first;
    std::size_t end;
  };
  /// Groups of a list by the bin of their sums, into groups [bins].
  Filled put_in_bins(SumList const& list, double per_sum, std::vector<double>& groups) const;

  BoxKernels const& kernels_;
  std::size_t bins_;
  std::vector<double> groups_;  // by the bin of the sum so far
  std::vector<double> next_;
  std::vector<double> part_;
};

}  // namespace fairlane
