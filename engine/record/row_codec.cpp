#include "engine/record/row_codec.h"

#include <algorithm>
#include <bit>

namespace fairlane {

RowCodec::RowCodec(PackedSubject const& subject) {
  auto const& s = subject.get();
  attributes_ = s.columns;
  auto const n = static_cast<std::size_t>(attributes_);
  low_.resize(n);
  lists_.resize(n);
  range_.resize(n);
  word_.resize(n);
  stride_.resize(n);
  for (std::size_t a = 0; a < n; ++a) {
    int const column = subject.column_of()[a];
    low_[a] = s.low[column];
    lists_[a] = subject.codes_of(column);
    range_[a] = static_cast<std::uint64_t>(std::int64_t{s.high[column]} - s.low[column] + 1);
  }
  // Digits from the last attribute upwards; words are numbered from the last one and turned round
  // afterwards.
  constexpr std::uint64_t kMost = std::uint64_t{1} << kRowKeyBits;
  std::uint64_t stride = 1;
  int word = 0;
  for (std::size_t a = n; a-- > 0;) {
    if (stride > kMost / range_[a]) {
      ++word;
      stride = 1;
    }
    word_[a] = word;
    stride_[a] = stride;
    stride *= range_[a];
  }
  words_ = word + 1;
  for (int& w : word_) w = words_ - 1 - w;
  for (int w = 0; w < words_; ++w) {
    std::uint64_t greatest = 0;
    for (std::size_t a = 0; a < n; ++a) {
      if (word_[a] == w) greatest += (range_[a] - 1) * stride_[a];
    }
    bits_.push_back(static_cast<int>(std::bit_width(greatest)));
  }
  for (int i = 0; i < s.selected; ++i) {
    selected_.push_back(subject.attribute_of()[static_cast<std::size_t>(s.selected_column[i])]);
    auto const a = static_cast<std::size_t>(selected_.back());
    bool const leads = a == 0 || word_[a - 1] != word_[a];
    selected_digits_.push_back({word_[a], stride_[a], leads ? 0 : stride_[a] * range_[a]});
  }
  find_runs(subject);
  list_variants(subject);
}

void RowCodec::find_runs(PackedSubject const& subject) {
  struct Run : RowKeyRun {
    int to_word;
  };
  std::vector<Run> runs;
  auto const& keys = subject.keys();
  // From the least significant column upwards.
  auto const& columns = subject.group_columns();
  for (std::size_t i = columns.size(); i-- > 0;) {
    auto const column = static_cast<std::size_t>(columns[i]);
    auto const a = static_cast<std::size_t>(subject.attribute_of()[column]);
    Run const run{{keys.word[column], keys.stride[column], range_[a], stride_[a]}, word_[a]};
    if (!runs.empty()) {
      Run& last = runs.back();
      bool const joins = last.from_word == run.from_word && last.to_word == run.to_word &&
                         last.from_stride * last.range == run.from_stride &&
                         last.to_stride * last.range == run.to_stride;
      if (joins) {
        last.range *= run.range;
        continue;
      }
    }
    runs.push_back(run);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    bool const leads = i + 1 == runs.size() || runs[i + 1].from_word != runs[i].from_word;
    if (leads) runs[i].range = 0;
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](Run const& a, Run const& b) { return a.to_word < b.to_word; });
  first_run_.assign(static_cast<std::size_t>(words_) + 1, 0);
  for (Run const& run : runs) {
    runs_.push_back(run);
    ++first_run_[static_cast<std::size_t>(run.to_word) + 1];
  }
  for (std::size_t w = 0; w < static_cast<std::size_t>(words_); ++w)
    first_run_[w + 1] += first_run_[w];
}

void RowCodec::list_variants(PackedSubject const& subject) {
  auto const& s = subject.get();
  variant_key_.assign(static_cast<std::size_t>(s.variants) * static_cast<std::size_t>(words_), 0);
  for (int v = 0; v < s.variants; ++v) {
    std::uint64_t* key =
        &variant_key_[static_cast<std::size_t>(v) * static_cast<std::size_t>(words_)];
    for (int i = 0; i < s.selected; ++i) {
      auto const a = static_cast<std::size_t>(selected_[static_cast<std::size_t>(i)]);
      key[word_[a]] +=
          static_cast<std::uint64_t>(subject.variant_place(v, i) - low_[a]) * stride_[a];
    }
  }
}

RowKeys RowCodec::keys() const {
  auto const words = static_cast<std::size_t>(words_);
  return {words_,
          static_cast<int>(variant_key_.size() / words),
          runs_.data(),
          first_run_.data(),
          variant_key_.data(),
          bits_.data()};
}

void RowCodec::key(std::uint64_t const* group, std::uint32_t variant, std::uint64_t* key) const {
  RowKeys const view = keys();
  for (int w = 0; w < words_; ++w) key[w] = view.word(group, variant, w);
}

void RowCodec::row(std::uint64_t const* group, std::uint32_t variant, std::int32_t* row) const {
  constexpr int kFewWords = 8;
  std::uint64_t few[kFewWords];
  std::vector<std::uint64_t> many(words_ > kFewWords ? static_cast<std::size_t>(words_) : 0);
  std::uint64_t* const words = many.empty() ? few : many.data();
  key(group, variant, words);
  row_of_key(words, row);
}

void RowCodec::row_key(std::int32_t const* row, std::uint64_t* key) const {
  std::fill_n(key, words_, 0);
  for (std::size_t a = 0; a < low_.size(); ++a) {
    std::int32_t const place =
        lists_[a].empty() ? row[a] : PackedSubject::place_in(lists_[a], row[a]);
    key[word_[a]] += static_cast<std::uint64_t>(std::int64_t{place} - low_[a]) * stride_[a];
  }
}

void RowCodec::row_of_key(std::uint64_t const* key, std::int32_t* row) const {
  std::size_t a = low_.size();
  for (int w = words_ - 1; w >= 0; --w) {
    std::uint64_t rest = key[w];
    for (; a > 0 && word_[a - 1] == w; --a) {
      std::uint64_t const next = rest / range_[a - 1];
      std::int32_t const place =
          low_[a - 1] + static_cast<std::int32_t>(rest - next * range_[a - 1]);
      row[a - 1] = lists_[a - 1].empty() ? place : lists_[a - 1][static_cast<std::size_t>(place)];
      rest = next;
    }
  }
}

}  // namespace fairlane
