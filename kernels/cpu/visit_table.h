// The record of visited inputs on the CPU: one probe answers "seen?", "which labels?" and "who was
// first?".
//
// Open addressing with linear probing over 16-byte slots, shared by all threads; an insert waits
// only for another that has claimed the same slot and is about to publish it. A slot is one input:
//   finder  complement of the least (phase, seed, iteration); compare-and-swap from 0 claims the
//   slot, later ones raise it word    key (group * variants + variant + 1) | labels of the whole
//   group | flags; written once, after the claim
// Inputs of one group start at the same place, so that a member which was never visited finds its
// group's labels at a sibling. Where the domain fits the memory, that place is the key itself and
// nothing ever collides; otherwise it is a hash. Growing waits until no thread is inside
// (shared_mutex) and rehashes on all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "kernels/cpu/lane_kernels.h"
#include "kernels/visits.h"

namespace fairlane {

/// What a table knows about an input.
struct VisitAnswer {
  bool known = false;        // its group was evaluated: flags and labels hold
  bool seen = false;         // the input itself was visited before
  std::uint32_t flags = 0;   // VisitFlag bits of the input
  std::uint32_t labels = 0;  // packed labels of the group, where the subject packs labels
};

/// Answers for a block of lanes beside hit and labels, and scratch of the look-up.
/// place     [n] where insert starts to look for room
/// unknown   lanes whose group must be evaluated
/// siblings  lanes that were not visited, but whose group is known
struct VisitAnswers {
  /// What match_visits and list_visits wrote beside hit, labels and place.
  struct Lists {
    explicit Lists(std::size_t lanes)
        : own(lanes + kMaskSlack),
          finder(lanes),
          unknown(lanes),
          sibling(lanes),
          lower(lanes),
          far(lanes) {}
    VisitFound found(std::int32_t* hit, std::uint32_t* labels, std::uint64_t* places) {
      return {hit,           labels,         places,         own.data(),
              finder.data(), unknown.data(), sibling.data(), lower.data(),
              far.data()};
    }
    static constexpr std::size_t kMaskSlack = 8;  // so many bytes a mask's load or store may touch
    std::vector<std::uint8_t> own;
    std::vector<std::uint64_t> finder;
    std::vector<std::uint64_t> unknown;
    std::vector<std::uint64_t> sibling;
    std::vector<std::uint64_t> lower;
    std::vector<std::uint64_t> far;
  };
  /// Inputs whose first line was full, side by side, and what their second line says.
  struct Far {
    explicit Far(std::size_t lanes);
    std::vector<std::uint64_t> home;
    std::vector<std::uint64_t> group;
    std::vector<std::uint32_t> variant;
    std::vector<std::uint32_t> seed;
    std::vector<std::uint32_t> iteration;
    std::vector<std::int32_t> hit;
    std::vector<std::uint32_t> labels;
    std::vector<std::uint64_t> place;
    Lists lists;
  };
  explicit VisitAnswers(long lanes);

  std::vector<std::uint64_t> place;
  std::vector<std::int32_t> unknown;
  std::vector<std::int32_t> siblings;
  Lists lists;
  Far far;
};

/// Memory that is zero on allocation and uses large pages where the system offers them. Throws
/// Error(kMemory).
class ZeroedMemory {
 public:
  explicit ZeroedMemory(std::size_t bytes);
  ~ZeroedMemory();
  ZeroedMemory(ZeroedMemory const&) = delete;
  ZeroedMemory& operator=(ZeroedMemory const&) = delete;
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Table for domains of up to 2^kNarrowKeyBits inputs.
class VisitTable {
 public:
  using Key = std::uint64_t;  // group

  /// groups, variants  shape of the domain
  /// label_bits        bits of all labels of a group together; dropped when a slot has no room for
  ///                   them
  /// limit_bytes       never grow beyond
  /// threads           that use the table; a single one needs no locked operations
  VisitTable(std::uint64_t groups, int variants, int label_bits, std::uint64_t limit_bytes,
             int threads);

  bool holds_labels() const { return label_bits_ > 0; }

  /// Permission to use the table, with room for `inserts` new inputs if writable. Blocks while
  /// another thread grows it.
  class Use {
   public:
    Use(VisitTable& table, std::uint64_t inserts);
    ~Use();
    Use(Use const&) = delete;
    Use& operator=(Use const&) = delete;
    bool writable() const { return writable_; }
    void count_insert(bool hit) {
      ++inserted_;
      hits_ += hit ? 1 : 0;
    }

   private:
    VisitTable& table_;
    std::shared_lock<std::shared_mutex> lock_;
    std::uint64_t reserved_;
    std::uint64_t inserted_ = 0;
    std::uint64_t hits_ = 0;
    bool writable_ = true;
  };

  /// Place where the search for an input starts.
  std::uint64_t home(Key group, std::uint32_t variant) const {
    std::uint64_t const chunk = group * chunks_ + (chunks_ == 1 ? 0 : variant / kChunk);
    if (direct_) return chunk * chunk_size_;
    return (((chunk ^ (chunk >> 29)) * 0x9E3779B97F4A7C15ULL) >> shift_) &
           ~(kLineSlots - 1);  // a search starts at a cache line
  }
  void prefetch(std::uint64_t home) const { __builtin_prefetch(&slots_[home], 1, 3); }

  /// Looks an input up; when it was seen, lowers its finder to `finder`.
  VisitAnswer find(std::uint64_t home, Key group, std::uint32_t variant, std::uint64_t finder);
  /// find for inputs [first, last) at once; adds to answers. Writes query.home [last], and hit and
  /// labels [last] where known.
  void find_many(LaneKernels const& kernels, int first, int last, VisitQuery const& query,
                 std::int32_t* hit, std::uint32_t* labels, VisitAnswers& answers);
  /// Records an input that find did not see, and its finder. place: its home, or what find_many
  /// said.
  void insert(Use& use, std::uint64_t place, Key group, std::uint32_t variant, std::uint32_t labels,
              std::uint32_t flags, std::uint64_t finder);

  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  /// IDIs among them.
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return capacity_ * sizeof(Slot); }
  /// Hands out all entries; no other use at the same time.
  void collect(VisitSink const& sink) const;
  /// Same of the IDIs, as VisitRecord::collect_findings; takes are made one at a time.
  FindingCounts collect_findings(FindingQuery const& query, int threads,
                                 TakeRecords const& take) const;
  void clear();
  /// Grows at once to hold about that many inputs.
  void reserve(double inputs);

 private:
  static constexpr std::uint64_t kLineSlots = kSlotsPerLine;
  using Slot = VisitSlot;                     // finder complemented
  static constexpr std::uint64_t kChunk = 8;  // most members of a group that share a home
  static constexpr int kFlagBits = kVisitFlagBits;
  static constexpr std::uint64_t kKeyOffset = 1;  // no key is 0, the word of a free slot

  /// Goes on with the `count` inputs that list_visits calls far.
  void find_far(LaneKernels const& kernels, std::size_t count, VisitQuery const& query,
                std::int32_t* hit, std::uint32_t* labels, VisitAnswers& answers);
  void find_one(int i, VisitQuery const& query, std::int32_t* hit, std::uint32_t* labels,
                VisitAnswers& answers);
  /// What is known of an IDI's pair.
  std::uint64_t label_pair(std::uint64_t word, std::uint32_t variant) const;
  /// Whether no member before this one is an IDI whose finder is below the cut.
  bool is_first_of_group(Key group, std::uint32_t variant, std::uint64_t cut) const;
  void allocate(std::uint64_t capacity);
  void grow(std::uint64_t needed);
  void rehash(std::uint64_t capacity);
  /// Puts an entry of the table before it grew where it belongs. Several threads at a time.
  void move_in(Slot const& from);
  std::uint64_t room() const { return capacity_ - capacity_ / 4; }
  std::uint64_t key_of(std::uint64_t word) const { return word >> (kFlagBits + label_bits_); }
  VisitAnswer answer_of(std::uint64_t word, bool own) const {
    std::uint32_t const mask = own ? kHitFlag | kUndefinedFlag | kIrregularFlag : kHitFlag;
    return {true, own, static_cast<std::uint32_t>(word) & mask,
            static_cast<std::uint32_t>((word >> kFlagBits) & ((1ULL << label_bits_) - 1))};
  }
  void lower(Slot& slot, std::uint64_t finder) const {
    std::uint64_t const mine = ~finder;
    if (threads_ == 1) {
      if (slot.finder < mine) slot.finder = mine;
      return;
    }
    std::atomic_ref<std::uint64_t> cell(slot.finder);
    std::uint64_t seen = cell.load(std::memory_order_relaxed);
    while (seen < mine && !cell.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
    }
  }

  std::uint64_t variants_;
  std::uint64_t chunks_;
  std::uint64_t chunk_size_;
  int label_bits_;
  int threads_;
  bool direct_ = false;
  int shift_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t max_capacity_ = 0;
  std::uint64_t domain_slots_ = 0;  // slots of a table that holds the whole domain
  std::unique_ptr<ZeroedMemory> memory_;
  Slot* slots_ = nullptr;
  std::atomic<std::uint64_t> size_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::shared_mutex gate_;
};

inline VisitAnswer VisitTable::find(std::uint64_t home, Key group, std::uint32_t variant,
                                    std::uint64_t finder) {
  std::uint64_t const first = group * variants_ + kKeyOffset;
  VisitAnswer answer;
  for (std::uint64_t at = home;; at = (at + 1) & mask_) {
    std::uint64_t const word =
        std::atomic_ref<std::uint64_t>(slots_[at].word).load(std::memory_order_acquire);
    if (word == 0) return answer;
    std::uint64_t const member = key_of(word) - first;
    if (member >= variants_) continue;
    bool const own = member == variant;
    if (!own && (word & kIrregularFlag) != 0) continue;
    answer = answer_of(word, own);
    if (!own) continue;
    lower(slots_[at], finder);
    return answer;
  }
}

inline void VisitTable::insert(Use& use, std::uint64_t place, Key group, std::uint32_t variant,
                               std::uint32_t labels, std::uint32_t flags, std::uint64_t finder) {
  std::uint64_t const key = group * variants_ + variant + kKeyOffset;
  std::uint64_t const word =
      (((key << label_bits_) | (label_bits_ > 0 ? labels : 0U)) << kFlagBits) | flags |
      kOccupiedFlag;
  for (std::uint64_t at = place;; at = (at + 1) & mask_) {
    Slot& slot = slots_[at];
    std::atomic_ref<std::uint64_t> cell(slot.word);
    std::uint64_t seen = cell.load(std::memory_order_acquire);
    if (seen == 0) {
      // The finder claims the slot, then the word makes it visible: one locked operation for a new
      // input.
      std::uint64_t free = 0;
      if (threads_ == 1) {
        slot.finder = ~finder;
        slot.word = word;
        use.count_insert((flags & kHitFlag) != 0);
        return;
      }
      if (std::atomic_ref<std::uint64_t>(slot.finder)
              .compare_exchange_strong(free, ~finder, std::memory_order_acq_rel)) {
        cell.store(word, std::memory_order_release);
        use.count_insert((flags & kHitFlag) != 0);
        return;
      }
      while ((seen = cell.load(std::memory_order_acquire)) == 0) {
      }
    }
    if (key_of(seen) == key) {  // another lane was faster
      lower(slot, finder);
      return;
    }
  }
}

}  // namespace fairlane
