// The record of visited inputs on a device: one probe answers "seen?", "which labels?" and "who was
// first?".
//
// Open addressing with linear probing, shared by all threads of a device. A slot is one input:
//   word     key and flags (below); 0: free
//   finder   complement of the least (phase, seed, iteration); only ever raised
//   variant, key [words]   where the slot's word has no room for the key
// In a narrow slot the word is the key itself (group * variants + variant + 1), the labels of the
// whole group and the flags, so that one compare-and-swap makes an input known. Where that exceeds
// 64 bits the word holds a tag of the hash instead; a thread claims the slot, writes the key and
// then publishes the word, and whoever records an input and meets a claimed slot waits for it.
// Inputs of one group start at the same place, so that a member which was never visited finds its
// group's labels at a sibling.
// Which thread comes first decides nothing but places.
#pragma once

#include "kernels/core/dense.h"
#include "kernels/core/visit_flags.h"
#include "kernels/device/atomics.h"

namespace fairlane {

/// A group's key: word w is words[w * stride], and `first` is word 0, which often is all of it.
struct GroupKey {
  std::uint64_t const* words = nullptr;
  long stride = 0;
  std::uint64_t first = 0;

  FL_HD GroupKey(std::uint64_t const* from, long apart)
      : words(from), stride(apart), first(*from) {}
};

/// What the record knows about an input.
struct VisitKnown {
  bool known = false;        // its group was evaluated: flags and labels hold
  bool seen = false;         // the input itself was visited before
  std::uint32_t flags = 0;   // VisitFlag bits of the input
  std::uint32_t labels = 0;  // packed labels of the group, where they are kept
  std::uint64_t end = 0;     // place at which the search ended, where it was not seen
};

/// A view that kernels take by value; DeviceTable owns the memory.
/// slots     [capacity][slot_words()], zero at first
/// counters  [kCounterWords] inputs, and IDIs among them, in several places that are to be added
///           up: one would be a queue
/// capacity  a power of two
struct VisitSet {
  static constexpr std::uint64_t kChunk = 8;      // most members of a group that share a home
  static constexpr std::uint64_t kKeyOffset = 1;  // no key is 0, the word of a free slot
  static constexpr std::uint64_t kClaimed = ~0ULL;
  static constexpr std::uint64_t kCounters = 64;
  static constexpr std::uint64_t kCounterStride = 16;  // a memory line
  static constexpr std::uint64_t kCounterWords = kCounters * kCounterStride;
  static constexpr int kTagShift = 36;  // above 32 label bits and the flags

  std::uint64_t* slots = nullptr;
  std::uint64_t* counters = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t variants = 1;
  std::uint64_t chunks = 1;
  int words = 1;       // of a group's key
  bool narrow = true;  // its slot has a place for a key in its word
  int label_bits = 0;  // of all labels of a group together; 0: not kept

  FL_HD int slot_words() const { return narrow ? 2 : 3 + words; }
  FL_HD int key_shift() const { return kVisitFlagBits + label_bits; }

  FL_HD std::uint64_t hash(GroupKey group, std::uint32_t variant) const {
    std::uint64_t const chunk = variant / kChunk;
    if (words == 1) {
      std::uint64_t const key = group.first * chunks + chunk;
      return mix(key ^ (key >> 29));
    }
    std::uint64_t h = mix(chunk + 1);
    for (int w = 0; w < words; ++w) h = mix((h ^ (h >> 31)) ^ group.words[w * group.stride]);
    return h;
  }

  /// Looks an input up; where it was seen, lowers its finder to `finder`.
  FL_HD VisitKnown find(GroupKey group, std::uint32_t variant, std::uint64_t finder) const {
    std::uint64_t const h = hash(group, variant);
    VisitKnown known;
    probe(h >> shift(), [&](std::uint64_t at, std::uint64_t word, std::uint64_t found_by) {
      // Nobody waits here for an input that is being recorded: who records it, too, will see it.
      if (word == 0 || (!narrow && word == kClaimed)) {
        known.end = at;
        return true;
      }
      std::uint64_t* const slot = slot_at(at);
      std::uint64_t member = 0;
      if (!same_group(slot, word, h, group, member)) return false;
      bool const own = member == variant;
      if (!own && (word & kIrregularFlag) != 0) return false;
      std::uint64_t const end = known.end;
      known = answer(word, own);
      known.end = end;
      if (own) raise_finder(slot, found_by, finder);
      return own;
    });
    return known;
  }

  /// Records an input and its finder, whether or not another thread has just done so.
  FL_HD void insert(GroupKey group, std::uint32_t variant, std::uint32_t labels,
                    std::uint32_t flags, std::uint64_t finder) const {
    insert_from(hash(group, variant) >> shift(), group, variant, labels, flags, finder);
  }

  /// The same from where find() ended that did not see it.
  FL_HD void insert_from(std::uint64_t first, GroupKey group, std::uint32_t variant,
                         std::uint32_t labels, std::uint32_t flags, std::uint64_t finder) const {
    std::uint64_t const h = hash(group, variant);
    std::uint64_t const body =
        (label_bits > 0 ? static_cast<std::uint64_t>(labels) << kVisitFlagBits : 0U) | flags |
        kOccupiedFlag;
    std::uint64_t const word =
        narrow ? ((group.first * variants + variant + kKeyOffset) << key_shift()) | body
               : tag(h) | body;
    probe(first, [&](std::uint64_t at, std::uint64_t before, std::uint64_t found_by) {
      std::uint64_t* const slot = slot_at(at);
      if (before == 0) before = atomic_claim(slot, 0, narrow ? word : kClaimed);
      if (before == 0) {
        if (!narrow) {
          slot[2] = variant;
          for (int w = 0; w < words; ++w) slot[3 + w] = group.words[w * group.stride];
          store_release(slot, word);
        }
        atomic_raise(slot + 1, ~finder);
        std::uint64_t* const counter = counters + at % kCounters * kCounterStride;
        atomic_count(counter, 1);
        if ((flags & kHitFlag) != 0) atomic_count(counter + 1, 1);
        return true;
      }
      std::uint64_t member = 0;
      if (!same_group(slot, published(slot), h, group, member) || member != variant) return false;
      raise_finder(slot, found_by, finder);
      return true;
    });
  }

  /// The variant and, word by word in `group`, the group of an occupied slot.
  FL_HD std::uint32_t decode(std::uint64_t const* slot, std::uint64_t* group) const {
    if (narrow) {
      std::uint64_t const key = (slot[0] >> key_shift()) - kKeyOffset;
      group[0] = key / variants;
      return static_cast<std::uint32_t>(key % variants);
    }
    for (int w = 0; w < words; ++w) group[w] = slot[3 + w];
    return static_cast<std::uint32_t>(slot[2]);
  }

  /// Group and variant of an occupied slot. word: memory for a key of one word
  FL_HD std::uint64_t const* group_in(std::uint64_t const* slot, std::uint64_t& word,
                                      std::uint32_t& variant) const {
    if (narrow) {
      variant = decode(slot, &word);
      return &word;
    }
    variant = static_cast<std::uint32_t>(slot[2]);
    return slot + 3;
  }

  /// Which of `parts` sets is to have the last word on the input of an occupied slot. A group's
  /// inputs belong together.
  FL_HD int owner(std::uint64_t const* slot, int parts) const {
    // bits that the place does not use, so that one part's inputs spread over its whole set
    constexpr int kSkip = 8;
    constexpr int kBits = 16;
    std::uint64_t word = 0;
    std::uint32_t variant = 0;
    std::uint64_t const h = hash(GroupKey(group_in(slot, word, variant), 1), 0);
    std::uint64_t const bits = (h >> kSkip) & ((1U << kBits) - 1);
    return static_cast<int>((bits * static_cast<std::uint64_t>(parts)) >> kBits);
  }

  /// Whether no slot of the same group with a lesser variant counts(slot). Not while inputs are
  /// recorded.
  template <class Counts>
  FL_HD bool leads_group(std::uint64_t const* slot, Counts const& counts) const {
    std::uint64_t word = 0;
    std::uint32_t variant = 0;
    GroupKey const group(group_in(slot, word, variant), 1);
    for (std::uint32_t home = 0; home <= variant; home += static_cast<std::uint32_t>(kChunk)) {
      std::uint64_t const h = hash(group, home);
      bool leads = true;
      probe(h >> shift(), [&](std::uint64_t at, std::uint64_t there, std::uint64_t) {
        if (there == 0) return true;
        std::uint64_t member = 0;
        if (same_group(slot_at(at), there, h, group, member) && member < variant &&
            counts(slot_at(at))) {
          leads = false;
        }
        return !leads;
      });
      if (!leads) return false;
    }
    return true;
  }

  /// Takes in an occupied slot of another set of the same shape: its input is new here, or else
  /// keeps the least finder.
  FL_HD void merge(std::uint64_t const* from) const {
    std::uint64_t word = 0;
    std::uint32_t variant = 0;
    std::uint64_t const* const key = group_in(from, word, variant);
    auto const own = answer(from[0], true);
    insert(GroupKey(key, 1), variant, own.labels, own.flags, ~from[1]);
  }

  /// Copies an occupied slot of another set of the same shape into this one, which does not hold
  /// its input. Returns its place.
  FL_HD std::uint64_t adopt(std::uint64_t const* from) const {
    std::uint64_t const h = slot_hash(from);
    for (std::uint64_t at = h >> shift();; at = (at + 1) & (capacity - 1)) {
      std::uint64_t* const slot = slots + at * static_cast<std::uint64_t>(slot_words());
      if (atomic_claim(slot, 0, from[0]) != 0) continue;
      for (int w = 1; w < slot_words(); ++w) slot[w] = from[w];
      return at;
    }
  }

 private:
  FL_HD std::uint64_t* slot_at(std::uint64_t at) const {
    return slots + at * static_cast<std::uint64_t>(slot_words());
  }
  /// Raises an input's finder where it is not as high: most inputs that are met again were found
  /// by whoever comes first in order. found_by: what it was
  FL_HD void raise_finder(std::uint64_t* slot, std::uint64_t found_by, std::uint64_t finder) const {
    if (found_by < ~finder) atomic_raise(slot + 1, ~finder);
  }
  /// A slot's first two words, read together where they lie together.
  struct Head {
    std::uint64_t word = 0;
    std::uint64_t found_by = 0;
  };
  FL_HD Head narrow_head(std::uint64_t at) const {
    Head head;
    load_relaxed_pair(slots + 2 * (at & (capacity - 1)), head.word, head.found_by);
    return head;
  }
  FL_HD Head wide_head(std::uint64_t at) const {
    std::uint64_t const* const slot = slot_at(at & (capacity - 1));
    return {load_relaxed(slot), load_relaxed(slot + 1)};
  }
  template <class Visit>
  FL_HD bool meet(std::uint64_t place, Head head, Visit const& visit) const {
    return visit(place & (capacity - 1), head.word, head.found_by);
  }
  /// Calls visit(place, word, finder) slot after slot from a place on, until it says that it is
  /// done. Four slots are read together, so that memory is waited for once. An array of them would
  /// go to a GPU's local memory.
  template <class Visit>
  FL_HD void probe(std::uint64_t first, Visit const& visit) const {
    for (;; first += 4) {
      Head a;
      Head b;
      Head c;
      Head d;
      if (narrow) {
        a = narrow_head(first);
        b = narrow_head(first + 1);
        c = narrow_head(first + 2);
        d = narrow_head(first + 3);
      } else {
        a = wide_head(first);
        b = wide_head(first + 1);
        c = wide_head(first + 2);
        d = wide_head(first + 3);
      }
      if (meet(first, a, visit) || meet(first + 1, b, visit) || meet(first + 2, c, visit) ||
          meet(first + 3, d, visit)) {
        return;
      }
    }
  }
  static FL_HD std::uint64_t mix(std::uint64_t x) { return x * 0x9E3779B97F4A7C15ULL; }
  static FL_HD std::uint64_t tag(std::uint64_t h) { return h << kTagShift; }

  FL_HD std::uint64_t slot_hash(std::uint64_t const* slot) const {
    std::uint64_t word = 0;
    std::uint32_t variant = 0;
    GroupKey const group(group_in(slot, word, variant), 1);
    return hash(group, variant);
  }

  /// Where in the top bits of a hash the place is.
  FL_HD int shift() const {
#ifdef __CUDA_ARCH__
    return __clzll(static_cast<long long>(capacity)) + 1;
#else
    return __builtin_clzll(capacity) + 1;
#endif
  }

  /// A slot's word, which in a wide slot does not yet say that what stands beside it can be read.
  FL_HD std::uint64_t published(std::uint64_t const* slot) const {
    std::uint64_t word = load_relaxed(slot);
    while (!narrow && word == kClaimed) word = load_relaxed(slot);
    return word;
  }

  FL_HD bool same_group(std::uint64_t const* slot, std::uint64_t word, std::uint64_t h,
                        GroupKey group, std::uint64_t& member) const {
    if (narrow) {
      member = (word >> key_shift()) - (group.first * variants + kKeyOffset);
      return member < variants;
    }
    if (word >> kTagShift != (h << kTagShift) >> kTagShift) return false;
    static_cast<void>(load_acquire(slot));  // the key was written before the word
    for (int w = 0; w < words; ++w) {
      if (slot[3 + w] != group.words[w * group.stride]) return false;
    }
    member = slot[2];
    return true;
  }

  FL_HD VisitKnown answer(std::uint64_t word, bool own) const {
    std::uint32_t const mask = own ? kHitFlag | kUndefinedFlag | kIrregularFlag : kHitFlag;
    return {true, own, static_cast<std::uint32_t>(word) & mask,
            static_cast<std::uint32_t>((word >> kVisitFlagBits) & ((1ULL << label_bits) - 1))};
  }
};

}  // namespace fairlane
