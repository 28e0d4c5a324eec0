#include "tests/gpusim/scheduler.h"

#include <algorithm>

#include "tests/gpusim/blocks.h"
#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

namespace {

constexpr std::uint32_t kNowhere = ~0U;
// Where turns are random, one choice in so many is of any lanes, and one of those in so many of a
// part of them.
constexpr std::uint64_t kWildEvery = 8;
constexpr std::uint64_t kPartEvery = 4;
constexpr std::uint64_t kMostWildInstructions = 200;
// Lanes that were passed over in so many quanta in a row have their turn: others may wait for them.
constexpr std::uint32_t kPatience = 500;

/// Lanes of a warp that stand together and go on together.
/// other  where others stand, ahead of them; they go on until there
/// wild   chosen at random
struct Group {
  std::uint32_t lanes = 0;
  std::uint32_t pc = kNowhere;
  std::uint32_t other = kNowhere;
  bool wild = false;
  int budget = 0;
  bool ended = false;  // they no longer stand together
};

/// Where the lanes stand that go on: the furthest behind, those ahead of them when they have waited
/// for long, or any.
std::uint32_t choose_pc(Warp& w, std::uint32_t runnable, bool wild) {
  if (wild) {
    Random& random = w.machine->random;
    auto count = random.below(static_cast<std::uint64_t>(__builtin_popcount(runnable)));
    std::uint32_t rest = runnable;
    while (count-- > 0) rest &= rest - 1;
    return w.pc[__builtin_ctz(rest)];
  }
  bool const ahead = w.passed_over >= kPatience;
  if (ahead) w.passed_over = 0;
  std::uint32_t pc = w.pc[__builtin_ctz(runnable)];
  each_lane(runnable,
            [&](int lane) { pc = ahead ? std::max(pc, w.pc[lane]) : std::min(pc, w.pc[lane]); });
  return pc;
}

Group choose(Warp& w, std::uint32_t runnable, bool wild, int quantum) {
  Random& random = w.machine->random;
  Group g;
  g.wild = wild;
  g.budget = quantum;
  g.pc = choose_pc(w, runnable, wild);
  each_lane(runnable, [&](int lane) {
    if (w.pc[lane] == g.pc) {
      g.lanes |= 1U << lane;
    } else if (!wild && w.pc[lane] > g.pc) {
      g.other = std::min(g.other, w.pc[lane]);
    }
  });
  if (!wild) return g;
  g.budget = std::min(quantum, 1 + static_cast<int>(random.below(kMostWildInstructions)));
  if (random.below(kPartEvery) == 0) {
    auto const part = g.lanes & static_cast<std::uint32_t>(random.draw());
    if (part != 0) g.lanes = part;
  }
  return g;
}

void set_pc(Warp& w, std::uint32_t lanes, std::uint32_t pc) {
  each_lane(lanes, [&](int lane) { w.pc[lane] = pc; });
}

/// m: lanes of the group whose guard holds
void branch(Instruction const& i, Warp& w, Group& g, std::uint32_t m) {
  if (m == g.lanes) {
    g.pc = i.target;
  } else if (m == 0) {
    ++g.pc;
  } else {
    set_pc(w, m, i.target);
    set_pc(w, g.lanes & ~m, g.pc + 1);
    g.ended = true;
  }
}

void branch_by_table(Instruction const& i, Warp& w, Group& g, std::uint32_t m) {
  set_pc(w, g.lanes & ~m, g.pc + 1);
  std::uint32_t const* const index = w.row<std::uint32_t>(i.operand[0]);
  each_lane(m, [&](int lane) { w.pc[lane] = i.targets.at(index[lane]); });
  g.ended = true;
}

void wait_for_block(Warp& w, Group& g, std::uint32_t m) {
  set_pc(w, g.lanes, g.pc + 1);
  w.at_barrier |= m;
  w.waiting |= m;
  g.ended = true;
  if (m != 0) settle_barrier(*w.block);
}

void wait_for_warp(Warp& w, Group& g, std::uint32_t m) {
  set_pc(w, m, g.pc);
  set_pc(w, g.lanes & ~m, g.pc + 1);
  if (m != 0) {
    w.at_sync |= m;
    w.waiting |= m;
    settle_sync(w, g.pc);
  }
  if (w.waiting == 0 && g.other == kNowhere && !g.wild && m == g.lanes) {
    ++g.pc;
  } else {
    g.ended = true;
  }
}

void leave(Instruction const& i, Warp& w, Group& g, std::uint32_t m) {
  set_pc(w, g.lanes, g.pc + 1);
  std::uint32_t ended = 0;
  each_lane(m, [&](int lane) {
    if (i.kind == Kind::kReturn && !w.stack[lane].empty()) {
      w.pc[lane] = w.stack[lane].back();
      w.stack[lane].pop_back();
    } else {
      ended |= 1U << lane;
    }
  });
  g.ended = true;
  if (ended == 0) return;
  w.live &= ~ended;  // others may have waited for them
  each_lane(w.at_sync, [&](int lane) {
    if ((w.at_sync >> lane & 1) != 0) settle_sync(w, w.pc[lane]);
  });
  settle_barrier(*w.block);
}

void call(Instruction const& i, Warp& w, Group& g, std::uint32_t m) {
  set_pc(w, g.lanes & ~m, g.pc + 1);
  each_lane(m, [&](int lane) { w.stack[lane].push_back(g.pc + 1); });
  set_pc(w, m, i.target);
  if (m == g.lanes && g.other == kNowhere) {
    g.pc = i.target;
  } else {
    g.ended = true;
  }
}

void step(Instruction const& i, Warp& w, Group& g, std::uint32_t m) {
  switch (i.kind) {
    case Kind::kAlu:
      if (m != 0) {
        if (i.handler == nullptr) fault(i, w, __builtin_ctz(m), "an unknown instruction");
        w.now = g.pc;
        i.handler(i, w, m);
      }
      ++g.pc;
      return;
    case Kind::kBranch:
      return branch(i, w, g, m);
    case Kind::kBranchTable:
      return branch_by_table(i, w, g, m);
    case Kind::kBarrier:
      return wait_for_block(w, g, m);
    case Kind::kSync:
      return wait_for_warp(w, g, m);
    case Kind::kExit:
    case Kind::kReturn:
      return leave(i, w, g, m);
    case Kind::kCall:
      return call(i, w, g, m);
    case Kind::kYield:
      ++g.pc;
      return;
  }
}

}  // namespace

bool run_warp(Warp& w, int quantum) {
  Kernel& k = *w.kernel;
  Instruction const* const code = k.code.data();
  auto const size = static_cast<std::uint32_t>(k.code.size());
  bool const random = w.machine->options.random;
  bool const costs = w.machine->costs.wanted();
  bool ran = false;
  bool yields = false;
  while (quantum > 0 && !yields) {
    std::uint32_t const runnable = w.live & ~w.waiting;
    if (runnable == 0) return ran;
    ran = true;
    bool const wild = random && w.machine->random.below(kWildEvery) == 0;
    Group g = choose(w, runnable, wild, quantum);
    int const given = g.budget;
    std::uint64_t lane_count = 0;
    while (!g.ended && !yields && g.pc < g.other && g.budget > 0) {
      if (g.pc >= size) {
        fault(code[size - 1], w, __builtin_ctz(g.lanes), "ran past the end of the code");
      }
      Instruction const& i = code[g.pc];
      --g.budget;
      std::uint32_t m = g.lanes;
      if (i.pred >= 0) m &= i.pred_negated ? ~w.predicates[i.pred] : w.predicates[i.pred];
      lane_count += static_cast<unsigned>(__builtin_popcount(m));
      k.touched[g.pc] = 1;
      if (costs) w.machine->costs.instruction(i, w, g.pc, m);
      yields = i.kind == Kind::kYield;
      step(i, w, g, m);
    }
    if (!g.ended) set_pc(w, g.lanes, g.pc);
    k.instructions += static_cast<std::uint64_t>(given - g.budget);
    k.lane_instructions += lane_count;
    quantum -= given - g.budget;
    w.passed_over = quantum == 0 && g.lanes != runnable ? w.passed_over + 1 : 0;
  }
  return ran;
}

}  // namespace fairlane::gpusim
