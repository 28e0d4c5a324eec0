#include "kernels/device/device_table.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/error.h"

namespace fairlane {

namespace {

constexpr std::uint64_t kSlotsAtOnce = 1 << 20;  // on their way to the host

}  // namespace

DeviceTable::DeviceTable(Device& device, KeyLayout const& keys, int variants, int label_bits,
                         std::uint64_t limit_bytes, int part, int parts)
    : device_(device), part_(part), parts_(parts) {
  set_.words = keys.words;
  set_.variants = static_cast<std::uint64_t>(variants);
  set_.chunks = (set_.variants + VisitSet::kChunk - 1) / VisitSet::kChunk;
  set_.label_bits = label_bits;
  set_.narrow =
      keys.words == 1 && std::bit_width(keys.narrow_groups * set_.variants + VisitSet::kKeyOffset) +
                                 label_bits + kVisitFlagBits <=
                             64;
  constexpr std::uint64_t kLeastBytes = 1ULL << 16;
  std::uint64_t const slot_bytes =
      static_cast<std::uint64_t>(set_.slot_words()) * sizeof(std::uint64_t);
  std::uint64_t const least = std::bit_floor(kLeastBytes / slot_bytes);
  max_capacity_ = std::max(least, std::bit_floor(limit_bytes / slot_bytes));
  counters_ = DeviceArray<std::uint64_t>(device_, VisitSet::kCounterWords);
  device_.zero(counters_.data(), VisitSet::kCounterWords * sizeof(std::uint64_t));
  set_.counters = counters_.data();
  if (!grow(least)) throw Error(ExitCode::kMemory, "device memory: no room for a first record");
}

std::uint64_t DeviceTable::counter(int which) const {
  std::vector<std::uint64_t> counters(VisitSet::kCounterWords);
  device_.download(counters.data(), counters_.data(), counters.size() * sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counters.size(); i += VisitSet::kCounterStride)
    sum += counters[i + static_cast<std::size_t>(which)];
  return sum;
}

bool DeviceTable::can_take(std::uint64_t inserts) {
  if (bound_ + inserts <= room()) return true;
  bound_ = counter(0);
  while (bound_ + inserts > room()) {
    constexpr std::uint64_t kFactor = 4;
    std::uint64_t const wanted =
        std::max(set_.capacity * kFactor, std::bit_ceil((bound_ + inserts) * 2));
    if (set_.capacity >= max_capacity_ || !grow(std::min(wanted, max_capacity_))) return false;
  }
  return true;
}

bool DeviceTable::make_room(std::uint64_t inserts) {
  if (!can_take(inserts)) return false;
  bound_ += inserts;
  return true;
}

void DeviceTable::reserve(double inputs) {
  constexpr double kRoom = 1.5;  // a third to two thirds full
  double const slots = std::min(inputs * kRoom, static_cast<double>(max_capacity_));
  if (slots <= static_cast<double>(set_.capacity)) return;
  grow(std::min(max_capacity_, std::bit_ceil(static_cast<std::uint64_t>(slots))));
}

bool DeviceTable::grow(std::uint64_t capacity) {
  VisitSet larger = set_;
  larger.capacity = capacity;
  std::size_t const words = capacity * static_cast<std::uint64_t>(set_.slot_words());
  DeviceArray<std::uint64_t> slots;
  try {
    slots = DeviceArray<std::uint64_t>(device_, words);
  } catch (Error const& error) {
    if (error.code() != ExitCode::kMemory) throw;
    if (set_.capacity > 0 && capacity / 2 > set_.capacity) {
      max_capacity_ = capacity / 2;
      return grow(capacity / 2);
    }
    max_capacity_ = set_.capacity;  // as large as it will get: what does not fit goes elsewhere
    return false;
  }
  device_.zero(slots.data(), words * sizeof(std::uint64_t));
  larger.slots = slots.data();
  if (set_.capacity > 0)
    device_.run(RehashSlots{set_, larger}, {static_cast<std::int64_t>(set_.capacity), nullptr});
  device_.synchronize();  // before the old memory goes
  set_ = larger;
  slots_ = std::move(slots);
  return true;
}

template <class Take>
void DeviceTable::for_each_owned(int part, Take const& take) const {
  auto const slot_words = static_cast<std::uint64_t>(set_.slot_words());
  std::uint64_t const piece = std::min(kSlotsAtOnce, set_.capacity);
  DeviceArray<std::uint8_t> const mark(device_, piece);
  DeviceArray<std::int32_t> const list(device_, piece);
  DeviceArray<std::int32_t> const count(device_, 1);
  DeviceArray<std::uint64_t> const gathered(device_, piece * slot_words);
  // One piece crosses while the host takes the one before it.
  HostArray<std::uint64_t> const even(device_, piece * slot_words);
  HostArray<std::uint64_t> const odd(device_, piece * slot_words);
  auto const bring = [&](std::uint64_t begin, std::uint64_t* slots) {
    auto const first = static_cast<std::int64_t>(begin);
    Range const all{static_cast<std::int64_t>(std::min(piece, set_.capacity - begin)), nullptr};
    device_.run(MarkOwned{set_, first, parts_, part, mark.data()}, all);
    device_.compact(mark.data(), all, list.data(), count.data());
    device_.run(GatherSlots{set_, first, list.data(), gathered.data()}, {all.most, count.data()});
    std::int32_t found = 0;
    device_.download(&found, count.data(), sizeof found);
    auto const n = static_cast<std::size_t>(found);
    device_.download_later(slots, gathered.data(), n * slot_words * sizeof(std::uint64_t));
    return n;
  };
  std::uint64_t* here = even.data();
  std::uint64_t* coming = odd.data();
  std::size_t n = bring(0, here);
  for (std::uint64_t next = piece; n > 0 || next < set_.capacity; next += piece) {
    device_.synchronize();
    std::size_t const more = next < set_.capacity ? bring(next, coming) : 0;
    if (n > 0) take(here, n);
    std::swap(here, coming);
    n = more;
  }
}

std::uint64_t DeviceTable::size() const {
  if (parts_ == 1) return counter(0);
  std::uint64_t owned = 0;
  for_each_owned(part_, [&](std::uint64_t const*, std::size_t n) { owned += n; });
  return owned;
}

void DeviceTable::exchange(DeviceTable& other, VisitSink const& overflow) const {
  auto const slot_words = static_cast<std::size_t>(set_.slot_words());
  DeviceArray<std::uint64_t> const incoming(other.device_,
                                            std::min(kSlotsAtOnce, set_.capacity) * slot_words);
  for_each_owned(other.part_, [&](std::uint64_t const* slots, std::size_t n) {
    if (!other.make_room(n)) {
      hand_out(slots, n, overflow);
      return;
    }
    other.device_.upload(incoming.data(), slots, n * slot_words * sizeof(std::uint64_t));
    other.device_.run(MergeSlots{other.set_, incoming.data()},
                      {static_cast<std::int64_t>(n), nullptr});
  });
}

void DeviceTable::hand_out(std::uint64_t const* slots, std::size_t count,
                           VisitSink const& sink) const {
  auto const words = static_cast<std::size_t>(set_.words);
  std::vector<std::uint64_t> group(count * words);
  std::vector<std::uint32_t> variant(count);
  std::vector<std::uint64_t> finder(count);
  std::vector<std::uint8_t> state(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const* slot = slots + i * static_cast<std::size_t>(set_.slot_words());
    variant[i] = set_.decode(slot, group.data() + i * words);
    finder[i] = ~slot[1];
    state[i] = visit_state(slot[0]);
  }
  sink({count, set_.words, group.data(), variant.data(), finder.data(), state.data()});
}

void DeviceTable::collect(VisitSink const& sink) const {
  for_each_owned(part_,
                 [&](std::uint64_t const* slots, std::size_t n) { hand_out(slots, n, sink); });
}

}  // namespace fairlane
