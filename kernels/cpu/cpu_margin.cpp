// The margin method's verbs of a CPU block.

#include <algorithm>

#include "kernels/cpu/cpu_block.h"

namespace fairlane {

void CpuBlock::margins() {
  kernels_.margins(subject_, lanes_.x, lanes_.stride, size_, scratch_.get(), margin_.probe);
}

void CpuBlock::advance(NewtonStep const& how) {
  all_gradients({GradientKind::kMargin, 1.0F}, margin_.probe.low, margin_.probe.high);
  run(NewtonLanes{context_, margin_, how.reach, size_}, size_);
}

void CpuBlock::begin(MarginStep const&) {
  margins();
  run(BeginMargin{context_, margin_}, size_);
  renew_margin(false);
}

void CpuBlock::renew_margin(bool counts) {
  listed_ = list_marked(size_, lanes_.list);
  if (listed_ == 0) return;
  gather(listed_);
  run(PairSides{context_, margin_}, listed_);
  pair_gradients({GradientKind::kMargin, 1.0F}, listed_, lanes_.chosen, lanes_.second);
  run(RenewMargin{context_, margin_, counts, listed_}, listed_);
}

void CpuBlock::step(MarginStep const& how, int rounds) {
  for (int i = 0; i < rounds; ++i) local_round(how);
}

void CpuBlock::local_round(MarginStep const& how) {
  run(MarkStale{context_, margin_}, size_);
  draw();
  renew_margin(true);
  run([c = context_, m = margin_, step = how.step, first = random_.row(0), second = random_.row(1)](
          long lane) { move_margin(c, m, lane, step, first[lane], second[lane]); },
      size_);
  margins();
  run([c = context_, m = margin_](long lane) { note_margins(c, m.probe, lane, lane); }, size_);
  record_probed();
  run([c = context_, m = margin_](long lane) { settle_margin(c, m, m.probe, lane, lane); }, size_);
  // A miss goes back, and then every row is where its lane's next miss returns
  // to.
  kernels_.restore(lanes_.origin, lanes_.x, subject_.columns, lanes_.stride, size_, lanes_.hit);
  for (int c = 0; c < subject_.columns; ++c)
    std::copy_n(lanes_.x + c * lanes_.stride, size_, lanes_.origin + c * lanes_.stride);
}

void CpuBlock::begin(LatticeStep const& how) {
  margins();
  run(BeginLattice{context_, margin_.probe, lattice_}, size_);
  if (how.gradients) {
    all_gradients({GradientKind::kMargin, 1.0F}, lattice_.side_a, lattice_.side_b);
  } else {
    std::fill_n(lanes_.gradient, subject_.columns * 2 * lanes_.stride, 0.0F);
  }
  trials_ = how.table.trials;
  kernels_.plan_trials(subject_, how.table, plan_lanes(context_, lattice_, size_), size_,
                       columns_.data());
  trial_ = 0;
}

void CpuBlock::step(LatticeStep const& how, int rounds) {
  auto const& probe = margin_.probe;
  for (int i = 0; i < rounds; ++i) {
    int const t = trial_++;
    run(TryMove{context_, lattice_, how.table.draws, t}, size_);
    kernels_.pair_margins(subject_, lanes_.x, lanes_.stride, size_, scratch_.get(),
                          {lattice_.side_a, lattice_.side_b}, probe);
    run([c = context_, &probe, l = lattice_, t](long lane) { note_trial(c, probe, l, t, lane); },
        size_);
    record_marked();
    run([c = context_](long lane) { c.return_key(lane); }, size_);
    for (int c = 0; c < subject_.columns; ++c)
      std::copy_n(lanes_.origin + c * lanes_.stride, size_, lanes_.x + c * lanes_.stride);
  }
}

void CpuBlock::trials(std::uint32_t* words, std::uint32_t* hashes, std::size_t stride) const {
  for (int t = 0; t < trials_; ++t) {
    std::size_t const at = static_cast<std::size_t>(t) * stride;
    std::copy_n(lattice_.trial + t * lattice_.stride, size_, words + at);
    std::copy_n(lattice_.trial_hash + t * lattice_.stride, size_, hashes + at);
  }
}

}  // namespace fairlane
