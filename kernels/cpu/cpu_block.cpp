#include "kernels/cpu/cpu_block.h"

#include <algorithm>

#include "kernels/layout/placed_rows.h"

namespace fairlane {

namespace {

/// Lanes with their padding: an odd number of pads, so that the rows of an
/// array lie in different sets of the first-level cache.
long padded(int lanes) {
  long const pads = (static_cast<long>(lanes) + kPadLanes - 1) / kPadLanes;
  return (pads | 1) * kPadLanes;
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

CpuBlock::CpuBlock(PackedSubject const& subject, LaneKernels const& kernels, CpuRecord& record,
                   OverflowSink& overflow, std::uint64_t run_seed, int capacity, Phase phase)
    : packed_(subject),
      subject_(subject.get()),
      kernels_(kernels),
      record_(record),
      overflow_(overflow),
      capacity_(capacity),
      labels_kept_(subject_.label_bits > 0 && record.holds_labels()),
      scratch_(subject_, kernels.tile_lanes),
      answers_(padded(capacity)) {
  long const stride = padded(capacity);
  int const words = subject.keys().words;
  auto const bytes = lay_out_lanes(subject_, words, stride, phase, nullptr).bytes;
  memory_ = LaneArray<std::byte>(1, static_cast<long>(bytes));
  auto const memory = lay_out_lanes(subject_, words, stride, phase, memory_.data());
  lanes_ = memory.lanes;
  margin_ = memory.margin;
  lattice_ = memory.lattice;
  context_.subject = subject_;
  context_.columns.attribute_of = subject.attribute_of().data();
  context_.columns.word = subject.keys().word.data();
  context_.columns.key_stride = subject.keys().stride.data();
  context_.lanes = lanes_;
  context_.words = words;
  context_.phase = phase;
  context_.run_seed = run_seed;
  new_weights_ = LaneArray<float>(subject_.movable_count + 1, stride);
  random_ = LaneArray<std::uint32_t>(4, stride);
  index_ = LaneArray<std::int32_t>(1, stride);
  moved_ = LaneArray<std::int32_t>(1, stride);
  auto const move_words = KeptColumns<ScalarPack>::words(subject_.columns);
  columns_ = LaneArray<std::int32_t>(static_cast<int>(move_words), kernels.tile_lanes);
  home_ = LaneArray<std::uint64_t>(1, stride);
  flags_ = LaneArray<std::uint32_t>(1, stride);
  if (phase == Phase::kLocal && subject_.variants > 2) {
    marked_key_ = LaneArray<std::uint64_t>(words, stride);
    marked_ = LaneArray<std::uint32_t>(3, stride);
  }
}

void CpuBlock::place(std::span<std::uint32_t const> seed, std::int32_t const* rows) {
  PlacedRows const placed(packed_, rows, seed.size());
  run(PlaceLanes{context_, size_, placed.places.data(), seed.data(), placed.variant.data()},
      static_cast<int>(seed.size()));
  size_ += static_cast<int>(seed.size());
}

void CpuBlock::retain(std::span<std::uint8_t const> keep) {
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  size_ = fill_holes(keep, size_, from, to);
  run(MoveLanes{context_, margin_.probe, from.data(), to.data()}, static_cast<int>(from.size()));
}

void CpuBlock::row(int lane, std::int32_t* row) const {
  for (int c = 0; c < subject_.columns; ++c) {
    row[packed_.attribute_of()[static_cast<std::size_t>(c)]] =
        packed_.code_at(c, lanes_.x[c * lanes_.stride + lane]);
  }
}

void CpuBlock::count_iteration() {
  for (long i = 0; i < size_; ++i) ++lanes_.iteration[i];
}

void CpuBlock::draw() {
  kernels_.random_words(lanes_.seed, context_.phase, lanes_.iteration, 0, context_.run_seed, size_,
                        random_.data(), lanes_.stride);
}

int CpuBlock::list_marked(int n, std::int32_t* list) const {
  int count = 0;
  for (int i = 0; i < n; ++i) {
    list[count] = i;
    count += lanes_.mark[i] != 0 ? 1 : 0;
  }
  return count;
}

void CpuBlock::gather(int n) {
  kernels_.gather(lanes_.x, subject_.columns, lanes_.stride, lanes_.list, n, lanes_.rows,
                  2 * lanes_.stride);
}

void CpuBlock::pair_gradients(GradientSpec const& spec, int n, std::int32_t const* first,
                              std::int32_t const* second) {
  for (int c = 0; c < subject_.columns; ++c) {
    std::int32_t* const row = lanes_.rows + c * 2 * lanes_.stride;
    std::copy_n(row, n, row + n);
  }
  for (int i = 0; i < n; ++i) {
    set_variants(context_, lanes_.rows + i, lanes_.rows + i + n, first == nullptr ? -1 : first[i],
                 second == nullptr ? -1 : second[i]);
  }
  kernels_.gradients(subject_, spec, lanes_.rows, 2 * lanes_.stride, 2 * n, scratch_.get(),
                     lanes_.gradient, 2 * lanes_.stride);
}

void CpuBlock::all_gradients(GradientSpec const& spec, std::int32_t const* first,
                             std::int32_t const* second) {
  for (int c = 0; c < subject_.columns; ++c) {
    std::copy_n(lanes_.x + c * lanes_.stride, size_, lanes_.rows + c * 2 * lanes_.stride);
  }
  pair_gradients(spec, size_, first, second);
}

void CpuBlock::probe() {
  kernels_.probe(subject_, lanes_.x, lanes_.stride, size_, scratch_.get(),
                 {lanes_.label, lanes_.pair, lanes_.partner, lanes_.labels, lanes_.flags, nullptr,
                  nullptr, nullptr});
}

LaneVisits CpuBlock::visits() {
  return {size_,       lanes_.stride,    lanes_.key,     lanes_.variant,
          lanes_.seed, lanes_.iteration, context_.phase, home_.data()};
}

void CpuBlock::record(CpuRecord::Round& round, LaneVisits const& visits, std::int32_t const* list,
                      int n, std::uint32_t const* labels) {
  if (n == 0) return;
  if (round.writable()) return round.insert(visits, list, n, labels, flags_.data(), answers_);
  for (int k = 0; k < n; ++k) {
    std::int32_t const lane = list[k];
    for (int w = 0; w < context_.words; ++w)
      overflow_group_.push_back(visits.group[w * visits.stride + lane]);
    overflow_variant_.push_back(visits.variant[lane]);
    overflow_finder_.push_back(visits.finder(lane));
    overflow_state_.push_back(visit_state(flags_[k]));
  }
}

void CpuBlock::flush_overflow() {
  if (overflow_variant_.empty()) return;
  overflow_.used.store(true, std::memory_order_relaxed);
  {
    std::lock_guard const guard(overflow_.lock);
    overflow_.sink({overflow_variant_.size(), context_.words, overflow_group_.data(),
                    overflow_variant_.data(), overflow_finder_.data(), overflow_state_.data()});
  }
  overflow_group_.clear();
  overflow_variant_.clear();
  overflow_finder_.clear();
  overflow_state_.clear();
}

void CpuBlock::test(Test test) {
  count_iteration();
  switch (test) {
    case Test::kLabels: {
      auto const round = record_.round(static_cast<std::uint64_t>(size_));
      look_up(*round);
    }
      return flush_overflow();
    case Test::kPartner:
      probe();
      run([c = context_](long lane) { note_probed(c, lane); }, size_);
      return record_probed();
    case Test::kMargins:
      margins();
      run([c = context_, &m = margin_](long lane) { note_margins(c, m.probe, lane, lane); }, size_);
      return record_probed();
  }
}

void CpuBlock::record_probed() {
  {
    auto const round = record_.round(static_cast<std::uint64_t>(size_));
    round->list_unseen(visits(), answers_);
    auto const& unseen = answers_.unknown;
    for (std::size_t k = 0; k < unseen.size(); ++k)
      flags_[static_cast<long>(k)] = probed_flags(context_, unseen[k]);
    record(*round, visits(), unseen.data(), static_cast<int>(unseen.size()), lanes_.labels);
  }
  flush_overflow();
}

void CpuBlock::record_marked() {
  listed_ = list_marked(size_, lanes_.list);
  if (listed_ == size_) return record_probed();
  LaneVisits marked = visits();
  marked.count = listed_;
  marked.group = marked_key_.data();
  marked.variant = marked_.row(0);
  marked.seed = marked_.row(1);
  marked.iteration = marked_.row(2);
  for (int k = 0; k < listed_; ++k) {
    std::int32_t const lane = lanes_.list[k];
    for (int w = 0; w < context_.words; ++w)
      marked_key_(w, k) = lanes_.key[w * lanes_.stride + lane];
    marked_(0, k) = lanes_.variant[lane];
    marked_(1, k) = lanes_.seed[lane];
    marked_(2, k) = lanes_.iteration[lane];
  }
  {
    auto const round = record_.round(static_cast<std::uint64_t>(listed_));
    round->list_unseen(marked, answers_);
    auto const& unseen = answers_.unknown;
    for (std::size_t k = 0; k < unseen.size(); ++k)
      flags_[static_cast<long>(k)] = probed_flags(context_, lanes_.list[unseen[k]]);
    record(*round, marked, unseen.data(), static_cast<int>(unseen.size()), lanes_.labels);
  }
  flush_overflow();
}

void CpuBlock::advance(SignStep const& how) {
  all_gradients(how.gradient, nullptr, lanes_.partner);
  kernels_.advance(subject_, {how.decay, how.step, how.sign}, lanes_.gradient,
                   lanes_.gradient + size_, 2 * lanes_.stride, lanes_.momentum,
                   lanes_.partner_momentum, lanes_.x, lanes_.stride, size_);
  compute_keys();
}

void CpuBlock::compute_keys() {
  // As LaneContext::compute_key, a column at a time.
  LaneContext const c = context_;
  for (int w = 0; w < c.words; ++w) std::fill_n(lanes_.key + w * lanes_.stride, size_, 0);
  for (int const k : packed_.group_columns()) {
    std::int32_t const* const x = lanes_.x + k * lanes_.stride;
    for (long i = 0; i < size_; ++i) c.move_key(i, k, x[i] - subject_.low[k]);
  }
}

void CpuBlock::look_up(CpuRecord::Round& round) {
  round.find(kernels_, visits(), lanes_.hit, lanes_.labels, answers_);
  auto const& siblings = answers_.siblings;
  for (std::size_t k = 0; k < siblings.size(); ++k)
    flags_[static_cast<long>(k)] = lanes_.hit[siblings[k]] != 0 ? kHitFlag : 0U;
  record(round, visits(), siblings.data(), static_cast<int>(siblings.size()), lanes_.labels);
  listed_ = static_cast<int>(answers_.unknown.size());
  if (listed_ == 0) return;
  std::copy(answers_.unknown.begin(), answers_.unknown.end(), lanes_.list);
  gather(listed_);
  classify(listed_);
  for (int k = 0; k < listed_; ++k)
    flags_[k] = note_classified(context_, k, lanes_.list[k], !subject_.finite);
  record(round, visits(), lanes_.list, listed_, lanes_.labels);
}

void CpuBlock::classify(int n) {
  if (!subject_.finite) {  // members may be undefined
    kernels_.probe(subject_, lanes_.rows, 2 * lanes_.stride, n, scratch_.get(),
                   {lanes_.stages[0].label, lanes_.chosen, lanes_.second, lanes_.found_labels,
                    lanes_.found_flags, nullptr, nullptr, nullptr});
  } else if (stages_classification(subject_)) {
    classify_in_stages(n);
  } else {
    kernels_.classify(subject_, lanes_.rows, 2 * lanes_.stride, n, scratch_.get(),
                      lanes_.found_labels, lanes_.found_flags);
  }
}

void CpuBlock::classify_in_stages(int n) {
  // A few variants at a time, most separating first; rows with two labels drop
  // out.
  GatherRows const places{context_};
  for (int i = 0; i < n; ++i) places.begin_classification(i);
  int stage = 0;
  int last = 0;
  for (int first = 0; first < subject_.variants && n > 0; first = last) {
    last = next_stage(subject_, first);
    auto const& at = lanes_.stages[stage];
    kernels_.classify_some(subject_, lanes_.rows + stage * lanes_.stride, 2 * lanes_.stride, n,
                           scratch_.get(), first, last, at.label, at.flags);
    run(KeepStage{context_, stage}, n);
    n = list_marked(n, lanes_.open);
    run(NextStage{context_, stage}, n);
    stage = 1 - stage;
  }
}

}  // namespace fairlane
