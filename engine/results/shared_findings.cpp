#include "engine/results/shared_findings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/ranks/packed.h"

namespace fairlane {
namespace {

constexpr std::size_t kPartWords = std::size_t{1} << 17;  // 1 MiB: of records that are sent at once
constexpr std::uint64_t kKey = (std::uint64_t{1} << kRowKeyBits) - 1;

/// The rank that owns a group. key [words] of the group
std::size_t owner_of(std::uint64_t const* key, std::size_t words, std::size_t ranks) {
  // SplitMix64's finalizer spreads neighbours.
  std::uint64_t hash = 0;
  for (std::size_t w = 0; w < words; ++w) {
    hash += key[w] + 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    hash ^= hash >> 31;
  }
  return hash % ranks;
}

/// Records on their way to each rank.
class Outbox {
 public:
  Outbox(std::size_t ranks, Ranks::SendPart const& send) : records_(ranks), send_(send) {}
  void add(std::size_t to, std::uint64_t const* record, std::size_t words) {
    auto& records = records_[to];
    records.insert(records.end(), record, record + words);
    if (records.size() >= kPartWords) flush(to);
  }
  void flush() {
    for (std::size_t to = 0; to < records_.size(); ++to) flush(to);
  }

 private:
  void flush(std::size_t to) {
    auto& records = records_[to];
    if (records.empty()) return;
    send_(static_cast<int>(to),
          {reinterpret_cast<char const*>(records.data()), records.size() * sizeof records[0]});
    records.clear();
  }

  std::vector<std::vector<std::uint64_t>> records_;  // [ranks]
  Ranks::SendPart const& send_;
};

/// Takes parts as Outbox sends them.
Ranks::TakePart taker(Findings& to) {
  return [&to](int, std::string const& part) {
    std::vector<std::uint64_t> records(part.size() / sizeof(std::uint64_t));
    std::copy_n(part.data(), part.size(), reinterpret_cast<char*>(records.data()));
    to.restore(records.data(), records.size() / to.stride());
  };
}

}  // namespace

std::unique_ptr<Findings> gather_findings(Ranks& ranks, PackedSubject const& subject, Findings& own,
                                          VisitRecord& from, std::uint64_t cut,
                                          Findings::Options const& options) {
  auto const below = [&](char const* folder) {
    Findings::Options here = options;
    here.dir += folder;
    here.memory_limit /= 2;  // both are there at the same time
    here.label_pairs = false;
    return here;
  };
  auto const size = static_cast<std::size_t>(ranks.size());
  std::size_t const stride = own.stride();
  std::size_t const words = stride - 1;
  Findings part(subject, below("/part"));
  std::vector<std::uint64_t> key(words);
  std::vector<std::uint64_t> group(words);
  ranks.exchange(
      [&](Ranks::SendPart const& send) {
        Outbox out(size, send);
        own.save(from, [&](std::uint64_t const* record, std::size_t n) {
          for (std::size_t i = 0; i < n; ++i, record += stride) {
            if (record[words] >= cut) continue;
            std::copy_n(record, words, key.begin());
            key[0] &= kKey;
            own.codec().group_of_key(key.data(), group.data());
            out.add(owner_of(group.data(), words, size), record, stride);
          }
        });
        out.flush();
      },
      taker(part));
  part.finish(cut);

  auto whole = ranks.is_first() ? std::make_unique<Findings>(subject, below("/whole")) : nullptr;
  Ranks::TakePart const take =
      whole ? taker(*whole) : [](int, std::string const&) { /* nothing is sent to others */ };
  ranks.exchange(
      [&](Ranks::SendPart const& send) {
        Outbox out(size, send);
        std::vector<std::uint64_t> record(stride);
        part.for_each_key(
            [&](std::uint64_t const* keys, std::uint64_t const* finders, std::size_t n) {
              for (std::size_t i = 0; i < n; ++i) {
                std::copy_n(keys + i * words, words, record.begin());
                record[words] = finders[i];
                out.add(0, record.data(), stride);
              }
            });
        out.flush();
      },
      take);
  FindingCounts const counts = part.counts();
  auto const all =
      ranks.gather(Packer()
                       .add(std::vector<std::int64_t>{
                           counts.unique_generated - counts.unique_instances, counts.undefined,
                           counts.undefined_similar, counts.infeasible})
                       .bytes());
  if (!whole) return nullptr;
  whole->finish(cut);
  for (std::string const& bytes : all) {
    auto const values = Unpacker(bytes).take<std::int64_t>();
    FindingCounts others;
    others.unique_generated = values.at(0);
    others.undefined = values.at(1);
    others.undefined_similar = values.at(2);
    others.infeasible = values.at(3);
    whole->add_counts(others);
  }
  return whole;
}

}  // namespace fairlane
