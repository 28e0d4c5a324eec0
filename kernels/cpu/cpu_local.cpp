// The local phase of a CPU block: renewals of partner and weights, draws, steps, and the way back after a miss.

#include <algorithm>
#include <numeric>

#include "kernels/core/steps.h"
#include "kernels/cpu/cpu_block.h"
#include "kernels/cpu/wide_visit_table.h"

namespace fairlane {

template <class Table>
void CpuBlock<Table>::begin_local(LocalStep const& step) {
  probe_all();
  for (int c = 0; c < subject_.columns; ++c) std::copy_n(x_.row(c), size_, origin_.row(c));
  for (int w = 0; w < words_; ++w) std::copy_n(key_.row(w), size_, origin_key_.row(w));
  std::copy_n(labels_.data(), size_, origin_labels_.data());
  if (step.update_interval == 0 && !step.never_update) return;  // every step draws its own partner
  partner_gradients(step.gradient);
  kernels_.attribute_weights(subject_, step.epsilon, gradient_.data(), gradient_.data() + size_,
                             2 * stride_, size_, origin_weights_.data(), stride_,
                             origin_total_.data());
  for (int i = 0; i < subject_.movable_count; ++i)
    std::copy_n(origin_weights_.row(i), size_, weights_.row(i));
  std::copy_n(origin_total_.data(), size_, total_.data());
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
  pending_.resize(static_cast<std::size_t>(capacity_));
  std::size_t due = 0;
  for (std::int32_t i = 0; i < size_; ++i) {
    pending_[due] = i;
    due += streak_[i] >= step.update_interval ? 1 : 0;
  }
  pending_.resize(due);
  if (pending_.empty()) return;
  int const n = static_cast<int>(pending_.size());
  gather(pending_);
  draw_partners();
  pair_gradients(step.gradient, n, nullptr, chosen_.data());
  kernels_.attribute_weights(subject_, step.epsilon, gradient_.data(), gradient_.data() + n,
                             2 * stride_, n, new_weights_.data(), stride_, new_total_.data());
  for (int a = 0; a < subject_.movable_count; ++a) {
    float const* from = new_weights_.row(a);
    float* to = weights_.row(a);
    for (int k = 0; k < n; ++k) to[pending_[static_cast<std::size_t>(k)]] = from[k];
  }
  for (int k = 0; k < n; ++k) {
    std::int32_t const lane = pending_[static_cast<std::size_t>(k)];
    total_[lane] = new_total_[k];
    streak_[lane] = 0;
    ++renewals_[lane];
  }
}

template <class Table>
void CpuBlock<Table>::draw_partners() {
  std::uint32_t const* word = random_.row(2);
  int const variants = subject_.variants;
  if (labels_kept_) {
    int const bits = subject_.label_bits;
    std::uint32_t const mask = (1U << bits) - 1;
    if (bits == 1) {
      std::uint32_t const all = static_cast<std::uint32_t>((1ULL << variants) - 1);
      for (std::size_t k = 0; k < pending_.size(); ++k) {
        std::int32_t const lane = pending_[k];
        std::uint32_t const labels = labels_[lane];
        std::uint32_t const others =
            ((labels >> variant_[lane]) & 1U) != 0 ? ~labels & all : labels;
        chosen_[static_cast<long>(k)] =
            static_cast<std::int32_t>(pick_member(word[lane], others, variant_[lane]));
      }
      return;
    }
    for (std::size_t k = 0; k < pending_.size(); ++k) {
      std::int32_t const lane = pending_[k];
      std::uint32_t const labels = labels_[lane];
      std::uint32_t const own =
          (labels >> (variant_[lane] * static_cast<std::uint32_t>(bits))) & mask;
      chosen_[static_cast<long>(k)] = static_cast<std::int32_t>(
          pick_other_label(word[lane], variants, variant_[lane],
                           [&](int v) { return ((labels >> (v * bits)) & mask) != own; }));
    }
    return;
  }
  std::vector<std::int32_t> open(pending_.size());
  std::iota(open.begin(), open.end(), 0);
  if (subject_.label_bits == 0) try_partners(open);
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
  for (std::uint32_t t = 1; t <= kPartnerTries && !open.empty(); ++t) {
    for (int c = 0; c < subject_.columns; ++c) {
      for (std::size_t i = 0; i < open.size(); ++i) second_.row(c)[i] = gathered_.row(c)[open[i]];
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      std::int32_t const lane = pending_[static_cast<std::size_t>(open[i])];
      auto const words = philox<ScalarPack>(seed_[lane], static_cast<std::uint32_t>(phase_),
                                            iteration_[lane], t, run_seed_);
      auto const candidate = static_cast<std::int32_t>(
          below<ScalarPack>(words.w[0], static_cast<std::uint32_t>(subject_.variants)));
      chosen_[open[i]] = candidate;
      for (int a = 0; a < subject_.selected; ++a) {
        second_.row(subject_.selected_column[a])[i] = packed_.variant_value(candidate, a);
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
  std::uint32_t const* attribute_word = random_.row(0);
  std::uint32_t const* direction_word = random_.row(1);
  kernels_.choose(subject_.movable_count, weights_.data(), stride_, total_.data(), attribute_word,
                  size_, index_.data());
  auto const& keys = packed_.keys();
  std::int32_t* const x = x_.data();
  for (long i = 0; i < size_; ++i) {
    int const c = subject_.movable[index_[i]];
    auto const column = static_cast<std::size_t>(c);
    std::int32_t& cell = x[c * stride_ + i];
    std::int32_t const old = cell;
    std::int32_t const direction = choose_direction<ScalarPack>(direction_word[i]) * step.step;
    cell = step_and_clip<ScalarPack>(old, direction, subject_.low[c], subject_.high[c]);
    key_(keys.word[column], i) +=
        static_cast<std::uint64_t>(static_cast<std::int64_t>(cell) - old) * keys.stride[column];
  }
}

template <class Table>
void CpuBlock<Table>::settle(LocalStep const& step) {
  kernels_.restore(origin_.data(), x_.data(), subject_.columns, stride_, size_, hit_.data());
  if (!step.never_update) {
    kernels_.restore(reinterpret_cast<std::int32_t const*>(origin_weights_.data()),
                     reinterpret_cast<std::int32_t*>(weights_.data()), subject_.movable_count,
                     stride_, size_, hit_.data());
  }
  for (long i = 0; i < size_; ++i) {
    if (hit_[i] != 0) {
      ++streak_[i];
      continue;
    }
    streak_[i] = 0;
    for (int w = 0; w < words_; ++w) key_(w, i) = origin_key_(w, i);
    labels_[i] = origin_labels_[i];
    total_[i] = origin_total_[i];
  }
}

template class CpuBlock<VisitTable>;
template class CpuBlock<WideVisitTable>;

}  // namespace fairlane
