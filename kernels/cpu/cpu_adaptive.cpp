// The local phase of AEQUITAS in a CPU block.

#include "kernels/cpu/cpu_block.h"

namespace fairlane {

void CpuBlock::begin(OddsStep const&) {
  run(MarkOrigins{context_},
      size_);  // what it says of hits and labels is not used
}

void CpuBlock::step(OddsStep const& how) {
  LaneContext const c = context_;
  std::int32_t* const choice = margin_.move;
  std::int32_t* const moved = margin_.move_step;
  count_iteration();
  draw();
  {
    auto const round = record_.round(static_cast<std::uint64_t>(size_));
    kernels_.perturb_by_odds(subject_, how.step, how.odds, random_.data(), lanes_.x, lanes_.stride,
                             size_, choice, moved);
    for (long i = 0; i < size_; ++i) c.move_key(i, subject_.movable[choice[i] / 2], moved[i]);
    look_up(*round);
  }
  flush_overflow();
  for (long i = 0; i < size_; ++i) {
    ++how.events[event_of(choice[i], lanes_.hit[i] != 0)];
    settle_by_odds(c, i, how.acceptance, choice[i], moved[i], random_(2, i));
  }
}

}  // namespace fairlane
