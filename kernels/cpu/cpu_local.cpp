// The local phase of a CPU block: renewals of partner and weights, draws,
// steps, and the way back after a miss.

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cpu/cpu_block.h"

namespace fairlane {

void CpuBlock::begin(WeightedStep const& how) {
  probe();
  run(MarkOrigins{context_}, size_);
  if (how.renews_always()) {  // every step draws its own partner
    if (context_.words == 1 && !weight_cache_)
      weight_cache_ = std::make_unique<WeightCache>(subject_.movable_count + 1, capacity_);
    if (weight_cache_) weight_cache_->clear();
    return;
  }
  all_gradients(how.gradient, nullptr, lanes_.partner);
  run(WeighLanes{context_, nullptr, how.epsilon, true, size_}, size_);
}

void CpuBlock::step(WeightedStep const& how, int rounds) {
  for (int i = 0; i < rounds; ++i) local_round(how);
}

void CpuBlock::local_round(WeightedStep const& how) {
  count_iteration();
  draw();
  if (!how.never_update) renew(how);
  {
    auto const round = record_.round(static_cast<std::uint64_t>(size_));
    kernels_.perturb(subject_, how.step, lanes_.weights, lanes_.total, random_.data(), lanes_.x,
                     lanes_.stride, size_, index_.data(), moved_.data());
    LaneContext const c = context_;
    for (long i = 0; i < size_; ++i) {
      auto const taken = redraw_step(c, i, how.step, {index_[i], moved_[i], 0});
      c.move_key(i, subject_.movable[taken.index], taken.by);
    }
    look_up(*round);
  }
  flush_overflow();
  settle(how);
}

void CpuBlock::settle(WeightedStep const& how) {
  // As SettleLanes, an array at a time, and without a branch where that is as cheap: neither
  // outcome is rare.
  auto const restore = [&](auto const* origin, auto* values, int rows) {
    kernels_.restore(reinterpret_cast<std::int32_t const*>(origin),
                     reinterpret_cast<std::int32_t*>(values), rows, lanes_.stride, size_,
                     lanes_.hit);
  };
  restore(lanes_.origin, lanes_.x, subject_.columns);
  if (!how.never_update && !how.renews_always())
    restore(lanes_.origin_weights, lanes_.weights, subject_.movable_count + 1);
  LaneContext const c = context_;
  int const n = size_;
  for (int i = 0; i < n; ++i)
    c.lanes.streak[i] = streak_after(c.lanes.hit[i] != 0, c.lanes.streak[i]);
  int const misses = kernels_.list(c.lanes.hit, 0, 0, n, c.lanes.open);
  for (int k = 0; k < misses; ++k) {
    std::int32_t const lane = c.lanes.open[k];
    c.lanes.labels[lane] = c.lanes.origin_labels[lane];
    c.return_key(lane);
  }
}

void CpuBlock::renew(WeightedStep const& how) {
  // As MarkDue, over packs.
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  auto const due = static_cast<std::int32_t>(std::min<std::uint32_t>(how.update_interval, kMost));
  listed_ = kernels_.list(lanes_.streak, due, kMost, size_, lanes_.list);
  for (int k = 0; k < listed_; ++k) count_renewal(context_, lanes_.list[k]);
  if (!labels_kept_) gather(listed_);
  draw_partners();
  bool const remembers = how.renews_always() && weight_cache_;
  if (remembers) take_known_weights();
  if (listed_ == 0) return;
  if (labels_kept_ || remembers) gather(listed_);
  pair_gradients(how.gradient, listed_, nullptr, lanes_.chosen);
  // As WeighLanes, over packs.
  kernels_.attribute_weights(subject_, how.epsilon, lanes_.gradient, lanes_.gradient + listed_,
                             2 * lanes_.stride, listed_, new_weights_.data(), lanes_.stride,
                             new_weights_.row(subject_.movable_count));
  for (int a = 0; a <= subject_.movable_count; ++a) {
    float const* from = new_weights_.row(a);
    float* to = lanes_.weights + a * lanes_.stride;
    for (int k = 0; k < listed_; ++k) to[lanes_.list[k]] = from[k];
  }
  for (int k = 0; remembers && k < listed_; ++k) {
    float* const known = weight_cache_->put(pair_of(k));
    for (int a = 0; a <= subject_.movable_count; ++a) known[a] = new_weights_(a, k);
  }
}

void CpuBlock::take_known_weights() {
  int left = 0;
  for (int k = 0; k < listed_; ++k) {
    std::int32_t const lane = lanes_.list[k];
    if (float const* const known = weight_cache_->find(pair_of(k))) {
      for (int a = 0; a <= subject_.movable_count; ++a)
        lanes_.weights[a * lanes_.stride + lane] = known[a];
      continue;
    }
    lanes_.list[left] = lane;
    lanes_.chosen[left] = lanes_.chosen[k];
    ++left;
  }
  listed_ = left;
}

void CpuBlock::draw_partners() {
  std::uint32_t const* word = random_.row(2);
  int const variants = subject_.variants;
  if (labels_kept_) {
    for (int k = 0; k < listed_; ++k) {
      std::int32_t const lane = lanes_.list[k];
      lanes_.chosen[k] = draw_partner(context_, lane, word[lane]);
    }
    return;
  }
  long const pitch = 2 * lanes_.stride;
  std::int32_t* const behind = lanes_.rows + lanes_.stride;  // rows that need more variants
  std::vector<std::int32_t> open(static_cast<std::size_t>(listed_));
  std::iota(open.begin(), open.end(), 0);
  if (PartnerDraw<ScalarPack, 1>::partner_tries(subject_) > 0) try_partners(open);
  // Labels are not known: evaluate the groups again, a pad of lanes at a time.
  variant_labels_.resize(static_cast<std::size_t>(variants) * kPadLanes);
  for (std::size_t begin = 0; begin < open.size(); begin += kPadLanes) {
    int const n = static_cast<int>(std::min<std::size_t>(kPadLanes, open.size() - begin));
    for (int c = 0; c < subject_.columns; ++c) {
      for (int i = 0; i < n; ++i)
        behind[c * pitch + i] = lanes_.rows[c * pitch + open[begin + static_cast<std::size_t>(i)]];
    }
    kernels_.variant_labels(subject_, behind, pitch, n, scratch_.get(), variant_labels_.data(),
                            kPadLanes);
    for (int i = 0; i < n; ++i) {
      std::int32_t const k = open[begin + static_cast<std::size_t>(i)];
      std::int32_t const lane = lanes_.list[k];
      auto const own_variant = lanes_.variant[lane];
      auto const label = [&](std::uint32_t v) {
        return variant_labels_[v * std::size_t{kPadLanes} + static_cast<std::size_t>(i)];
      };
      std::uint8_t const own = label(own_variant);
      lanes_.chosen[k] =
          static_cast<std::int32_t>(pick_other_label(word[lane], variants, own_variant, [&](int v) {
            std::uint8_t const other = label(static_cast<std::uint32_t>(v));
            return other != own && other != kUndefinedLabel;
          }));
    }
  }
}

void CpuBlock::try_partners(std::vector<std::int32_t>& open) {
  int const outputs = subject_.network.outputs();
  long const stride = lanes_.stride;
  long const pitch = 2 * stride;
  std::int32_t* const behind = lanes_.rows + stride;
  std::int32_t* const own = lanes_.stages[0].label;
  std::int32_t* const found = lanes_.stages[1].label;
  LaneArray<float> logits(outputs, stride);
  auto const labels_at = [&](std::int32_t const* x, std::size_t n, std::int32_t* labels) {
    kernels_.logits(subject_, x, pitch, static_cast<int>(n), scratch_.get(), logits.data(), stride);
    for (std::size_t i = 0; i < n; ++i) {
      Feasible<ScalarPack>::drop(Feasible<ScalarPack>::own(subject_, x + i, pitch),
                                 logits.data() + i);
      labels[i] = label_of<ScalarPack>(logits.data() + i, outputs, static_cast<int>(stride),
                                       subject_.threshold);
    }
  };
  labels_at(lanes_.rows, open.size(), own);
  using Draw = PartnerDraw<ScalarPack, 1>;
  Draw::PartnerLot const lot{lanes_.seed, context_.phase, lanes_.iteration, context_.run_seed};
  std::uint32_t const tries = Draw::partner_tries(subject_);
  for (std::uint32_t t = 1; t <= tries && !open.empty(); ++t) {
    for (int c = 0; c < subject_.columns; ++c) {
      for (std::size_t i = 0; i < open.size(); ++i)
        behind[c * pitch + static_cast<long>(i)] = lanes_.rows[c * pitch + open[i]];
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      std::int32_t const candidate = lot.candidate(lanes_.list[open[i]], t, subject_.variants);
      lanes_.chosen[open[i]] = candidate;
      for (int a = 0; a < subject_.selected; ++a) {
        behind[subject_.selected_column[a] * pitch + static_cast<long>(i)] =
            variant_code(subject_, candidate, a);
      }
    }
    labels_at(behind, open.size(), found);
    std::size_t left = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      bool const other = found[i] != kUndefinedLabel && found[i] != own[open[i]];
      if (!other) open[left++] = open[i];
    }
    open.resize(left);
  }
}

}  // namespace fairlane
