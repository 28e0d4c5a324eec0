// The record of visited inputs for domains whose keys exceed one word: keys are stored and compared
// whole.
//
// A hash set in shards, each with its own lock and its own growth; an entry is a group with its
// labels and the members that were visited.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "kernels/cpu/visit_table.h"

namespace fairlane {

/// Same operations as VisitTable, for keys of `words` 64-bit words.
class WideVisitTable {
 public:
  /// Word w of the group's key is words[w * stride].
  struct Key {
    std::uint64_t const* words;
    long stride;
  };

  WideVisitTable(int words, std::uint64_t limit_bytes);

  bool holds_labels() const { return true; }

  class Use {
   public:
    Use(WideVisitTable& table, std::uint64_t /*inserts*/)
        : writable_(table.bytes() < table.limit_bytes_) {}
    bool writable() const { return writable_; }

   private:
    bool writable_;
  };

  std::uint64_t home(Key key, std::uint32_t variant) const;
  void prefetch(std::uint64_t /*home*/) const {}
  VisitAnswer find(std::uint64_t home, Key key, std::uint32_t variant, std::uint64_t finder);
  /// As VisitTable's; query.group is word 0 of every key, the words `stride` apart.
  void find_many(int first, int last, VisitQuery const& query, long stride, std::int32_t* hit,
                 std::uint32_t* labels, VisitAnswers& answers);
  void insert(Use& use, std::uint64_t home, Key key, std::uint32_t variant, std::uint32_t labels,
              std::uint32_t flags, std::uint64_t finder);
  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void collect(VisitSink const& sink) const;
  void clear();
  void reserve(double /*inputs*/) {}  // shards grow one by one

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  struct Group {
    std::uint64_t hash;
    std::uint32_t labels;
    std::uint32_t flags;
    std::uint32_t first_member;
  };
  struct Member {
    std::uint64_t finder;
    std::uint32_t variant;
    std::uint32_t flags;
    std::uint32_t next;
  };
  struct Shard {
    std::mutex lock;
    std::vector<std::uint32_t> slots;  // index of a group, or kNone; a power of two
    std::vector<Group> groups;
    std::vector<std::uint64_t> keys;  // [groups][words]
    std::vector<Member> members;
  };
  static constexpr int kShardBits = 6;

  Shard& shard_of(std::uint64_t hash) { return shards_[hash >> (64 - kShardBits)]; }
  std::uint32_t lookup(Shard const& shard, std::uint64_t hash, Key key) const;
  void add_group(Shard& shard, std::uint64_t hash, Key key, std::uint32_t labels,
                 std::uint32_t flags);

  int words_;
  std::uint64_t limit_bytes_;
  std::array<Shard, 1 << kShardBits> shards_;
  std::atomic<std::uint64_t> size_{0};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace fairlane
