#include "kernels/device/device_block.h"

#include <algorithm>

#include "kernels/layout/placed_rows.h"

namespace fairlane {

namespace {

constexpr std::uint64_t kMostInserts = 1 << 26;  // of a launch: the record grows for all of them
constexpr int kMostRounds = 128;  // of one launch, so that the host can look at the clock

}  // namespace

long DeviceBlock::padded(int places) {
  constexpr long kPadLanes = 128;  // the widest tile: 4 packs of a warp
  return (static_cast<long>(places) + kPadLanes - 1) / kPadLanes * kPadLanes;
}

DeviceBlock::Memory DeviceBlock::lay_out(PackedSubject const& subject, DeviceLimits const& limits,
                                         int capacity, Phase phase, std::byte* base) {
  int const words = subject.keys().words;
  long const stride = padded(round_places(limits, capacity));
  Memory out;
  out.of_lanes = lay_out_lanes(subject.get(), words, stride, phase, base);
  auto const lanes = static_cast<std::size_t>(stride);
  Carver behind(base == nullptr ? nullptr : base + out.of_lanes.bytes);
  behind.take(out.overflow.used, 1);
  behind.take(out.overflow.group, static_cast<std::size_t>(words) * lanes);
  behind.take(out.overflow.variant, lanes);
  behind.take(out.overflow.finder, lanes);
  behind.take(out.overflow.state, lanes);
  out.bytes = out.of_lanes.bytes + behind.used();
  return out;
}

std::uint64_t DeviceBlock::bytes(PackedSubject const& subject, DeviceLimits const& limits,
                                 int capacity, Phase phase) {
  return lay_out(subject, limits, capacity, phase, nullptr).bytes;
}

DeviceBlock::DeviceBlock(DeviceShare const& share, int capacity, Phase phase)
    : share_(share),
      subject_(share.packed.get()),
      capacity_(capacity),
      phase_(phase),
      memory_(share.device,
              bytes(share.packed, share.device.properties().limits, capacity, phase)) {
  auto const layout =
      lay_out(share_.packed, share_.device.properties().limits, capacity, phase, memory_.data());
  lanes_ = layout.of_lanes.lanes;
  margin_ = layout.of_lanes.margin;
  lattice_ = layout.of_lanes.lattice;
  context_.overflow = layout.overflow;
  share_.device.zero(memory_.data(), memory_.size());
  context_.subject = share_.subject.arena().subject;
  context_.columns = share_.subject.columns();
  context_.lanes = lanes_;
  context_.words = share_.packed.keys().words;
  context_.phase = phase_;
  context_.run_seed = share_.run_seed;
}

void DeviceBlock::prepare(std::uint64_t inserts) {
  context_.full = !share_.table.make_room(inserts);
  context_.visits = share_.table.set();
}

void DeviceBlock::finish() {
  hits_.fresh = iterations_.fresh = renewals_.fresh = rows_.fresh = false;
  outcomes_.fresh = hit_rows_.fresh = sought_ = false;
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
  PlacedRows const placed(share_.packed, rows, n);
  // Scratch arrays that no verb is using now.
  auto& device = share_.device;
  device.upload(lanes_.rows, placed.places.data(), placed.places.size() * sizeof(std::int32_t));
  device.upload(lanes_.place_seed, seed.data(), n * sizeof(std::uint32_t));
  device.upload(lanes_.place_iteration, placed.variant.data(), n * sizeof(std::uint32_t));
  prepare(0);
  run(PlaceLanes{context_, size_, lanes_.rows, lanes_.place_seed, lanes_.place_iteration},
      {static_cast<std::int64_t>(n), nullptr});
  seeds_.resize(static_cast<std::size_t>(size_));
  seeds_.insert(seeds_.end(), seed.begin(), seed.end());
  size_ += static_cast<int>(n);
  finish();
}

bool DeviceBlock::place_drawn(std::uint32_t first, int count) {
  prepare(0);
  run(DrawLanes{context_, size_, first}, {count, nullptr});
  seeds_.resize(static_cast<std::size_t>(size_));
  for (int i = 0; i < count; ++i) seeds_.push_back(first + static_cast<std::uint32_t>(i));
  size_ += count;
  finish();
  return true;
}

void DeviceBlock::retain(std::span<std::uint8_t const> keep) {
  std::vector<std::int32_t> from;
  std::vector<std::int32_t> to;
  int const kept = fill_holes(keep, size_, from, to);
  if (!from.empty()) {
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

void DeviceBlock::test(Test test) {
  prepare(static_cast<std::uint64_t>(size_));
  switch (test) {
    case Test::kLabels:
      run(FindLanes{context_}, all());
      classify_marked();
      break;
    case Test::kPartner:
      probe();
      run(RecordProbed{context_}, all());
      break;
    case Test::kMargins:
      margins();
      run(RecordMargin{context_, margin_}, all());
      break;
  }
  finish();
}

void DeviceBlock::advance(SignStep const& how) {
  prepare(0);
  run(PairRows{context_, nullptr, nullptr, lanes_.partner, lanes_.stride}, all());
  gradients(how.gradient, all());
  run(AdvanceLanes{context_, {how.decay, how.step, how.sign}}, all());
  finish();
}

template <class MakeKernel>
void DeviceBlock::seek_by(std::uint32_t last, bool steps_last, MakeKernel const& make_kernel) {
  run_rounds(static_cast<int>(last), [&](int, int taken) {
    auto const until = static_cast<std::uint32_t>(taken);
    return make_kernel(SeekLimit{until, until < last || steps_last});
  });
  sought_ = true;
}

void DeviceBlock::seek(SignStep const& how, std::uint32_t last, bool steps_last) {
  seek_by(last, steps_last, [&](SeekLimit limit) -> RoundKernel {
    if (how.gradient.kind == GradientKind::kProbabilityDifference)
      return SeekBySigns<DifferenceTiles>{context_, how, limit};
    return SeekBySigns<GradientTiles>{context_, how, limit};
  });
}

void DeviceBlock::seek(NewtonStep const& how, std::uint32_t last, bool steps_last) {
  seek_by(last, steps_last, [&](SeekLimit limit) -> RoundKernel {
    return SeekBoundary{context_, margin_, how.reach, limit};
  });
}

void DeviceBlock::begin(WeightedStep const& how) {
  prepare(0);
  probe(true);
  run(MarkOrigins{context_}, all());
  if (!how.renews_always()) {
    run(PairRows{context_, nullptr, nullptr, lanes_.partner, lanes_.stride}, all());
    gradients(how.gradient, all());
    run(WeighLanes{context_, nullptr, how.epsilon, true, lanes_.stride}, all());
  }
  finish();
}

int DeviceBlock::rounds_at_once() const {
  return share_.evaluator.runs_rounds(GradientKind::kMargin) ? kMostRounds : 1;
}

int DeviceBlock::prepare_rounds(int rounds) {
  auto const lanes = static_cast<std::uint64_t>(size_);
  auto now = std::clamp<std::uint64_t>(kMostInserts / lanes, 1, static_cast<unsigned>(rounds));
  while (now > 1 && !share_.table.can_take(lanes * now)) now /= 2;
  prepare(lanes * now);
  return static_cast<int>(now);
}

void DeviceBlock::step(WeightedStep const& how, int rounds) {
  if (!share_.evaluator.runs_rounds(how.gradient.kind) || subject_.label_bits == 0) {
    for (int i = 0; i < rounds; ++i) local_round(how);
    return;
  }
  run_rounds(rounds, [&](int now, int) -> RoundKernel {
    auto const left = static_cast<std::uint16_t>(now);
    if (how.gradient.kind == GradientKind::kProbabilityDifference)
      return WeightedRounds<DifferenceTiles>{context_, how, left};
    return WeightedRounds<GradientTiles>{context_, how, left};
  });
}

void DeviceBlock::local_round(WeightedStep const& how) {
  prepare(static_cast<std::uint64_t>(size_));
  run(MarkDue{context_, how.update_interval, how.never_update}, all());
  if (!how.never_update) renew(how);
  run(StepLanes{context_, how.step}, all());
  classify_marked();
  run(SettleLanes{context_, !how.never_update}, all());
  finish();
}

void DeviceBlock::renew(WeightedStep const& step) {
  share_.device.compact(lanes_.mark, all(), lanes_.list, lanes_.counts);
  if (subject_.label_bits > 0) {
    run(DrawPartners{context_}, listed());
  } else {
    run(GatherRows{context_}, listed());
    evaluate(DrawPartnerTiles{lanes_.rows, 2 * lanes_.stride, lanes_.place_seed,
                              lanes_.place_iteration, phase_, share_.run_seed, lanes_.chosen,
                              lanes_.mark, lanes_.open, lanes_.counts + 1},
             listed());
  }
  run(PairRows{context_, lanes_.list, nullptr, lanes_.chosen, lanes_.stride}, listed());
  gradients(step.gradient, listed());
  run(WeighLanes{context_, lanes_.list, step.epsilon, false, lanes_.stride}, listed());
}

void DeviceBlock::begin(OddsStep const&) {
  prepare(0);
  run(MarkOrigins{context_}, all());  // what it says of hits and labels is not used
  finish();
}

void DeviceBlock::step(OddsStep const& how) {
  auto& device = share_.device;
  auto const movable = static_cast<std::size_t>(subject_.movable_count);
  prepare(static_cast<std::uint64_t>(size_));
  StepOdds const odds{lanes_.odds, lanes_.odds + movable};
  device.upload(lanes_.odds, how.odds.up_to, movable * sizeof(std::int32_t));
  device.upload(lanes_.odds + movable, how.odds.down, movable * sizeof(std::int32_t));
  device.zero(lanes_.events, kEventsPerAttribute * movable * sizeof(std::uint64_t));
  run(StepByOdds{context_, how.step, odds, margin_.move, margin_.move_step}, all());
  classify_marked();
  run(SettleByOdds{context_, how.acceptance, margin_.move, margin_.move_step, lanes_.events},
      all());
  std::vector<std::uint64_t> counted(kEventsPerAttribute * movable);
  device.download(counted.data(), lanes_.events, counted.size() * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < counted.size(); ++i) how.events[i] += counted[i];
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
T DeviceBlock::mirrored(Mirror<T>& mirror, T const* from, int lane) const {
  if (!mirror.fresh) {
    // A verb that changes how many lanes there are ends the mirror.
    mirror.values.resize(static_cast<std::size_t>(size_));
    share_.device.download(mirror.values.data(), from, mirror.values.size() * sizeof(T));
    mirror.fresh = true;
  }
  return mirror.values[static_cast<std::size_t>(lane)];
}

std::uint32_t DeviceBlock::iteration(int lane) const {
  if (sought_) return tests_in(mirrored(outcomes_, lanes_.outcome, lane));
  return mirrored(iterations_, lanes_.iteration, lane);
}

std::uint32_t DeviceBlock::renewals(int lane) const {
  return mirrored(renewals_, lanes_.renewals, lane);
}

bool DeviceBlock::hit(int lane) const {
  if (sought_) return hit_in(mirrored(outcomes_, lanes_.outcome, lane));
  return mirrored(hits_, lanes_.hit, lane) != 0;
}

void DeviceBlock::fetch_rows(Mirror<std::int32_t>& mirror,
                             std::vector<std::int32_t> const& list) const {
  auto const n = list.size();
  auto const columns = static_cast<std::size_t>(subject_.columns);
  auto& device = share_.device;
  device.upload(lanes_.list, list.data(), n * sizeof(std::int32_t));
  device.run(PackRows{context_, lanes_.list, lanes_.rows}, {static_cast<std::int64_t>(n), nullptr});
  std::vector<std::int32_t> packed(n * columns);
  device.download(packed.data(), lanes_.rows, packed.size() * sizeof(std::int32_t));
  mirror.values.resize(static_cast<std::size_t>(size_) * columns);
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(&packed[i * columns], columns,
                &mirror.values[static_cast<std::size_t>(list[i]) * columns]);
  }
  mirror.fresh = true;
}

void DeviceBlock::row(int lane, std::int32_t* row) const {
  bool const of_hit = sought_ && hit(lane);
  auto& mirror = of_hit ? hit_rows_ : rows_;
  if (!mirror.fresh) {
    std::vector<std::int32_t> list;
    for (int i = 0; i < size_; ++i) {
      if (!of_hit || hit(i)) list.push_back(i);
    }
    fetch_rows(mirror, list);
  }
  auto const columns = static_cast<std::size_t>(subject_.columns);
  std::int32_t const* const codes = &mirror.values[static_cast<std::size_t>(lane) * columns];
  auto const& attribute_of = share_.packed.attribute_of();
  for (int c = 0; c < subject_.columns; ++c)
    row[attribute_of[static_cast<std::size_t>(c)]] = share_.packed.code_at(c, codes[c]);
}

}  // namespace fairlane
