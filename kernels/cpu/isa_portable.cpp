// Lane kernels without SIMD types: one lane per pack. The reference for every other instruction
// set.
#define FL_ISA isa_portable
#include "kernels/cpu/lane_kernels.h"

namespace fairlane::FL_ISA {

/// See LaneKernels::match_visits.
inline void match_visits(VisitSlots const& table, int first_input, int last_input,
                         VisitQuery const& query, VisitFound const& found) {
  for (int i = first_input; i < last_input; ++i) {
    std::uint64_t const key = query.group[i] * table.variants + 1;
    std::uint64_t const first = key << table.shift;
    std::uint64_t const own = (key + query.variant[i]) << table.shift;
    std::uint64_t word = 0;
    std::uint64_t place = query.home[i];
    bool match = false;
    bool full = true;
    for (int j = 0; j < kSlotsPerLine && !match && full; ++j) {
      std::uint64_t const w = __atomic_load_n(&table.slots[place].word, __ATOMIC_ACQUIRE);
      full = w != 0;
      match = w - own < (1ULL << table.shift);
      if (match) word = w;
      if (!match && w - first < (table.variants << table.shift) && (w & kIrregularFlag) == 0)
        word = w & ~1ULL;
      if (full && !match) ++place;
    }
    std::uint64_t const labels =
        (word >> kVisitFlagBits) & ((1ULL << (table.shift - kVisitFlagBits)) - 1);
    found.labels[i] = static_cast<std::uint32_t>(labels);
    found.hit[i] = word != 0 ? static_cast<std::int32_t>((word >> 1) & 1) : -1;
    found.place[i] = place;
    found.own[i] = match ? 1 : 0;
  }
}

/// See LaneKernels::list_visits.
inline VisitCounts list_visits(VisitSlots const& table, int first_input, int last_input,
                               VisitQuery const& query, VisitFound const& found) {
  VisitCounts count;
  for (int i = first_input; i < last_input; ++i) {
    auto const number = static_cast<std::uint64_t>(i);
    std::uint64_t const place = found.place[i];
    found.finder[i] =
        query.phase | (static_cast<std::uint64_t>(query.seed[i]) << 31) | query.iteration[i];
    if (place == query.home[i] + kSlotsPerLine) {
      found.far[count.far++] = number;
    } else if (found.hit[i] < 0) {
      found.unknown[count.unknown++] = number;
    } else if (found.own[i] == 0) {
      found.sibling[count.sibling++] = number;
    } else if (__atomic_load_n(&table.slots[place].finder, __ATOMIC_RELAXED) < ~found.finder[i]) {
      found.lower[count.lower++] = number;
    }
  }
  return count;
}

}  // namespace fairlane::FL_ISA

// (after match_visits and list_visits)
#include "kernels/boxes/box_lanes.h"
#include "kernels/cpu/lane_kernels_inl.h"

namespace fairlane {

namespace FL_ISA {
/// The pack under a name of this namespace, so that no symbol is shared with other instruction
/// sets.
struct LanePack : ScalarPack {};
struct BoxPack : ScalarBoxPack {};
}  // namespace FL_ISA

LaneKernels const* kernels_portable() {
  return isa_portable::Kernels<isa_portable::LanePack, 4, 4>::table("portable");
}

BoxKernels const* box_kernels_portable() { return BoxTiles<isa_portable::BoxPack>::table(); }

}  // namespace fairlane
