// The margin method's verbs of a block on a device.

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
  if (!share_.evaluator.runs_rounds()) {
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

}  // namespace fairlane
