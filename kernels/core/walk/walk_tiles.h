// The lane core of a walk (kernels/core/walk/walk.h): logits of all members of a tile of heads, and
// what they tell.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/lane_tiles.h"
#include "kernels/core/walk/walk.h"

namespace fairlane {

/// Calls add(level, inputs) for the levels whose sums differ from those of the member before, from
/// `level` or above on down to the last: the level's inputs are listed, and in m.in have the
/// member's values; those that are 0 of one-hot columns are left out.
template <Pack P, int kV, class Add>
FL_HOST_DEVICE void for_each_level(Subject const& s, Walk const& w, Scratch const& m, int member,
                                   int level, Add const& add) {
  bool const skips = s.encoding != nullptr;
  while (level > 0 && member % w.level[level - 1].stride == 0) --level;
  for (; level < s.columns - w.first; ++level) {
    auto const& here = w.level[level];
    float const* value = here.value;
    if (value != nullptr) value += member / here.stride % here.size * here.width;
    InputList inputs{m.list, 0};
    for (int i = 0; i < here.width; ++i) {
      int const k = here.first + i;
      if (value != nullptr) {
        if (skips && value[i] == 0.0F) continue;
        FirstLayer<P, kV>::spread(value[i], m.in + k * kV * P::kLanes);
      }
      m.list[inputs.size++] = k;
    }
    add(level, inputs);
  }
}

/// P: the pack; kV: packs per tile.
template <Pack P, int kV>
struct WalkTiles {
  using F = typename P::F;
  static constexpr int kN = P::kLanes;
  static constexpr int kTile = kV * kN;

  /// Logits of all members of the heads in m.in.
  /// sums    [levels][first layer's outputs][kTile] scratch: the first layer's sums before each
  ///         level's column
  /// logits  [members][outputs][kTile]
  static FL_HOST_DEVICE void member_logits(Subject const& s, Walk const& w, Scratch const& m,
                                           float* sums, float* logits) {
    auto const& net = s.network;
    auto const& layer = net.layer[0];
    long const units = static_cast<long>(layer.forward.outputs) * kTile;
    int const last = s.columns - w.first - 1;
    FirstLayer<P, kV>::sums(s, w.first, w.first_input, m.in, sums);
    for (int member = 0; member < w.members; ++member) {
      for_each_level<P, kV>(s, w, m, member, last, [&](int level, InputList inputs) {
        float const* const before = sums + level * units;
        if (level == last) {
          layer_forward<P, kV, Start::kSums>(layer, inputs, m.in, before, net.layers == 1, m.a);
        } else {
          dense<P, kV, Finish::kNone, Start::kSums>(layer.forward, inputs, m.in, before,
                                                    sums + (level + 1) * units);
        }
      });
      float const* const z = upper_layers<P, kV>(net, m.a, m.b);
      int const floats = net.outputs() * kTile;
      for (int i = 0; i < floats; i += kN) P::store(P::load(z + i), logits + i);
      logits += floats;
    }
  }

  /// Drops the logits of members that may not exist.
  /// codes   [columns][kTile] of the heads; the tail's are overwritten
  /// logits  [members][outputs][kTile]
  static FL_HOST_DEVICE void drop_infeasible(Subject const& s, Walk const& w, std::int32_t* codes,
                                             float* logits) {
    for (int member = 0; member < w.members; ++member) {
      for (int c = w.first; c < s.columns; ++c) {
        auto const& level = w.level[c - w.first];
        if (level.code == nullptr) continue;
        auto const code = P::splat_i(level.code[member / level.stride % level.size]);
        for (int v = 0; v < kV; ++v) P::store_i(code, codes + c * kTile + v * kN);
      }
      for (int v = 0; v < kV; ++v)
        Feasible<P>::drop(Feasible<P>::own(s, codes + v * kN, kTile), logits + v * kN);
      logits += s.network.outputs() * kTile;
    }
  }
};

/// Logits of one pack of heads in a network of relus that has few units, kM members at a time.
/// kFirst, kUpper: widest register tiles of the first layer and of the others
template <Pack P, int kM, int kFirst, int kUpper>
struct OpenTiles {
  static constexpr int kN = P::kLanes;

  /// Logits of members [begin, end).
  /// m.in      [inputs][kN]
  /// m.a, m.b  [units][kM * kN] scratch
  /// sums      [levels][first layer's outputs][kN] scratch, as in WalkTiles
  /// logits    [members][outputs], `stride` floats from one to the next
  static void member_logits(Subject const& s, Walk const& w, int begin, int end, Scratch const& m,
                            float* sums, float* logits, long stride) {
    auto const& net = s.network;
    auto const& first = net.layer[0].forward;
    long const units = static_cast<long>(first.outputs) * kN;
    int const last = s.columns - w.first - 1;
    dense<P, 1, Finish::kNone, Start::kBias, kFirst>(first, InputRange{0, w.first_input}, m.in,
                                                     first.bias, sums);
    logits += begin * net.outputs() * stride;
    int place = 0;
    for (int member = begin; member < end; ++member) {
      int const from = member == begin ? 0 : last;
      for_each_level<P, 1>(s, w, m, member, from, [&](int level, InputList inputs) {
        float const* const before = sums + level * units;
        if (level == last) {
          dense<P, 1, Finish::kRelu, Start::kSums, kFirst, kM * kN>(first, inputs, m.in, before,
                                                                    m.a + place * kN);
        } else {
          dense<P, 1, Finish::kNone, Start::kSums, kFirst>(first, inputs, m.in, before,
                                                           sums + (level + 1) * units);
        }
      });
      if (++place < kM && member + 1 < end) continue;
      float const* const z = upper(net, m.a, m.b);
      for (int p = 0; p < place; ++p) {
        for (int o = 0; o < net.outputs(); ++o, logits += stride)
          P::store(P::load(z + (o * kM + p) * kN), logits);
      }
      place = 0;
    }
  }

 private:
  static float* upper(PackedNetwork const& net, float* hidden, float* other) {
    for (int l = 1; l < net.layers; ++l) {
      auto const& d = net.layer[l].forward;
      if (l + 1 == net.layers) {
        dense<P, kM, Finish::kNone, Start::kBias, kUpper>(d, InputRange{0, d.inputs}, hidden,
                                                          d.bias, other);
      } else {
        dense<P, kM, Finish::kRelu, Start::kBias, kUpper>(d, InputRange{0, d.inputs}, hidden,
                                                          d.bias, other);
      }
      float* const swap = hidden;
      hidden = other;
      other = swap;
    }
    return hidden;
  }
};

/// The tally of one thread: it counts everything itself.
struct SoleTally {
  using Word = std::uint64_t;  // a bit for every lane of a tile
  using Counter = std::uint64_t;
  using Mixed = std::uint64_t;
  /// Whether the caller does the i-th of things that several could share.
  static FL_HD bool takes(int) { return true; }
  /// Calls work(i) for the things [0, n) that are the caller's.
  template <class Work>
  static FL_HD void each(int n, Work const& work) {
    for (int i = 0; i < n; ++i) work(i);
  }
  /// The same for pairs of [0, n).
  template <class Work>
  static FL_HD void each_pair(int n, Work const& work) {
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b < n; ++b) work(a, b);
    }
  }
  /// Those of a word's lanes that the caller counts.
  static FL_HD Word lanes(Word word) { return word; }
  static FL_HD void add(Counter* counter, std::uint64_t count) { *counter += count; }
  static FL_HD void merge(Mixed* word, int bit, Word bits) { *word |= bits << bit; }
  /// Lets the callers see what the others wrote.
  static FL_HD void settle() {}
};

/// How the threads that run a pack share its tally.
template <Pack P>
struct TallyTeam {
  using Own = SoleTally;
};

/// Counts what the members of kW packs of heads tell. Own: how its threads share that
template <Pack P, int kW, class Own = typename TallyTeam<P>::Own>
struct WalkTally {
  using Word = typename Own::Word;
  using F = typename P::F;
  using I = typename P::I;
  static constexpr int kN = P::kLanes;
  static constexpr int kLanes = kW * kN;
  static_assert(kLanes <= static_cast<int>(8 * sizeof(Word)));

  /// logits   [members][outputs], `stride` floats from one to the next
  /// valid    bits of the lanes that count
  /// words    [variants][label_planes + 1] scratch
  /// terms    [4 * outputs] scratch, with the stride of the logits, which are overwritten
  /// mixed    [groups], `mixed_stride` words from one to the next: bits of the lanes whose group is
  ///          discriminatory, or-ed in from bit `mixed_bit` on
  /// counters [CountLayout::size]
  struct Target {
    float* logits;
    long stride;
    Word valid;
    Word* words;
    float* terms;
    typename Own::Mixed* mixed;
    long mixed_stride;
    int mixed_bit;
    typename Own::Counter* counters;
  };

  static FL_HOST_DEVICE void tally(Subject const& s, Walk const& w, Target const& t) {
    for (int group = 0; group < w.groups; ++group) tally_group(s, w, t, group);
  }

  /// Counts a group. What one of the threads reads or writes of it is done on return.
  static FL_HD void tally_group(Subject const& s, Walk const& w, Target const& t, int group) {
    Word mixed = 0;
    if (s.network.outputs() == 1) {
      mixed = set_bits(s, w, t, group);
    } else {
      set_words(s, w, t, group);
      mixed = mixed_among(s, t, nullptr, s.variants);
    }
    count_labels(s, w, t);
    if (Own::takes(0)) {
      Own::merge(t.mixed + group * t.mixed_stride, t.mixed_bit, mixed);
      if (s.feasible.rules > 0) {
        Own::add(t.counters + CountLayout::kUnknown, pop_count(t.valid & ~defined_among(s, t)));
      } else if (!s.finite) {
        Own::add(t.counters + CountLayout::kUnknown, pop_count(undefined_among(s, t) & ~mixed));
      }
    }
    if (mixed != 0) tally_mixed(s, w, t, group, mixed);
    Own::settle();
  }

 private:
  static FL_HD void tally_mixed(Subject const& s, Walk const& w, Target const& t, int group,
                                Word mixed) {
    CountLayout const layout = count_layout(s, w);
    int const planes = label_planes(s.network.outputs());
    if (Own::takes(0)) {
      Own::add(t.counters + CountLayout::kGroups, pop_count(mixed));
      Own::add(t.counters + CountLayout::kInstances,
               instances_among(s, t, nullptr, s.variants, mixed));
    }
    for (int i = 0; i < w.subsets; ++i) {
      auto const& subset = w.subset[i];
      Own::each(subset.classes, [&](int c) {
        int const* const variant = subset.member + static_cast<long>(c) * subset.class_size;
        Word const some = mixed_among(s, t, variant, subset.class_size);
        if (some == 0) return;
        Own::add(t.counters + layout.subset(i), pop_count(some));
        Own::add(t.counters + layout.subset(i) + 1,
                 instances_among(s, t, variant, subset.class_size, some));
      });
    }
    if (w.counts_pairs) {
      Own::each_pair(s.variants, [&](int a, int b) {
        Own::add(t.counters + layout.pair(a, b),
                 pop_count(greater(word_of(s, t, a), word_of(s, t, b), planes)));
      });
    }
    tally_severity(s, w, t, group, mixed);
  }

  static FL_HD Word const* word_of(Subject const& s, Target const& t, int variant) {
    return t.words + variant * (label_planes(s.network.outputs()) + 1);
  }

  static FL_HD float* member(Subject const& s, Walk const& w, Target const& t, int group,
                             int variant) {
    long const number = w.group_member[group] + w.variant_member[variant];
    return t.logits + number * s.network.outputs() * t.stride;
  }

  static FL_HD Word bits_of(typename P::M mask) { return static_cast<Word>(P::mask_bits(mask)); }

  /// Labels of a group's members as words, a bit for every lane.
  static FL_HD void set_words(Subject const& s, Walk const& w, Target const& t, int group) {
    int const outputs = s.network.outputs();
    int const planes = label_planes(outputs);
    for (int variant = 0; variant < s.variants; ++variant) {
      float const* const z = member(s, w, t, group, variant);
      I label[kW];
      Word defined = 0;
      for (int p = 0; p < kW; ++p) {
        label[p] = label_of<P>(z + p * kN, outputs, static_cast<int>(t.stride), s.threshold);
        defined |= bits_of(P::lnot(LabelSet<P>::equal(label[p], P::splat_i(kUndefinedLabel))))
                   << (p * kN);
      }
      defined &= t.valid;
      Word* const word = t.words + variant * (planes + 1);
      for (int b = 0; b < planes; ++b) {
        I const bit = P::splat_i(1 << b);
        Word plane = 0;
        for (int p = 0; p < kW; ++p)
          plane |= bits_of(LabelSet<P>::equal(P::and_i(label[p], bit), bit)) << (p * kN);
        if (Own::takes(variant)) word[b] = plane & defined;
      }
      if (Own::takes(variant)) word[planes] = defined;
    }
    Own::settle();
  }

  /// The same of one output. Returns mixed_among's bits of all variants.
  static FL_HD Word set_bits(Subject const& s, Walk const& w, Target const& t, int group) {
    Word all_ones = 0;
    Word all_zeros = 0;
    for (int variant = 0; variant < s.variants; ++variant) {
      float const* const z = member(s, w, t, group, variant);
      Word ones = 0;
      Word defined = s.finite ? t.valid : 0;
      for (int p = 0; p < kW; ++p) {
        F const logit = P::load(z + p * kN);
        ones |= bits_of(logit > P::splat(s.threshold)) << (p * kN);
        if (!s.finite) defined |= bits_of(is_finite<P>(logit)) << (p * kN);
      }
      defined &= t.valid;
      ones &= defined;
      all_ones |= ones;
      all_zeros |= defined & ~ones;
      if (Own::takes(variant)) {
        t.words[2 * variant] = ones;
        t.words[2 * variant + 1] = defined;
      }
    }
    Own::settle();
    return all_ones & all_zeros;
  }

  /// Counts the members that have a label other than 0, and those that have none.
  static FL_HD void count_labels(Subject const& s, Walk const& w, Target const& t) {
    CountLayout const layout = count_layout(s, w);
    int const planes = label_planes(s.network.outputs());
    Own::each(s.variants, [&](int variant) {
      Word const* const word = word_of(s, t, variant);
      Word any = word[0];
      for (int b = 1; b < planes; ++b) any |= word[b];
      Own::add(t.counters + layout.positive(variant), pop_count(any));
      if (word[planes] != t.valid)
        Own::add(t.counters + layout.undefined(variant), pop_count(t.valid & ~word[planes]));
    });
  }

  /// Bits of the lanes where two of the listed variants (null: all) have different defined labels.
  static FL_HD Word mixed_among(Subject const& s, Target const& t, int const* variant, int count) {
    int const planes = label_planes(s.network.outputs());
    Word mixed = 0;
    for (int b = 0; b < planes; ++b) {
      Word ones = 0;
      Word zeros = 0;
      for (int i = 0; i < count; ++i) {
        Word const* const word = word_of(s, t, variant == nullptr ? i : variant[i]);
        ones |= word[b];
        zeros |= word[planes] & ~word[b];
      }
      mixed |= ones & zeros;
    }
    return mixed;
  }

  /// Bits of the lanes with a member whose label is not defined.
  static FL_HD Word undefined_among(Subject const& s, Target const& t) {
    int const planes = label_planes(s.network.outputs());
    Word defined = t.valid;
    for (int v = 0; v < s.variants; ++v) defined &= word_of(s, t, v)[planes];
    return t.valid & ~defined;
  }

  /// Groups that have a member with a defined label.
  static FL_HD Word defined_among(Subject const& s, Target const& t) {
    int const planes = label_planes(s.network.outputs());
    Word defined = 0;
    for (int v = 0; v < s.variants; ++v) defined |= word_of(s, t, v)[planes];
    return t.valid & defined;
  }

  static FL_HD std::uint64_t instances_among(Subject const& s, Target const& t, int const* variant,
                                             int count, Word mixed) {
    int const planes = label_planes(s.network.outputs());
    std::uint64_t sum = 0;
    for (int i = 0; i < count; ++i)
      sum += pop_count(word_of(s, t, variant == nullptr ? i : variant[i])[planes] & mixed);
    return sum;
  }

  /// Bits of the lanes where both labels are defined and a's is greater than b's.
  static FL_HD Word greater(Word const* a, Word const* b, int planes) {
    Word equal = a[planes] & b[planes];
    Word more = 0;
    for (int p = planes - 1; p >= 0; --p) {
      more |= equal & a[p] & ~b[p];
      equal &= ~(a[p] ^ b[p]);
    }
    return more;
  }

  /// Severity as LaneTiles::probe computes it: the largest spread of a probability within the
  /// similar set.
  static FL_HD void tally_severity(Subject const& s, Walk const& w, Target const& t, int group,
                                   Word mixed) {
    int const outputs = s.network.outputs();
    int const stride = static_cast<int>(t.stride);
    float* const low = t.terms;
    float* const high = low + outputs * t.stride;
    float* const sums = high + outputs * t.stride;
    for (int c = 0; c < outputs; ++c) {
      for (int p = 0; p < kW; ++p) {  // outside what a probability can be
        P::store(P::splat(2.0F), low + c * t.stride + p * kN);
        P::store(P::splat(-1.0F), high + c * t.stride + p * kN);
      }
    }
    for (int variant = 0; variant < s.variants; ++variant) {
      float* const z = member(s, w, t, group, variant);
      for (int p = 0; p < kW; ++p) {
        probabilities<P>(s.scores, z + p * kN, outputs, stride, sums + p * kN);
        for (int c = 0; c < outputs; ++c) {
          long const i = c * t.stride + p * kN;
          F const probability = P::load(z + i);
          F const least = P::load(low + i);
          F const most = P::load(high + i);
          P::store(P::select(probability < least, probability, least), low + i);
          P::store(P::select(probability > most, probability, most), high + i);
        }
      }
    }
    for (int p = 0; p < kW; ++p) {
      F severity = P::splat(0.0F);
      for (int c = 0; c < outputs; ++c) {
        long const i = c * t.stride + p * kN;
        F const spread = P::load(high + i) - P::load(low + i);
        severity = P::select(spread > severity, spread, severity);
      }
      F const bin = severity * P::splat(static_cast<float>(kSeverityBins));
      F const last = P::splat(static_cast<float>(kSeverityBins - 1));
      P::store(P::select(bin > last, last, bin), low + p * kN);
    }
    int const first = count_layout(s, w).severity(0);
    for (Word rest = Own::lanes(mixed); rest != 0; rest &= rest - 1)
      Own::add(t.counters + first + static_cast<int>(low[lowest_bit(rest)]), 1);
  }
};

}  // namespace fairlane
