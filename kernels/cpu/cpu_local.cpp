// The local phase of a CPU block: renewals of partner and weights, draws, steps, and the way back after a miss.

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/core/steps.h"
#include "kernels/cpu/cpu_block.h"
#include "kernels/cpu/wide_visit_table.h"

namespace fairlane {

namespace {

bool renews_always(LocalStep const& step) {
  return step.update_interval == 0 && !step.never_update;
}

}  // namespace

template <class Table>
void CpuBlock<Table>::begin_local(LocalStep const& step) {
  probe_all();
  for (int c = 0; c < subject_.columns; ++c) std::copy_n(x_.row(c), size_, origin_.row(c));
  for (int w = 0; w < words_; ++w) std::copy_n(key_.row(w), size_, origin_key_.row(w));
  std::copy_n(labels_.data(), size_, origin_labels_.data());
  if (renews_always(step)) {  // every step draws its own partner
    if (kNarrow && !weight_cache_)
      weight_cache_ = std::make_unique<WeightCache>(subject_.movable_count + 1, capacity_);
    if (weight_cache_) weight_cache_->clear();
    return;
  }
  partner_gradients(step.gradient);
  kernels_.attribute_weights(subject_, step.epsilon, gradient_.data(), gradient_.data() + size_,
                             2 * stride_, size_, origin_weights_.data(), stride_,
                             origin_weights_.row(subject_.movable_count));
  for (int i = 0; i <= subject_.movable_count; ++i)
    std::copy_n(origin_weights_.row(i), size_, weights_.row(i));
}

template <class Table>
void CpuBlock<Table>::step_local(LocalStep const& step) {
  for (long i = 0; i < size_; ++i) ++iteration_[i];
  kernels_.random_words(seed_.data(), phase_, iteration_.data(), 0, run_seed_, size_,
                        random_.data(), stride_);
  if (!step.never_update) renew(step);
  {
    typename Table::Use use(table_, static_cast<std::uint64_t>(size_));
    draw_and_step(step);
    look_up(use);
  }
  flush_overflow();
  settle(step);
}

template <class Table>
void CpuBlock<Table>::renew(LocalStep const& step) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  select(streak_, static_cast<std::int32_t>(std::min<std::uint32_t>(step.update_interval, kMost)),
         kMost);
  for (std::int32_t const lane : pending_) {
    streak_[lane] = 0;
    ++renewals_[lane];
  }
  if (!labels_kept_) gather(pending_);
  draw_partners();
  bool const remembers = renews_always(step) && weight_cache_;
  if (remembers) take_known_weights();
  if (pending_.empty()) return;
  if (labels_kept_ || remembers) gather(pending_);
  int const n = static_cast<int>(pending_.size());
  pair_gradients(step.gradient, n, nullptr, chosen_.data());
  kernels_.attribute_weights(subject_, step.epsilon, gradient_.data(), gradient_.data() + n,
                             2 * stride_, n, new_weights_.data(), stride_,
                             new_weights_.row(subject_.movable_count));
  for (int a = 0; a <= subject_.movable_count; ++a) {
    float const* from = new_weights_.row(a);
    float* to = weights_.row(a);
    for (int k = 0; k < n; ++k) to[pending_[static_cast<std::size_t>(k)]] = from[k];
  }
  for (std::size_t k = 0; remembers && k < pending_.size(); ++k) {
    float* const known = weight_cache_->put(pair_of(k));
    for (int a = 0; a <= subject_.movable_count; ++a)
      known[a] = new_weights_(a, static_cast<long>(k));
  }
}

template <class Table>
void CpuBlock<Table>::take_known_weights() {
  std::size_t left = 0;
  for (std::size_t k = 0; k < pending_.size(); ++k) {
    std::int32_t const lane = pending_[k];
    if (float const* const known = weight_cache_->find(pair_of(k))) {
      for (int a = 0; a <= subject_.movable_count; ++a) weights_(a, lane) = known[a];
      continue;
    }
    pending_[left] = lane;
    chosen_[static_cast<long>(left)] = chosen_[static_cast<long>(k)];
    ++left;
  }
  pending_.resize(left);
}

template <class Table>
void CpuBlock<Table>::draw_partners() {
  std::uint32_t const* word = random_.row(2);
  int const variants = subject_.variants;
  if (labels_kept_) {
    for (std::size_t k = 0; k < pending_.size(); ++k) {
      std::int32_t const lane = pending_[k];
      chosen_[static_cast<long>(k)] = static_cast<std::int32_t>(
          pick_partner(word[lane], labels_[lane], subject_.label_bits, variants, variant_[lane]));
    }
    return;
  }
  std::vector<std::int32_t> open(pending_.size());
  std::iota(open.begin(), open.end(), 0);
  if (PartnerDraw<ScalarPack, 1>::partner_tries(subject_) > 0) try_partners(open);
  // Labels are not known: evaluate the groups again, a pad of lanes at a time.
  variant_labels_.resize(static_cast<std::size_t>(variants) * kPadLanes);
  for (std::size_t begin = 0; begin < open.size(); begin += kPadLanes) {
    int const n = static_cast<int>(std::min<std::size_t>(kPadLanes, open.size() - begin));
    for (int c = 0; c < subject_.columns; ++c) {
      for (int i = 0; i < n; ++i)
        second_(c, i) = gathered_.row(c)[open[begin + static_cast<std::size_t>(i)]];
    }
    kernels_.variant_labels(subject_, second_.data(), stride_, n, scratch_.get(),
                            variant_labels_.data(), kPadLanes);
    for (int i = 0; i < n; ++i) {
      std::int32_t const k = open[begin + static_cast<std::size_t>(i)];
      std::int32_t const lane = pending_[static_cast<std::size_t>(k)];
      auto const label = [&](std::uint32_t v) {
        return variant_labels_[v * std::size_t{kPadLanes} + static_cast<std::size_t>(i)];
      };
      std::uint8_t const own = label(variant_[lane]);
      chosen_[k] = static_cast<std::int32_t>(
          pick_other_label(word[lane], variants, variant_[lane], [&](int v) {
            std::uint8_t const other = label(static_cast<std::uint32_t>(v));
            return other != own && other != kUndefinedLabel;
          }));
    }
  }
}

template <class Table>
void CpuBlock<Table>::try_partners(std::vector<std::int32_t>& open) {
  int const outputs = subject_.network.outputs();
  LaneArray<float> logits(outputs, stride_);
  auto const labels_at = [&](LaneArray<std::int32_t> const& x, long stride, std::size_t n,
                             std::int32_t* labels) {
    kernels_.logits(subject_, x.data(), stride, static_cast<int>(n), scratch_.get(), logits.data(),
                    stride_);
    for (std::size_t i = 0; i < n; ++i) {
      labels[i] =
          label_of<ScalarPack>(logits.data() + i, outputs, static_cast<int>(stride_), subject_.cut);
    }
  };
  labels_at(gathered_, 2 * stride_, open.size(), first_label_.data());
  using Draw = PartnerDraw<ScalarPack, 1>;
  Draw::PartnerLot const lot{seed_.data(), phase_, iteration_.data(), run_seed_};
  std::uint32_t const tries = Draw::partner_tries(subject_);
  for (std::uint32_t t = 1; t <= tries && !open.empty(); ++t) {
    for (int c = 0; c < subject_.columns; ++c) {
      for (std::size_t i = 0; i < open.size(); ++i) second_.row(c)[i] = gathered_.row(c)[open[i]];
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      std::int32_t const lane = pending_[static_cast<std::size_t>(open[i])];
      std::int32_t const candidate = lot.candidate(lane, t, subject_.variants);
      chosen_[open[i]] = candidate;
      for (int a = 0; a < subject_.selected; ++a) {
        second_.row(subject_.selected_column[a])[i] = packed_.variant_place(candidate, a);
      }
    }
    labels_at(second_, stride_, open.size(), index_.data());
    std::size_t left = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      std::int32_t const label = index_[static_cast<long>(i)];
      bool const found = label != kUndefinedLabel && label != first_label_[open[i]];
      if (!found) open[left++] = open[i];
    }
    open.resize(left);
  }
}

template <class Table>
void CpuBlock<Table>::draw_and_step(LocalStep const& step) {
  kernels_.perturb(subject_, step.step, weights_.data(), weights_.row(subject_.movable_count),
                   random_.data(), x_.data(), stride_, size_, index_.data(), moved_.data());
  for (long i = 0; i < size_; ++i) move_key(i, index_[i], moved_[i]);
}

template <class Table>
void CpuBlock<Table>::settle(LocalStep const& step) {
  kernels_.restore(origin_.data(), x_.data(), subject_.columns, stride_, size_, hit_.data());
  if (!step.never_update && !renews_always(step)) {
    kernels_.restore(reinterpret_cast<std::int32_t const*>(origin_weights_.data()),
                     reinterpret_cast<std::int32_t*>(weights_.data()), subject_.movable_count + 1,
                     stride_, size_, hit_.data());
  }
  for (long i = 0; i < size_; ++i) ++streak_[i];
  select(hit_, 0, 0);
  for (std::int32_t const lane : pending_) {
    streak_[lane] = 0;
    labels_[lane] = origin_labels_[lane];
    for (int w = 0; w < words_; ++w) key_(w, lane) = origin_key_(w, lane);
  }
}

template class CpuBlock<VisitTable>;
template class CpuBlock<WideVisitTable>;

}  // namespace fairlane
