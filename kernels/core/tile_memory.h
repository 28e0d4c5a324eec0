// The memory in which the coarse operations of a search work, and into which they write.
#pragma once

#include <cstdint>

namespace fairlane {

/// Working memory of one thread, in floats, each a multiple of one tile:
/// in [inputs], prefix [first layer's outputs], a, b [max_width], kept [sum_width], terms [6 *
/// outputs]; and on a CPU list [inputs]
struct Scratch {
  float* in = nullptr;
  float* prefix = nullptr;
  float* a = nullptr;
  float* b = nullptr;
  float* kept = nullptr;
  float* terms = nullptr;
  int* list = nullptr;
};

/// Results of a full evaluation of each lane's similar set; [n] each.
/// label        own label, kUndefinedLabel where the output is not finite
/// pair         first variant with another defined label, -1 when none (or when the own label is
///              undefined)
/// partner      variant with the largest squared output difference, -1 when all are equal
/// packed       labels of all variants, label_bits each (0 when label_bits is 0)
/// flags        kGroupMixed | kGroupUndefined
/// score        p(1), with several outputs the probability of the own label
/// pair_score   the same of the pair
/// severity     largest difference of any output's probability within the similar set
struct ProbeResult {
  std::int32_t* label = nullptr;
  std::int32_t* pair = nullptr;
  std::int32_t* partner = nullptr;
  std::uint32_t* packed = nullptr;
  std::int32_t* flags = nullptr;
  float* score = nullptr;  // null: score, pair_score and severity are not computed
  float* pair_score = nullptr;
  float* severity = nullptr;
};

}  // namespace fairlane
