#include "tests/gpusim/costs.h"

#include <algorithm>
#include <cstring>

namespace fairlane::gpusim {

namespace {

constexpr std::size_t kMostEvents = 400000;
constexpr int kBanks = 32;
constexpr int kBankBytes = 4;
constexpr int kSectorBytes = 32;
// Cycles that a warp waits beside those of its operands.
constexpr int kBranchCycles = 6;
constexpr int kBarrierCycles = 20;
constexpr int kGenericSharedLatency = 33;
constexpr int kWavefrontCycles = 2;

/// Sorts and counts the distinct values of an array.
int distinct(std::uint64_t* values, int count) {
  std::sort(values, values + count);
  return static_cast<int>(std::unique(values, values + count) - values);
}

/// Times that shared memory is asked: the most distinct words in one of its banks.
int wavefronts_of(std::uint64_t const* address, int count, int bytes) {
  bool same = true;
  bool run = bytes == kBankBytes;
  for (int n = 1; n < count; ++n) {
    same = same && address[n] == address[0];
    run = run && address[n] == address[n - 1] + kBankBytes;
  }
  if (same || run) return 1;
  constexpr int kMostWords = kLanes * 4;
  std::uint64_t words[kMostWords];
  int used = 0;
  for (int n = 0; n < count; ++n) {
    std::uint64_t const last = (address[n] + static_cast<std::uint64_t>(bytes) - 1) / kBankBytes;
    for (std::uint64_t word = address[n] / kBankBytes; word <= last && used < kMostWords; ++word) {
      words[used++] = word;
    }
  }
  used = distinct(words, used);
  int per_bank[kBanks] = {};
  int most = 1;
  for (int n = 0; n < used; ++n) most = std::max(most, ++per_bank[words[n] % kBanks]);
  return most;
}

int sectors_of(std::uint64_t const* address, int count, int bytes) {
  constexpr int kMostSectors = kLanes * 2;
  std::uint64_t sectors[kMostSectors];
  int used = 0;
  for (int n = 0; n < count; ++n) {
    std::uint64_t const first = address[n] / kSectorBytes;
    std::uint64_t const last = (address[n] + static_cast<std::uint64_t>(bytes) - 1) / kSectorBytes;
    if (used == 0 || sectors[used - 1] != first) sectors[used++] = first;
    if (last != first && used < kMostSectors) sectors[used++] = last;
  }
  return distinct(sectors, used);
}

/// Fairlane's two shapes of kernel end in a Range {most, count}: how many indices there are to work
/// on. The host sees the device's memory.
void count_items(Kernel const& k, DeviceMemory const& memory, LaunchCost& cost) {
  struct {
    std::int64_t most;
    std::uint64_t count;
  } range;
  bool const tiles = k.pretty.find("run_tiles<") != std::string::npos;
  bool const lanes = k.pretty.find("run_lanes<") != std::string::npos;
  if (!(tiles || lanes) || k.parameters.empty()) return;
  if (k.parameters.back().size != sizeof range) return;
  std::memcpy(&range, k.parameter_memory.get() + k.parameters.back().off, sizeof range);
  cost.items = range.most;
  if (range.count != 0 && memory.find(range.count) != nullptr) {
    std::int32_t count = 0;
    std::memcpy(&count, reinterpret_cast<void const*>(range.count), sizeof count);
    cost.items = std::min<std::int64_t>(range.most, count);
  }
  cost.most = range.most;
  cost.per_step = cost.threads;
  if (!tiles) return;
  cost.per_step = kLanes;
  for (int const packs : {1, 2, 4}) {
    for (char const* const on_chip : {"true", "false"}) {
      std::string const arguments = ", " + std::to_string(packs) + ", " + on_chip + ">";
      if (k.pretty.find(arguments) != std::string::npos) {
        cost.per_step = static_cast<std::uint32_t>(kLanes * packs);
      }
    }
  }
}

/// Where WarpCost::ready has an operand; -1: nothing to wait for.
std::int64_t ready_index(Kernel const& k, Operand const& o) {
  if (o.constant || o.off < 0) return -1;
  std::int64_t const rows = k.register_bytes / 64 + 1;
  return o.width == 0 ? rows + o.off : o.off / 64;
}

/// Reads what an access of memory takes, and gives the latency it adds.
class AccessCost {
 public:
  AccessCost(Instruction const& i, Warp& w, std::uint32_t lanes) : i_(i) {
    Operand const& o = i.operand[kAddress];
    each_lane(lanes, [&](int lane) {
      std::uint64_t const base =
          o.width == 8 ? w.row<std::uint64_t>(o)[lane] : w.row<std::uint32_t>(o)[lane];
      address_[count_++] = base + static_cast<std::uint64_t>(i.immediate);
    });
  }
  /// latency: of the instruction, which this access changes. Returns whether it waits for global
  /// memory.
  bool add_to(Sums& sums, int kind, std::uint64_t& latency) const {
    int const bytes = size_of(i_.type) * i_.vec;
    std::uint64_t const window = address_[0] >> kWindowShift << kWindowShift;
    bool const generic = i_.space == Space::kGeneric;
    bool const load = kind == kSharedLoad || kind == kGlobalLoad;
    if (i_.space == Space::kShared || (generic && window == kSharedWindow)) {
      int const wavefronts = wavefronts_of(address_, count_, bytes);
      sums[load ? kSumWavefrontsLoad : kSumWavefrontsStore] += static_cast<unsigned>(wavefronts);
      if (kind == kGlobalLoad || kind == kGlobalStore) {  // generic, as it turns out
        sums[kind] -= 1;
        sums[load ? kSharedLoad : kSharedStore] += 1;
        ++sums[kSumGenericShared];
        latency = load ? kGenericSharedLatency : 4;
      }
      latency += static_cast<unsigned>((wavefronts - 1) * kWavefrontCycles);
      return false;
    }
    if (!(generic && window == kLocalWindow)) {
      int const sectors = sectors_of(address_, count_, bytes);
      sums[load              ? kSumSectorsLoad
           : kind == kAtomic ? kSumSectorsAtomic
                             : kSumSectorsStore] += static_cast<unsigned>(sectors);
      if (load) latency += static_cast<unsigned>(sectors);
      return true;
    }
    return false;
  }

 private:
  Instruction const& i_;
  std::uint64_t address_[kLanes] = {};
  int count_ = 0;
};

bool counts_memory(int kind) {
  return kind >= kSharedLoad && kind <= kAtomic && kind != kLocalLoad && kind != kLocalStore;
}

}  // namespace

void Costs::begin(Kernel& k, Launch const& launch) {
  if (!wanted()) return;
  if (k.cost == nullptr) {
    k.cost = std::make_unique<KernelCost>();
    k.cost->executed.assign(k.code.size(), 0);
    k.cost->cycles.assign(k.code.size(), 0);
    for (auto const& i : k.code) k.cost->of.push_back(cost_of(i));
    kernels_.push_back(&k);
  }
  LaunchCost cost;
  cost.sums = k.cost->sums;
  cost.grid = launch.shape->blocks();
  cost.threads = launch.shape->threads_per_block();
  cost.shared = k.static_shared + launch.shape->dynamic_shared;
  count_items(k, memory_, cost);
  k.cost->launches.push_back(cost);
}

void Costs::end(Kernel& k) {
  if (!wanted()) return;
  Sums& sums = k.cost->launches.back().sums;
  for (std::size_t s = 0; s < sums.size(); ++s) sums[s] = k.cost->sums[s] - sums[s];
}

void Costs::begin_block(Block const& b) {
  if (wanted()) b.launch->kernel->cost->warps += b.warps.size();
}

void Costs::end_block(Block const& b) {
  if (!wanted()) return;
  LaunchCost& cost = b.launch->kernel->cost->launches.back();
  for (auto const& w : b.warps) {
    cost.longest = std::max(cost.longest, w.cost.executed);
    cost.critical = std::max(cost.critical, w.cost.near.clock);
    cost.critical_far = std::max(cost.critical_far, w.cost.far.clock);
  }
}

void Costs::barrier(Block& b, std::vector<std::uint32_t> const& met) {
  if (!wanted()) return;
  for (auto const which : {&WarpCost::near, &WarpCost::far}) {
    std::uint64_t last = 0;
    for (auto const& w : b.warps) {
      if (met[static_cast<std::size_t>(w.index)] != 0) last = std::max(last, (w.cost.*which).clock);
    }
    for (auto& w : b.warps) {
      WarpClock& time = w.cost.*which;
      if (met[static_cast<std::size_t>(w.index)] != 0)
        time.clock = time.latest = last + kBarrierCycles;
    }
  }
}

// Between branches instructions may go in any order that their operands allow, one a cycle, as
// ptxas would arrange them.
void Costs::instruction(Instruction const& i, Warp& w, std::uint32_t pc, std::uint32_t lanes) {
  Kernel& k = *w.kernel;
  KernelCost& c = *k.cost;
  WarpCost& own = w.cost;
  InstructionCost const& of = c.of[pc];
  ++c.executed[pc];
  ++c.sums[of.kind];
  c.lanes[of.kind] += static_cast<unsigned>(__builtin_popcount(lanes));
  c.sums[kSumIssue] += of.issue;
  own.executed += of.issue;

  bool const nothing = of.kind == kMove && of.issue == 0;  // a copy, or a constant
  bool const ends = !nothing && (of.kind == kBranching || i.kind == Kind::kBarrier);
  if (!nothing) {
    own.issued += of.issue;
    c.cycles[pc] += of.issue;
  }
  std::uint64_t latency = of.latency;
  bool global = false;
  if (lanes != 0 && counts_memory(of.kind))
    global = AccessCost(i, w, lanes).add_to(c.sums, of.kind, latency);
  constexpr std::uint64_t kPercent = 100;
  std::uint64_t const latency_far = global ? latency * options_.far / kPercent : latency;
  for (bool const far : {false, true}) {
    WarpClock& time = far ? own.far : own.near;
    std::size_t const registers = k.register_bytes / 64 + 1;
    if (time.ready.empty()) time.ready.assign(registers + k.predicates, 0);
    std::uint64_t at = time.clock;
    for (int o = of.results; o < kOperands; ++o) {
      std::int64_t const operand = ready_index(k, i.operand[o]);
      if (operand >= 0) at = std::max(at, time.ready[static_cast<std::size_t>(operand)]);
    }
    if (i.pred >= 0) at = std::max(at, time.ready[registers + static_cast<std::uint32_t>(i.pred)]);
    if (!nothing && at > time.latest) {
      time.latest = at;
      time.latest_pc = pc;
    }
    if (ends) {
      std::uint64_t const issued = time.clock + own.issued;
      if (!far && time.latest > issued) c.cycles[time.latest_pc] += time.latest - issued;
      time.clock = std::max(issued, time.latest) + (of.kind == kBranching ? kBranchCycles : 0);
      time.latest = time.clock;
      time.latest_pc = pc;
    }
    for (int o = 0; o < of.results; ++o) {
      std::int64_t const result = ready_index(k, i.operand[o]);
      if (result >= 0)
        time.ready[static_cast<std::size_t>(result)] = at + (far ? latency_far : latency);
    }
  }
  if (ends) own.issued = 0;
}

void Costs::call(char const* name, char kind, std::uint64_t value) {
  if (!wanted()) return;
  ++calls_[name];
  static std::map<char, char const*> const copies = {{'H', " H2D bytes, pinned"},
                                                     {'h', " H2D bytes, pageable"},
                                                     {'D', " D2H bytes, pinned"},
                                                     {'d', " D2H bytes, pageable"}};
  auto const copy = copies.find(kind);
  if (copy != copies.end()) calls_[std::string(name) + copy->second] += value;
  if (kind != 0 && trace_.size() < kMostEvents) trace_.push_back({kind, value});
}

std::uint64_t Costs::index_of(Kernel const& kernel) {
  return indices_.emplace(&kernel, indices_.size()).first->second;
}

}  // namespace fairlane::gpusim
