// The kernels of the gradient-guided and random searches: one struct each, its arguments as members, its work on one
// lane as operator(). An index is a lane, or where a kernel has a list, a place in it.
#pragma once

#include "kernels/core/steps.h"
#include "kernels/device/lane_state.h"

namespace fairlane {

/// Code of selected attribute a in a variant.
FL_HD std::int32_t variant_code(Subject const& s, std::int32_t variant, int a) {
  return s.variant_code[static_cast<long>(variant) * s.selected + a];
}

/// Appends lanes [first, ..). rows [n][attributes] in dataset order, codes as kernels have them; seed, variant [n]
struct PlaceLanes {
  LaneContext c;
  std::int64_t first;
  std::int32_t const* rows;
  std::uint32_t const* seed;
  std::uint32_t const* variant;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = first + i;
    for (int k = 0; k < c.subject.columns; ++k) {
      s.x[k * s.stride + lane] = rows[i * c.subject.columns + c.columns.attribute_of[k]];
      if (c.phase == Phase::kGlobal) {
        s.momentum[k * s.stride + lane] = 0.0F;
        s.partner_momentum[k * s.stride + lane] = 0.0F;
      }
    }
    c.compute_key(lane);
    s.variant[lane] = variant[i];
    s.seed[lane] = seed[i];
    s.iteration[lane] = 0;
    s.hit[lane] = 0;
    s.renewals[lane] = 0;
    if (c.phase == Phase::kLocal) s.streak[lane] = 0;
  }
};

/// Lane from[i] becomes lane to[i]: what outlives a round of the global phase. No lane is in both lists.
struct MoveLanes {
  LaneContext c;
  MarginResult probe;  // of the margin method
  std::int32_t const* from;
  std::int32_t const* to;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const source = from[i];
    long const target = to[i];
    for (int k = 0; k < c.subject.columns; ++k) {
      s.x[k * s.stride + target] = s.x[k * s.stride + source];
      s.momentum[k * s.stride + target] = s.momentum[k * s.stride + source];
      s.partner_momentum[k * s.stride + target] = s.partner_momentum[k * s.stride + source];
    }
    for (int w = 0; w < c.visits.words; ++w)
      s.key[w * s.stride + target] = s.key[w * s.stride + source];
    s.variant[target] = s.variant[source];
    s.seed[target] = s.seed[source];
    s.iteration[target] = s.iteration[source];
    s.hit[target] = s.hit[source];
    s.labels[target] = s.labels[source];
    s.partner[target] = s.partner[source];
    s.flags[target] = s.flags[source];
    s.renewals[target] = s.renewals[source];
    probe.low[target] = probe.low[source];
    probe.high[target] = probe.high[source];
    probe.low_margin[target] = probe.low_margin[source];
  }
};

/// After a full evaluation of every lane: hit, and the visit of the next iteration.
struct RecordProbed {
  LaneContext c;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    ++s.iteration[lane];
    s.hit[lane] = s.pair[lane] >= 0 ? 1 : 0;
    record(c, lane);
  }

  /// Records a fully evaluated lane, whose hit is set.
  static FL_HD void record(LaneContext const& c, std::int64_t lane) {
    auto const& s = c.lanes;
    if (c.find(lane).seen) return;
    c.record(lane, s.labels[lane],
             visit_flags(s.hit[lane] != 0, s.label[lane] == kUndefinedLabel,
                         (s.flags[lane] & kGroupUndefined) != 0));
  }
};

/// Gathers every lane's row and, behind it, the row of its partner, itself where all outputs are equal.
/// list    [..] lanes, null: the index is the lane
/// first   [..] variants of the row itself, null: as it is; second [..] those of the partner, as first
struct PairRows {
  LaneContext c;
  std::int32_t const* list;
  std::int32_t const* first;
  std::int32_t const* second;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = list == nullptr ? i : list[i];
    std::int32_t* const own = s.rows + i;
    std::int32_t* const partner = own + s.stride;
    for (int k = 0; k < c.subject.columns; ++k) {
      own[k * 2 * s.stride] = partner[k * 2 * s.stride] = s.x[k * s.stride + lane];
    }
    for (int a = 0; a < c.subject.selected; ++a) {
      long const at = c.subject.selected_column[a] * 2 * s.stride;
      if (first != nullptr && first[i] >= 0) own[at] = variant_code(c.subject, first[i], a);
      if (second != nullptr && second[i] >= 0) partner[at] = variant_code(c.subject, second[i], a);
    }
  }
};

/// Momentum and sign step of every lane, from the gradients at it and its partner.
struct AdvanceLanes {
  LaneContext c;
  AdvanceSpec spec;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    LaneTiles<ScalarPack, 1>::advance(c.subject, spec, s.gradient + lane,
                                      s.gradient + s.stride + lane, 2 * s.stride, s.momentum + lane,
                                      s.partner_momentum + lane, s.x + lane, s.stride, 1);
    c.compute_key(lane);
  }
};

/// After a full evaluation of every lane: where it stands becomes the origin of its local search.
struct MarkOrigins {
  LaneContext c;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    for (int k = 0; k < c.subject.columns; ++k)
      s.origin[k * s.stride + lane] = s.x[k * s.stride + lane];
    for (int w = 0; w < c.visits.words; ++w)
      s.origin_key[w * s.stride + lane] = s.key[w * s.stride + lane];
    s.hit[lane] = s.pair[lane] >= 0 ? 1 : 0;
    s.origin_labels[lane] = s.labels[lane];
  }
};

/// Weights of the local draw from the gradients at the gathered lanes and their partners.
/// list     [..] lanes, null: the index is the lane
/// initial  they are the origin's weights too, and do not count as a renewal
struct WeighLanes {
  LaneContext c;
  std::int32_t const* list;
  float epsilon;
  bool initial;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = list == nullptr ? i : list[i];
    LaneTiles<ScalarPack, 1>::attribute_weights(c.subject, epsilon, s.gradient + i,
                                                s.gradient + s.stride + i, 2 * s.stride, 1,
                                                s.weights + lane, s.stride, s.total + lane);
    if (!initial) {
      s.streak[lane] = 0;
      ++s.renewals[lane];
      return;
    }
    for (int a = 0; a < c.subject.movable_count; ++a)
      s.origin_weights[a * s.stride + lane] = s.weights[a * s.stride + lane];
    s.origin_total[lane] = s.total[lane];
  }
};

/// Begins a local iteration and marks lanes whose partner and weights are due.
struct MarkDue {
  LaneContext c;
  std::uint32_t update_interval;
  bool never;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    c.lanes.mark[lane] = !never && c.lanes.streak[lane] >= update_interval ? 1 : 0;
  }
};

/// New partners by lot among members with another label, for the listed lanes. Labels are kept.
struct DrawPartners {
  LaneContext c;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = s.list[i];
    s.chosen[i] = static_cast<std::int32_t>(pick_partner(c.draw(lane, 0).w[2], s.labels[lane],
                                                         c.subject.label_bits, c.subject.variants,
                                                         s.variant[lane]));
  }
};

/// Draws an attribute and a direction, steps, and looks the input up. Marks lanes whose group nobody evaluated.
struct StepLanes {
  LaneContext c;
  std::int32_t step;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    auto const& subject = c.subject;
    auto const words = c.draw(lane, 0);
    std::int32_t const index = choose_attribute<ScalarPack>(s.weights + lane, subject.movable_count,
                                                            s.stride, s.total[lane], words.w[0]);
    int const k = subject.movable[index];
    c.move(lane, k,
           step_and_clip<ScalarPack>(s.x[k * s.stride + lane],
                                     choose_direction<ScalarPack>(words.w[1]) * step,
                                     subject.low[k], subject.high[k]));
    look_up(c, lane);
  }

  /// Hit and labels of a lane where its group is known, its visit recorded; otherwise marks it.
  static FL_HD void look_up(LaneContext const& c, std::int64_t lane) {
    auto const& s = c.lanes;
    auto const known = c.find(lane);
    s.mark[lane] = known.known ? 0 : 1;
    if (!known.known) return;
    s.hit[lane] = (known.flags & kHitFlag) != 0 ? 1 : 0;
    s.labels[lane] = known.labels;
    if (!known.seen) c.record(lane, known.labels, known.flags & kHitFlag);
  }
};

/// Counts an iteration and looks every lane's input up, as StepLanes does.
struct FindLanes {
  LaneContext c;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    StepLanes::look_up(c, lane);
  }
};

/// Gathers the rows of the listed lanes and what their draws depend on, and makes their places ready for classification.
struct GatherRows {
  LaneContext c;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = s.list[i];
    for (int k = 0; k < c.subject.columns; ++k)
      s.rows[k * 2 * s.stride + i] = s.x[k * s.stride + lane];
    s.place_seed[i] = s.seed[lane];
    s.place_iteration[i] = s.iteration[lane];
    s.found_flags[i] = 0;
    s.found_labels[i] = 0;
    s.stages[0].begin(i, static_cast<std::int32_t>(i), kUndefinedLabel);
  }
};

/// After one stage of classification: keeps what it found, and marks the places that go on.
struct KeepStage {
  LaneContext c;
  int stage;  // which of the two

  FL_HD void operator()(std::int64_t i) const {
    auto const& from = c.lanes.stages[stage];
    c.lanes.found_flags[from.place[i]] |= from.flags[i];
    c.lanes.mark[i] = (from.flags[i] & kGroupMixed) == 0 ? 1 : 0;
  }
};

/// Brings the rows that go on, list `open`, side by side for the next stage.
struct NextStage {
  LaneContext c;
  int stage;  // the one that has ended

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    auto const& from = s.stages[stage];
    long const source = s.open[i];
    for (int k = 0; k < c.subject.columns; ++k) {
      std::int32_t* const row = s.rows + k * 2 * s.stride;
      row[(1 - stage) * s.stride + i] = row[stage * s.stride + source];
    }
    s.stages[1 - stage].begin(i, from.place[source], from.label[source]);
  }
};

/// Hit and labels of the listed lanes from their classification; records their visits.
/// probed  the rows were evaluated in full, since members may be undefined: label in the first stage, pair in chosen
struct RecordClassified {
  LaneContext c;
  bool probed;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = s.list[i];
    bool const hit = probed ? s.chosen[i] >= 0 : (s.found_flags[i] & kGroupMixed) != 0;
    bool const undefined = probed && s.stages[0].label[i] == kUndefinedLabel;
    s.hit[lane] = hit ? 1 : 0;
    s.labels[lane] = s.found_labels[i];
    c.record(lane, s.found_labels[i],
             visit_flags(hit, undefined, (s.found_flags[i] & kGroupUndefined) != 0));
  }
};

/// A miss returns to its origin.
struct SettleLanes {
  LaneContext c;
  bool restore_weights;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    if (s.hit[lane] != 0) {
      ++s.streak[lane];
      return;
    }
    s.streak[lane] = 0;
    s.labels[lane] = s.origin_labels[lane];
    for (int k = 0; k < c.subject.columns; ++k)
      s.x[k * s.stride + lane] = s.origin[k * s.stride + lane];
    for (int w = 0; w < c.visits.words; ++w)
      s.key[w * s.stride + lane] = s.origin_key[w * s.stride + lane];
    if (!restore_weights) return;
    for (int a = 0; a < c.subject.movable_count; ++a)
      s.weights[a * s.stride + lane] = s.origin_weights[a * s.stride + lane];
    s.total[lane] = s.origin_total[lane];
  }
};

/// StepLanes by the odds of AEQUITAS, in device memory, after counting an iteration.
/// choice, moved [lanes]  what was drawn, as event_of() takes it, and by how much that column moved
struct StepByOdds {
  LaneContext c;
  std::int32_t step;
  StepOdds odds;
  std::int32_t* choice;
  std::int32_t* moved;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    auto const& subject = c.subject;
    ++s.iteration[lane];
    auto const words = c.draw(lane, 0);
    std::int32_t const index =
        attribute_by_odds<ScalarPack>(odds.up_to, subject.movable_count, words.w[0]);
    int const k = subject.movable[index];
    std::int32_t const old = s.x[k * s.stride + lane];
    auto const lot =
        static_cast<std::int32_t>(below<ScalarPack>(words.w[1], std::uint32_t{kDirectionOdds}));
    bool const down =
        goes_down<ScalarPack>(lot, old, subject.low[k], subject.high[k], odds.down[index]);
    std::int32_t const to =
        step_and_clip<ScalarPack>(old, down ? -step : step, subject.low[k], subject.high[k]);
    c.move(lane, k, to);
    choice[lane] = 2 * index + (down ? 0 : 1);
    moved[lane] = to - old;
    StepLanes::look_up(c, lane);
  }
};

/// A lane goes to where its step by odds led, or not. events: see event_of()
struct SettleByOdds {
  LaneContext c;
  Acceptance acceptance;
  std::int32_t const* choice;
  std::int32_t const* moved;
  std::uint64_t* events;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    bool const hit = s.hit[lane] != 0;
    atomic_count(events + event_of(choice[lane], hit), 1);
    if (accepts_step(acceptance, hit, s.streak[lane] == 0, c.draw(lane, 0).w[2])) {
      s.streak[lane] = hit ? 0 : s.streak[lane] + 1;
    } else if (acceptance == Acceptance::kReset) {
      for (int k = 0; k < c.subject.columns; ++k)
        s.x[k * s.stride + lane] = s.origin[k * s.stride + lane];
      for (int w = 0; w < c.visits.words; ++w)
        s.key[w * s.stride + lane] = s.origin_key[w * s.stride + lane];
    } else {
      int const k = c.subject.movable[choice[lane] / 2];
      c.move(lane, k, s.x[k * s.stride + lane] - moved[lane]);
    }
  }
};

/// Copies the occupied slots of a record into a larger one.
struct RehashSlots {
  VisitSet from;
  VisitSet to;

  FL_HD void operator()(std::int64_t i) const {
    std::uint64_t const* slot = from.slots + i * from.slot_words();
    if (slot[0] != 0) to.adopt(slot);
  }
};

/// Marks the occupied slots, from slot `first` on, whose inputs belong to one part of several.
struct MarkOwned {
  VisitSet set;
  std::int64_t first;
  int parts;
  int part;
  std::uint8_t* mark;

  FL_HD void operator()(std::int64_t i) const {
    std::uint64_t const* slot = set.slots + (first + i) * set.slot_words();
    mark[i] = slot[0] != 0 && set.owner(slot, parts) == part ? 1 : 0;
  }
};

/// Copies listed slots, counted from slot `first`, side by side. slots [..][slot_words]
struct GatherSlots {
  VisitSet set;
  std::int64_t first;
  std::int32_t const* list;
  std::uint64_t* slots;

  FL_HD void operator()(std::int64_t i) const {
    int const words = set.slot_words();
    std::uint64_t const* slot = set.slots + (first + list[i]) * words;
    for (int w = 0; w < words; ++w) slots[i * words + w] = slot[w];
  }
};

/// Takes slots of another record into this one.
struct MergeSlots {
  VisitSet set;
  std::uint64_t const* slots;

  FL_HD void operator()(std::int64_t i) const { set.merge(slots + i * set.slot_words()); }
};

}  // namespace fairlane
