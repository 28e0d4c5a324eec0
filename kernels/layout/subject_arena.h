// A subject whose every pointer lies in one block of memory, so that a copy of the block is a copy
// of the subject.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/subject.h"

namespace fairlane {

inline constexpr std::size_t kArenaAlignment = 16;  // of every array in an arena, and of its copies

/// subject  every pointer of it, and of its layers, lies in [base, base + bytes)
/// bytes    a multiple of kArenaAlignment
struct ArenaView {
  Subject subject;
  std::byte const* base = nullptr;
  std::int64_t bytes = 0;
};

/// Where `pointer` into the block at `base` lies in a copy of it; null stays null.
template <class T>
FL_HD T const* pointer_in(std::byte const* base, T const* pointer, std::byte const* copy) {
  if (pointer == nullptr) return nullptr;
  return reinterpret_cast<T const*>(copy + (reinterpret_cast<std::byte const*>(pointer) - base));
}

/// The subject of `copy`, a copy of the arena's bytes, without touching it: move_layers comes
/// first.
FL_HD Subject subject_at(ArenaView const& arena, std::byte const* copy) {
  Subject s = arena.subject;
  s.network.layer = pointer_in(arena.base, s.network.layer, copy);
  s.selected_column = pointer_in(arena.base, s.selected_column, copy);
  s.selected_input = pointer_in(arena.base, s.selected_input, copy);
  s.variant_code = pointer_in(arena.base, s.variant_code, copy);
  s.encoding = pointer_in(arena.base, s.encoding, copy);
  s.variant_value = pointer_in(arena.base, s.variant_value, copy);
  s.low = pointer_in(arena.base, s.low, copy);
  s.high = pointer_in(arena.base, s.high, copy);
  s.movable = pointer_in(arena.base, s.movable, copy);
  s.variant_order = pointer_in(arena.base, s.variant_order, copy);
  s.feasible.rule = pointer_in(arena.base, s.feasible.rule, copy);
  s.feasible.term = pointer_in(arena.base, s.feasible.term, copy);
  s.feasible.table = pointer_in(arena.base, s.feasible.table, copy);
  return s;
}

/// Makes the layers and encodings of `copy`, which still point into the arena, point into the copy
/// as it will be seen at `seen_at`: where it lies, or where its bytes are about to go. Done once,
/// by one thread.
FL_HD void move_layers(ArenaView const& arena, std::byte* copy, std::byte const* seen_at) {
  auto* const layers =
      const_cast<PackedLayer*>(pointer_in(arena.base, arena.subject.network.layer, copy));
  for (int l = 0; l < arena.subject.network.layers; ++l) {
    for (PackedDense* dense : {&layers[l].forward, &layers[l].backward}) {
      dense->weights = pointer_in(arena.base, dense->weights, seen_at);
      dense->bias = pointer_in(arena.base, dense->bias, seen_at);
    }
  }
  auto* const encodings =
      const_cast<ColumnEncoding*>(pointer_in(arena.base, arena.subject.encoding, copy));
  for (int c = 0; encodings != nullptr && c < arena.subject.columns; ++c) {
    encodings[c].table = pointer_in(arena.base, encodings[c].table, seen_at);
    encodings[c].rise = pointer_in(arena.base, encodings[c].rise, seen_at);
  }
}

/// The subject of `copy`, a fresh copy of the arena's bytes, with its layers moved. Done once, by
/// one thread.
FL_HD Subject subject_in(ArenaView const& arena, std::byte* copy) {
  move_layers(arena, copy, copy);
  return subject_at(arena, copy);
}

}  // namespace fairlane
