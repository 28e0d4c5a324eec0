#include "engine/search/genetic/expga_fitness.h"

#include <cstdlib>

#include "engine/search/symbolic/row_sampler.h"
#include "kernels/core/labels.h"

namespace fairlane {
namespace {

// Sections of the state.
constexpr char const* kKeys = "idi.key";         // uint64 [IDIs][words]
constexpr char const* kLast = "idi.difference";  // uint32 [IDIs] to the last member

std::uint32_t difference_of(std::uint8_t a, std::uint8_t b) {
  if (a == kUndefinedLabel || b == kUndefinedLabel) return 0;
  return static_cast<std::uint32_t>(std::abs(int{a} - int{b}));
}

std::uint32_t fitness_of(std::uint32_t difference) { return 2 * difference + 1; }

}  // namespace

ExpgaFitness::Key ExpgaFitness::key_of(std::int32_t const* row) const {
  Key key(static_cast<std::size_t>(codec_.words()));
  codec_.row_key(row, key.data());
  return key;
}

void ExpgaFitness::add_seed(std::int32_t const* row) { seeds_.insert(key_of(row)); }

std::vector<ExpgaFitness::Differences> ExpgaFitness::differences(
    std::vector<std::int32_t> const& rows) const {
  auto const& subject = backend_.subject();
  auto const width = static_cast<std::size_t>(codec_.attributes());
  std::size_t const count = rows.size() / width;
  int const variants = subject.get().variants;
  std::vector<Differences> result(count);
  // Of two labels in a similar set of two, nothing is left to ask.
  if (variants == 2 && subject.get().network.outputs() <= 2) return result;

  std::vector<std::int32_t> members;  // [count][variants][attributes]
  for (std::size_t i = 0; i < count; ++i) {
    for (int v = 0; v < variants; ++v) {
      members.insert(members.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * width),
                     rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
      subject.set_variant(v, &members[members.size() - width]);
    }
  }
  auto const each = static_cast<std::size_t>(variants);
  std::vector<std::uint8_t> labels(count * each);
  label_rows(backend_, members.data(), static_cast<std::int64_t>(labels.size()), labels.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t const* const label = &labels[i * each];
    auto const own = static_cast<std::size_t>(subject.variant_of(&rows[i * width]));
    result[i].first = 0;
    for (std::size_t v = 0; v < each; ++v) {
      if (v == own) continue;
      result[i].last = difference_of(label[own], label[v]);
      if (result[i].first == 0) result[i].first = result[i].last;
    }
  }
  return result;
}

std::vector<std::uint32_t> ExpgaFitness::judge(std::span<std::int32_t const> rows,
                                               std::span<std::uint8_t const> hits,
                                               std::int64_t most) {
  auto const width = static_cast<std::size_t>(codec_.attributes());
  std::vector<std::int32_t> news;  // rows of IDIs that are not known
  std::map<Key, std::size_t> number;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] == 0) continue;
    Key key = key_of(&rows[i * width]);
    if (known_.contains(key) || !number.emplace(std::move(key), number.size()).second) continue;
    news.insert(news.end(), &rows[i * width], &rows[i * width] + width);
  }
  auto const found = differences(news);

  std::vector<std::uint32_t> fitness;
  for (std::size_t i = 0; i < hits.size() && this->found() < most; ++i) {
    std::uint32_t difference = 0;
    if (hits[i] != 0) {
      Key const key = key_of(&rows[i * width]);
      auto known = known_.find(key);
      bool const is_new = known == known_.end();
      if (is_new) known = known_.emplace(key, found[number.at(key)].last).first;
      difference = is_new && !seeds_.contains(key) ? found[number.at(key)].first : known->second;
    }
    fitness.push_back(fitness_of(difference));
  }
  return fitness;
}

void ExpgaFitness::write(CheckpointWriter& state) const {
  Key keys;
  std::vector<std::uint32_t> last;
  for (auto const& [key, difference] : known_) {
    keys.insert(keys.end(), key.begin(), key.end());
    last.push_back(difference);
  }
  state.add(kKeys, keys);
  state.add(kLast, last);
}

void ExpgaFitness::read(CheckpointReader const& state) {
  auto const keys = state.values<std::uint64_t>(kKeys);
  auto const last = state.values<std::uint32_t>(kLast);
  auto key = keys.begin();
  for (std::uint32_t const difference : last) {
    known_.emplace(Key(key, key + codec_.words()), difference);
    key += codec_.words();
  }
}

}  // namespace fairlane
