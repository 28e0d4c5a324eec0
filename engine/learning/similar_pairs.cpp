#include "engine/learning/similar_pairs.h"

#include <algorithm>

#include "engine/learning/training_draws.h"

namespace fairlane {
namespace {

constexpr std::uint32_t kWords = 4;   // of one draw
constexpr double kKnownShare = 0.25;  // of pairs, where some are known
constexpr int kMostDraws = 64;        // of an input, until one exists

/// A random input of the domain.
void draw_input(Domain const& domain, std::uint32_t number, std::uint32_t batch, std::uint64_t seed,
                std::int32_t* row) {
  TrainingWords words{};
  auto const width = static_cast<std::uint32_t>(domain.size());
  for (std::uint32_t a = 0; a < width; ++a) {
    if (a % kWords == 0) {
      words = training_words(TrainingDraw::kInput,
                             number * ((width + kWords - 1) / kWords) + a / kWords, batch, seed);
    }
    Attribute const& attribute = domain.attributes[a];
    auto const codes = static_cast<std::uint32_t>(attribute.code_count());
    row[a] = attribute.code_at(below_count(words.w[a % kWords], codes));
  }
}

void append(Domain const& domain, std::vector<std::int32_t> const& row,
            std::vector<double>& encoded, std::vector<float>& inputs) {
  encoded.clear();
  domain.encode(row.data(), encoded);
  for (double const value : encoded) inputs.push_back(static_cast<float>(value));
}

}  // namespace

SimilarPairs::SimilarPairs(TestSubject const& subject, TrainingRows const& rows,
                           double random_share, std::uint64_t seed, KnownPairs const& known)
    : subject_(subject), rows_(rows), random_share_(random_share), seed_(seed), known_(known) {
  double sum = 0.0;
  for (float const weight : known.weights)
    known_sums_.push_back(sum += static_cast<double>(weight));
}

void SimilarPairs::draw(std::uint32_t batch, std::size_t pairs, std::vector<float>& first,
                        std::vector<float>& second) const {
  first.clear();
  second.clear();
  Domain const& domain = subject_.domain();
  auto const width = static_cast<std::size_t>(domain.size());
  std::vector<std::int32_t> row(width);
  std::vector<double> encoded;
  for (std::uint32_t k = 0; k < pairs; ++k) {
    auto const words = training_words(TrainingDraw::kPairRow, k, batch, seed_);
    if (!known_.first.empty() && unit_number(words.w[3]) < kKnownShare) {
      // The first whose sum is above the draw: one without weight is none.
      auto const drawn =
          std::ranges::upper_bound(known_sums_, unit_number(words.w[1]) * known_sums_.back());
      auto const last = static_cast<std::ptrdiff_t>(known_sums_.size()) - 1;
      std::size_t const at =
          static_cast<std::size_t>(std::min(drawn - known_sums_.begin(), last)) * width;
      std::copy_n(&known_.first[at], width, row.begin());
      append(domain, row, encoded, first);
      std::copy_n(&known_.second[at], width, row.begin());
      append(domain, row, encoded, second);
      continue;
    }
    if (unit_number(words.w[0]) < random_share_ || rows_.count() == 0) {
      auto const stride = static_cast<std::uint32_t>(pairs);
      std::uint32_t number = k;
      for (int i = 0; i < kMostDraws; ++i, number += stride) {
        draw_input(domain, number, batch, seed_, row.data());
        if (subject_.constraints().allows(row.data())) break;
      }
    } else {
      std::size_t const at = below_count(words.w[1], static_cast<std::uint32_t>(rows_.count()));
      std::copy_n(&rows_.rows[at * width], width, row.begin());
    }
    append(domain, row, encoded, first);
    draw_other_member(subject_, words.w[2], row.data());
    append(domain, row, encoded, second);
  }
}

void set_variant(TestSubject const& subject, std::int64_t variant, std::int32_t* row) {
  for (std::size_t s = subject.selected().size(); s-- > 0;) {
    auto const& values = subject.values()[s];
    auto const size = static_cast<std::int64_t>(values.size());
    row[subject.selected()[s]] = values[static_cast<std::size_t>(variant % size)];
    variant /= size;
  }
}

void draw_other_member(TestSubject const& subject, std::uint32_t word, std::int32_t* row) {
  auto const& selected = subject.selected();
  auto const& values = subject.values();
  // The row's own number among the combinations; none where it has a value that is not compared.
  std::int64_t own = 0;
  for (std::size_t s = 0; s < selected.size(); ++s) {
    auto const at = std::ranges::lower_bound(values[s], row[selected[s]]);
    bool const is_compared = at != values[s].end() && *at == row[selected[s]];
    if (!is_compared) own = -1;
    if (own < 0) break;
    own = own * static_cast<std::int64_t>(values[s].size()) + (at - values[s].begin());
  }
  std::int64_t const variants = subject.variants();
  std::int64_t const others = own < 0 ? variants : variants - 1;
  std::int64_t const drawn = below_count(word, static_cast<std::uint32_t>(others));
  std::vector<std::int32_t> const itself(row, row + subject.domain().size());
  for (std::int64_t i = 0; i < others; ++i) {
    std::int64_t const other = (drawn + i) % others;
    set_variant(subject, own >= 0 && other >= own ? other + 1 : other, row);
    if (subject.constraints().allows(row)) return;
  }
  std::ranges::copy(itself, row);
}

}  // namespace fairlane
