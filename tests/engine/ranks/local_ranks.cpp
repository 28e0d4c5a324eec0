#include "tests/engine/ranks/local_ranks.h"

#include <thread>

namespace fairlane {

std::vector<RankEnd> run_ranks(int size, std::function<void(Ranks&)> const& work) {
  LocalRanks all(size);
  std::vector<RankEnd> ends(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto const link = all.link(rank);
      Ranks ranks(*link);
      try {
        work(ranks);
      } catch (Error const& error) {
        ends[static_cast<std::size_t>(rank)] = {error.code(), error.what(), ranks.echoes()};
        if (!ranks.echoes()) ranks.tell_failure(error.code(), false, error.what());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int rank = 0; rank < size; ++rank)
    ends[static_cast<std::size_t>(rank)].sent = all.sent(rank);
  return ends;
}

}  // namespace fairlane
