#include "engine/verify/boxes/proof_tree.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace fairlane {

void ProofTrees::begin(std::int64_t cell, std::int32_t roots) {
  cells_[cell] = {roots, std::vector<Box>(static_cast<std::size_t>(roots))};
}

ProofTrees::Box& ProofTrees::with_slabs(std::int64_t cell, std::int32_t number,
                                        Narrowed const& narrowed) {
  Box& known = cells_.at(cell).boxes.at(static_cast<std::size_t>(number));
  auto const leave_out = [&](std::span<AxisRange const> box, std::span<AxisRange const> part,
                             LeafProof leaf) {
    char const proof = static_cast<char>(leaf);
    for (std::size_t a = 0; a < box.size(); ++a) {
      auto const axis = static_cast<std::int32_t>(a);
      if (part[a].first > box[a].first)
        known.slabs.push_back({axis, part[a].first - 1, true, proof});
      if (part[a].last < box[a].last) known.slabs.push_back({axis, part[a].last, false, proof});
    }
  };
  leave_out(narrowed.box, narrowed.peopled, LeafProof::kEmpty);
  leave_out(narrowed.peopled, narrowed.part, LeafProof::kNarrowed);
  return known;
}

std::int32_t ProofTrees::cut(std::int64_t cell, std::int32_t number, Narrowed const& narrowed,
                             std::size_t axis, std::int32_t entry) {
  auto& boxes = cells_.at(cell).boxes;
  auto const lower = static_cast<std::int32_t>(boxes.size());
  Box& known = with_slabs(cell, number, narrowed);
  known.axis = static_cast<std::int32_t>(axis);
  known.entry = entry;
  known.lower = lower;
  boxes.resize(boxes.size() + 2);
  return lower;
}

void ProofTrees::prove(std::int64_t cell, std::int32_t number, Narrowed const& narrowed,
                       LeafProof proof) {
  with_slabs(cell, number, narrowed).proof = static_cast<char>(proof);
}

std::string ProofTrees::take(std::int64_t cell) {
  Cell const known = std::move(cells_.at(cell));
  cells_.erase(cell);
  std::string text;
  // What is still to be written, the next one last: a box, or, below 0, the letter of a leaf.
  std::vector<std::int32_t> rest;
  for (std::int32_t root = known.roots; root-- > 0;) rest.push_back(root);
  while (!rest.empty()) {
    std::int32_t const number = rest.back();
    rest.pop_back();
    if (number < 0) {
      text += static_cast<char>(-number);
      continue;
    }
    Box const& box = known.boxes[static_cast<std::size_t>(number)];
    for (Slab const& slab : box.slabs) {
      fmt::format_to(std::back_inserter(text), "{}:{};", slab.axis, slab.entry);
      if (slab.lower) {
        text += slab.proof;
      } else {
        rest.push_back(-slab.proof);
      }
    }
    if (box.lower == 0) {
      text += box.proof;
      continue;
    }
    fmt::format_to(std::back_inserter(text), "{}:{};", box.axis, box.entry);
    rest.push_back(box.lower + 1);
    rest.push_back(box.lower);
  }
  return text;
}

void ProofTrees::write(CheckpointWriter& state) const {
  std::vector<std::int64_t> numbers;
  for (auto const& [cell, known] : cells_) {
    numbers.insert(numbers.end(),
                   {cell, known.roots, static_cast<std::int64_t>(known.boxes.size())});
    for (Box const& box : known.boxes) {
      numbers.insert(numbers.end(), {box.proof, box.axis, box.entry, box.lower,
                                     static_cast<std::int64_t>(box.slabs.size())});
      for (Slab const& slab : box.slabs)
        numbers.insert(numbers.end(), {slab.axis, slab.entry, slab.lower ? 1 : 0, slab.proof});
    }
  }
  state.add("proofs", numbers);
}

void ProofTrees::read(CheckpointReader const& state) {
  auto const numbers = state.values<std::int64_t>("proofs");
  std::size_t at = 0;
  auto const next = [&] { return numbers.at(at++); };
  auto const small = [&] { return static_cast<std::int32_t>(next()); };
  while (at < numbers.size()) {
    Cell& cell = cells_[next()];
    cell.roots = small();
    cell.boxes.resize(static_cast<std::size_t>(next()));
    for (Box& box : cell.boxes) {
      box.proof = static_cast<char>(next());
      box.axis = small();
      box.entry = small();
      box.lower = small();
      box.slabs.resize(static_cast<std::size_t>(next()));
      for (Slab& slab : box.slabs) {
        slab.axis = small();
        slab.entry = small();
        slab.lower = next() != 0;
        slab.proof = static_cast<char>(next());
      }
    }
  }
}

}  // namespace fairlane
