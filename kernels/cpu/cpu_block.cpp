#include "kernels/cpu/cpu_block.h"

#include <algorithm>

#include "kernels/core/steps.h"
#include "kernels/cpu/wide_visit_table.h"

namespace fairlane {

namespace {

long padded(int lanes) {
  return (static_cast<long>(lanes) + kPadLanes - 1) / kPadLanes * kPadLanes;
}

}  // namespace

ScratchMemory::ScratchMemory(Subject const& subject, int tile_lanes)
    : list_(static_cast<std::size_t>(subject.inputs)) {
  auto const& net = subject.network;
  int const outputs = net.outputs();
  int const width = net.max_width;
  constexpr int kTermRows = 6;  // probe: own, low, high, 2 of softmax; logit_gradient: 3
  int const first = net.layer[0].forward.outputs;
  memory_ = LaneArray<float>(
      subject.inputs + first + 2 * width + net.sum_width + kTermRows * outputs, tile_lanes);
  int row = 0;
  auto const take = [&](int rows) {
    float* at = memory_.data() + static_cast<long>(row) * tile_lanes;
    row += rows;
    return at;
  };
  scratch_.in = take(subject.inputs);
  scratch_.prefix = take(first);
  scratch_.a = take(width);
  scratch_.b = take(width);
  scratch_.kept = take(net.sum_width);
  scratch_.terms = take(kTermRows * outputs);
  scratch_.list = list_.data();
}

template <class Table>
CpuBlock<Table>::CpuBlock(PackedSubject const& subject, LaneKernels const& kernels, Table& table,
                          OverflowSink& overflow, std::uint64_t run_seed, int capacity, Phase phase)
    : packed_(subject),
      subject_(subject.get()),
      kernels_(kernels),
      table_(table),
      overflow_(overflow),
      run_seed_(run_seed),
      capacity_(capacity),
      stride_(padded(capacity)),
      phase_(phase),
      words_(subject.keys().words),
      labels_kept_(subject_.label_bits > 0 && table.holds_labels()),
      stages_(stages_classification(subject_)),
      scratch_(subject_, kernels.tile_lanes),
      x_(subject_.columns, stride_),
      key_(words_, stride_),
      variant_(1, stride_),
      seed_(1, stride_),
      iteration_(1, stride_),
      hit_(1, stride_),
      labels_(1, stride_),
      partner_(1, stride_),
      renewals_(1, stride_),
      gathered_(subject_.columns, 2 * stride_),
      second_(subject_.columns, stride_),
      gradient_(subject_.columns, 2 * stride_),
      random_(4, stride_),
      index_(1, stride_),
      moved_(1, stride_),
      found_labels_(1, stride_),
      found_flags_(1, stride_),
      first_label_(1, stride_),
      chosen_(1, stride_),
      probe_label_(1, stride_),
      probe_pair_(1, stride_),
      home_(1, stride_),
      answers_(stride_) {
  if (phase == Phase::kGlobal) {
    momentum_ = LaneArray<float>(subject_.columns, stride_);
    partner_momentum_ = LaneArray<float>(subject_.columns, stride_);
  } else {
    origin_ = LaneArray<std::int32_t>(subject_.columns, stride_);
    origin_key_ = LaneArray<std::uint64_t>(words_, stride_);
    origin_labels_ = LaneArray<std::uint32_t>(1, stride_);
    weights_ = LaneArray<float>(subject_.movable_count + 1, stride_);
    origin_weights_ = LaneArray<float>(subject_.movable_count + 1, stride_);
    new_weights_ = LaneArray<float>(subject_.movable_count + 1, stride_);
    streak_ = LaneArray<std::int32_t>(1, stride_);
    choice_ = LaneArray<std::int32_t>(1, stride_);
  }
  pending_.reserve(static_cast<std::size_t>(capacity));
}

template <class Table>
void CpuBlock<Table>::place(std::span<std::uint32_t const> seed, std::int32_t const* rows) {
  auto const& attribute_of = packed_.attribute_of();
  auto const& keys = packed_.keys();
  for (std::size_t i = 0; i < seed.size(); ++i) {
    long const lane = size_++;
    std::int32_t const* row = rows + static_cast<std::ptrdiff_t>(i) * subject_.columns;
    for (int w = 0; w < words_; ++w) key_(w, lane) = 0;
    for (int c = 0; c < subject_.columns; ++c) {
      auto const column = static_cast<std::size_t>(c);
      std::int32_t const value = packed_.place_of(c, row[attribute_of[column]]);
      x_(c, lane) = value;
      if (keys.word[column] >= 0) {
        key_(keys.word[column], lane) +=
            static_cast<std::uint64_t>(value - subject_.low[c]) * keys.stride[column];
      }
    }
    variant_[lane] = static_cast<std::uint32_t>(packed_.variant_of(row));
    seed_[lane] = seed[i];
    iteration_[lane] = 0;
    hit_[lane] = 0;
    renewals_[lane] = 0;
    if (phase_ == Phase::kGlobal) {
      for (int c = 0; c < subject_.columns; ++c)
        momentum_(c, lane) = partner_momentum_(c, lane) = 0.0F;
    } else {
      streak_[lane] = 0;
    }
  }
}

template <class Table>
void CpuBlock<Table>::retain(std::span<std::uint8_t const> keep) {
  // Only the state that outlives a round moves; local lanes all end together and are dropped as a whole.
  long to = 0;
  for (long from = 0; from < size_; ++from) {
    if (keep[static_cast<std::size_t>(from)] == 0) continue;
    if (to != from) {
      for (int c = 0; c < subject_.columns; ++c) x_(c, to) = x_(c, from);
      for (int w = 0; w < words_; ++w) key_(w, to) = key_(w, from);
      variant_[to] = variant_[from];
      seed_[to] = seed_[from];
      iteration_[to] = iteration_[from];
      hit_[to] = hit_[from];
      labels_[to] = labels_[from];
      partner_[to] = partner_[from];
      renewals_[to] = renewals_[from];
      found_flags_[to] = found_flags_[from];
      if (margin_) margin_->move_probe(from, to);
      if (phase_ == Phase::kGlobal) {
        for (int c = 0; c < subject_.columns; ++c) {
          momentum_(c, to) = momentum_(c, from);
          partner_momentum_(c, to) = partner_momentum_(c, from);
        }
      } else {
        for (int c = 0; c < subject_.columns; ++c) origin_(c, to) = origin_(c, from);
        for (int w = 0; w < words_; ++w) origin_key_(w, to) = origin_key_(w, from);
        for (int i = 0; i <= subject_.movable_count; ++i) {
          weights_(i, to) = weights_(i, from);
          origin_weights_(i, to) = origin_weights_(i, from);
        }
        origin_labels_[to] = origin_labels_[from];
        streak_[to] = streak_[from];
      }
    }
    ++to;
  }
  size_ = static_cast<int>(to);
}

template <class Table>
void CpuBlock<Table>::row(int lane, std::int32_t* row) const {
  for (int c = 0; c < subject_.columns; ++c)
    row[packed_.attribute_of()[static_cast<std::size_t>(c)]] = packed_.code_at(c, x_.row(c)[lane]);
}

template <class Table>
void CpuBlock<Table>::select(LaneArray<std::int32_t> const& value, std::int32_t low,
                             std::int32_t high) {
  pending_.resize(static_cast<std::size_t>(stride_));
  int const count = kernels_.list(value.data(), low, high, size_, pending_.data());
  pending_.resize(static_cast<std::size_t>(count));
}

template <class Table>
void CpuBlock<Table>::gather(std::vector<std::int32_t> const& lanes) {
  kernels_.gather(x_.data(), subject_.columns, stride_, lanes.data(),
                  static_cast<int>(lanes.size()), gathered_.data(), 2 * stride_);
}

template <class Table>
void CpuBlock<Table>::pair_gradients(GradientSpec const& spec, int n, std::int32_t const* first,
                                     std::int32_t const* second) {
  for (int c = 0; c < subject_.columns; ++c) std::copy_n(gathered_.row(c), n, gathered_.row(c) + n);
  for (int i = 0; i < subject_.selected; ++i) {
    std::int32_t* to = gathered_.row(subject_.selected_column[i]);
    for (int k = 0; first != nullptr && k < n; ++k) to[k] = packed_.variant_place(first[k], i);
    for (int k = 0; k < n; ++k) to[n + k] = packed_.variant_place(second[k], i);
  }
  kernels_.gradients(subject_, spec, gathered_.data(), 2 * stride_, 2 * n, scratch_.get(),
                     gradient_.data(), 2 * stride_);
}

template <class Table>
void CpuBlock<Table>::partner_gradients(GradientSpec const& spec) {
  pending_.clear();
  for (int i = 0; i < size_; ++i) {
    pending_.push_back(i);
    chosen_[i] = partner_[i] < 0 ? static_cast<std::int32_t>(variant_[i]) : partner_[i];
  }
  gather(pending_);
  pair_gradients(spec, size_, nullptr, chosen_.data());
}

template <class Table>
void CpuBlock<Table>::probe_all() {
  kernels_.probe(subject_, x_.data(), stride_, size_, scratch_.get(),
                 {probe_label_.data(), probe_pair_.data(), partner_.data(), labels_.data(),
                  found_flags_.data(), nullptr, nullptr, nullptr});
  for (long i = 0; i < size_; ++i) hit_[i] = probe_pair_[i] >= 0 ? 1 : 0;
}

template <class Table>
void CpuBlock<Table>::record(typename Table::Use& use, long lane, std::uint32_t labels,
                             std::uint32_t flags) {
  if (use.writable()) {
    table_.insert(use, answers_.place[static_cast<std::size_t>(lane)], key_of(lane), variant_[lane],
                  labels, flags, finder_of(lane));
    return;
  }
  for (int w = 0; w < words_; ++w) overflow_group_.push_back(key_(w, lane));
  overflow_variant_.push_back(variant_[lane]);
  overflow_finder_.push_back(finder_of(lane));
  overflow_state_.push_back(visit_state(flags));
}

template <class Table>
void CpuBlock<Table>::prepare_homes() {
  std::uint64_t* const home = home_.data();
  for (long i = 0; i < size_; ++i) {
    home[i] = table_.home(key_of(i), variant_[i]);
    table_.prefetch(home[i]);
  }
}

template <class Table>
void CpuBlock<Table>::flush_overflow() {
  if (overflow_variant_.empty()) return;
  overflow_.used.store(true, std::memory_order_relaxed);
  {
    std::lock_guard const guard(overflow_.lock);
    overflow_.sink({overflow_variant_.size(), words_, overflow_group_.data(),
                    overflow_variant_.data(), overflow_finder_.data(), overflow_state_.data()});
  }
  overflow_group_.clear();
  overflow_variant_.clear();
  overflow_finder_.clear();
  overflow_state_.clear();
}

template <class Table>
void CpuBlock<Table>::test() {
  for (long i = 0; i < size_; ++i) ++iteration_[i];
  probe_all();
  record_probed();
}

template <class Table>
void CpuBlock<Table>::record_probed() {
  {
    typename Table::Use use(table_, static_cast<std::uint64_t>(size_));
    prepare_homes();
    for (long i = 0; i < size_; ++i) {
      if (table_.find(home_[i], key_of(i), variant_[i], finder_of(i)).seen) continue;
      answers_.place[static_cast<std::size_t>(i)] = home_[i];
      record(use, i, labels_[i],
             visit_flags(hit_[i] != 0, probe_label_[i] == kUndefinedLabel,
                         (found_flags_[i] & kGroupUndefined) != 0));
    }
  }
  flush_overflow();
}

template <class Table>
void CpuBlock<Table>::test_labels() {
  for (long i = 0; i < size_; ++i) ++iteration_[i];
  {
    typename Table::Use use(table_, static_cast<std::uint64_t>(size_));
    look_up(use);
  }
  flush_overflow();
}

template <class Table>
void CpuBlock<Table>::advance(GlobalStep const& step) {
  partner_gradients(step.gradient);
  kernels_.advance(subject_, {step.decay, step.step, step.sign}, gradient_.data(),
                   gradient_.data() + size_, 2 * stride_, momentum_.data(),
                   partner_momentum_.data(), x_.data(), stride_, size_);
  compute_keys();
}

template <class Table>
void CpuBlock<Table>::compute_keys() {
  auto const& keys = packed_.keys();
  for (int w = 0; w < words_; ++w) std::fill_n(key_.row(w), size_, 0);
  for (int const c : packed_.group_columns()) {
    auto const column = static_cast<std::size_t>(c);
    std::uint64_t* key = key_.row(keys.word[column]);
    std::int32_t const* x = x_.row(c);
    for (long k = 0; k < size_; ++k) {
      key[k] += static_cast<std::uint64_t>(x[k] - subject_.low[c]) * keys.stride[column];
    }
  }
}

template <class Table>
void CpuBlock<Table>::find_all() {
  VisitQuery const query{home_.data(), key_.data(),       variant_.data(),
                         seed_.data(), iteration_.data(), Finder::pack(phase_, 0, 0)};
  if constexpr (kNarrow) {
    table_.find_many(kernels_, 0, size_, query, hit_.data(), labels_.data(), answers_);
  } else {
    table_.find_many(0, size_, query, stride_, hit_.data(), labels_.data(), answers_);
  }
}

template <class Table>
void CpuBlock<Table>::look_up(typename Table::Use& use) {
  answers_.siblings.clear();
  answers_.unknown.clear();
  find_all();
  for (std::int32_t const i : answers_.siblings)
    record(use, i, labels_[i], hit_[i] != 0 ? kHitFlag : 0U);
  pending_.swap(answers_.unknown);
  if (!pending_.empty()) {
    gather(pending_);
    classify_pending();
    for (std::int32_t const lane : pending_)
      table_.prefetch(home_[lane]);  // evaluation has pushed them out
    for (std::size_t k = 0; k < pending_.size(); ++k) {
      std::int32_t const lane = pending_[k];
      auto const at = static_cast<long>(k);
      bool hit = (found_flags_[at] & kGroupMixed) != 0;
      bool const irregular = (found_flags_[at] & kGroupUndefined) != 0;
      bool undefined = false;
      if (irregular) hit = resolve_irregular(static_cast<int>(k), variant_[lane], undefined);
      hit_[lane] = hit ? 1 : 0;
      labels_[lane] = found_labels_[at];
      record(use, lane, found_labels_[at], visit_flags(hit, undefined, irregular));
    }
  }
}

template <class Table>
void CpuBlock<Table>::classify_pending() {
  int const n = static_cast<int>(pending_.size());
  if (!stages_) {
    kernels_.classify(subject_, gathered_.data(), 2 * stride_, n, scratch_.get(),
                      found_labels_.data(), found_flags_.data());
    return;
  }
  // A few variants at a time, most separating first; lanes with two labels drop out. second_ holds those that go on.
  for (int i = 0; i < n; ++i) {
    found_flags_[i] = 0;
    first_label_[i] = kUndefinedLabel;
    chosen_[i] = i;
  }
  for (int c = 0; c < subject_.columns; ++c) std::copy_n(gathered_.row(c), n, second_.row(c));
  int left = n;
  int last = 0;
  for (int first = 0; first < subject_.variants && left > 0; first = last) {
    last = next_stage(subject_, first);
    for (int i = 0; i < left; ++i) index_[i] = 0;
    kernels_.classify_some(subject_, second_.data(), stride_, left, scratch_.get(), first, last,
                           first_label_.data(), index_.data());
    int to = 0;
    for (int i = 0; i < left; ++i) {
      found_flags_[chosen_[i]] |= index_[i];
      if ((index_[i] & kGroupMixed) != 0) continue;
      chosen_[to] = chosen_[i];
      first_label_[to] = first_label_[i];
      for (int c = 0; c < subject_.columns; ++c) second_(c, to) = second_(c, i);
      ++to;
    }
    left = to;
  }
}

template <class Table>
bool CpuBlock<Table>::resolve_irregular(int i, std::uint32_t variant, bool& undefined) {
  variant_labels_.resize(static_cast<std::size_t>(subject_.variants) * kPadLanes);
  for (int c = 0; c < subject_.columns; ++c) second_(c, 0) = gathered_(c, i);
  kernels_.variant_labels(subject_, second_.data(), stride_, 1, scratch_.get(),
                          variant_labels_.data(), kPadLanes);
  std::uint8_t const own = variant_labels_[variant * std::size_t{kPadLanes}];
  undefined = own == kUndefinedLabel;
  if (undefined) return false;
  for (int v = 0; v < subject_.variants; ++v) {
    std::uint8_t const other = variant_labels_[static_cast<std::size_t>(v) * kPadLanes];
    if (other != own && other != kUndefinedLabel) return true;
  }
  return false;
}

template class CpuBlock<VisitTable>;
template class CpuBlock<WideVisitTable>;

}  // namespace fairlane
