// The margin method's verbs of a CPU block.

#include <algorithm>

#include "kernels/core/margin.h"
#include "kernels/cpu/cpu_block.h"
#include "kernels/cpu/wide_visit_table.h"

namespace fairlane {

MarginState::MarginState(int columns, int movable, long stride)
    : ints(kIntRows, stride),
      floats(kFloatRows, stride),
      slope_a(columns, stride),
      slope_b(columns, stride),
      tried(movable, stride),
      misses(1, stride),
      stale(1, stride),
      at_hit(kHitRows, stride),
      margin(2, stride),
      move(2, stride) {}

void MarginState::move_probe(long from, long to) {
  for (int r = 0; r < kIntRows; ++r) ints(r, to) = ints(r, from);
  for (int r = 0; r < kFloatRows; ++r) floats(r, to) = floats(r, from);
}

template <class Table>
void CpuBlock<Table>::margin_probe() {
  auto& m = *margin_;
  kernels_.margins(subject_, x_.data(), stride_, size_, scratch_.get(),
                   {probe_label_.data(), labels_.data(), found_flags_.data(),
                    m.ints.row(MarginState::kLow), m.ints.row(MarginState::kHigh), m.floats.row(0),
                    m.ints.row(MarginState::kSideA), m.ints.row(MarginState::kSideB),
                    m.floats.row(1), m.floats.row(2), m.ints.row(MarginState::kBestA),
                    m.ints.row(MarginState::kBestB), m.ints.row(MarginState::kMemberA),
                    m.ints.row(MarginState::kMemberB), m.floats.row(3), m.floats.row(4)});
  for (std::int32_t i = 0; i < size_; ++i)
    hit_[i] = margin_hit(probe_label_[i], found_flags_[i]) ? 1 : 0;
}

template <class Table>
void CpuBlock<Table>::test_margin() {
  if (!margin_)
    margin_ = std::make_unique<MarginState>(subject_.columns, subject_.movable_count, stride_);
  for (long i = 0; i < size_; ++i) ++iteration_[i];
  margin_probe();
  record_probed();
}

template <class Table>
void CpuBlock<Table>::advance_margin(std::int32_t reach) {
  auto& m = *margin_;
  pending_.clear();
  for (int i = 0; i < size_; ++i) pending_.push_back(i);
  gather(pending_);
  pair_gradients({GradientKind::kMargin, 1.0F}, size_, m.ints.row(MarginState::kLow),
                 m.ints.row(MarginState::kHigh));
  for (std::int32_t i = 0; i < size_; ++i) {
    LaneDraw const draw{seed_[i], iteration_[i], run_seed_};
    if ((found_flags_[i] & kGroupUndefined) != 0) {
      random_step(subject_, draw, x_.data() + i, stride_);
    } else {
      newton_step(subject_, draw, gradient_.data() + i, gradient_.data() + size_ + i, 2 * stride_,
                  m.floats(0, i), reach, x_.data() + i, stride_);
    }
  }
  compute_keys();
}

template <class Table>
void CpuBlock<Table>::begin_margin() {
  if (!margin_)
    margin_ = std::make_unique<MarginState>(subject_.columns, subject_.movable_count, stride_);
  auto& m = *margin_;
  margin_probe();
  keep_margin_origin();
  pending_.clear();
  for (int i = 0; i < size_; ++i) {
    pending_.push_back(i);
    m.misses[i] = 0;
  }
  for (int i = 0; i < subject_.movable_count; ++i)
    std::fill_n(m.tried.row(i), size_, std::uint8_t{0});
  renew_margin(false);
}

template <class Table>
void CpuBlock<Table>::keep_margin_origin() {
  auto& m = *margin_;
  for (std::int32_t i = 0; i < size_; ++i) index_[i] = hit_[i] == 0 ? 1 : 0;
  kernels_.restore(x_.data(), origin_.data(), subject_.columns, stride_, size_, index_.data());
  for (std::int32_t i = 0; i < size_; ++i) {
    if (hit_[i] == 0) continue;
    for (int w = 0; w < words_; ++w) origin_key_(w, i) = key_(w, i);
    m.margin(0, i) = m.floats(1, i);
    m.margin(1, i) = m.floats(2, i);
    m.at_hit(0, i) = m.ints(MarginState::kBestA, i);
    m.at_hit(1, i) = m.ints(MarginState::kBestB, i);
    m.at_hit(2, i) = m.ints(MarginState::kMemberA, i);
    m.at_hit(3, i) = m.ints(MarginState::kMemberB, i);
    m.at_hit(4, i) = ScalarPack::bits_of(m.floats(3, i));
    m.at_hit(5, i) = ScalarPack::bits_of(m.floats(4, i));
  }
}

template <class Table>
void CpuBlock<Table>::renew_margin(bool count) {
  auto& m = *margin_;
  int const n = static_cast<int>(pending_.size());
  if (n == 0) return;
  gather(pending_);
  for (int k = 0; k < n; ++k) {
    std::int32_t const lane = pending_[static_cast<std::size_t>(k)];
    chosen_[k] = m.at_hit(2, lane);
    index_[k] = m.at_hit(3, lane);
  }
  pair_gradients({GradientKind::kMargin, 1.0F}, n, chosen_.data(), index_.data());
  for (int k = 0; k < n; ++k) {
    std::int32_t const lane = pending_[static_cast<std::size_t>(k)];
    for (int c = 0; c < subject_.columns; ++c) {
      m.slope_a(c, lane) = gradient_.row(c)[k];
      m.slope_b(c, lane) = gradient_.row(c)[n + k];
    }
    m.ints(MarginState::kSideA, lane) = m.at_hit(0, lane);
    m.ints(MarginState::kSideB, lane) = m.at_hit(1, lane);
    m.margin(0, lane) = ScalarPack::float_of(m.at_hit(4, lane));
    m.margin(1, lane) = ScalarPack::float_of(m.at_hit(5, lane));
    m.stale[lane] = 0;
    renewals_[lane] += count ? 1 : 0;
  }
}

template <class Table>
void CpuBlock<Table>::step_margin(std::int32_t step) {
  auto& m = *margin_;
  for (long i = 0; i < size_; ++i) ++iteration_[i];
  kernels_.random_words(seed_.data(), phase_, iteration_.data(), 0, run_seed_, size_,
                        random_.data(), stride_);
  pending_.clear();
  for (std::int32_t i = 0; i < size_; ++i) {
    if (margin_renewal_due(subject_, m.stale[i] != 0, m.misses[i], m.margin(0, i), m.margin(1, i)))
      pending_.push_back(i);
  }
  renew_margin(true);
  auto const& keys = packed_.keys();
  for (std::int32_t i = 0; i < size_; ++i) {
    auto const move =
        choose_margin_move(subject_,
                           {x_.data() + i, m.slope_a.data() + i, m.slope_b.data() + i,
                            m.tried.data() + i, stride_, m.margin(0, i), m.margin(1, i)},
                           step, random_(0, i), random_(1, i));
    m.move(0, i) = move.index;
    m.move(1, i) = move.step;
    if (move.index < 0) continue;
    auto const column = static_cast<std::size_t>(subject_.movable[move.index]);
    x_(static_cast<int>(column), i) += move.step;
    key_(keys.word[column], i) +=
        static_cast<std::uint64_t>(static_cast<std::int64_t>(move.step)) * keys.stride[column];
  }
  margin_probe();
  record_probed();
  keep_margin_origin();
  for (std::int32_t i = 0; i < size_; ++i) {
    bool const hit = hit_[i] != 0;
    note_margin_move(subject_, hit, {m.move(0, i), m.move(1, i)}, m.tried.data() + i, stride_);
    m.misses[i] = hit ? 0 : m.misses[i] + 1;
    if (hit) {
      m.stale[i] = 1;
      continue;
    }
    for (int w = 0; w < words_; ++w) key_(w, i) = origin_key_(w, i);
  }
  kernels_.restore(origin_.data(), x_.data(), subject_.columns, stride_, size_, hit_.data());
}

template class CpuBlock<VisitTable>;
template class CpuBlock<WideVisitTable>;

}  // namespace fairlane
