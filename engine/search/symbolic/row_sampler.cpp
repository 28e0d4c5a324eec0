#include "engine/search/symbolic/row_sampler.h"

#include <algorithm>

#include "kernels/core/labels.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr std::uint32_t kWords = 4;  // of a draw
constexpr std::uint32_t kWordBits = 32;
constexpr std::uint32_t kKeepDraws = 1U << 31;  // these draws say which columns are kept
constexpr std::int64_t kRowsAtOnce = std::int64_t{1} << 16;

RandomWords<ScalarPack> draw_words(std::uint32_t stream, std::int64_t row, std::uint32_t draw,
                                   std::uint64_t seed) {
  return philox<ScalarPack>(stream, static_cast<std::uint32_t>(Phase::kSample),
                            static_cast<std::uint32_t>(row), draw, seed);
}

}  // namespace

RowSampler::RowSampler(TestSubject const& subject, std::uint64_t run_seed)
    : subject_(subject), data_(subject.data()), run_seed_(run_seed) {
  if (data_ != nullptr && data_->count() == 0) data_ = nullptr;
  auto const& view = subject.view();
  list_.resize(view.low.size());
  for (std::size_t i = 0; i < subject.selected().size(); ++i)
    list_[static_cast<std::size_t>(subject.selected()[i])] = &subject.values()[i];
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    range_.push_back(static_cast<std::uint32_t>(
        list_[a] != nullptr ? static_cast<std::int64_t>(list_[a]->size()) : view.code_count(a)));
  }
}

std::int32_t RowSampler::value(std::size_t attribute, std::uint32_t word) const {
  if (data_ != nullptr) {
    auto const row = below<ScalarPack>(word, static_cast<std::uint32_t>(data_->count()));
    return data_->rows[row * range_.size() + attribute];
  }
  auto const number = below<ScalarPack>(word, range_[attribute]);
  if (list_[attribute] != nullptr) return (*list_[attribute])[number];
  return subject_.view().code_at(attribute, number);
}

void RowSampler::draw(std::uint32_t stream, std::int64_t first, std::int64_t count,
                      std::int32_t const* near, std::int32_t* rows) const {
  auto const width = static_cast<std::uint32_t>(range_.size());
  RandomWords<ScalarPack> words{};
  RandomWords<ScalarPack> keeps{};
  for (std::int64_t i = first; i < first + count; ++i, rows += width) {
    for (std::uint32_t a = 0; a < width; ++a) {
      if (a % kWords == 0) words = draw_words(stream, i, a / kWords, run_seed_);
      if (near != nullptr) {
        if (a % (kWords * kWordBits) == 0)
          keeps = draw_words(stream, i, kKeepDraws + a / (kWords * kWordBits), run_seed_);
        if ((keeps.w[a / kWordBits % kWords] >> (a % kWordBits) & 1U) != 0) {
          rows[a] = near[a];
          continue;
        }
      }
      rows[a] = value(a, words.w[a % kWords]);
    }
  }
}

void label_rows(Backend& backend, std::int32_t const* rows, std::int64_t count,
                std::uint8_t* labels) {
  auto const& subject = backend.subject().get();
  int const outputs = subject.network.outputs();
  std::vector<float> logits;
  for (std::int64_t begin = 0; begin < count; begin += kRowsAtOnce) {
    std::int64_t const n = std::min(kRowsAtOnce, count - begin);
    logits.resize(static_cast<std::size_t>(n * outputs));
    backend.logits(rows + begin * subject.columns, static_cast<std::size_t>(n), logits.data());
    for (std::int64_t i = 0; i < n; ++i) {
      bool const exists = backend.subject().exists(rows + (begin + i) * subject.columns);
      labels[begin + i] = static_cast<std::uint8_t>(
          exists ? label_of<ScalarPack>(logits.data() + i * outputs, outputs, 1, subject.threshold)
                 : kUndefinedLabel);
    }
  }
}

LabelledRows defined_rows(std::int32_t* rows, std::uint8_t* labels, std::int64_t count,
                          int attributes) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (labels[i] == kUndefinedLabel) continue;
    if (kept != i) std::copy_n(rows + i * attributes, attributes, rows + kept * attributes);
    labels[kept++] = labels[i];
  }
  return {rows, labels, kept, attributes};
}

}  // namespace fairlane
