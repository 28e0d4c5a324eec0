// Reads a cell's proof, leaf by leaf.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// The leaves of the trees that engine/verify/boxes/proof_tree.h describes.
class ProofWalk {
 public:
  /// The text outlives it.
  explicit ProofWalk(std::string_view text) : text_(text) {}

  /// The tree that comes next is of this box.
  void plant(GroupBox box) { open_ = {std::move(box)}; }
  /// Moves on to the tree's next leaf. Returns false after the last one, and where there is a
  /// problem.
  bool step();
  GroupBox const& box() const { return box_; }
  char leaf() const { return text_[leaf_]; }

  /// Number of the character that was looked at last, from 1, and what is wrong with it; empty:
  /// nothing.
  std::size_t place() const { return problem_.empty() ? leaf_ + 1 : at_ + 1; }
  std::string const& problem() const { return problem_; }
  bool at_end() const { return at_ == text_.size(); }

 private:
  bool cut(GroupBox box);
  std::optional<std::int64_t> number(char end);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t leaf_ = 0;
  std::vector<GroupBox> open_;  // the next one last
  GroupBox box_;
  std::string problem_;
};

}  // namespace fairlane
