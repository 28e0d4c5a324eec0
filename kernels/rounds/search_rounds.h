// The stages of a round of the gradient-guided and random searches that ask neither the network nor
// the record of visits. A struct each, its arguments as members, its work on one lane as
// operator(): an index is a lane, or where a stage has a list, a place in it. A device runs them as
// kernels, the CPU in loops; where the CPU's loop has a form over packs it is one of LaneSteps, and
// these call the same form for one lane.
#pragma once

#include "kernels/core/seed_draw.h"
#include "kernels/core/steps.h"
#include "kernels/rounds/lane_state.h"

namespace fairlane {

/// Code of selected attribute a in a variant.
FL_HD std::int32_t variant_code(Subject const& s, std::int32_t variant, int a) {
  return s.variant_code[static_cast<long>(variant) * s.selected + a];
}

/// A lane that has its row, variant and seed, before its first test.
FL_HD void begin_lane(LaneContext const& c, long lane) {
  auto const& s = c.lanes;
  if (c.phase == Phase::kGlobal) {
    for (int k = 0; k < c.subject.columns; ++k)
      s.momentum[k * s.stride + lane] = s.partner_momentum[k * s.stride + lane] = 0.0F;
  }
  c.compute_key(lane);
  s.iteration[lane] = 0;
  s.hit[lane] = 0;
  s.renewals[lane] = 0;
  if (c.phase == Phase::kLocal) s.streak[lane] = 0;
}

/// Appends lanes [first, ..). rows [n][attributes] in dataset order, codes as kernels have them;
/// seed, variant [n]
struct PlaceLanes {
  LaneContext c;
  std::int64_t first;
  std::int32_t const* rows;
  std::uint32_t const* seed;
  std::uint32_t const* variant;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = first + i;
    for (int k = 0; k < c.subject.columns; ++k)
      s.x[k * s.stride + lane] = rows[i * c.subject.columns + c.columns.attribute_of[k]];
    s.variant[lane] = variant[i];
    s.seed[lane] = seed[i];
    begin_lane(c, lane);
  }
};

/// Lanes from `first` on whose seeds are `seed` and those behind it, with rows drawn uniformly.
struct DrawLanes {
  LaneContext c;
  std::int64_t first;
  std::uint32_t seed;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = first + i;
    s.seed[lane] = seed + static_cast<std::uint32_t>(i);
    SeedDraw draw(s.seed[lane], c.run_seed);
    std::uint32_t variant = 0;
    for (int k = 0; k < c.subject.columns; ++k) {
      std::uint32_t const code =
          draw.code(static_cast<std::uint32_t>(c.columns.attribute_of[k]), c.columns.codes[k]);
      std::uint32_t const apart = c.columns.variant_stride[k];
      variant += code * apart;
      if (apart == 0) {  // unsigned, so that no range is too wide for the sum
        s.x[k * s.stride + lane] =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(c.subject.low[k]) + code);
      }
    }
    for (int v = 0; v < c.subject.selected; ++v) {
      s.x[c.subject.selected_column[v] * s.stride + lane] =
          variant_code(c.subject, static_cast<std::int32_t>(variant), v);
    }
    s.variant[lane] = variant;
    begin_lane(c, lane);
  }
};

/// Lane from[i] becomes lane to[i]: what outlives a round of the global phase. No lane is in both
/// lists.
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
    for (int w = 0; w < c.words; ++w) s.key[w * s.stride + target] = s.key[w * s.stride + source];
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

/// Rows of listed lanes side by side: rows [..][columns].
struct PackRows {
  LaneContext c;
  std::int32_t const* list;
  std::int32_t* rows;

  FL_HD void operator()(std::int64_t i) const {
    int const columns = c.subject.columns;
    for (int k = 0; k < columns; ++k)
      rows[i * columns + k] = c.lanes.x[k * c.lanes.stride + list[i]];
  }
};

/// After a full evaluation: whether a lane's input is an IDI.
FL_HD void note_probed(LaneContext const& c, long lane) {
  c.lanes.hit[lane] = c.lanes.pair[lane] >= 0 ? 1 : 0;
}

/// Whether siblings tell nothing, by a group's flags: a member may be undefined, or no finding.
FL_HD bool is_irregular(Subject const& s, std::int32_t flags) {
  return (flags & kGroupUndefined) != 0 || s.feasible.finding_rules > 0;
}

/// VisitFlag bits of a fully evaluated lane, whose hit is set.
FL_HD std::uint32_t probed_flags(LaneContext const& c, long lane) {
  auto const& s = c.lanes;
  return visit_flags(s.hit[lane] != 0, s.label[lane] == kUndefinedLabel,
                     is_irregular(c.subject, s.flags[lane]));
}

/// After a group's classification: hit and labels of the lane at place i of the list. Returns its
/// VisitFlag bits.
/// probed  the rows were evaluated in full, since members may be undefined: label in the first
///         stage, pair in chosen
FL_HD std::uint32_t note_classified(LaneContext const& c, long i, long lane, bool probed) {
  auto const& s = c.lanes;
  bool const hit = probed ? s.chosen[i] >= 0 : (s.found_flags[i] & kGroupMixed) != 0;
  bool const undefined = probed && s.stages[0].label[i] == kUndefinedLabel;
  s.hit[lane] = hit ? 1 : 0;
  s.labels[lane] = s.found_labels[i];
  return visit_flags(hit, undefined, is_irregular(c.subject, s.found_flags[i]));
}

/// Gives a gathered row and its partner's their variants; -1: as the lane is.
FL_HD void set_variants(LaneContext const& c, std::int32_t* own, std::int32_t* partner,
                        std::int32_t first, std::int32_t second) {
  for (int a = 0; a < c.subject.selected; ++a) {
    long const at = c.subject.selected_column[a] * 2 * c.lanes.stride;
    if (first >= 0) own[at] = variant_code(c.subject, first, a);
    if (second >= 0) partner[at] = variant_code(c.subject, second, a);
  }
}

/// Gathers a lane's row at place i and, `behind` places behind it, that of its partner.
/// first, second  as set_variants has them
FL_HD void gather_pair(LaneContext const& c, long i, long lane, std::int32_t first,
                       std::int32_t second, long behind) {
  auto const& s = c.lanes;
  std::int32_t* const own = s.rows + i;
  std::int32_t* const partner = own + behind;
  auto const column = static_cast<std::uint32_t>(2 * s.stride);
  std::uint32_t to = 0;
  read_strided<ScalarPack>(s.x + lane, c.subject.columns, s.stride, [&](int, std::int32_t code) {
    own[to] = partner[to] = code;
    to += column;
  });
  set_variants(c, own, partner, first, second);
}

/// Gathers every lane's row and, behind it, the row of its partner, itself where all outputs are
/// equal.
/// list    [..] lanes, null: the index is the lane
/// first   [..] variants of the row itself, null: as it is; second [..] those of the partner, as
///         first
/// behind  places from a row to its partner's
struct PairRows {
  LaneContext c;
  std::int32_t const* list;
  std::int32_t const* first;
  std::int32_t const* second;
  long behind;

  FL_HD void operator()(std::int64_t i) const {
    gather_pair(c, i, list == nullptr ? i : list[i], first == nullptr ? -1 : first[i],
                second == nullptr ? -1 : second[i], behind);
  }
};

/// Momentum and sign step of a lane, from the gradients at place i and, `behind` places behind it,
/// at its partner's.
FL_HD void advance_lane(LaneContext const& c, AdvanceSpec spec, long i, long lane, long behind) {
  auto const& s = c.lanes;
  LaneSteps<ScalarPack>::advance(c.subject, spec, s.gradient + i, s.gradient + behind + i,
                                 2 * s.stride, s.momentum + lane, s.partner_momentum + lane,
                                 s.x + lane, s.stride, 1);
  c.compute_key(lane);
}

/// The same for every lane.
struct AdvanceLanes {
  LaneContext c;
  AdvanceSpec spec;

  FL_HD void operator()(std::int64_t lane) const {
    advance_lane(c, spec, lane, lane, c.lanes.stride);
  }
};

/// After a full evaluation of every lane: where it stands becomes the origin of its local search.
struct MarkOrigins {
  LaneContext c;

  FL_HD void operator()(std::int64_t lane) const {
    c.keep_row(lane);
    c.keep_key(lane);
    note_probed(c, lane);
    c.lanes.origin_labels[lane] = c.lanes.labels[lane];
  }
};

/// Counts a renewal of a lane's partner and weights.
FL_HD void count_renewal(LaneContext const& c, long lane) {
  c.lanes.streak[lane] = 0;
  ++c.lanes.renewals[lane];
}

/// Weights of a lane's local draw from the gradients at place i and at its partner's.
FL_HD void weigh(LaneContext const& c, long i, long lane, float epsilon, long behind) {
  auto const& s = c.lanes;
  LaneSteps<ScalarPack>::attribute_weights(c.subject, epsilon, s.gradient + i,
                                           s.gradient + behind + i, 2 * s.stride, 1,
                                           s.weights + lane, s.stride, s.total + lane);
}

/// The same for the gathered lanes.
/// list     [..] lanes, null: the index is the lane
/// initial  they are the origin's weights too, and do not count as a renewal
/// behind   as PairRows has it
struct WeighLanes {
  LaneContext c;
  std::int32_t const* list;
  float epsilon;
  bool initial;
  long behind;

  FL_HD void operator()(std::int64_t i) const {
    long const lane = list == nullptr ? i : list[i];
    weigh(c, i, lane, epsilon, behind);
    if (!initial) return count_renewal(c, lane);
    c.keep_weights(lane);
  }
};

/// Begins a local iteration and marks lanes whose partner and weights are due.
struct MarkDue {
  LaneContext c;
  std::uint32_t update_interval;
  bool never;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    auto const streak = static_cast<std::uint32_t>(c.lanes.streak[lane]);
    c.lanes.mark[lane] = !never && streak >= update_interval ? 1 : 0;
  }
};

/// A lane's new partner by lot among members with another label. Labels are kept.
FL_HD std::int32_t draw_partner(LaneContext const& c, long lane, std::uint32_t word) {
  return static_cast<std::int32_t>(pick_partner(word, c.lanes.labels[lane], c.subject.label_bits,
                                                c.subject.variants, c.lanes.variant[lane]));
}

/// New partners for the listed lanes.
struct DrawPartners {
  LaneContext c;

  FL_HD void operator()(std::int64_t i) const {
    long const lane = c.lanes.list[i];
    c.lanes.chosen[i] = draw_partner(c, lane, c.draw(lane, 0).w[2]);
  }
};

/// Gathers the rows of the listed lanes and what their draws depend on, and makes their places
/// ready for classification.
struct GatherRows {
  LaneContext c;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = s.list[i];
    for (int k = 0; k < c.subject.columns; ++k)
      s.rows[k * 2 * s.stride + i] = s.x[k * s.stride + lane];
    s.place_seed[i] = s.seed[lane];
    s.place_iteration[i] = s.iteration[lane];
    s.found_labels[i] = 0;
    begin_classification(i);
  }

  /// Place i is on its way through the stages of classification.
  FL_HD void begin_classification(std::int64_t i) const {
    c.lanes.found_flags[i] = 0;
    c.lanes.stages[0].begin(i, static_cast<std::int32_t>(i), kUndefinedLabel);
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

/// After a lane's local step: takes it back and draws another, while it leads to what may be no
/// finding, or further away from the plausible than is drawn for it. Returns what was taken in the
/// end.
FL_HD LaneSteps<ScalarPack>::Taken redraw_step(LaneContext const& c, long lane, std::int32_t step,
                                               LaneSteps<ScalarPack>::Taken taken) {
  auto const& s = c.lanes;
  if (c.subject.feasible.finding_rules == 0) return taken;
  auto const moved = [&]() -> std::int32_t& {
    return s.x[c.subject.movable[taken.index] * s.stride + lane];
  };
  auto const sum = [&] {
    return Feasible<ScalarPack>::finding_sum(c.subject, s.x + lane, s.stride);
  };
  auto const sum_before = [&] {
    moved() -= taken.by;
    std::int32_t const before = sum();
    moved() += taken.by;
    return before;
  };
  std::int32_t const most = Feasible<ScalarPack>::most_after_step(
      c.subject.feasible, sum_before, [&] { return c.draw(lane, kStepDraw).w[2]; });
  for (std::uint32_t i = 0; i < kStepDraws && sum() > most; ++i) {
    moved() -= taken.by;
    auto const words = c.draw(lane, kStepDraw + i);
    taken = LaneSteps<ScalarPack>::weighted_step(c.subject, step, s.weights + lane, s.total[lane],
                                                 words.w[0], words.w[1], s.x + lane, s.stride);
  }
  return taken;
}

/// A lane's streak after a local step.
FL_HD std::int32_t streak_after(bool hit, std::int32_t streak) { return hit ? streak + 1 : 0; }

/// Ends a lane's local step: a miss returns to its origin.
FL_HD void settle(LaneContext const& c, long lane, bool hit, std::int32_t streak,
                  bool restore_weights) {
  auto const& s = c.lanes;
  s.streak[lane] = streak;
  if (hit) return;
  std::uint32_t const labels = s.origin_labels[lane];
  std::uint64_t const first_word = s.origin_key[lane];
  if (restore_weights) {
    c.return_row_and_weights(lane);
  } else {
    c.return_row(lane);
  }
  s.key[lane] = first_word;
  for (int w = 1; w < c.words; ++w) c.return_key_word(lane, w);
  s.labels[lane] = labels;
}

/// The same for every lane.
struct SettleLanes {
  LaneContext c;
  bool restore_weights;

  FL_HD void operator()(std::int64_t lane) const {
    bool const hit = c.lanes.hit[lane] != 0;
    settle(c, lane, hit, streak_after(hit, c.lanes.streak[lane]), restore_weights);
  }
};

/// A lane goes to where its step by the odds of AEQUITAS led, or not.
/// choice  what was drawn, as event_of() takes it; moved: by how much that column moved
/// word    word 2 of the round's draw
FL_HD void settle_by_odds(LaneContext const& c, long lane, Acceptance acceptance,
                          std::int32_t choice, std::int32_t moved, std::uint32_t word) {
  auto const& s = c.lanes;
  bool const hit = s.hit[lane] != 0;
  if (accepts_step(acceptance, hit, s.streak[lane] == 0, word)) {
    s.streak[lane] = hit ? 0 : s.streak[lane] + 1;
  } else if (acceptance == Acceptance::kReset) {
    c.return_row(lane);
    c.return_key(lane);
  } else {
    c.move(lane, c.subject.movable[choice / 2], -moved);
  }
}

}  // namespace fairlane
