#include "kernels/device/record/device_table.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/error.h"
#include "kernels/device/less_memory.h"

namespace fairlane {

namespace {

constexpr std::int64_t kSlotsAtOnce = 1 << 20;  // on their way to the host
constexpr std::int64_t kFewestSlots = 1 << 10;  // with no memory for these a run is hopeless

/// Lists the slots of a part, `piece` slots of a table at a time.
struct OwnedList {
  OwnedList(Device& on, std::int64_t slots)
      : device(on),
        piece(static_cast<std::uint64_t>(slots)),
        mark(on, piece),
        list(on, piece),
        count(on, 1) {}

  /// Lists, and counts on the device, those of the piece that begins at owned.first.
  void find(MarkOwned owned) {
    owned.mark = mark.data();
    std::uint64_t const left = owned.set.capacity - static_cast<std::uint64_t>(owned.first);
    Range const all{static_cast<std::int64_t>(std::min(piece, left)), nullptr};
    device.run(owned, all);
    device.compact(mark.data(), all, list.data(), count.data());
  }
  /// Waits for the device.
  std::size_t found() {
    std::int32_t n = 0;
    device.download(&n, count.data(), sizeof n);
    return static_cast<std::size_t>(n);
  }

  Device& device;
  std::uint64_t piece;
  DeviceArray<std::uint8_t> mark;
  DeviceArray<std::int32_t> list;
  DeviceArray<std::int32_t> count;
};

/// What they pass through on their way to the host.
struct SlotPiece : OwnedList {
  SlotPiece(Device& on, std::int64_t slots, int slot_words)
      : OwnedList(on, slots),
        gathered(on, piece * static_cast<std::uint64_t>(slot_words)),
        relay(on, gathered.size()) {}

  DeviceArray<std::uint64_t> gathered;
  Relay<std::uint64_t> relay;
};

/// make(slots) for as many slots of a table as are moved at once, or fewer where memory is short.
template <class Make>
auto for_slots(std::uint64_t capacity, Make const& make) {
  return with_less_memory(std::min(kSlotsAtOnce, static_cast<std::int64_t>(capacity)), kFewestSlots,
                          make);
}

}  // namespace

DeviceTable::DeviceTable(Device& device, KeyLayout const& keys, int variants, int label_bits,
                         std::uint64_t limit_bytes, int part, int parts)
    : device_(device), part_(part), parts_(parts), limit_bytes_(limit_bytes) {
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
    if (told_.data() != nullptr) {
      told_ = {};  // slots are worth more
      return grow(capacity);
    }
    if (set_.capacity > 0 && capacity / 2 > set_.capacity) {
      max_capacity_ = capacity / 2;
      return grow(capacity / 2);
    }
    max_capacity_ = set_.capacity;  // as large as it will get: what does not fit goes elsewhere
    return false;
  }
  device_.zero(slots.data(), words * sizeof(std::uint64_t));
  larger.slots = slots.data();
  DeviceArray<std::uint64_t> told = told_of(capacity);
  if (set_.capacity > 0) {
    bool const known = told_.data() != nullptr && told.data() != nullptr;
    device_.run(RehashSlots{set_, larger, known ? told_.data() : nullptr, told.data()},
                {static_cast<std::int64_t>(set_.capacity), nullptr});
  }
  device_.synchronize();  // before the old memory goes
  set_ = larger;
  slots_ = std::move(slots);
  told_ = std::move(told);
  return true;
}

DeviceArray<std::uint64_t> DeviceTable::told_of(std::uint64_t capacity) const {
  auto const words = static_cast<std::uint64_t>(set_.slot_words()) + 1;
  if (parts_ == 1 || capacity * words * sizeof(std::uint64_t) > limit_bytes_) return {};
  try {
    DeviceArray<std::uint64_t> told(device_, capacity);
    device_.zero(told.data(), capacity * sizeof(std::uint64_t));
    return told;
  } catch (Error const& error) {
    if (error.code() != ExitCode::kMemory) throw;
    return {};
  }
}

template <class Take>
void DeviceTable::for_each_owned(int part, std::uint64_t* told, Take const& take) const {
  auto const slot_words = static_cast<std::uint64_t>(set_.slot_words());
  SlotPiece via = for_slots(set_.capacity, [&](std::int64_t slots) {
    return SlotPiece(device_, slots, set_.slot_words());
  });
  auto const gather = [&](std::uint64_t begin) {
    auto const first = static_cast<std::int64_t>(begin);
    via.find(MarkOwned{set_, told, first, parts_, part, nullptr});
    device_.run(GatherSlots{set_, told, first, via.list.data(), via.gathered.data()},
                {static_cast<std::int64_t>(via.piece), via.count.data()});
    return via.found();
  };
  auto const take_words = [&](std::span<std::uint64_t const> words) {
    if (!words.empty()) take(words.data(), words.size() / slot_words);
  };
  for (std::uint64_t begin = 0; begin < set_.capacity; begin += via.piece) {
    std::size_t const n = gather(begin);
    auto const before = via.relay.wait();
    via.relay.send(via.gathered.data(), n * slot_words);
    take_words(before);
  }
  take_words(via.relay.wait());
}

std::uint64_t DeviceTable::size() const {
  if (parts_ == 1) return counter(0);
  OwnedList owned =
      for_slots(set_.capacity, [&](std::int64_t slots) { return OwnedList(device_, slots); });
  std::uint64_t sum = 0;
  for (std::uint64_t begin = 0; begin < set_.capacity; begin += owned.piece) {
    owned.find(MarkOwned{set_, nullptr, static_cast<std::int64_t>(begin), parts_, part_, nullptr});
    sum += owned.found();
  }
  return sum;
}

std::uint64_t DeviceTable::exchange(DeviceTable& other, VisitSink const& overflow) {
  auto const slot_words = static_cast<std::size_t>(set_.slot_words());
  auto const incoming = for_slots(set_.capacity, [&](std::int64_t slots) {
    return DeviceArray<std::uint64_t>(other.device_, static_cast<std::size_t>(slots) * slot_words);
  });
  std::size_t const most = incoming.size() / slot_words;
  auto const take = [&](std::uint64_t const* slots, std::size_t n) {
    if (!other.make_room(n)) {
      hand_out(slots, n, overflow);
      return;
    }
    other.device_.upload(incoming.data(), slots, n * slot_words * sizeof(std::uint64_t));
    other.device_.run(MergeSlots{other.set_, incoming.data()},
                      {static_cast<std::int64_t>(n), nullptr});
  };
  std::uint64_t told = 0;
  for_each_owned(other.part_, told_.data(), [&](std::uint64_t const* slots, std::size_t n) {
    for (std::size_t at = 0; at < n; at += most)
      take(slots + at * slot_words, std::min(most, n - at));
    told += n;
  });
  return told;
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
  for_each_owned(part_, nullptr,
                 [&](std::uint64_t const* slots, std::size_t n) { hand_out(slots, n, sink); });
}

}  // namespace fairlane
