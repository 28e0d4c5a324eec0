#include "engine/search/genetic/grft_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/core/labels.h"

namespace fairlane {
namespace {

// The authors' program has these numbers in its code.
constexpr std::size_t kFirstMoved = 2;       // attributes in which a first population differs
constexpr std::int32_t kFirstReach = 5;      // how far at most
constexpr std::size_t kMutated = 3;          // attributes of a mutation
constexpr std::int32_t kMutationReach = 3;   // how far at most
constexpr std::uint32_t kFittest = 10;       // ranks that tournaments are drawn among
constexpr std::size_t kTournamentRanks = 3;  // ranks of a tournament
constexpr std::uint32_t kBlockBits = 16;     // of draws, within those of an individual
constexpr std::uint32_t kStepsOfAll = 0;     // lane of the local phase's draws

/// Random words of an individual, or of a step, one after the other.
class GrftWords {
 public:
  GrftWords(std::uint32_t lane, Phase phase, std::uint32_t iteration, std::uint32_t individual,
            std::uint64_t run_seed)
      : lane_(lane),
        phase_(static_cast<std::uint32_t>(phase)),
        iteration_(iteration),
        block_(individual << kBlockBits),
        run_seed_(run_seed) {}

  std::uint32_t below(std::uint32_t count) { return fairlane::below<ScalarPack>(next(), count); }
  /// An integer in [-reach, reach].
  std::int32_t within(std::int32_t reach) {
    return static_cast<std::int32_t>(below(static_cast<std::uint32_t>(2 * reach + 1))) - reach;
  }
  bool coin() { return below(2) == 0; }
  /// `size` distinct numbers below `count`, all of them where there are fewer; ascending.
  std::vector<std::size_t> distinct(std::size_t size, std::size_t count) {
    std::vector<std::size_t> chosen;
    while (chosen.size() < std::min(size, count)) {
      std::size_t number = below(static_cast<std::uint32_t>(count - chosen.size()));
      auto at = chosen.begin();
      for (; at != chosen.end() && number >= *at; ++at) ++number;
      chosen.insert(at, number);
    }
    return chosen;
  }

 private:
  std::uint32_t next() {
    constexpr std::uint32_t kWords = 4;
    if (word_ % kWords == 0)
      words_ = philox<ScalarPack>(lane_, phase_, iteration_, block_++, run_seed_);
    return words_.w[word_++ % kWords];
  }

  std::uint32_t lane_;
  std::uint32_t phase_;
  std::uint32_t iteration_;
  std::uint32_t block_;
  std::uint64_t run_seed_;
  std::uint32_t word_ = 0;
  RandomWords<ScalarPack> words_{};
};

GrftWords grft_words(GrftGeneration const& at, std::size_t individual) {
  return {at.seed, Phase::kGlobal, at.generation, static_cast<std::uint32_t>(individual),
          at.run_seed};
}

/// Individuals by falling fitness, as far as tournaments reach.
std::array<std::size_t, kGrftPopulation> grft_ranking(float const* fitness) {
  std::array<std::size_t, kGrftPopulation> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + kFittest, order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return fitness[a] != fitness[b] ? fitness[a] > fitness[b] : a < b;
                    });
  return order;
}

/// The ranks of two parents: the winners of two tournaments, the second one's runner-up where both
/// have the same winner.
std::array<std::size_t, 2> grft_parents(GrftWords& words) {
  auto const first = words.distinct(kTournamentRanks, kFittest);
  auto const second = words.distinct(kTournamentRanks, kFittest);
  return {first[0], second[0] != first[0] ? second[0] : second[1]};
}

/// Probabilities of rows, in place of their scores.
/// rows           [count][attributes]
/// probabilities  [count][outputs] out
void grft_probabilities(Subject const& s, RowDescriber& describer, std::int32_t const* rows,
                        std::size_t count, float* values) {
  int const outputs = s.network.outputs();
  std::vector<float> terms(2 * static_cast<std::size_t>(outputs));
  describer.logits(rows, count, values);
  for (std::size_t i = 0; i < count; ++i, values += outputs)
    probabilities<ScalarPack>(s.scores, values, outputs, 1, terms.data());
}

/// |p - p'| of all outputs; what is undefined adds nothing.
float grft_difference(float const* p, float const* q, int outputs) {
  float sum = 0.0F;
  for (int c = 0; c < outputs; ++c) {
    float const d = std::fabs(p[c] - q[c]);
    if (d > 0.0F) sum += d;
  }
  return sum;
}

}  // namespace

MovablePlaces::MovablePlaces(PackedSubject const& packed) : packed_(packed) {
  Subject const& s = packed.get();
  for (int i = 0; i < s.movable_count; ++i) {
    auto const column = static_cast<std::size_t>(s.movable[i]);
    columns_.push_back(s.movable[i]);
    attributes_.push_back(static_cast<std::size_t>(packed.attribute_of()[column]));
  }
}

void MovablePlaces::set_clipped(std::size_t m, std::int64_t place, std::int32_t* row) const {
  int const c = columns_[m];
  Subject const& s = packed_.get();
  auto const inside = std::clamp<std::int64_t>(place, s.low[c], s.high[c]);
  row[attributes_[m]] = packed_.code_at(c, static_cast<std::int32_t>(inside));
}

void grft_first_population(MovablePlaces const& places, GrftGeneration const& at,
                           std::int32_t const* seed, std::int32_t* rows) {
  auto const width = static_cast<std::size_t>(places.subject().get().columns);
  auto const moved = grft_words(at, 0).distinct(kFirstMoved, places.count());
  for (std::size_t i = 0; i < kGrftPopulation; ++i, rows += width) {
    std::copy_n(seed, width, rows);
    if (i == 0) continue;
    auto words = grft_words(at, i);
    for (std::size_t const m : moved) places.shift(m, words.within(kFirstReach), rows);
  }
}

void grft_fitness(PackedSubject const& packed, RowDescriber& describer,
                  std::span<std::int32_t const> rows, float* fitness) {
  Subject const& s = packed.get();
  auto const width = static_cast<std::size_t>(s.columns);
  auto const outputs = static_cast<std::size_t>(s.network.outputs());
  auto const variants = static_cast<std::size_t>(s.variants);
  std::size_t const count = rows.size() / width;
  std::vector<float> own(count * outputs);
  std::vector<float> member(count * outputs);
  std::vector<std::int32_t> member_rows(rows.begin(), rows.end());
  grft_probabilities(s, describer, rows.data(), count, own.data());
  std::fill_n(fitness, count, 0.0F);
  for (std::size_t v = 0; v < variants; ++v) {
    for (std::size_t i = 0; i < count; ++i)
      packed.set_variant(static_cast<int>(v), &member_rows[i * width]);
    grft_probabilities(s, describer, member_rows.data(), count, member.data());
    for (std::size_t i = 0; i < count; ++i) {
      // The authors' slip, which decides who is bred: see the header.
      std::size_t const in_population = i % kGrftPopulation;
      std::size_t const compared =
          i - in_population + (v * kGrftPopulation + in_population) / variants;
      fitness[i] +=
          grft_difference(&own[compared * outputs], &member[i * outputs], s.network.outputs());
    }
  }
}

void grft_breed(MovablePlaces const& places, GrftGeneration const& at, std::int32_t const* rows,
                float const* fitness, std::int32_t* next) {
  auto const width = static_cast<std::size_t>(places.subject().get().columns);
  auto const order = grft_ranking(fitness);
  for (std::size_t i = 0; i < kGrftPopulation; ++i, next += width) {
    if (i == order[0]) {
      std::copy_n(rows + i * width, width, next);
      continue;
    }
    auto words = grft_words(at, i);
    auto const [first, second] = grft_parents(words);
    std::copy_n(rows + order[first] * width, width, next);
    for (std::size_t m = 0; m < places.count(); ++m)
      if (!words.coin()) places.copy(m, rows + order[second] * width, next);
    if (!words.coin()) continue;
    for (std::size_t const m : words.distinct(kMutated, places.count()))
      places.shift(m, words.within(kMutationReach), next);
  }
}

GrftMove grft_move(MovablePlaces const& places, std::uint32_t step, std::uint64_t run_seed) {
  GrftWords words(kStepsOfAll, Phase::kLocal, step, 0, run_seed);
  GrftMove move;
  move.movable = words.below(static_cast<std::uint32_t>(places.count()));
  move.direction = words.coin() ? 1 : -1;
  return move;
}

}  // namespace fairlane
