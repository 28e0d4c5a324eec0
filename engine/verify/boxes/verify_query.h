// What is asked of every box of groups.
#pragma once

#include <functional>
#include <vector>

namespace fairlane {

/// Two variants, the first of which has the higher label.
struct VariantPair {
  int upper = -1;
  int lower = -1;
};

/// Whether two variants differ enough to be compared; by variant and variant.
using ComparesPair = std::function<bool(int, int)>;

/// variants   lists of them, of which a box has one
/// compares   pairs that count
/// threshold  above which the output means label 1; 0 of several outputs, whose differences are
///            taken
/// starts     of the search in a box: from its middle, and from places drawn at random
/// margin     by which what is compared with the threshold may be off where fairness is proven
struct VerifyQuery {
  std::vector<std::vector<int>> variants;
  ComparesPair compares;
  double threshold = 0.0;
  double margin = 0.0;
  int starts = 1;

  /// Outputs above the first may have label 1, outputs not above the second label 0.
  double least_upper() const { return threshold - margin; }
  double most_lower() const { return threshold + margin; }
};

}  // namespace fairlane
