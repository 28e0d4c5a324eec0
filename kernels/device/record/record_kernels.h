// The kernels over lanes that ask or fill the record of visits, and those over its slots.
#pragma once

#include "kernels/device/record/visit_set.h"
#include "kernels/rounds/lattice_rounds.h"
#include "kernels/rounds/search_rounds.h"

namespace fairlane {

/// Visits that the record has no room for.
/// group [capacity][words], variant, finder, state [capacity]; used: how many there are
struct VisitOverflow {
  std::uint64_t* group = nullptr;
  std::uint32_t* variant = nullptr;
  std::uint64_t* finder = nullptr;
  std::uint8_t* state = nullptr;
  std::uint64_t* used = nullptr;
};

/// A stage's context with the record of visits.
/// full  new inputs go to the overflow, the record takes no more
struct RecordContext : LaneContext {
  VisitSet visits;
  VisitOverflow overflow;
  bool full = false;

  FL_HD GroupKey key_of(long lane) const { return GroupKey(lanes.key + lane, lanes.stride); }
  /// Looks a lane's input up, counting this visit.
  FL_HD VisitKnown find(long lane) const {
    return visits.find(key_of(lane), lanes.variant[lane], finder_of(lane));
  }
  /// Records a lane's input, which find did not see and ended at `end`.
  FL_HD void record(long lane, std::uint32_t labels, std::uint32_t flags, std::uint64_t end) const {
    if (full) return overflow_with(lane, flags);
    visits.insert_from(end, key_of(lane), lanes.variant[lane], labels, flags, finder_of(lane));
  }
  FL_HD void record(long lane, std::uint32_t labels, std::uint32_t flags) const {
    if (full) return overflow_with(lane, flags);
    visits.insert(key_of(lane), lanes.variant[lane], labels, flags, finder_of(lane));
  }
  FL_HD void overflow_with(long lane, std::uint32_t flags) const {
    std::uint64_t const at = atomic_count(overflow.used, 1);
    for (int w = 0; w < words; ++w) {
      overflow.group[at * static_cast<std::uint64_t>(words) + static_cast<std::uint64_t>(w)] =
          lanes.key[w * lanes.stride + lane];
    }
    overflow.variant[at] = lanes.variant[lane];
    overflow.finder[at] = finder_of(lane);
    overflow.state[at] = visit_state(flags);
  }
  /// Records a fully evaluated lane, whose hit is set.
  FL_HD void record_probed(long lane) const {
    auto const known = find(lane);
    if (known.seen) return;
    record(lane, lanes.labels[lane], probed_flags(*this, lane), known.end);
  }
  /// Hit and labels of a lane where its group is known, its visit recorded; otherwise marks it.
  /// Returns what is known.
  FL_HD VisitKnown look_up(long lane) const {
    auto const known = find(lane);
    lanes.mark[lane] = known.known ? 0 : 1;
    if (!known.known) return known;
    lanes.hit[lane] = (known.flags & kHitFlag) != 0 ? 1 : 0;
    lanes.labels[lane] = known.labels;
    if (!known.seen) record(lane, known.labels, known.flags & kHitFlag, known.end);
    return known;
  }
};

/// After a full evaluation of every lane: hit, and the visit of the next iteration.
struct RecordProbed {
  RecordContext c;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    note_probed(c, lane);
    c.record_probed(lane);
  }
};

/// The same after MarginTiles.
struct RecordMargin {
  RecordContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    note_margins(c, m.probe, lane, lane);
    c.record_probed(lane);
  }
};

/// Draws an attribute and a direction, steps, and looks the input up. Marks lanes whose group
/// nobody evaluated.
struct StepLanes {
  RecordContext c;
  std::int32_t step;

  FL_HD void operator()(std::int64_t lane) const {
    end(lane, redraw_step(c, lane, step, draw(lane)));
  }
  /// The same where anything may be a finding.
  FL_HD VisitKnown any(long lane) const { return end(lane, draw(lane)); }

 private:
  FL_HD LaneSteps<ScalarPack>::Taken draw(long lane) const {
    auto const& s = c.lanes;
    auto const words = c.draw(lane, 0);
    return LaneSteps<ScalarPack>::weighted_step(c.subject, step, s.weights + lane, s.total[lane],
                                                words.w[0], words.w[1], s.x + lane, s.stride);
  }
  FL_HD VisitKnown end(long lane, LaneSteps<ScalarPack>::Taken const& taken) const {
    c.move_key(lane, c.subject.movable[taken.index], taken.by);
    return c.look_up(lane);
  }
};

/// StepLanes by the odds of AEQUITAS, in device memory, after counting an iteration.
/// choice, moved [lanes]  what was drawn, as event_of() takes it, and by how much that column moved
struct StepByOdds {
  RecordContext c;
  std::int32_t step;
  StepOdds odds;
  std::int32_t* choice;
  std::int32_t* moved;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    ++s.iteration[lane];
    auto const words = c.draw(lane, 0);
    auto const taken = LaneSteps<ScalarPack>::odds_step(c.subject, step, odds, words.w[0],
                                                        words.w[1], s.x + lane, s.stride);
    c.move_key(lane, c.subject.movable[taken.index], taken.by);
    choice[lane] = 2 * taken.index + taken.up;
    moved[lane] = taken.by;
    c.look_up(lane);
  }
};

/// Counts every lane's step and settles it. events: see event_of()
struct SettleByOdds {
  LaneContext c;
  Acceptance acceptance;
  std::int32_t const* choice;
  std::int32_t const* moved;
  std::uint64_t* events;

  FL_HD void operator()(std::int64_t lane) const {
    atomic_count(events + event_of(choice[lane], c.lanes.hit[lane] != 0), 1);
    settle_by_odds(c, lane, acceptance, choice[lane], moved[lane], c.draw(lane, 0).w[2]);
  }
};

/// Counts an iteration and looks every lane's input up, as StepLanes does.
struct FindLanes {
  RecordContext c;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    c.look_up(lane);
  }
};

/// note_classified of the listed lanes; records their visits.
struct RecordClassified {
  RecordContext c;
  bool probed;

  FL_HD void operator()(std::int64_t i) const {
    long const lane = c.lanes.list[i];
    std::uint32_t const flags = note_classified(c, i, lane, probed);
    c.record(lane, c.lanes.found_labels[i], flags);
  }
};

/// Draws a move of the margin method and steps.
struct MoveMargin {
  LaneContext c;
  MarginLanes m;
  std::int32_t step;

  FL_HD void operator()(std::int64_t lane) const {
    auto const words = c.draw(lane, 0);
    move_margin(c, m, lane, step, words.w[0], words.w[1]);
  }
};

/// After MarginTiles of the local phase: records the visit; a miss returns to its origin.
struct SettleMargin {
  RecordContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const { settle(m.probe, lane, lane); }
  /// The same of a lane whose results are at place i of `found`.
  FL_HD void settle(MarginResult const& found, long i, long lane) const {
    note_margins(c, found, i, lane);
    c.record_probed(lane);
    settle_margin(c, m, found, i, lane);
    if (c.lanes.hit[lane] != 0) {
      c.keep_row(lane);
    } else {
      c.return_row(lane);
    }
  }
};

/// After PairMarginTiles of trial t of a LatticeStep: what it met; takes every lane back to its
/// origin.
struct SettleTrial {
  RecordContext c;
  MarginResult probe;
  LatticeLanes l;
  int t;

  FL_HD void operator()(std::int64_t lane) const {
    note_trial(c, probe, l, t, lane);
    if (c.lanes.mark[lane] != 0) c.record_probed(lane);
    return_to_origin(c, lane);
  }
};

/// Sets listed bits of the tested groups.
struct MarkTested {
  std::uint64_t* bits;
  std::uint32_t const* list;

  FL_HD void operator()(std::int64_t i) const {
    constexpr std::uint32_t kWord = 64;
    atomic_set(bits + list[i] / kWord, std::uint64_t{1} << (list[i] % kWord));
  }
};

/// Copies the occupied slots of a record into a larger one.
/// told, told_to  [capacity] of either as MarkOwned has it; told null: nothing is kept
struct RehashSlots {
  VisitSet from;
  VisitSet to;
  std::uint64_t const* told;
  std::uint64_t* told_to;

  FL_HD void operator()(std::int64_t i) const {
    std::uint64_t const* slot = from.slots + i * from.slot_words();
    if (slot[0] == 0) return;
    std::uint64_t const at = to.adopt(slot);
    if (told != nullptr) told_to[at] = told[i];
  }
};

/// Marks the occupied slots, from slot `first` on, whose inputs belong to one part of several.
/// told  [capacity] of the finders in the slots, what that part knows: those are left out; null:
///       none
struct MarkOwned {
  VisitSet set;
  std::uint64_t const* told;
  std::int64_t first;
  int parts;
  int part;
  std::uint8_t* mark;

  FL_HD void operator()(std::int64_t i) const {
    std::uint64_t const* slot = set.slots + (first + i) * set.slot_words();
    bool const known = told != nullptr && told[first + i] == slot[1];
    mark[i] = slot[0] != 0 && !known && set.owner(slot, parts) == part ? 1 : 0;
  }
};

/// Copies listed slots, counted from slot `first`, side by side.
/// told   [capacity] notes their finders; null: nowhere
/// slots  [..][slot_words]
struct GatherSlots {
  VisitSet set;
  std::uint64_t* told;
  std::int64_t first;
  std::int32_t const* list;
  std::uint64_t* slots;

  FL_HD void operator()(std::int64_t i) const {
    int const words = set.slot_words();
    std::uint64_t const* slot = set.slots + (first + list[i]) * words;
    for (int w = 0; w < words; ++w) slots[i * words + w] = slot[w];
    if (told != nullptr) told[first + list[i]] = slot[1];
  }
};

/// Takes slots of another record into this one.
struct MergeSlots {
  VisitSet set;
  std::uint64_t const* slots;

  FL_HD void operator()(std::int64_t i) const { set.merge(slots + i * set.slot_words()); }
};

}  // namespace fairlane
