// The local phase of AEQUITAS in a CPU block: draws by odds, steps, and which of them are taken.

#include <algorithm>

#include "kernels/cpu/cpu_block.h"
#include "kernels/cpu/wide_visit_table.h"

namespace fairlane {

template <class Table>
void CpuBlock<Table>::begin_adaptive() {
  for (int c = 0; c < subject_.columns; ++c) std::copy_n(x_.row(c), size_, origin_.row(c));
  for (int w = 0; w < words_; ++w) std::copy_n(key_.row(w), size_, origin_key_.row(w));
}

template <class Table>
void CpuBlock<Table>::step_adaptive(AdaptiveStep const& step, std::uint64_t* events) {
  for (long i = 0; i < size_; ++i) ++iteration_[i];
  kernels_.random_words(seed_.data(), phase_, iteration_.data(), 0, run_seed_, size_,
                        random_.data(), stride_);
  {
    typename Table::Use use(table_, static_cast<std::uint64_t>(size_));
    kernels_.perturb_by_odds(subject_, step.step, step.odds, random_.data(), x_.data(), stride_,
                             size_, choice_.data(), moved_.data());
    for (long i = 0; i < size_; ++i) move_key(i, choice_[i] / 2, moved_[i]);
    look_up(use);
  }
  flush_overflow();
  settle_adaptive(step.acceptance, events);
}

template <class Table>
void CpuBlock<Table>::settle_adaptive(Acceptance acceptance, std::uint64_t* events) {
  for (long i = 0; i < size_; ++i) {
    bool const hit = hit_[i] != 0;
    ++events[event_of(choice_[i], hit)];
    if (accepts_step(acceptance, hit, streak_[i] == 0, random_(2, i))) {
      streak_[i] = hit ? 0 : streak_[i] + 1;
    } else if (acceptance == Acceptance::kReset) {
      for (int c = 0; c < subject_.columns; ++c) x_(c, i) = origin_(c, i);
      for (int w = 0; w < words_; ++w) key_(w, i) = origin_key_(w, i);
    } else {
      x_(subject_.movable[choice_[i] / 2], i) -= moved_[i];
      move_key(i, choice_[i] / 2, -std::int64_t{moved_[i]});
    }
  }
}

template class CpuBlock<VisitTable>;
template class CpuBlock<WideVisitTable>;

}  // namespace fairlane
