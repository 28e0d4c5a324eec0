// Moves of several attributes at once: which integer steps from a point near the decision boundary
// are predicted to put it between two members of the similar set.
//
// Source: Fairlane. Where a model is nearly fair, the IDIs form a thin shell around the boundary,
// which a step of one attribute leaves. Two attributes are drawn, the third's step is solved for;
// how likely such a move is to meet an IDI is learned from how far it goes and how well its
// predicted margins are centred.
#pragma once

#include "kernels/core/margin.h"

namespace fairlane {

inline constexpr int kMostTrials = 32;     // moves that are tested from one origin
inline constexpr int kUsualTrials = 8;     // as many as that where nothing is known
inline constexpr int kMoveAttributes = 3;  // that a move changes at most
inline constexpr int kMoveDistances = 9;   // classes by the sum of all steps, the last: and more
inline constexpr int kMoveCentres = 6;     // classes by the predicted margins
inline constexpr int kMoveClasses = kMoveDistances * kMoveCentres;
static_assert(kMoveClasses <= kLookupValues);
inline constexpr int kLongestSolved = 8;        // steps of the attribute that is solved for
inline constexpr int kMostMoveDraws = 1 << 12;  // of a table

/// Steps of two attributes and a third one to solve for, the same for all origins of a wave.
/// column    kNoColumn: there are not so many
/// by        steps of the first two; 0 where there is no column
/// distance  their sum, whatever their signs
/// weight    how much more or less likely such steps are to meet an IDI than others of their class
/// bound     at least weight times the best rate of such a distance and beyond
struct alignas(16) MoveDraw {
  static constexpr std::int32_t kNoColumn = -1;

  std::int32_t column[kMoveAttributes];
  std::int32_t by[kMoveAttributes - 1];
  std::int32_t distance;
  float weight;
  float bound;
};

/// Groups that were tested before a wave, as bits that the highest bits of a group's hash choose:
/// some untested ones are taken for tested, none the other way round. bits: null where nothing is
/// known
struct TestedGroups {
  static constexpr int kMostBits = 32;

  std::uint64_t const* bits = nullptr;
  int log2_bits = 6;  // at most kMostBits

  static FL_HD std::uint32_t high_bits(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> (64 - kMostBits));
  }
  static FL_HD std::uint64_t bit_of(std::uint32_t high_bits, int log2_bits) {
    return std::uint64_t{high_bits} >> (kMostBits - log2_bits);
  }
  FL_HD void prefetch([[maybe_unused]] std::uint64_t hash) const {
#ifndef __CUDA_ARCH__
    if (bits != nullptr) __builtin_prefetch(&bits[bit_of(high_bits(hash), log2_bits) / 64]);
#endif
  }
  FL_HD bool has(std::uint64_t hash) const {
    if (bits == nullptr) return false;
    std::uint64_t const bit = bit_of(high_bits(hash), log2_bits);
    return (bits[bit / 64] >> (bit % 64) & 1U) != 0;
  }
};

/// Adds a word of a group's key to its hash, of which the highest bits are the best.
FL_HD std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  hash ^= hash >> 32;
  return hash * 0xD6E8FEB86659FD93ULL;
}

/// What a wave's origins choose their moves from.
/// draws   [count] descending by bound
/// rate    [kLookupValues] share of such moves that met an IDI, by class
/// trials  that each origin gets, at most kMostTrials
struct MoveTable {
  MoveDraw const* draws = nullptr;
  std::int32_t count = 0;
  float const* rate = nullptr;
  TestedGroups tested;
  std::int32_t trials = kUsualTrials;
};

/// What became of a test.
enum class TrialOutcome : std::uint8_t {
  kNone,   // there was no move left
  kHit,    // an IDI
  kDeep,   // one whose sides lie no nearer to the boundary than the origin's, which is one, too
  kNear0,  // a miss whose nearest member is half the members' gap from the boundary; once; twice
  kNear1,
  kNear2,
  kNear3,  // eight times
  kNear4,  // 32 times
  kFar,
};

/// A test of a move in one word: its outcome, its class, the third attribute's step, the draw.
struct TrialWord {
  static FL_HD std::uint32_t pack(int draw, std::int32_t solved, int move_class) {
    return static_cast<std::uint32_t>(draw) << 16 |
           static_cast<std::uint32_t>(solved + kSolvedBias) << 10 |
           static_cast<std::uint32_t>(move_class) << 4;
  }
  static FL_HD int draw(std::uint32_t word) { return static_cast<int>(word >> 16); }
  static FL_HD std::int32_t solved(std::uint32_t word) {
    return static_cast<std::int32_t>(word >> 10 & 63U) - kSolvedBias;
  }
  static FL_HD int move_class(std::uint32_t word) { return static_cast<int>(word >> 4 & 63U); }
  /// Words without a move have distance 0.
  static FL_HD bool moves(std::uint32_t word) { return move_class(word) >= kMoveCentres; }
  static FL_HD TrialOutcome outcome(std::uint32_t word) {
    return static_cast<TrialOutcome>(word & 15U);
  }

 private:
  static constexpr std::int32_t kSolvedBias = 16;
};

/// Origins whose moves are chosen; arrays over lanes, `stride` apart but for the gradients.
/// x [columns], key [words]  of the origins
/// word, key_stride    [columns] as ColumnMap has them
/// margin_a, margin_b  of the two sides between which the boundary shall lie
/// sign_b              -1 where slope_b is that of the other label's margin, 1 elsewhere
/// slope_a, slope_b    [columns] gradients of the sides' margins, `slope_stride` apart
/// trial, trial_hash   out: [trials] TrialWord and the group hash's high_bits() of every test,
///                     `trial_stride` apart
/// side_a              the members whose tests are visits
struct PlanLanes {
  long stride = 0;
  int words = 1;
  std::int32_t const* x = nullptr;
  std::uint64_t const* key = nullptr;
  int const* word = nullptr;
  std::uint64_t const* key_stride = nullptr;
  float const* margin_a = nullptr;
  float const* margin_b = nullptr;
  float const* sign_b = nullptr;
  float const* slope_a = nullptr;
  float const* slope_b = nullptr;
  long slope_stride = 0;
  long trial_stride = 0;
  std::uint32_t* trial = nullptr;
  std::uint32_t* trial_hash = nullptr;
  std::int32_t const* side_a = nullptr;
};

/// How close to the boundary a miss came, by the least margin and the gap between the members.
FL_HD TrialOutcome miss_outcome(float low_margin, float gap) {
  if (low_margin < 0.5F * gap) return TrialOutcome::kNear0;
  if (low_margin < gap) return TrialOutcome::kNear1;
  if (low_margin < 2.0F * gap) return TrialOutcome::kNear2;
  if (low_margin < 8.0F * gap) return TrialOutcome::kNear3;
  return low_margin < 32.0F * gap ? TrialOutcome::kNear4 : TrialOutcome::kFar;
}

}  // namespace fairlane
