#include "tests/gpusim/blocks.h"

#include <map>
#include <set>
#include <string>

#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

namespace {

constexpr std::size_t kLine = 64;  // what rows and warps begin at
constexpr std::size_t kDynamicSharedAlignment = 128;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

void set_special_registers(Warp& w, Launch const& launch, std::uint32_t dynamic_shared) {
  auto const& shape = *launch.shape;
  std::uint32_t const index = w.block->index;
  auto const multiprocessors = static_cast<std::uint32_t>(w.machine->options.multiprocessors);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    std::uint32_t const thread = static_cast<std::uint32_t>(w.index) * kLanes + lane;
    std::uint32_t const bit = 1U << lane;
    std::uint32_t value[kSpecials] = {};
    value[kTidX] = thread % shape.block[0];
    value[kTidY] = thread / shape.block[0] % shape.block[1];
    value[kTidZ] = thread / shape.block[0] / shape.block[1];
    value[kCtaX] = index % shape.grid[0];
    value[kCtaY] = index / shape.grid[0] % shape.grid[1];
    value[kCtaZ] = index / shape.grid[0] / shape.grid[1];
    for (int axis = 0; axis < 3; ++axis) {
      value[kNtidX + axis] = shape.block[axis];
      value[kNctaX + axis] = shape.grid[axis];
    }
    value[kLaneId] = lane;
    value[kWarpId] = static_cast<std::uint32_t>(w.index);
    value[kMaskEq] = bit;
    value[kMaskLt] = bit - 1;
    value[kMaskLe] = bit - 1 + bit;
    value[kMaskGt] = ~value[kMaskLe];
    value[kMaskGe] = ~value[kMaskLt];
    value[kSmId] = index % multiprocessors;
    value[kNsmId] = multiprocessors;
    value[kGridWorkspaceHigh] = static_cast<std::uint32_t>(launch.workspace >> 32);
    value[kGridWorkspaceLow] = static_cast<std::uint32_t>(launch.workspace);
    value[kDynamicShared] = dynamic_shared;
    for (int s = 0; s < kSpecials; ++s) {
      reinterpret_cast<std::uint32_t*>(w.registers + w.kernel->special[s])[lane] = value[s];
    }
  }
}

bool is_warp_barrier(Instruction const& i) {
  return i.kind == Kind::kSync && i.mode == kWarpBarrier;
}

/// The mask of lanes that a lane which waits has given.
std::uint32_t mask_of(Warp& w, int lane) {
  Instruction const& i = w.kernel->code[w.pc[lane]];
  return w.row<std::uint32_t>(i.operand[is_warp_barrier(i) ? 0 : i.target])[lane];
}

/// Lanes that wait at pc; warp barriers are one place wherever they stand.
std::uint32_t lanes_waiting_at(Warp const& w, std::uint32_t pc) {
  bool const barrier = is_warp_barrier(w.kernel->code[pc]);
  std::uint32_t here = 0;
  each_lane(w.at_sync, [&](int lane) {
    if (w.pc[lane] == pc || (barrier && is_warp_barrier(w.kernel->code[w.pc[lane]]))) {
      here |= 1U << lane;
    }
  });
  return here;
}

/// Threads that have met at a barrier: by warp, the lanes.
using Met = std::vector<std::uint32_t>;

/// Calls use(warp, lane, instruction) for each of them.
template <class Use>
void each_that_met(Block& block, Met const& met, Use const& use) {
  for (auto& w : block.warps) {
    each_lane(met[static_cast<std::size_t>(w.index)],
              [&](int lane) { use(w, lane, w.kernel->code[w.pc[lane] - 1]); });
  }
}

/// Writes what a barrier says about the predicates of those that met at it.
void reduce(Block& block, Met const& met) {
  std::uint32_t threads = 0;
  std::uint32_t having = 0;
  each_that_met(block, met, [&](Warp& w, int lane, Instruction const& i) {
    ++threads;
    having += i.mode != kNoReduction && (w.predicate(i.operand[2]) >> lane & 1) != 0;
  });
  each_that_met(block, met, [&](Warp& w, int lane, Instruction const& i) {
    if (i.mode == kCountTrue) w.row<std::uint32_t>(i.operand[0])[lane] = having;
    bool const said = i.mode == kAllTrue ? having == threads : having > 0;
    if (i.mode == kAllTrue || i.mode == kAnyTrue) {
      w.set_predicate(i.operand[0], said ? kAllLanes : 0, 1U << lane);
    }
  });
}

/// A barrier at which threads wait. number: which of the block's; threads: that it waits for,
/// 0: all that have not ended
struct Barrier {
  std::uint32_t number = 0;
  std::uint32_t threads = 0;
  bool operator<(Barrier const& other) const {
    return number != other.number ? number < other.number : threads < other.threads;
  }
};

Barrier barrier_of(Warp& w, int lane) {
  Instruction const& i = w.kernel->code[w.pc[lane] - 1];
  if (i.mode != kNoReduction) return {w.row<std::uint32_t>(i.operand[1])[lane], 0};
  std::uint32_t const threads =
      i.operand[1].width == 0 ? 0 : w.row<std::uint32_t>(i.operand[1])[lane];
  return {w.row<std::uint32_t>(i.operand[0])[lane], threads};
}

/// Complains where threads met that should not have.
void check(Block& b, Barrier const& at, Met const& met, std::uint32_t threads) {
  std::set<std::uint32_t> where;
  each_that_met(b, met, [&](Warp& w, int lane, Instruction const&) { where.insert(w.pc[lane]); });
  Warp& w = b.warps[0];
  auto const complain = [&](char const* kind, std::string const& what) {
    w.machine->complaints.add(w.kernel->code[*where.begin() - 1], w, 0, kind, what);
  };
  if (at.threads == 0) {
    if (where.size() > 1) complain("threads of a block met at different barriers", "of the code");
    return;
  }
  bool whole = threads == at.threads;
  for (auto const& warp : b.warps) {
    std::uint32_t const there = met[static_cast<std::size_t>(warp.index)];
    whole = whole && (there == 0 || there == warp.live);
  }
  if (!whole) complain("a barrier that other threads met at", std::to_string(at.number));
}

}  // namespace

void begin_block(Block& b, Machine& machine, Launch& launch, std::uint32_t index,
                 std::vector<std::vector<std::uint8_t>>& spare) {
  Kernel& k = *launch.kernel;
  b.launch = &launch;
  b.index = index;
  std::uint32_t const threads = launch.shape->threads_per_block();
  std::uint32_t const warps = (threads + kLanes - 1) / kLanes;
  std::size_t const dynamic_at = rounded_up(k.static_shared, kDynamicSharedAlignment);
  std::size_t const shared = dynamic_at + launch.shape->dynamic_shared;
  constexpr std::uint8_t kGarbage = 0xA5;
  b.shared.assign(shared, kGarbage);
  if (machine.options.init) b.written.assign(shared, 0);
  if (machine.options.race) b.cells.assign(shared / 4 + 2, Cell{});
  std::size_t const registers = k.register_bytes;
  std::size_t const predicates = rounded_up(std::size_t{4} * k.predicates, kLine);
  std::size_t const local = rounded_up(std::size_t{k.local_bytes} * kLanes, kLine);
  std::size_t const each = registers + predicates + local;
  if (!spare.empty()) {  // what registers hold at first is whatever they held before
    b.memory = std::move(spare.back());
    spare.pop_back();
  }
  if (b.memory.size() < each * warps + kLine) b.memory.resize(each * warps + kLine);
  auto const begin = reinterpret_cast<std::uintptr_t>(b.memory.data());
  std::uint8_t* const first = b.memory.data() + (rounded_up(begin, kLine) - begin);
  b.warps.resize(warps);
  for (std::uint32_t n = 0; n < warps; ++n) {
    Warp& w = b.warps[n];
    w.machine = &machine;
    w.block = &b;
    w.kernel = &k;
    w.index = static_cast<int>(n);
    w.registers = first + each * n;
    w.predicates = reinterpret_cast<std::uint32_t*>(w.registers + registers);
    w.local = w.registers + registers + predicates;
    w.predicates[0] = 0;
    w.predicates[1] = kAllLanes;
    std::uint32_t const lanes = threads - n * kLanes;
    w.live = lanes >= kLanes ? kAllLanes : (1U << lanes) - 1;
    set_special_registers(w, launch, static_cast<std::uint32_t>(kSharedStart + dynamic_at));
  }
}

void settle_barrier(Block& b) {
  std::map<Barrier, Met> waiting;
  std::uint32_t live = 0;
  for (auto& w : b.warps) {
    live += static_cast<std::uint32_t>(__builtin_popcount(w.live));
    each_lane(w.at_barrier, [&](int lane) {
      auto& met = waiting[barrier_of(w, lane)];
      met.resize(b.warps.size());
      met[static_cast<std::size_t>(w.index)] |= 1U << lane;
    });
  }
  for (auto const& [at, met] : waiting) {
    std::uint32_t threads = 0;
    for (std::uint32_t const lanes : met)
      threads += static_cast<std::uint32_t>(__builtin_popcount(lanes));
    if (threads < (at.threads == 0 ? live : at.threads)) continue;
    reduce(b, met);
    check(b, at, met, threads);
    for (auto& w : b.warps) {
      w.waiting &= ~met[static_cast<std::size_t>(w.index)];
      w.at_barrier &= ~met[static_cast<std::size_t>(w.index)];
    }
    if (at.threads == 0) {
      ++b.epoch;
    } else {
      order_by_meeting(b, met);
    }
    b.warps[0].machine->costs.barrier(b, met);
  }
}

void settle_sync(Warp& w, std::uint32_t pc) {
  Instruction const& i = w.kernel->code[pc];
  Complaints& complaints = w.machine->complaints;
  for (std::uint32_t todo = lanes_waiting_at(w, pc); todo != 0;) {
    int const lead = __builtin_ctz(todo);
    std::uint32_t const mask = mask_of(w, lead);
    std::uint32_t same = 0;
    each_lane(todo, [&](int lane) {
      if (mask_of(w, lane) == mask) same |= 1U << lane;
    });
    todo &= ~same;
    if (std::uint32_t const outside = same & ~mask; outside != 0) {
      complaints.add(i, w, __builtin_ctz(outside), "a lane outside of the mask that it gives",
                     std::to_string(mask));
    }
    if ((mask & w.live & ~same) != 0) continue;
    if ((mask & ~w.live) != 0) {  // the hardware allows it, the language does not
      complaints.add(i, w, lead, "a mask names lanes that have ended",
                     std::to_string(mask & ~w.live));
    }
    w.now = pc;
    i.handler(i, w, same);
    each_lane(same, [&](int lane) { ++w.pc[lane]; });
    w.at_sync &= ~same;
    w.waiting &= ~same;
    if (is_warp_barrier(i)) ++w.epoch;
  }
}

}  // namespace fairlane::gpusim
