#include "engine/search/genetic/expga_breeding.h"

#include <algorithm>

#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr float kCrossRate = 0.9F;
constexpr float kMutationRate = 0.05F;

// Numbers of draws.
constexpr std::uint32_t kSelection = 0;
constexpr std::uint32_t kCrossing = 1;
constexpr std::uint32_t kMutation = 2;      // and those behind it
constexpr std::uint32_t kGenesPerDraw = 2;  // each takes two words

/// One population between two generations.
class Breeder {
 public:
  Breeder(std::span<Gene const> genes, Brood const& brood, std::span<std::int32_t> rows)
      : genes_(genes), brood_(brood), rows_(rows), people_(rows.size() / genes.size()) {}

  void select(std::span<std::uint32_t const> fitness);
  void cross();
  void mutate();

 private:
  std::int32_t* person(std::size_t i) const { return rows_.data() + i * genes_.size(); }
  RandomWords<ScalarPack> words(std::size_t person, std::uint32_t draw) const {
    return philox<ScalarPack>(brood_.first_person + static_cast<std::uint32_t>(person),
                              static_cast<std::uint32_t>(Phase::kLocal), brood_.generation, draw,
                              brood_.run_seed);
  }

  std::span<Gene const> genes_;
  Brood const& brood_;
  std::span<std::int32_t> rows_;
  std::size_t people_;
};

void Breeder::select(std::span<std::uint32_t const> fitness) {
  std::vector<std::uint32_t> upto;  // [people] summed fitness
  std::uint32_t sum = 0;
  for (std::uint32_t const f : fitness) upto.push_back(sum += f);
  std::vector<std::int32_t> const parents(rows_.begin(), rows_.end());
  for (std::size_t i = 0; i < people_; ++i) {
    std::uint32_t const at = below<ScalarPack>(words(i, kSelection).w[0], sum);
    auto const parent = std::upper_bound(upto.begin(), upto.end(), at) - upto.begin();
    std::copy_n(parents.begin() + parent * static_cast<std::ptrdiff_t>(genes_.size()),
                genes_.size(), person(i));
  }
}

void Breeder::cross() {
  auto const attributes = static_cast<std::uint32_t>(genes_.size());
  for (std::size_t i = 0; i < people_; ++i) {
    auto const random = words(i, kCrossing);
    if (unit_float<ScalarPack>(random.w[0]) >= kCrossRate) continue;
    std::int32_t const* const other =
        person(below<ScalarPack>(random.w[1], static_cast<std::uint32_t>(people_)));
    std::uint32_t const begin = below<ScalarPack>(random.w[2], attributes);
    std::uint32_t const end = below<ScalarPack>(random.w[3], attributes - begin);
    for (std::uint32_t a = begin; a < end; ++a) {
      if (!genes_[a].fixed) person(i)[a] = other[a];
    }
  }
}

void Breeder::mutate() {
  for (std::size_t i = 0; i < people_; ++i) {
    RandomWords<ScalarPack> random{};
    for (std::uint32_t a = 0; a < genes_.size(); ++a) {
      std::uint32_t const word = 2 * (a % kGenesPerDraw);
      if (word == 0) random = words(i, kMutation + a / kGenesPerDraw);
      Gene const& gene = genes_[a];
      if (gene.fixed || gene.count < 2) continue;
      if (unit_float<ScalarPack>(random.w[word]) >= kMutationRate) continue;
      person(i)[a] = gene.code(
          below<ScalarPack>(random.w[word + 1], static_cast<std::uint32_t>(gene.count - 1)));
    }
  }
}

}  // namespace

std::vector<Gene> genes_of(SubjectView const& view) {
  std::vector<Gene> genes;
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    bool const fixed = !view.immutable.empty() && view.immutable[a] != 0;
    genes.push_back({view.low[a], view.code_count(a), view.codes_of(a), fixed});
  }
  for (std::size_t i = 0; i < view.selected.size(); ++i) {
    auto const values = view.values[i];
    genes[static_cast<std::size_t>(view.selected[i])] = {
        values.front(), static_cast<std::int64_t>(values.size()), values, false};
  }
  return genes;
}

void breed(std::span<Gene const> genes, std::span<std::uint32_t const> fitness, Brood const& brood,
           std::span<std::int32_t> rows) {
  Breeder breeder(genes, brood, rows);
  breeder.select(fitness);
  breeder.cross();
  breeder.mutate();
}

}  // namespace fairlane
