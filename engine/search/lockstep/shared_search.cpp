// A search that ranks share: seeds, origins and the lanes of a wave are dealt out by their numbers,
// and what became of them is told to all, who go on alike. What they visited stays where it was
// visited.
#include <algorithm>

#include "engine/ranks/packed.h"
#include "engine/search/lockstep/lockstep_search.h"

namespace fairlane {
namespace {

constexpr std::int64_t kPieces = 16;  // of each rank, so that all have some of every kind
constexpr std::int64_t kMostTogether = 1024;

}  // namespace

std::vector<WorkList::Range> LockstepSearch::ranges_of(int rank, std::int64_t begin,
                                                       std::int64_t end) const {
  std::int64_t const together =
      std::clamp<std::int64_t>((end - begin) / (std::int64_t{ranks()} * kPieces), 1, kMostTogether);
  std::vector<WorkList::Range> ranges;
  for (std::int64_t at = begin + rank * together; at < end; at += ranks() * together)
    ranges.push_back({at, std::min(together, end - at)});
  return ranges;
}

std::vector<WorkList::Range> LockstepSearch::wave_ranges_of(int rank, Wave const& wave) const {
  // An equal part of its starts, and one of its origins.
  auto const part = [&](std::int64_t begin, std::int64_t end) {
    std::int64_t const from = begin + (end - begin) * rank / ranks();
    return WorkList::Range{from, begin + (end - begin) * (rank + 1) / ranks() - from};
  };
  return {part(0, wave.starts), part(wave.starts, wave.count())};
}

void LockstepSearch::leave_to_others(std::vector<std::uint8_t>& done, std::int64_t begin,
                                     std::int64_t end) const {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank == options_.ranks->rank()) continue;
    for (auto const& range : ranges_of(rank, begin, end))
      std::fill_n(done.begin() + range.first, range.count, std::uint8_t{1});
  }
}

void LockstepSearch::share_threads() {
  threads_of_all_ = backend_.concurrency();
  if (ranks() == 1) return;
  threads_of_all_ = 0;
  for (auto const& text : options_.ranks->gather_on_all(std::to_string(backend_.concurrency())))
    threads_of_all_ += std::stoi(text);
}

void LockstepSearch::share_seeds() {
  if (ranks() == 1) return;
  auto const width = static_cast<std::size_t>(attributes_);
  auto const count = static_cast<std::int64_t>(result_.global.size());
  auto const each_seed = [&](int rank, auto const& each) {
    for (auto const& range : ranges_of(rank, 0, count)) {
      for (std::int64_t s = range.first; s < range.first + range.count; ++s)
        each(static_cast<std::size_t>(s));
    }
  };
  std::vector<std::uint32_t> outcomes;  // iterations, and whether an IDI was found
  std::vector<std::int32_t> last_rows;
  each_seed(options_.ranks->rank(), [&](std::size_t s) {
    outcomes.push_back(result_.global[s].iterations);
    outcomes.push_back(result_.global[s].found ? 1 : 0);
    if (!options_.trace) return;
    auto const* const row = &result_.last_rows[s * width];
    last_rows.insert(last_rows.end(), row, row + width);
  });
  GlobalHits own;
  for (GlobalHits const& hits : hits_) {
    own.seed.insert(own.seed.end(), hits.seed.begin(), hits.seed.end());
    own.rows.insert(own.rows.end(), hits.rows.begin(), hits.rows.end());
  }
  hits_.clear();
  auto const all = options_.ranks->gather_on_all(
      Packer().add(outcomes).add(last_rows).add(own.seed).add(own.rows).bytes());
  for (int rank = 0; rank < ranks(); ++rank) {
    Unpacker from(all[static_cast<std::size_t>(rank)]);
    auto const theirs = from.take<std::uint32_t>();
    auto const rows = from.take<std::int32_t>();
    std::size_t at = 0;
    each_seed(rank, [&](std::size_t s) {
      result_.global[s] = {theirs.at(2 * at + 1) != 0, theirs.at(2 * at)};
      if (options_.trace) std::copy_n(&rows.at(at * width), width, &result_.last_rows[s * width]);
      ++at;
    });
    GlobalHits hits;
    hits.seed = from.take<std::uint32_t>();
    hits.rows = from.take<std::int32_t>();
    hits_.push_back(std::move(hits));
  }
}

void LockstepSearch::share_origins(std::int64_t begin, std::int64_t end) {
  if (ranks() == 1) return;
  auto const each_origin = [&](int rank, auto const& each) {
    for (auto const& range : ranges_of(rank, begin, end)) {
      for (std::int64_t i = range.first; i < range.first + range.count; ++i)
        each(static_cast<std::size_t>(i));
    }
  };
  std::vector<std::uint32_t> own;  // steps and renewals
  each_origin(options_.ranks->rank(), [&](std::size_t i) {
    own.push_back(steps_[i]);
    own.push_back(renewals_[i]);
  });
  auto const all = options_.ranks->gather_on_all(Packer().add(own).bytes());
  for (int rank = 0; rank < ranks(); ++rank) {
    auto const theirs = Unpacker(all[static_cast<std::size_t>(rank)]).take<std::uint32_t>();
    std::size_t at = 0;
    each_origin(rank, [&](std::size_t i) {
      steps_[i] = theirs.at(at++);
      renewals_[i] = theirs.at(at++);
    });
  }
}

void LockstepSearch::share_wave(Wave const& wave, WaveResults& results) {
  if (ranks() == 1) return;
  auto const width = static_cast<std::size_t>(attributes_);
  auto const origins = wave.kinds.size();
  // Calls start(i) and origin(i) for those of a rank.
  auto const each_lane = [&](int rank, auto const& start, auto const& origin) {
    for (auto const& range : wave_ranges_of(rank, wave)) {
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        if (i < wave.starts) {
          start(static_cast<std::size_t>(i));
        } else {
          origin(static_cast<std::size_t>(i - wave.starts));
        }
      }
    }
  };
  auto const trials = static_cast<std::size_t>(results.trials);
  WaveResults own;
  each_lane(
      options_.ranks->rank(),
      [&](std::size_t i) {
        own.hit.push_back(results.hit[i]);
        auto const* const row = &results.rows[i * width];
        own.rows.insert(own.rows.end(), row, row + width);
      },
      [&](std::size_t i) {
        for (std::size_t t = 0; t < trials; ++t) {
          own.words.push_back(results.words[t * origins + i]);
          own.hashes.push_back(results.hashes[t * origins + i]);
        }
      });
  auto const all = options_.ranks->gather_on_all(
      Packer().add(own.hit).add(own.rows).add(own.words).add(own.hashes).bytes());
  for (int rank = 0; rank < ranks(); ++rank) {
    Unpacker from(all[static_cast<std::size_t>(rank)]);
    auto const hit = from.take<std::uint8_t>();
    auto const rows = from.take<std::int32_t>();
    auto const words = from.take<std::uint32_t>();
    auto const hashes = from.take<std::uint32_t>();
    std::size_t start = 0;
    std::size_t trial = 0;
    each_lane(
        rank,
        [&](std::size_t i) {
          results.hit[i] = hit.at(start);
          std::copy_n(&rows.at(start * width), width, &results.rows[i * width]);
          ++start;
        },
        [&](std::size_t i) {
          for (std::size_t t = 0; t < trials; ++t, ++trial) {
            results.words[t * origins + i] = words.at(trial);
            results.hashes[t * origins + i] = hashes.at(trial);
          }
        });
  }
}

}  // namespace fairlane
