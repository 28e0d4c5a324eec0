// The lane core of a walk (kernels/core/walk.h): logits of all members of a tile of heads, and what
// they tell.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/lane_tiles.h"
#include "kernels/core/walk.h"

namespace fairlane {

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
    bool const skips = s.encoding != nullptr;
    FirstLayer<P, kV>::sums(s, w.first, w.first_input, m.in, sums);
    for (int member = 0; member < w.members; ++member) {
      int level = last;
      while (level > 0 && member % w.level[level - 1].stride == 0) --level;
      for (; level <= last; ++level) {
        auto const& here = w.level[level];
        float const* value = here.value;
        if (value != nullptr) value += member / here.stride % here.size * here.width;
        InputList inputs{m.list, 0};
        for (int i = 0; i < here.width; ++i) {
          int const k = here.first + i;
          if (value != nullptr) {
            if (skips && value[i] == 0.0F) continue;
            FirstLayer<P, kV>::spread(value[i], m.in + k * kTile);
          }
          m.list[inputs.size++] = k;
        }
        float const* const before = sums + level * units;
        if (level == last) {
          layer_forward<P, kV, true>(layer, inputs, m.in, before, net.layers == 1, m.a);
        } else {
          dense<P, kV, Finish::kNone, true>(layer.forward, inputs, m.in, before,
                                            sums + (level + 1) * units);
        }
      }
      float const* const z = upper_layers<P, kV>(net, m.a, m.b);
      int const floats = net.outputs() * kTile;
      for (int i = 0; i < floats; i += kN) P::store(P::load(z + i), logits + i);
      logits += floats;
    }
  }
};

/// The tally of one thread: it counts everything itself.
struct SoleTally {
  /// Whether the caller does the i-th of things that several could share.
  static FL_HD bool takes(int) { return true; }
  /// Those of a word's lanes that the caller counts.
  static FL_HD std::uint64_t lanes(std::uint64_t word) { return word; }
  static FL_HD void add(std::uint64_t* counter, std::uint64_t count) { *counter += count; }
  static FL_HD void merge(std::uint64_t* word, std::uint64_t bits) { *word |= bits; }
  /// Lets the callers see what the others wrote.
  static FL_HD void settle() {}
};

/// How the threads that run a pack share its tally.
template <Pack P>
struct TallyTeam {
  using Own = SoleTally;
};

/// Counts what the members of kW packs of heads tell.
template <Pack P, int kW>
struct WalkTally {
  using Own = typename TallyTeam<P>::Own;
  using F = typename P::F;
  using I = typename P::I;
  static constexpr int kN = P::kLanes;
  static constexpr int kLanes = kW * kN;
  static_assert(kLanes <= 64);

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
    std::uint64_t valid;
    std::uint64_t* words;
    float* terms;
    std::uint64_t* mixed;
    long mixed_stride;
    int mixed_bit;
    std::uint64_t* counters;
  };

  static FL_HOST_DEVICE void tally(Subject const& s, Walk const& w, Target const& t) {
    for (int group = 0; group < w.groups; ++group) tally_group(s, w, t, group);
  }

 private:
  static FL_HD std::uint64_t const* word_of(Subject const& s, Target const& t, int variant) {
    return t.words + variant * (label_planes(s.network.outputs()) + 1);
  }

  static FL_HD float* member(Subject const& s, Walk const& w, Target const& t, int group,
                             int variant) {
    long const number = w.group_member[group] + w.variant_member[variant];
    return t.logits + number * s.network.outputs() * t.stride;
  }

  /// Labels of a group's members as words, a bit for every lane.
  static FL_HD void set_words(Subject const& s, Walk const& w, Target const& t, int group) {
    int const outputs = s.network.outputs();
    int const planes = label_planes(outputs);
    CountLayout const layout = count_layout(s, w);
    for (int variant = 0; variant < s.variants; ++variant) {
      float const* const z = member(s, w, t, group, variant);
      std::uint64_t plane[kMostPlanes] = {};
      std::uint64_t defined = 0;
      for (int p = 0; p < kW; ++p) {
        I const label = label_of<P>(z + p * kN, outputs, static_cast<int>(t.stride), s.threshold);
        defined |= P::mask_bits(P::lnot(LabelSet<P>::equal(label, P::splat_i(kUndefinedLabel))))
                   << (p * kN);
        for (int b = 0; b < planes; ++b) {
          I const bit = P::splat_i(1 << b);
          plane[b] |= P::mask_bits(LabelSet<P>::equal(P::and_i(label, bit), bit)) << (p * kN);
        }
      }
      defined &= t.valid;
      if (Own::takes(variant)) {
        std::uint64_t any = 0;
        std::uint64_t* const word = t.words + variant * (planes + 1);
        for (int b = 0; b < planes; ++b) {
          word[b] = plane[b] & defined;
          any |= word[b];
        }
        word[planes] = defined;
        Own::add(t.counters + layout.positive(variant), pop_count(any));
        if (defined != t.valid)
          Own::add(t.counters + layout.undefined(variant), pop_count(t.valid & ~defined));
      }
    }
    Own::settle();
  }

  /// Bits of the lanes where two of the listed variants (null: all) have different defined labels.
  static FL_HD std::uint64_t mixed_among(Subject const& s, Target const& t, int const* variant,
                                         int count) {
    int const planes = label_planes(s.network.outputs());
    std::uint64_t mixed = 0;
    for (int b = 0; b < planes; ++b) {
      std::uint64_t ones = 0;
      std::uint64_t zeros = 0;
      for (int i = 0; i < count; ++i) {
        std::uint64_t const* const word = word_of(s, t, variant == nullptr ? i : variant[i]);
        ones |= word[b];
        zeros |= word[planes] & ~word[b];
      }
      mixed |= ones & zeros;
    }
    return mixed;
  }

  /// Bits of the lanes with a member whose label is not defined.
  static FL_HD std::uint64_t undefined_among(Subject const& s, Target const& t) {
    int const planes = label_planes(s.network.outputs());
    std::uint64_t defined = t.valid;
    for (int v = 0; v < s.variants; ++v) defined &= word_of(s, t, v)[planes];
    return t.valid & ~defined;
  }

  static FL_HD std::uint64_t instances_among(Subject const& s, Target const& t, int const* variant,
                                             int count, std::uint64_t mixed) {
    int const planes = label_planes(s.network.outputs());
    std::uint64_t sum = 0;
    for (int i = 0; i < count; ++i)
      sum += pop_count(word_of(s, t, variant == nullptr ? i : variant[i])[planes] & mixed);
    return sum;
  }

  /// Bits of the lanes where both labels are defined and a's is greater than b's.
  static FL_HD std::uint64_t greater(std::uint64_t const* a, std::uint64_t const* b, int planes) {
    std::uint64_t equal = a[planes] & b[planes];
    std::uint64_t more = 0;
    for (int p = planes - 1; p >= 0; --p) {
      more |= equal & a[p] & ~b[p];
      equal &= ~(a[p] ^ b[p]);
    }
    return more;
  }

  static FL_HD void tally_group(Subject const& s, Walk const& w, Target const& t, int group) {
    CountLayout const layout = count_layout(s, w);
    int const planes = label_planes(s.network.outputs());
    set_words(s, w, t, group);
    std::uint64_t const mixed = mixed_among(s, t, nullptr, s.variants);
    if (!s.finite && Own::takes(0)) {
      Own::add(t.counters + CountLayout::kUnknown, pop_count(undefined_among(s, t) & ~mixed));
    }
    if (mixed == 0) return;
    if (Own::takes(0)) {
      Own::merge(t.mixed + group * t.mixed_stride, mixed << t.mixed_bit);
      Own::add(t.counters + CountLayout::kGroups, pop_count(mixed));
      Own::add(t.counters + CountLayout::kInstances,
               instances_among(s, t, nullptr, s.variants, mixed));
    }
    for (int i = 0; i < w.subsets; ++i) {
      auto const& subset = w.subset[i];
      for (int c = 0; c < subset.classes; ++c) {
        if (!Own::takes(c)) continue;
        int const* const variant = subset.member + static_cast<long>(c) * subset.class_size;
        std::uint64_t const some = mixed_among(s, t, variant, subset.class_size);
        if (some == 0) continue;
        Own::add(t.counters + layout.subset(i), pop_count(some));
        Own::add(t.counters + layout.subset(i) + 1,
                 instances_among(s, t, variant, subset.class_size, some));
      }
    }
    if (w.counts_pairs) {
      for (int a = 0; a < s.variants; ++a) {
        if (!Own::takes(a)) continue;
        std::uint64_t const* const first = word_of(s, t, a);
        for (int b = 0; b < s.variants; ++b) {
          Own::add(t.counters + layout.pair(a, b),
                   pop_count(greater(first, word_of(s, t, b), planes)));
        }
      }
    }
    tally_severity(s, w, t, group, mixed);
    Own::settle();
  }

  /// Severity as LaneTiles::probe computes it: the largest spread of a probability within the
  /// similar set.
  static FL_HD void tally_severity(Subject const& s, Walk const& w, Target const& t, int group,
                                   std::uint64_t mixed) {
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
    for (std::uint64_t rest = Own::lanes(mixed); rest != 0; rest &= rest - 1)
      Own::add(t.counters + first + static_cast<int>(low[lowest_bit(rest)]), 1);
  }
};

}  // namespace fairlane
