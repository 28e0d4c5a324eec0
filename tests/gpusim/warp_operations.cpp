// shfl, vote, match, activemask, bar, clocks, trap.
#include "tests/gpusim/blocks.h"
#include "tests/gpusim/machine.h"
#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

enum Shuffle : std::uint8_t { kUp, kDown, kButterfly, kIndex };

/// Of which lane a lane gets the value; `in`: whether that is in its segment.
int source_of(int mode, int lane, int by, int bounds, bool& in) {
  int const segment = bounds >> 8 & 31;
  int const clamp = bounds & 31;
  int const last = (lane & segment) | (clamp & ~segment);
  int const first = lane & segment;
  int const from = mode == kUp          ? lane - by
                   : mode == kDown      ? lane + by
                   : mode == kButterfly ? lane ^ by
                                        : first | (by & ~segment);
  in = mode == kUp ? from >= last : from <= last;
  return in ? from : lane;
}

void shfl(Instruction const& i, Warp& w, std::uint32_t lanes) {
  bool const says = i.operand[1].width == 0;  // value|predicate
  int const at = says ? 2 : 1;
  std::uint32_t out[kLanes] = {};
  std::uint32_t inside = 0;
  each_lane(lanes, [&](int lane) {
    auto const by = static_cast<int>(get(w, i.operand[at + 1], lane, 4) & 31);
    auto const bounds = static_cast<int>(get(w, i.operand[at + 2], lane, 4));
    bool in = false;
    int const from = source_of(i.mode, lane, by, bounds, in);
    if ((lanes >> from & 1) == 0) {
      w.machine->complaints.add(i, w, lane, "shfl from a lane that takes no part",
                                "lane " + std::to_string(from));
    }
    out[lane] = static_cast<std::uint32_t>(get(w, i.operand[at], from, 4));
    inside |= static_cast<std::uint32_t>(in) << lane;
  });
  each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, out[lane]); });
  if (says && i.operand[1].off >= 0) w.set_predicate(i.operand[1], inside, lanes);
}

enum Vote : std::uint8_t { kAll, kAny, kUniform, kBallot };

void vote(Instruction const& i, Warp& w, std::uint32_t lanes) {
  std::uint32_t const having = w.predicate(i.operand[1]) & lanes;
  if (i.mode == kBallot) {
    each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, having); });
    return;
  }
  bool const said = i.mode == kAll   ? having == lanes
                    : i.mode == kAny ? having != 0
                                     : having == 0 || having == lanes;
  w.set_predicate(i.operand[0], said ? kAllLanes : 0, lanes);
}

void activemask(Instruction const& i, Warp& w, std::uint32_t lanes) {
  each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, lanes); });
}

/// Lanes that have the value of this one.
std::uint32_t lanes_like(Instruction const& i, Warp& w, std::uint32_t lanes, int lane, int value) {
  int const size = size_of(i.type);
  std::uint32_t same = 0;
  each_lane(lanes, [&](int other) {
    if (get(w, i.operand[value], lane, size) == get(w, i.operand[value], other, size)) {
      same |= 1U << other;
    }
  });
  return same;
}

void match_any(Instruction const& i, Warp& w, std::uint32_t lanes) {
  std::uint32_t out[kLanes] = {};
  each_lane(lanes, [&](int lane) { out[lane] = lanes_like(i, w, lanes, lane, 1); });
  each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, out[lane]); });
}

void match_all(Instruction const& i, Warp& w, std::uint32_t lanes) {
  bool const says = i.operand[1].width == 0;  // mask|predicate
  bool const all = lanes_like(i, w, lanes, __builtin_ctz(lanes), says ? 2 : 1) == lanes;
  if (i.operand[0].off >= 0) {
    each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, all ? lanes : 0); });
  }
  if (says && i.operand[1].off >= 0) {
    w.set_predicate(i.operand[1], all ? kAllLanes : 0, lanes);
  }
}

void nothing(Instruction const&, Warp&, std::uint32_t) {}

/// Not the time, but never less than before.
void clock(Instruction const& i, Warp& w, std::uint32_t lanes) {
  constexpr std::uint64_t kStep = 32;
  w.machine->ticks += kStep;
  each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, w.machine->ticks); });
}

void trap(Instruction const& i, Warp& w, std::uint32_t lanes) {
  fault(i, w, __builtin_ctz(lanes), "trap");
}

bool ready_barrier(Opcode const& op, Instruction& i) {
  i.handler = nothing;
  if (op.has("warp")) {
    i.kind = Kind::kSync;
    i.mode = kWarpBarrier;
    return true;
  }
  i.kind = Kind::kBarrier;
  i.mode = kNoReduction;
  if (op.has("arrive") || op.has("cluster")) return false;
  if (!op.has("red")) return op.operands == 1 || op.operands == 2;  // which, how many threads
  i.mode = op.has("popc") ? kCountTrue : op.has("and") ? kAllTrue : kAnyTrue;
  return op.operands == 3;  // a result, which barrier, a predicate
}

/// Instructions that lanes of a warp execute together. mask: the operand with their mask
bool together(Instruction& i, Handler handler, int mode, int mask) {
  i.kind = Kind::kSync;
  i.handler = handler;
  i.mode = static_cast<std::uint8_t>(mode);
  i.target = static_cast<std::uint32_t>(mask);
  return true;
}

}  // namespace

bool ready_warp_operation(Opcode const& op, Instruction& i) {
  bool const sync = op.has("sync");
  bool const two = i.operand[1].width == 0;  // a value and a predicate are its results
  if (op.is("bar") || op.is("barrier")) return ready_barrier(op, i);
  if (op.is("shfl")) {
    int const mode = op.has("up")     ? kUp
                     : op.has("down") ? kDown
                     : op.has("bfly") ? kButterfly
                                      : kIndex;
    return sync && together(i, shfl, mode, two ? 5 : 4);
  }
  if (op.is("vote")) {
    int const mode = op.has("all")   ? kAll
                     : op.has("any") ? kAny
                     : op.has("uni") ? kUniform
                                     : kBallot;
    return sync && together(i, vote, mode, 2);
  }
  if (op.is("match")) {
    if (op.has("any")) return sync && together(i, match_any, 0, 2);
    return sync && op.has("all") && together(i, match_all, 0, two ? 3 : 2);
  }
  if (op.is("activemask")) i.handler = activemask;
  if (op.is("trap")) i.handler = trap;
  if (op.is("clock")) i.handler = clock;
  if (op.is("nanosleep")) {
    i.kind = Kind::kYield;
    i.handler = nothing;
  }
  return i.handler != nullptr;
}

}  // namespace fairlane::gpusim
