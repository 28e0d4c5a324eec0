#include "engine/count/walk_skip.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/stopwatch.h"
#include "base/threads/workers.h"
#include "kernels/core/philox.h"
#include "kernels/walker.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostDescents = 512;
constexpr std::int64_t kLeastDescents = 16;  // fewer tell nothing
constexpr double kLeastGain = 0.03;          // of the time, or the levels are left alone
constexpr double kAlmostFree = 0.005;        // a test's share of the time to evaluate the box
// A guess, before anything is measured: whether a descent is affordable at all.
constexpr double kMacsPerSecond = 4.0e9;
// Boxes of fewer heads are not tried: walkers evaluate so many at once.
constexpr int kLeastLevel = 6;
static_assert(1 << kLeastLevel == kHeadsPerWord);

// Of looks: members that are evaluated each way at once.
constexpr std::int64_t kSampleMembers = 1 << 14;
constexpr std::int64_t kMostSamples = 64;
constexpr std::int64_t kLeastSamples = 3;  // fewer tell nothing
constexpr double kLeastLookGain = 0.05;

/// A head of [begin, end) for a descent, or a range's.
std::int64_t draw_head(std::int64_t descent, std::int64_t begin, std::int64_t end,
                       std::uint32_t draw = 0) {
  auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(descent),
                                        static_cast<std::uint32_t>(Phase::kPilot), draw, 0, 0);
  std::uint64_t const word = static_cast<std::uint64_t>(words.w[0]) << 32 | words.w[1];
  return begin + static_cast<std::int64_t>(word % static_cast<std::uint64_t>(end - begin));
}

}  // namespace

SkipChoice choose_levels(std::vector<LevelSample> const& samples, std::int64_t descents,
                         double walk_seconds) {
  // From large boxes to small ones: least seconds per head of all tests down to a level that is
  // tried, and the level tried before it. A box inside a proven one counts as proven, whatever
  // levels are tried.
  struct Best {
    double seconds = 0.0;
    double open = 1.0;  // share of the heads that is not proven
    std::size_t before = 0;
    bool tried = false;
  };
  std::size_t const levels = samples.size();
  std::vector<Best> best(levels);
  std::int64_t proven = 0;
  SkipChoice choice{0, walk_seconds};
  double least = walk_seconds * (1.0 - kLeastGain);
  std::size_t last = levels;
  for (std::size_t i = levels; i-- > 0;) {
    auto const& sample = samples[i];
    if (sample.tested == 0) continue;
    proven += sample.proven;
    auto const tested = static_cast<double>(sample.tested);
    double const test = sample.seconds / tested * sample.share / tested;  // per head that is open
    Best here{test, 1.0 - static_cast<double>(proven) / static_cast<double>(descents), levels,
              true};
    for (std::size_t j = i + 1; j < levels; ++j) {
      if (!best[j].tried) continue;
      double const seconds = best[j].seconds + best[j].open * test;
      if (seconds < here.seconds) {
        here.seconds = seconds;
        here.before = j;
      }
    }
    best[i] = here;
    double const all = here.seconds + here.open * walk_seconds;
    if (all < least) {
      least = all;
      last = i;
      choice.seconds_per_head = all;
    }
  }
  for (; last < levels; last = best[last].before) choice.levels |= LevelSet{1} << last;
  if (choice.levels == 0) return choice;
  // What a sample is too small to show: where large boxes are open, parts of them may still be
  // proven, almost for free.
  double seconds = 0.0;
  double tested = 0.0;
  for (auto const& sample : samples) {
    seconds += sample.seconds;
    tested += static_cast<double>(sample.tested);
  }
  for (std::size_t i = 0; i < levels; ++i) {
    double const test = seconds / tested / static_cast<double>(std::int64_t{1} << i);
    if (test <= kAlmostFree * walk_seconds) choice.levels |= LevelSet{1} << i;
  }
  return choice;
}

SkipChoice pilot_skipping(BoundedNetwork const& network, float threshold, WalkTree const& tree,
                          std::int64_t begin, std::int64_t end, int threads, double walk_seconds,
                          double budget) {
  SkipChoice const none{0, walk_seconds};
  int const levels = level_of(tree.heads(tree.root())) + 1;
  double const guess = network.macs() / kMacsPerSecond * levels;
  if (guess * kLeastDescents > budget * threads) return none;
  Stopwatch const start;
  std::vector<LevelSample> samples(static_cast<std::size_t>(levels));
  std::int64_t descents = 0;
  std::atomic<std::int64_t> next{0};
  Workers workers;
  std::mutex lock;
  workers.run(threads, [&](int) {
    NodeProver prover(network, threshold, tree);
    std::vector<LevelSample> own;
    while (!workers.failed()) {
      std::int64_t const descent = next.fetch_add(1);
      if (descent >= kMostDescents || start.seconds() > budget) return;
      std::int64_t const head = draw_head(descent, begin, end);
      own.assign(samples.size(), {});
      WalkNode node = tree.root();
      for (int above = levels;;) {
        std::int64_t const heads = tree.heads(node);
        int const level = level_of(heads);
        if (level < kLeastLevel) break;
        if (level < above && node.first >= begin && node.first + heads <= end) {
          Stopwatch const from;
          bool const proven = prover.common_label(node).has_value();
          own[static_cast<std::size_t>(level)] = {1, proven ? 1 : 0, from.seconds(),
                                                  1.0 / static_cast<double>(heads)};
          if (proven) break;
        }
        above = level;
        WalkNode low;
        WalkNode high;
        if (!tree.split(node, low, high)) break;
        node = head < high.first ? low : high;
      }
      std::lock_guard const guard(lock);
      ++descents;
      for (std::size_t l = 0; l < own.size(); ++l) {
        samples[l].tested += own[l].tested;
        samples[l].proven += own[l].proven;
        samples[l].seconds += own[l].seconds;
        samples[l].share += own[l].share;
      }
    }
  });
  return descents < kLeastDescents ? none : choose_levels(samples, descents, walk_seconds);
}

LookChoice pilot_looks(Walker& walker, std::int64_t begin, std::int64_t end, double walk_seconds,
                       double budget) {
  constexpr Walker::Look kLooks[] = {{false, 1}, {true, 1}, {false, 2}, {true, 2}};
  constexpr std::size_t kWays = std::size(kLooks) + 1;
  Walk const& walk = walker.plan().get();
  std::int64_t const affordable =
      static_cast<std::int64_t>(budget / (kLeastSamples * kWays) / walk_seconds);
  std::int64_t const enough = std::max<std::int64_t>(kSampleMembers / walk.members, kHeadsPerWord);
  std::int64_t const heads =
      std::min({end - begin, affordable, enough}) / kHeadsPerWord * kHeadsPerWord;
  if (!walker.proves() || heads == 0) return {};
  std::vector<std::uint64_t> mixed(static_cast<std::size_t>(walk.groups * head_words(heads)));
  std::vector<std::uint64_t> counters(static_cast<std::size_t>(walker.plan().counters().size()));
  double plain = 0.0;
  double seconds[std::size(kLooks)] = {};
  Stopwatch const start;
  for (std::int64_t sample = 0;
       sample < kMostSamples && (sample < kLeastSamples || start.seconds() < budget); ++sample) {
    std::int64_t const head = draw_head(sample, begin, end - heads + 1, 1);
    double before = start.seconds();
    auto const lap = [&] {
      double const now = start.seconds();
      return now - std::exchange(before, now);
    };
    walker.count(head, heads, mixed.data(), counters.data());
    plain += lap();
    for (std::size_t i = 0; i < std::size(kLooks); ++i) {
      walker.try_open(head, heads, kLooks[i]);
      seconds[i] += lap();
    }
  }
  LookChoice choice;
  for (std::size_t i = 0; i < std::size(kLooks); ++i) {
    double const share = seconds[i] / plain;
    if (share < std::min(choice.share, 1.0 - kLeastLookGain)) choice = {kLooks[i], share};
  }
  return choice;
}

}  // namespace fairlane
