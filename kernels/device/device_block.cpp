#include "kernels/device/device_block.h"

#include <algorithm>

namespace fairlane {

namespace {

constexpr long kPadLanes = 128;  // the widest tile: 4 packs of a warp

long padded(int lanes) {
  return (static_cast<long>(lanes) + kPadLanes - 1) / kPadLanes * kPadLanes;
}

/// Hands out arrays from one block of memory; with a null base it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  void take(T*& array, std::size_t count) {
    array = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    constexpr std::size_t kAlignment = 256;
    used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace

DeviceBlock::Layout DeviceBlock::lay_out(PackedSubject const& packed, int capacity, Phase phase,
                                         std::byte* base) {
  Subject const& subject = packed.get();
  auto const lanes = static_cast<std::size_t>(padded(capacity));
  auto const columns = static_cast<std::size_t>(subject.columns);
  auto const movable = static_cast<std::size_t>(subject.movable_count);
  auto const words = static_cast<std::size_t>(packed.keys().words);
  Carver memory(base);
  Layout out;
  LaneState& s = out.lanes;
  s.stride = static_cast<long>(lanes);
  memory.take(s.x, columns * lanes);
  memory.take(s.key, words * lanes);
  for (auto* array : {&s.variant, &s.seed, &s.iteration, &s.renewals, &s.labels, &s.place_seed,
                      &s.place_iteration, &s.found_labels}) {
    memory.take(*array, lanes);
  }
  for (auto* array : {&s.hit, &s.label, &s.pair, &s.partner, &s.flags, &s.list, &s.open, &s.chosen,
                      &s.second, &s.found_flags}) {
    memory.take(*array, lanes);
  }
  for (auto& stage : s.stages) {
    memory.take(stage.place, lanes);
    memory.take(stage.label, lanes);
    memory.take(stage.flags, lanes);
  }
  memory.take(s.counts, 3);
  memory.take(s.mark, lanes);
  memory.take(s.rows, 2 * columns * lanes);
  memory.take(s.gradient, 2 * columns * lanes);
  if (phase == Phase::kGlobal) {
    memory.take(s.momentum, columns * lanes);
    memory.take(s.partner_momentum, columns * lanes);
  } else {
    memory.take(s.origin, columns * lanes);
    memory.take(s.origin_key, words * lanes);
    memory.take(s.origin_labels, lanes);
    memory.take(s.weights, movable * lanes);
    memory.take(s.origin_weights, movable * lanes);
    memory.take(s.total, lanes);
    memory.take(s.origin_total, lanes);
    memory.take(s.streak, lanes);
    memory.take(s.odds, 2 * movable);
    memory.take(s.events, kEventsPerAttribute * movable);
  }

  MarginLanes& m = out.margin;
  auto& probe = m.probe;
  for (auto* array :
       {&probe.low, &probe.high, &probe.side_a, &probe.side_b, &probe.best_a, &probe.best_b,
        &probe.member_a, &probe.member_b, &m.misses, &m.stale, &m.hit_side_a, &m.hit_side_b,
        &m.hit_member_a, &m.hit_member_b, &m.move, &m.move_step}) {
    memory.take(*array, lanes);
  }
  for (auto* array :
       {&probe.low_margin, &probe.margin_a, &probe.margin_b, &probe.best_margin_a,
        &probe.best_margin_b, &m.hit_margin_a, &m.hit_margin_b, &m.margin_a, &m.margin_b}) {
    memory.take(*array, lanes);
  }
  probe.label = s.label;
  probe.packed = s.labels;
  probe.flags = s.flags;
  memory.take(m.slope_a, columns * lanes);
  memory.take(m.slope_b, columns * lanes);
  memory.take(m.tried, movable * lanes);
  out.bytes = memory.used();
  return out;
}

std::uint64_t DeviceBlock::bytes(PackedSubject const& subject, int capacity, Phase phase) {
  return lay_out(subject, capacity, phase, nullptr).bytes;
}

DeviceBlock::DeviceBlock(DeviceShare const& share, int capacity, Phase phase)
    : share_(share),
      subject_(share.packed.get()),
      capacity_(capacity),
      phase_(phase),
      memory_(share.device, bytes(share.packed, capacity, phase)) {
  auto const layout = lay_out(share_.packed, capacity, phase, memory_.data());
  lanes_ = layout.lanes;
  margin_ = layout.margin;
  share_.device.zero(memory_.data(), memory_.size());
  context_.subject = share_.subject.arena().subject;
  context_.columns = share_.subject.columns();
  context_.lanes = lanes_;
  context_.phase = phase_;
  context_.run_seed = share_.run_seed;
}

void DeviceBlock::prepare(std::uint64_t inserts) {
  bool const full = !share_.table.make_room(inserts);
  if (full && overflow_memory_.size() == 0) {
    auto const lanes = static_cast<std::size_t>(lanes_.stride);
    auto const words = static_cast<std::size_t>(share_.packed.keys().words);
    auto const carve = [&](std::byte* base) {
      Carver memory(base);
      memory.take(context_.overflow.used, 1);
      memory.take(context_.overflow.group, words * lanes);
      memory.take(context_.overflow.variant, lanes);
      memory.take(context_.overflow.finder, lanes);
      memory.take(context_.overflow.state, lanes);
      return memory.used();
    };
    overflow_memory_ = DeviceArray<std::byte>(share_.device, carve(nullptr));
    carve(overflow_memory_.data());
    share_.device.zero(overflow_memory_.data(), overflow_memory_.size());
  }
  context_.full = full;
  context_.visits = share_.table.set();
}

void DeviceBlock::finish() {
  hits_.fresh = iterations_.fresh = renewals_.fresh = rows_.fresh = false;
  if (context_.full) {
    auto& device = share_.device;
    auto const& from = context_.overflow;
    std::uint64_t used = 0;
    device.download(&used, from.used, sizeof used);
    if (used == 0) return;
    auto const n = static_cast<std::size_t>(used);
    auto const words = static_cast<std::size_t>(share_.packed.keys().words);
    std::vector<std::uint64_t> group(n * words);
    std::vector<std::uint32_t> variant(n);
    std::vector<std::uint64_t> finder(n);
    std::vector<std::uint8_t> state(n);
    device.download(group.data(), from.group, n * words * sizeof(std::uint64_t));
    device.download(variant.data(), from.variant, n * sizeof(std::uint32_t));
    device.download(finder.data(), from.finder, n * sizeof(std::uint64_t));
    device.download(state.data(), from.state, n);
    device.zero(from.used, sizeof used);
    share_.overflow(
        {n, share_.packed.keys().words, group.data(), variant.data(), finder.data(), state.data()});
    return;
  }
  constexpr int kRoundsAhead = 32;
  if (++rounds_ < kRoundsAhead) return;
  share_.table.refresh();
  rounds_ = 0;
}

void DeviceBlock::place(std::span<std::uint32_t const> seed, std::int32_t const* rows) {
  auto const n = seed.size();
  if (n == 0) return;
  auto const columns = static_cast<std::size_t>(subject_.columns);
  std::vector<std::uint32_t> variant(n);
  for (std::size_t i = 0; i < n; ++i)
    variant[i] = static_cast<std::uint32_t>(share_.packed.variant_of(rows + i * columns));
  std::vector<std::int32_t> places(rows, rows + n * columns);
  for (int c = 0; c < subject_.columns; ++c) {
    if (share_.packed.codes_of(c).empty()) continue;
    auto const a =
        static_cast<std::size_t>(share_.packed.attribute_of()[static_cast<std::size_t>(c)]);
    for (std::size_t i = a; i < places.size(); i += columns)
      places[i] = share_.packed.place_of(c, places[i]);
  }
  // Scratch arrays that no verb is using now.
  auto& device = share_.device;
  device.upload(lanes_.rows, places.data(), n * columns * sizeof(std::int32_t));
  device.upload(lanes_.place_seed, seed.data(), n * sizeof(std::uint32_t));
  device.upload(lanes_.place_iteration, variant.data(), n * sizeof(std::uint32_t));
  prepare(0);
  run(PlaceLanes{context_, size_, lanes_.rows, lanes_.place_seed, lanes_.place_iteration},
      {static_cast<std::int64_t>(n), nullptr});
  seeds_.resize(static_cast<std::size_t>(size_));
  seeds_.insert(seeds_.end(), seed.begin(), seed.end());
  size_ += static_cast<int>(n);
  finish();
}

void DeviceBlock::retain(std::span<std::uint8_t const> keep) {
  auto const kept =
      static_cast<int>(std::count_if(keep.begin(), keep.end(), [](auto k) { return k != 0; }));
  if (kept > 0 && kept < size_) {
    // Lanes behind the new end fill the holes before it.
    std::vector<std::int32_t> from;
    std::vector<std::int32_t> to;
    for (int lane = 0; lane < size_; ++lane) {
      bool const stays = keep[static_cast<std::size_t>(lane)] != 0;
      if (lane < kept && !stays) to.push_back(lane);
      if (lane >= kept && stays) from.push_back(lane);
    }
    auto& device = share_.device;
    device.upload(lanes_.list, from.data(), from.size() * sizeof(std::int32_t));
    device.upload(lanes_.open, to.data(), to.size() * sizeof(std::int32_t));
    prepare(0);
    Range const moves{static_cast<std::int64_t>(from.size()), nullptr};
    run(MoveLanes{context_, margin_.probe, lanes_.list, lanes_.open}, moves);
    for (std::size_t i = 0; i < from.size(); ++i)
      seeds_[static_cast<std::size_t>(to[i])] = seeds_[static_cast<std::size_t>(from[i])];
  }
  size_ = kept;
  seeds_.resize(static_cast<std::size_t>(size_));
  finish();
}

void DeviceBlock::probe(bool exact) {
  evaluate(ProbeTiles{lanes_.x,
                      lanes_.stride,
                      {lanes_.label, lanes_.pair, lanes_.partner, lanes_.labels, lanes_.flags,
                       nullptr, nullptr, nullptr},
                      exact},
           all());
}

void DeviceBlock::gradients(GradientSpec const& spec, Range range) {
  if (spec.kind == GradientKind::kProbabilityDifference) {
    evaluate(DifferenceTiles{spec, lanes_.rows, 2 * lanes_.stride, lanes_.gradient}, range);
  } else {
    evaluate(GradientTiles{spec, lanes_.rows, 2 * lanes_.stride, lanes_.gradient}, range);
  }
}

void DeviceBlock::test() {
  prepare(static_cast<std::uint64_t>(size_));
  probe();
  run(RecordProbed{context_}, all());
  finish();
}

void DeviceBlock::advance(GlobalStep const& step) {
  prepare(0);
  run(PairRows{context_, nullptr, nullptr, lanes_.partner}, all());
  gradients(step.gradient, all());
  run(AdvanceLanes{context_, {step.decay, step.step, step.sign}}, all());
  finish();
}

void DeviceBlock::begin_local(LocalStep const& step) {
  prepare(0);
  probe(true);
  run(MarkOrigins{context_}, all());
  if (step.update_interval != 0 ||
      step.never_update) {  // otherwise every step draws its own partner
    run(PairRows{context_, nullptr, nullptr, lanes_.partner}, all());
    gradients(step.gradient, all());
    run(WeighLanes{context_, nullptr, step.epsilon, true}, all());
  }
  finish();
}

void DeviceBlock::step_local(LocalStep const& step) {
  prepare(static_cast<std::uint64_t>(size_));
  run(MarkDue{context_, step.update_interval, step.never_update}, all());
  if (!step.never_update) renew(step);
  run(StepLanes{context_, step.step}, all());
  classify_marked();
  run(SettleLanes{context_, !step.never_update}, all());
  finish();
}

void DeviceBlock::renew(LocalStep const& step) {
  share_.device.compact(lanes_.mark, all(), lanes_.list, lanes_.counts);
  if (subject_.label_bits > 0 && share_.table.holds_labels()) {
    run(DrawPartners{context_}, listed());
  } else {
    run(GatherRows{context_}, listed());
    evaluate(DrawPartnerTiles{lanes_.rows, 2 * lanes_.stride, lanes_.place_seed,
                              lanes_.place_iteration, phase_, share_.run_seed, lanes_.chosen,
                              lanes_.mark, lanes_.open, lanes_.counts + 1},
             listed());
  }
  run(PairRows{context_, lanes_.list, nullptr, lanes_.chosen}, listed());
  gradients(step.gradient, listed());
  run(WeighLanes{context_, lanes_.list, step.epsilon, false}, listed());
}

void DeviceBlock::begin_adaptive() {
  prepare(0);
  run(MarkOrigins{context_}, all());  // what it says of hits and labels is not used
  finish();
}

void DeviceBlock::step_adaptive(AdaptiveStep const& step, std::uint64_t* events) {
  auto& device = share_.device;
  auto const movable = static_cast<std::size_t>(subject_.movable_count);
  prepare(static_cast<std::uint64_t>(size_));
  StepOdds const odds{lanes_.odds, lanes_.odds + movable};
  device.upload(lanes_.odds, step.odds.up_to, movable * sizeof(std::int32_t));
  device.upload(lanes_.odds + movable, step.odds.down, movable * sizeof(std::int32_t));
  device.zero(lanes_.events, kEventsPerAttribute * movable * sizeof *events);
  run(StepByOdds{context_, step.step, odds, margin_.move, margin_.move_step}, all());
  classify_marked();
  run(SettleByOdds{context_, step.acceptance, margin_.move, margin_.move_step, lanes_.events},
      all());
  std::vector<std::uint64_t> counted(kEventsPerAttribute * movable);
  device.download(counted.data(), lanes_.events, counted.size() * sizeof *events);
  for (std::size_t i = 0; i < counted.size(); ++i) events[i] += counted[i];
  finish();
}

void DeviceBlock::test_labels() {
  prepare(static_cast<std::uint64_t>(size_));
  run(FindLanes{context_}, all());
  classify_marked();
  finish();
}

void DeviceBlock::classify_marked() {
  share_.device.compact(lanes_.mark, all(), lanes_.list, lanes_.counts);
  run(GatherRows{context_}, listed());
  bool const probed = !subject_.finite;
  if (probed) {
    evaluate(ProbeTiles{lanes_.rows,
                        2 * lanes_.stride,
                        {lanes_.stages[0].label, lanes_.chosen, lanes_.second, lanes_.found_labels,
                         lanes_.found_flags, nullptr, nullptr, nullptr}},
             listed());
  } else if (stages_classification(subject_)) {
    classify_in_stages();
  } else {
    evaluate(ClassifyTiles{lanes_.rows, 2 * lanes_.stride, lanes_.found_labels, lanes_.found_flags},
             listed());
  }
  run(RecordClassified{context_, probed}, listed());
}

void DeviceBlock::classify_in_stages() {
  // A few variants at a time, most separating first; rows with two labels drop out.
  Range range = listed();
  int stage = 0;
  int last = 0;
  for (int first = 0; first < subject_.variants; first = last) {
    last = next_stage(subject_, first);
    auto const& at = lanes_.stages[stage];
    evaluate(ClassifySomeTiles{lanes_.rows + stage * lanes_.stride, 2 * lanes_.stride, first, last,
                               at.label, at.flags},
             range);
    run(KeepStage{context_, stage}, range);
    if (last == subject_.variants) break;
    std::int32_t* const count = lanes_.counts + 1 + stage;
    share_.device.compact(lanes_.mark, range, lanes_.open, count);
    range = {size_, count};
    run(NextStage{context_, stage}, range);
    stage = 1 - stage;
  }
}

template <class T>
T DeviceBlock::mirrored(Mirror<T>& mirror, T const* from, int rows, int row, int lane) const {
  auto const n = static_cast<std::size_t>(size_);  // a verb that changes it ends the mirror
  if (!mirror.fresh) {
    mirror.values.resize(static_cast<std::size_t>(rows) * n);
    for (int r = 0; r < rows; ++r) {
      share_.device.download(mirror.values.data() + static_cast<std::size_t>(r) * n,
                             from + r * lanes_.stride, n * sizeof(T));
    }
    mirror.fresh = true;
  }
  return mirror.values[static_cast<std::size_t>(row) * n + static_cast<std::size_t>(lane)];
}

std::uint32_t DeviceBlock::iteration(int lane) const {
  return mirrored(iterations_, lanes_.iteration, 1, 0, lane);
}

std::uint32_t DeviceBlock::renewals(int lane) const {
  return mirrored(renewals_, lanes_.renewals, 1, 0, lane);
}

bool DeviceBlock::hit(int lane) const { return mirrored(hits_, lanes_.hit, 1, 0, lane) != 0; }

void DeviceBlock::row(int lane, std::int32_t* row) const {
  auto const& attribute_of = share_.packed.attribute_of();
  for (int c = 0; c < subject_.columns; ++c) {
    row[attribute_of[static_cast<std::size_t>(c)]] =
        share_.packed.code_at(c, mirrored(rows_, lanes_.x, subject_.columns, c, lane));
  }
}

}  // namespace fairlane
