// The local phase of AEQUITAS: populations of origins, one after the other. All lanes of a
// population step together, and after every step the probabilities of the next one follow what all
// of them met. A population is a number of origins, whatever the blocks, threads and devices that
// share it, and so are the results.
#include "engine/search/lockstep/lockstep_search.h"

#include <algorithm>

namespace fairlane {

LockstepSearch::Population LockstepSearch::make_population(std::int64_t lanes) {
  // With fewer lanes for each, workers would rather wait for each other than work.
  constexpr std::int64_t kLeastShare = 32;
  std::int64_t const all = backend_.concurrency();
  Population made;
  std::int64_t workers = std::clamp<std::int64_t>(lanes / kLeastShare, 1, all);
  int const wanted = backend_.block_lanes((lanes + workers - 1) / workers * all);
  std::int64_t room = 0;
  auto const add = [&] {
    made.blocks.push_back(backend_.make_block(wanted, Phase::kLocal));
    room += made.blocks.back()->capacity();
  };
  for (std::int64_t i = 0; i < workers; ++i) add();
  // Several blocks for each: a backend deals them to its devices in turn, and a device serves one
  // worker at a time.
  if (room < lanes && workers > 1) workers = all;
  while (room < lanes) add();
  made.workers = static_cast<int>(workers);
  made.events.resize(static_cast<std::size_t>(made.workers),
                     std::vector<std::uint64_t>(adaptation_->share().size() * kEventsPerAttribute));
  return made;
}

void LockstepSearch::learn(Population& population) {
  auto& sum = population.events.front();
  for (std::size_t w = 1; w < population.events.size(); ++w) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += population.events[w][i];
    std::fill(population.events[w].begin(), population.events[w].end(), 0);
  }
  population.adaptation->learn(sum);
  std::fill(sum.begin(), sum.end(), 0);
}

void LockstepSearch::adaptive_worker(Population& population, int worker, std::int64_t begin,
                                     std::int64_t end, std::int64_t steps) {
  auto const width = static_cast<std::size_t>(attributes_);
  auto step = std::get<OddsStep>(method_.local_step(method_, config_));
  auto const blocks = population.blocks.size();
  step.events = population.events[static_cast<std::size_t>(worker)].data();
  std::vector<LaneBlock*> mine;
  for (std::int64_t first = begin; first < end; first += config_.aequitas.lanes) {
    std::int64_t const last = std::min(end, first + config_.aequitas.lanes);
    mine.clear();
    std::int64_t at = first;
    for (std::size_t b = 0; b < blocks && at < last; ++b) {
      auto& block = *population.blocks[b];
      auto const n = static_cast<std::size_t>(std::min<std::int64_t>(block.capacity(), last - at));
      auto const from = static_cast<std::size_t>(at);
      at += static_cast<std::int64_t>(n);
      if (static_cast<int>(b) % population.workers != worker) continue;
      block.place({origins_.seed.data() + from, n}, origins_.rows.data() + from * width);
      block.begin(step);
      mine.push_back(&block);
    }
    for (std::int64_t i = 1; i <= steps; ++i) {
      if (workers_.failed()) throw Error(ExitCode::kStopped, "another worker has failed");
      step.odds = population.adaptation->odds();
      for (auto* const block : mine) block->step(step);
      workers_.rest([&] {
        learn(population);
        report(0, last - first);
        for (std::int64_t origin = first; origin < last; ++origin) note_steps(origin, i, 0);
        if (i == steps) end_population(population, first, last);
        population.over = population.over || job_.late() || job_.stopped();
      });
      if (population.over) return;
    }
    for (auto* const block : mine)
      block->retain(std::vector<std::uint8_t>(static_cast<std::size_t>(block->size())));
  }
}

void LockstepSearch::end_population(Population const& population, std::int64_t first,
                                    std::int64_t last) {
  adaptation_ = population.adaptation;
  std::fill(local_done_.begin() + first, local_done_.begin() + last, std::uint8_t{1});
  report(last - first, 0);
  if (job_.due()) job_.save_on_the_way();
}

void LockstepSearch::adaptive_local(std::int64_t begin, std::int64_t end, std::int64_t steps) {
  Population population = make_population(std::min(end - begin, config_.aequitas.lanes));
  population.adaptation = adaptation_;
  workers_.run(population.workers,
               [&](int worker) { adaptive_worker(population, worker, begin, end, steps); });
  job_.check_stop();
}

}  // namespace fairlane
