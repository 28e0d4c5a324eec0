// The margin method's verbs of a block on a device.

#include <utility>

#include "kernels/device/device_block.h"

namespace fairlane {

void DeviceBlock::margins(bool exact) {
  evaluate(MarginTiles{lanes_.x, lanes_.stride, margin_.probe, exact}, all());
}

void DeviceBlock::advance(NewtonStep const& how) {
  prepare(0);
  run(PairRows{context_, nullptr, margin_.probe.low, margin_.probe.high, lanes_.stride}, all());
  gradients({GradientKind::kMargin, 1.0F}, all());
  run(NewtonLanes{context_, margin_, how.reach, lanes_.stride}, all());
  finish();
}

void DeviceBlock::begin(MarginStep const&) {
  prepare(0);
  margins(true);
  run(BeginMargin{context_, margin_}, all());
  renew_margin(false);
  finish();
}

void DeviceBlock::renew_margin(bool counts) {
  share_.device.compact(lanes_.mark, all(), lanes_.list, lanes_.counts);
  run(PairSides{context_, margin_}, listed());
  run(PairRows{context_, lanes_.list, lanes_.chosen, lanes_.second, lanes_.stride}, listed());
  gradients({GradientKind::kMargin, 1.0F}, listed());
  run(RenewMargin{context_, margin_, counts, lanes_.stride}, listed());
}

void DeviceBlock::step(MarginStep const& how, int rounds) {
  if (!share_.evaluator.runs_rounds(GradientKind::kMargin)) {
    for (int i = 0; i < rounds; ++i) local_round(how);
    return;
  }
  run_rounds(rounds, [&](int now, int) {
    return MarginRounds{context_, margin_, how.step, static_cast<std::uint16_t>(now)};
  });
}

void DeviceBlock::local_round(MarginStep const& how) {
  prepare(static_cast<std::uint64_t>(size_));
  run(MarkStale{context_, margin_}, all());
  renew_margin(true);
  run(MoveMargin{context_, margin_, how.step}, all());
  margins();
  run(SettleMargin{context_, margin_}, all());
  finish();
}

void DeviceBlock::upload(LatticeStep const& how) {
  if (moves_.version == how.version) return;
  auto& device = share_.device;
  MoveTable const& table = how.table;
  auto const draws = static_cast<std::size_t>(table.count);
  if (moves_.draws.size() < draws) moves_.draws = DeviceArray<MoveDraw>(device, draws);
  if (moves_.rates.size() == 0) moves_.rates = DeviceArray<float>(device, kLookupValues);
  float* const rates = moves_.rates.data();
  device.upload(moves_.draws.data(), table.draws, draws * sizeof(MoveDraw));
  device.upload(rates, table.rate, kLookupValues * sizeof(float));
  upload_tested(how);
  moves_.version = how.version;
  moves_.table = {moves_.draws.data(),
                  table.count,
                  rates,
                  {moves_.tested.data(), table.tested.log2_bits},
                  table.trials};
}

void DeviceBlock::upload_tested(LatticeStep const& how) {
  auto& device = share_.device;
  TestedGroups const& tested = how.table.tested;
  auto const words = std::size_t{1} << (tested.log2_bits - 6);
  std::size_t const added = how.added.size();
  bool const follows = how.grows && moves_.version + 1 == how.version;
  if (moves_.tested.size() != words || !follows) {
    moves_.version = 0;  // until they are there, whatever fails on the way
    if (moves_.tested.size() != words) moves_.tested = DeviceArray<std::uint64_t>(device, words);
    device.upload(moves_.tested.data(), tested.bits, words * sizeof(std::uint64_t));
    return;
  }
  if (moves_.added.size() < added) moves_.added = DeviceArray<std::uint32_t>(device, added);
  device.upload(moves_.added.data(), how.added.data(), added * sizeof(std::uint32_t));
  run(MarkTested{moves_.tested.data(), moves_.added.data()},
      {static_cast<std::int64_t>(added), nullptr});
}

void DeviceBlock::begin(LatticeStep const& how) {
  upload(how);
  lattice_.stride = padded(size_);  // so that all tests are one piece
  prepare(0);
  margins(true);
  run(BeginLattice{context_, margin_.probe, lattice_}, all());
  if (how.gradients) {
    run(PairRows{context_, nullptr, lattice_.side_a, lattice_.side_b, lanes_.stride}, all());
    gradients({GradientKind::kMargin, 1.0F}, all());
  } else {
    share_.device.zero(lanes_.gradient, sizeof(float) * static_cast<std::size_t>(subject_.columns) *
                                            2 * static_cast<std::size_t>(lanes_.stride));
  }
  trials_ = how.table.trials;
  run(PlanLattice{context_, lattice_, moves_.table, lanes_.stride}, all());
  trial_ = 0;
  finish();
}

void DeviceBlock::step(LatticeStep const&, int rounds) {
  if (share_.evaluator.runs_rounds(GradientKind::kMargin)) {
    run_rounds(rounds, [&](int now, int) {
      int const first = std::exchange(trial_, trial_ + now);
      return LatticeRounds{context_, margin_, lattice_, moves_.table.draws, first, trial_};
    });
    return;
  }
  for (int i = 0; i < rounds; ++i) {
    int const t = trial_++;
    prepare(static_cast<std::uint64_t>(size_));
    run(TryMove{context_, lattice_, moves_.table.draws, t}, all());
    evaluate(
        PairMarginTiles{lanes_.x, lanes_.stride, {lattice_.side_a, lattice_.side_b}, margin_.probe},
        all());
    run(SettleTrial{context_, margin_.probe, lattice_, t}, all());
    finish();
  }
}

void DeviceBlock::trials(std::uint32_t* words, std::uint32_t* hashes, std::size_t stride) const {
  auto const n = static_cast<std::size_t>(size_);
  auto const from_stride = static_cast<std::size_t>(lattice_.stride);
  auto const tests = static_cast<std::size_t>(trials_);
  std::vector<std::uint32_t> all_words(tests * from_stride);
  std::vector<std::uint32_t> all_hashes(all_words.size());
  share_.device.download(all_words.data(), lattice_.trial,
                         all_words.size() * sizeof(std::uint32_t));
  share_.device.download(all_hashes.data(), lattice_.trial_hash,
                         all_hashes.size() * sizeof(std::uint32_t));
  for (std::size_t t = 0; t < tests; ++t) {
    std::copy_n(&all_words[t * from_stride], n, words + t * stride);
    std::copy_n(&all_hashes[t * from_stride], n, hashes + t * stride);
  }
}

}  // namespace fairlane
