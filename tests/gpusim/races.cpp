#include "tests/gpusim/races.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

namespace {

constexpr int kWord = 4;

bool ordered(Warp const& w, int lane, Access const& a) {
  Launch const& launch = *w.block->launch;
  std::uint32_t const per_block = launch.shape->threads_per_block();
  std::uint32_t const me = thread_of(w, lane);
  if (a.thread == me) return true;
  if (a.thread / per_block == w.block->index) {
    if (a.block_epoch < w.block->epoch) return true;
    std::uint32_t const its_warp = a.thread % per_block / kLanes;
    auto const my_warp = static_cast<std::uint32_t>(w.index);
    if (its_warp == my_warp && a.warp_epoch < w.epoch) return true;
    auto const& seen = w.block->seen;
    if (!seen.empty() && a.step <= seen[my_warp][its_warp]) return true;
  }
  auto const mine = launch.order.before.find(me);
  if (mine == launch.order.before.end()) return false;
  auto const its = mine->second.find(a.thread);
  return its != mine->second.end() && its->second >= a.step;
}

void clash(Instruction const& i, Warp& w, int lane, char const* kind, Access const& before,
           std::uint8_t const* at) {
  std::uint32_t const per_block = w.block->launch->shape->threads_per_block();
  char text[600];
  std::snprintf(text, sizeof text, "%p: thread %u of block %u did `%s` (%s) before, unordered",
                static_cast<void const*>(at), before.thread % per_block, before.thread / per_block,
                before.instruction->text.c_str(),
                w.kernel->places[before.instruction->where].c_str());
  w.machine->complaints.add(i, w, lane, kind, text);
}

/// What the cell's earlier accesses and this one clash in.
void compare(Instruction const& i, Warp& w, int lane, std::uint8_t const* at, Cell const& cell,
             std::uint8_t mask, Use use) {
  auto const races = [&](Access const& a) {
    return (a.mask & mask) != 0 && !(a.strong && i.strong) && !ordered(w, lane, a);
  };
  // Lanes that write the same value together do what one of them does.
  bool const together = use.same && cell.write.execution == w.block->launch->execution;
  if (races(cell.write) && !together) {
    char const* const kind = use.read   ? "race, read after write"
                             : use.same ? "race, write after write of the same value"
                                        : "race, write after write";
    clash(i, w, lane, kind, cell.write, at);
  }
  if (!use.write) return;
  for (auto const& read : cell.reads) {
    if (!races(read)) continue;
    clash(i, w, lane,
          use.same ? "race, write after read of the same value" : "race, write after read", read,
          at);
  }
}

void join(Before& to, Before const& from) {
  for (auto const& [thread, step] : from) to[thread] = std::max(to[thread], step);
}

}  // namespace

void order_by_meeting(Block& b, std::vector<std::uint32_t> const& met) {
  std::size_t const warps = b.warps.size();
  if (b.seen.empty()) b.seen.assign(warps, std::vector<std::uint32_t>(warps));
  std::vector<std::uint32_t> now(warps);
  for (std::size_t w = 0; w < warps; ++w) {
    if (met[w] == 0) continue;
    for (std::size_t other = 0; other < warps; ++other)
      now[other] = std::max(now[other], b.seen[w][other]);
  }
  for (std::size_t w = 0; w < warps; ++w) {
    if (met[w] != 0) now[w] = b.launch->step;
  }
  for (std::size_t w = 0; w < warps; ++w) {
    if (met[w] != 0) b.seen[w] = now;
  }
}

void watch(Instruction const& i, Warp& w, int lane, Place const& place, int size, Use use) {
  Launch& launch = *w.block->launch;
  ++launch.step;
  auto const offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(place.at) % kWord);
  for (int done = 0, word = 0; done < size; ++word) {
    int const from = word == 0 ? offset : 0;
    int const bytes = std::min(kWord - from, size - done);
    auto const mask = static_cast<std::uint8_t>(((1 << bytes) - 1) << from);
    done += bytes;
    Cell& cell = place.cell[word];
    if (cell.launch != launch.id) {
      cell = {};
      cell.launch = launch.id;
    }
    compare(i, w, lane, place.at, cell, mask, use);
    Access now;
    now.thread = thread_of(w, lane);
    now.block_epoch = static_cast<std::uint16_t>(w.block->epoch);
    now.warp_epoch = static_cast<std::uint16_t>(w.epoch);
    now.step = launch.step;
    now.execution = launch.execution;
    now.mask = mask;
    now.strong = i.strong;
    now.instruction = &i;
    if (use.write) {
      cell.write = now;
    } else {
      // Of the others the one that is kept is of another warp, if there is any.
      Access const& last = cell.reads[0];
      bool const other = last.mask != 0 && last.thread != now.thread;
      if (other && (last.thread / kLanes != now.thread / kLanes || cell.reads[1].mask == 0)) {
        cell.reads[1] = last;
      }
      cell.reads[0] = now;
    }
  }
}

void note_release(Warp& w, int lane, std::uint64_t address, bool keep) {
  if (!w.kernel->fences) return;
  Order& order = w.block->launch->order;
  std::uint32_t const me = thread_of(w, lane);
  Before& shown = order.released[address];
  if (!keep) shown.clear();
  auto const fenced = order.fenced.find(me);
  if (fenced == order.fenced.end()) return;
  shown[me] = std::max(shown[me], fenced->second);
  join(shown, order.before[me]);
}

void note_acquire(Warp& w, int lane, std::uint64_t address) {
  if (!w.kernel->fences) return;
  Order& order = w.block->launch->order;
  auto const shown = order.released.find(address);
  if (shown != order.released.end()) join(order.pending[thread_of(w, lane)], shown->second);
}

void fence(Instruction const&, Warp& w, std::uint32_t lanes) {
  if (!w.machine->options.race) return;
  Launch& launch = *w.block->launch;
  Order& order = launch.order;
  each_lane(lanes, [&](int lane) {
    std::uint32_t const me = thread_of(w, lane);
    order.fenced[me] = ++launch.step;
    auto const pending = order.pending.find(me);
    if (pending == order.pending.end()) return;
    join(order.before[me], pending->second);
    pending->second.clear();
  });
}

}  // namespace fairlane::gpusim
