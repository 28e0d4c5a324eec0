// How the boxes of cells were proven fair: a tree of cuts for every cell, whose leaves are proven.
//
// A tree is written in preorder: a cut is "AXIS:ENTRY;", after which come the tree of the entries
// up to ENTRY and that of the others; a leaf is one letter, by what proved it. Whatever a tree says
// covers its cell, since every cut has both its sides.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/job/checkpoint.h"
#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// What proved a leaf.
enum class LeafProof : char {
  kMerged = 'm',     // bounds of all variants together
  kVariants = 'v',   // bounds of each variant, or of pairs of them
  kUnits = 'u',      // units looked at by their sides
  kEvaluated = 'e',  // every group
  kKinds = 'k',      // every kind of groups, that an ensemble tells apart
  kEmpty = 'x',      // no group is within the limits, or exists
  kNarrowed = 'n',   // what all pairs of variants leave out
};

/// Groups of a leaf that is proven by evaluating every group, at most.
inline constexpr double kMostEvaluatedGroups = 65'536.0;

/// The trees of cells on their way, in the order in which branch and bound comes to their boxes.
class ProofTrees {
 public:
  /// Forgets a cell's boxes; it then has so many roots: one for each pair of classes.
  void begin(std::int64_t cell, std::int32_t roots);
  /// How a box was narrowed before it was looked at: nobody is outside of
  /// `peopled`, and all pairs of variants leave out what else is outside of `part`.
  struct Narrowed {
    std::span<AxisRange const> box;
    std::span<AxisRange const> peopled;
    std::span<AxisRange const> part;
  };
  /// A box whose part is cut at an entry of an axis. Returns the number of the lower half's box;
  /// the upper one's is the next.
  std::int32_t cut(std::int64_t cell, std::int32_t number, Narrowed const& narrowed,
                   std::size_t axis, std::int32_t entry);
  /// A box whose part is proven.
  void prove(std::int64_t cell, std::int32_t number, Narrowed const& narrowed, LeafProof proof);
  /// The text of a cell's trees, one for each root; forgets it.
  std::string take(std::int64_t cell);
  void forget(std::int64_t cell) { cells_.erase(cell); }

  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  /// One side of a cut that is proven by itself.
  struct Slab {
    std::int32_t axis = 0;
    std::int32_t entry = 0;
    bool lower = false;
    char proof = 0;
  };
  /// lower  number of the lower half's box; 0: a leaf
  struct Box {
    char proof = 0;
    std::int32_t axis = 0;
    std::int32_t entry = 0;
    std::int32_t lower = 0;
    std::vector<Slab> slabs;
  };
  struct Cell {
    std::int32_t roots = 1;
    std::vector<Box> boxes;
  };
  /// A box of a cell, with what is outside of its part as slabs.
  Box& with_slabs(std::int64_t cell, std::int32_t number, Narrowed const& narrowed);

  std::map<std::int64_t, Cell> cells_;
};

}  // namespace fairlane
