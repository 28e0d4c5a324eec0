#include "kernels/device/record/device_findings.h"

#include <algorithm>

#include "kernels/rounds/lane_memory.h"

namespace fairlane {

namespace {

constexpr std::uint64_t kRecordsAtOnce = 1 << 20;  // on their way to the host

}  // namespace

DeviceFindings::DeviceFindings(Device& device, CountedVisits const& visits, RowKeys const& keys,
                               std::uint64_t at_once)
    : device_(device),
      visits_(visits),
      bits_(keys.bits, keys.bits + keys.words),
      shift_(std::max(0, bits_[0] - kKeyBucketBits)),
      used_(device, 1) {
  upload_keys(keys);
  cut_pieces(count(), at_once);
  auto const words = static_cast<std::uint64_t>(keys.words);
  records_ = DeviceArray<std::uint64_t>(device_, (words + 1) * most_);
  columns_ = DeviceArray<std::uint64_t>(device_, (words == 1 ? 2 : 4) * most_);
  packed_ = DeviceArray<std::uint64_t>(device_, (words + 1) * most_);
}

void DeviceFindings::upload_keys(RowKeys const& keys) {
  auto const words = static_cast<std::size_t>(keys.words);
  auto const runs = static_cast<std::size_t>(keys.first[keys.words]);
  std::size_t const variants = words * static_cast<std::size_t>(keys.variants);
  keys_ = keys;
  RowKeyRun* to_runs = nullptr;
  int* to_first = nullptr;
  std::uint64_t* to_variant = nullptr;
  auto const carve = [&](std::byte* base) {
    Carver memory(base);
    memory.take(to_variant, variants);
    memory.take(to_runs, runs);
    memory.take(to_first, words + 1);
    return memory.used();
  };
  key_memory_ = DeviceArray<std::byte>(device_, carve(nullptr));
  carve(key_memory_.data());
  device_.upload(to_runs, keys.runs, runs * sizeof *to_runs);
  device_.upload(to_first, keys.first, (words + 1) * sizeof *to_first);
  device_.upload(to_variant, keys.variant, variants * sizeof *to_variant);
  keys_.runs = to_runs;
  keys_.first = to_first;
  keys_.variant = to_variant;
  keys_.bits = nullptr;
}

std::vector<std::uint64_t> DeviceFindings::count() {
  DeviceArray<std::uint64_t> const counters(device_, VisitSet::kCounterWords + kKeyBuckets);
  device_.zero(counters.data(), counters.size() * sizeof(std::uint64_t));
  device_.run(CountVisits{visits_, keys_, shift_, counters.data(),
                          counters.data() + VisitSet::kCounterWords},
              {visits_.strips(), nullptr});
  std::vector<std::uint64_t> counted(counters.size());
  device_.download(counted.data(), counters.data(), counters.size() * sizeof(std::uint64_t));
  std::int64_t* const to[] = {&counts_.unique_instances, &counts_.unique_groups,
                              &counts_.unique_generated, &counts_.undefined,
                              &counts_.undefined_similar};
  for (std::size_t i = 0; i < VisitSet::kCounterWords; i += VisitSet::kCounterStride) {
    for (std::size_t k = 0; k < CountVisits::kTotals; ++k)
      *to[k] += static_cast<std::int64_t>(counted[i + k]);
  }
  return {counted.begin() + VisitSet::kCounterWords, counted.end()};
}

void DeviceFindings::cut_pieces(std::vector<std::uint64_t> const& buckets, std::uint64_t at_once) {
  Piece piece;
  for (std::uint64_t b = 0; b < buckets.size(); ++b) {
    if (piece.findings > 0 && piece.findings + buckets[b] > at_once) {
      pieces_.push_back(piece);
      piece = {b, b, 0};
    }
    piece.last = b + 1;
    piece.findings += buckets[b];
    most_ = std::max(most_, piece.findings);
  }
  if (piece.findings > 0) pieces_.push_back(piece);
}

void DeviceFindings::sort(Piece const& piece) {
  auto const n = static_cast<std::int64_t>(piece.findings);
  auto const most = static_cast<std::int64_t>(most_);
  WordColumns const records{records_.data(), most};
  device_.zero(used_.data(), sizeof(std::uint64_t));
  device_.run(PickFindings{visits_, keys_, shift_, piece.first, piece.last, records, used_.data()},
              {visits_.strips(), nullptr});
  int const words = keys_.words;
  auto const sort_by = [&](int w, KeyedWords& sorted, KeyedWords& spare) {
    int const bits = bits_[static_cast<std::size_t>(w)];
    if (bits > 0) device_.sort(sorted, spare, n, bits);
  };
  std::uint64_t* const column = columns_.data();
  KeyedWords spare{column, column + most};
  if (words == 1) {  // the finders go with the keys
    KeyedWords sorted{&records.at(0, 0), &records.at(1, 0)};
    sort_by(0, sorted, spare);
    WordColumns const from{sorted.words, sorted.with - sorted.words};
    device_.run(PackRecords{from, 2, nullptr, packed_.data()}, {n, nullptr});
    return;
  }
  // By the last word first: what is equal in a word stays in the order of those behind it.
  KeyedWords sorted{column + 2 * most, column + 3 * most};
  for (int w = words - 1; w >= 0; --w) {
    device_.run(TakeColumn{&records.at(w, 0), sorted.with, w == words - 1, sorted.words},
                {n, nullptr});
    sort_by(w, sorted, spare);
  }
  device_.run(PackRecords{records, words + 1, sorted.with, packed_.data()}, {n, nullptr});
}

void DeviceFindings::collect(TakeRecords const& take) {
  std::uint64_t const words = static_cast<std::uint64_t>(keys_.words) + 1;
  Relay<std::uint64_t> relay(device_, std::min(most_, kRecordsAtOnce) * words);
  auto const take_words = [&](std::span<std::uint64_t const> records) {
    if (!records.empty()) take(records.data(), records.size() / words);
  };
  for (Piece const& piece : pieces_) {
    auto before = relay.wait();
    sort(piece);
    for (std::uint64_t at = 0; at < piece.findings; at += kRecordsAtOnce) {
      if (at > 0) before = relay.wait();
      relay.send(packed_.data() + at * words,
                 std::min(kRecordsAtOnce, piece.findings - at) * words);
      take_words(before);
    }
  }
  take_words(relay.wait());
}

}  // namespace fairlane
