#include "kernels/cpu/wide_visit_table.h"

#include <algorithm>

namespace fairlane {

WideVisitTable::WideVisitTable(int words, std::uint64_t limit_bytes)
    : words_(words), limit_bytes_(limit_bytes) {
  clear();
}

std::uint64_t WideVisitTable::home(Key key, std::uint32_t /*variant*/) const {
  // splitmix64's finaliser over the words
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (int w = 0; w < words_; ++w) {
    hash ^= key.words[w * key.stride];
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    hash ^= hash >> 31;
  }
  return hash;
}

std::uint32_t WideVisitTable::lookup(Shard const& shard, std::uint64_t hash, Key key) const {
  std::uint64_t const mask = shard.slots.size() - 1;
  for (std::uint64_t at = hash & mask;; at = (at + 1) & mask) {
    std::uint32_t const index = shard.slots[at];
    if (index == kNone) return kNone;
    if (shard.groups[index].hash != hash) continue;
    std::uint64_t const* stored =
        &shard.keys[static_cast<std::size_t>(index) * static_cast<std::size_t>(words_)];
    bool equal = true;
    for (int w = 0; w < words_ && equal; ++w) equal = stored[w] == key.words[w * key.stride];
    if (equal) return index;
  }
}

VisitAnswer WideVisitTable::find(std::uint64_t home, Key key, std::uint32_t variant,
                                 std::uint64_t finder) {
  Shard& shard = shard_of(home);
  std::lock_guard const guard(shard.lock);
  std::uint32_t const index = lookup(shard, home, key);
  if (index == kNone) return {};
  Group const& group = shard.groups[index];
  for (std::uint32_t m = group.first_member; m != kNone; m = shard.members[m].next) {
    if (shard.members[m].variant != variant) continue;
    shard.members[m].finder = std::min(shard.members[m].finder, finder);
    return {true, true, shard.members[m].flags, group.labels};
  }
  return {(group.flags & kIrregularFlag) == 0, false, group.flags & kHitFlag, group.labels};
}

void WideVisitTable::find_many(int first, int last, VisitQuery const& query, long stride,
                               std::int32_t* hit, std::uint32_t* labels, VisitAnswers& answers) {
  for (int i = first; i < last; ++i) {
    auto const u = static_cast<std::size_t>(i);
    std::uint64_t const finder =
        query.phase | (std::uint64_t{query.seed[i]} << Finder::kIterationBits) | query.iteration[i];
    query.home[i] = home({query.group + i, stride}, query.variant[i]);
    answers.place[u] = query.home[i];
    auto const answer = find(query.home[i], {query.group + i, stride}, query.variant[i], finder);
    hit[i] = (answer.flags & kHitFlag) != 0 ? 1 : 0;
    labels[i] = answer.labels;
    if (!answer.known) answers.unknown.push_back(i);
    if (answer.known && !answer.seen) answers.siblings.push_back(i);
  }
}

void WideVisitTable::insert(Use& /*use*/, std::uint64_t home, Key key, std::uint32_t variant,
                            std::uint32_t labels, std::uint32_t flags, std::uint64_t finder) {
  Shard& shard = shard_of(home);
  std::lock_guard const guard(shard.lock);
  std::uint32_t index = lookup(shard, home, key);
  if (index == kNone) {
    index = static_cast<std::uint32_t>(shard.groups.size());
    add_group(shard, home, key, labels, flags);
  }
  for (std::uint32_t m = shard.groups[index].first_member; m != kNone; m = shard.members[m].next) {
    if (shard.members[m].variant != variant) continue;
    shard.members[m].finder = std::min(shard.members[m].finder, finder);
    return;
  }
  auto const next = static_cast<std::uint32_t>(shard.members.size());
  shard.members.push_back({finder, variant, flags, shard.groups[index].first_member});
  shard.groups[index].first_member = next;
  size_.fetch_add(1, std::memory_order_relaxed);
  if ((flags & kHitFlag) != 0) hits_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(sizeof(Member), std::memory_order_relaxed);
}

void WideVisitTable::add_group(Shard& shard, std::uint64_t hash, Key key, std::uint32_t labels,
                               std::uint32_t flags) {
  auto const index = static_cast<std::uint32_t>(shard.groups.size());
  shard.groups.push_back({hash, labels, flags & (kHitFlag | kIrregularFlag), kNone});
  for (int w = 0; w < words_; ++w) shard.keys.push_back(key.words[w * key.stride]);
  constexpr std::size_t kSlotsPerGroup = 2;
  if (shard.groups.size() * kSlotsPerGroup > shard.slots.size()) {
    shard.slots.assign(shard.slots.size() * 2, kNone);
    std::uint64_t const mask = shard.slots.size() - 1;
    for (std::uint32_t g = 0; g < shard.groups.size(); ++g) {
      std::uint64_t at = shard.groups[g].hash & mask;
      while (shard.slots[at] != kNone) at = (at + 1) & mask;
      shard.slots[at] = g;
    }
  } else {
    std::uint64_t const mask = shard.slots.size() - 1;
    std::uint64_t at = hash & mask;
    while (shard.slots[at] != kNone) at = (at + 1) & mask;
    shard.slots[at] = index;
  }
  bytes_.fetch_add(sizeof(Group) + static_cast<std::uint64_t>(words_) * sizeof(std::uint64_t) +
                       kSlotsPerGroup * sizeof(std::uint32_t),
                   std::memory_order_relaxed);
}

void WideVisitTable::collect(VisitSink const& sink) const {
  std::vector<std::uint64_t> group;
  std::vector<std::uint32_t> variant;
  std::vector<std::uint64_t> finder;
  std::vector<std::uint8_t> state;
  for (auto const& shard : shards_) {
    group.clear();
    variant.clear();
    finder.clear();
    state.clear();
    for (std::size_t g = 0; g < shard.groups.size(); ++g) {
      for (std::uint32_t m = shard.groups[g].first_member; m != kNone; m = shard.members[m].next) {
        auto const first = shard.keys.begin() + static_cast<std::ptrdiff_t>(g) * words_;
        group.insert(group.end(), first, first + words_);
        variant.push_back(shard.members[m].variant);
        finder.push_back(shard.members[m].finder);
        state.push_back(visit_state(shard.members[m].flags));
      }
    }
    if (!variant.empty()) {
      sink({variant.size(), words_, group.data(), variant.data(), finder.data(), state.data()});
    }
  }
}

void WideVisitTable::clear() {
  constexpr std::size_t kFirstSlots = 1024;
  for (auto& shard : shards_) {
    shard.slots.assign(kFirstSlots, kNone);
    shard.groups.clear();
    shard.keys.clear();
    shard.members.clear();
  }
  size_.store(0, std::memory_order_relaxed);
  hits_.store(0, std::memory_order_relaxed);
  bytes_.store(0, std::memory_order_relaxed);
}

}  // namespace fairlane
