// Look-up of many inputs in a visit table with SIMD gathers: no branch depends on what is found.
#pragma once

#include "kernels/cpu/lane_kernels.h"
#include "kernels/cpu/pack_hwy.h"

namespace fairlane::FL_ISA {

/// Vectors of a record's words, and of as many 32-bit values.
struct VisitTags {
  using Words = hn::ScalableTag<std::uint64_t>;
  using SignedWords = hn::RebindToSigned<Words>;
  using Halves = hn::Rebind<std::uint32_t, Words>;
  using SignedHalves = hn::RebindToSigned<Halves>;
};

/// See LaneKernels::match_visits.
inline void match_visits(VisitSlots const& table, int first_input, int last_input,
                         VisitQuery const& query, VisitFound const& found) {
  VisitTags::Words const d;
  VisitTags::SignedWords const di;
  VisitTags::Halves const dh;
  VisitTags::SignedHalves const dih;
  int const lanes = static_cast<int>(hn::Lanes(d));
  auto const* words = &table.slots->word;
  auto const zero = hn::Zero(d);
  auto const one = hn::Set(d, 1);
  auto const span = hn::Set(d, table.variants << table.shift);
  auto const unit = hn::Set(d, 1ULL << table.shift);
  auto const irregular = hn::Set(d, kIrregularFlag);
  auto const label_mask = hn::Set(d, (1ULL << (table.shift - kVisitFlagBits)) - 1);
  for (int i = first_input; i < last_input; i += lanes) {
    auto const home = hn::LoadU(d, query.home + i);
    auto const variant = hn::PromoteTo(d, hn::LoadU(dh, query.variant + i));
    auto const key =
        hn::Add(hn::Mul(hn::LoadU(d, query.group + i), hn::Set(d, table.variants)), one);
    auto const first = hn::ShiftLeftSame(key, table.shift);
    auto const own = hn::ShiftLeftSame(hn::Add(key, variant), table.shift);
    auto const index = hn::BitCast(di, hn::Add(home, home));  // in words: a slot has two
    auto match = hn::Lt(zero, zero);
    auto full = hn::Not(match);
    auto word = zero;
    auto place = home;
    for (int j = 0; j < kSlotsPerLine; ++j) {
      auto const w = hn::GatherIndex(d, words + 2 * j, index);
      auto const used = hn::Ne(w, zero);
      auto const is_own = hn::Lt(hn::Sub(w, own), unit);
      auto const related =
          hn::And(hn::Lt(hn::Sub(w, first), span), hn::Eq(hn::And(w, irregular), zero));
      // an own word replaces a sibling's, never the other way round
      word = hn::IfThenElse(hn::AndNot(match, related), hn::AndNot(one, w), word);
      word = hn::IfThenElse(is_own, w, word);
      match = hn::Or(match, is_own);
      full = hn::And(full, used);
      // The slot of the own word, or else the first free one. An own word may stand behind a slot
      // that read as free: another thread had claimed that one and published it in between.
      place = hn::IfThenElse(hn::AndNot(match, full), hn::Add(place, one), place);
      place =
          hn::IfThenElse(is_own, hn::Add(home, hn::Set(d, static_cast<std::uint64_t>(j))), place);
    }
    auto const labels = hn::And(hn::ShiftRight<kVisitFlagBits>(word), label_mask);
    hn::StoreU(hn::TruncateTo(dh, labels), dh, found.labels + i);
    auto const hit = hn::IfThenElse(hn::Ne(word, zero), hn::And(hn::ShiftRight<1>(word), one),
                                    hn::Set(d, ~0ULL));
    hn::StoreU(hn::BitCast(dih, hn::TruncateTo(dh, hit)), dih, found.hit + i);
    hn::StoreU(place, d, found.place + i);
    hn::StoreMaskBits(d, match, found.own + i / lanes);
  }
}

/// See LaneKernels::list_visits.
inline VisitCounts list_visits(VisitSlots const& table, int first_input, int last_input,
                               VisitQuery const& query, VisitFound const& found) {
  VisitTags::Words const d;
  VisitTags::SignedWords const di;
  VisitTags::Halves const dh;
  VisitTags::SignedHalves const dih;
  int const lanes = static_cast<int>(hn::Lanes(d));
  auto const* finders = &table.slots->finder;
  auto const phase = hn::Set(d, query.phase);
  auto const last = hn::Set(d, static_cast<std::uint64_t>(last_input));
  auto const from_zero = hn::Iota(d, 0);
  VisitCounts count;
  auto const list = [d](auto number, auto mask, std::uint64_t* to, std::size_t& length) {
    length += hn::CompressStore(number, mask, d, to + length);
  };
  for (int i = first_input; i < last_input; i += lanes) {
    auto const match = hn::LoadMaskBits(d, found.own + i / lanes);
    auto const place = hn::LoadU(d, found.place + i);
    auto const seed = hn::PromoteTo(d, hn::LoadU(dh, query.seed + i));
    auto const iteration = hn::PromoteTo(d, hn::LoadU(dh, query.iteration + i));
    auto const finder = hn::Or(phase, hn::Or(hn::ShiftLeft<31>(seed), iteration));
    hn::StoreU(finder, d, found.finder + i);
    // a free slot or a sibling's gives some finder too; only an own word's counts
    auto const earliest = hn::GatherIndex(d, finders, hn::BitCast(di, hn::Add(place, place)));
    auto const number = hn::Add(from_zero, hn::Set(d, static_cast<std::uint64_t>(i)));
    auto const inside = hn::Lt(number, last);
    auto const hit = hn::PromoteTo(di, hn::LoadU(dih, found.hit + i));
    auto const unknown = hn::MaskFromVec(hn::BitCast(d, hn::BroadcastSignBit(hit)));
    auto const line = hn::Sub(place, hn::LoadU(d, query.home + i));
    auto const far = hn::And(inside, hn::Eq(line, hn::Set(d, kSlotsPerLine)));
    auto const near = hn::AndNot(far, inside);
    auto const lower = hn::And(match, hn::Lt(earliest, hn::Not(finder)));
    list(number, hn::And(unknown, near), found.unknown, count.unknown);
    list(number, hn::AndNot(hn::Or(match, unknown), near), found.sibling, count.sibling);
    list(number, hn::And(inside, lower), found.lower, count.lower);
    list(number, far, found.far, count.far);
  }
  return count;
}

}  // namespace fairlane::FL_ISA
