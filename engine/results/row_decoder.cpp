#include "engine/results/row_decoder.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace fairlane {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are little-endian");

// Rows of a table, beyond which it no longer fits a cache.
constexpr std::uint64_t kMostTails = 1U << 16;
// A table pays once its entries are used several times.
constexpr std::int64_t kInstancesPerTail = 8;

}  // namespace

void append_number(std::string& bytes, NpyType type, std::uint32_t value) {
  bytes.append(reinterpret_cast<char const*>(&value), npy_type(type).bytes);
}

void append_cells(std::string& bytes, CellForm form, std::int32_t const* values,
                  InstanceColumn const* columns, std::size_t count) {
  constexpr std::size_t kLongestCell = 12;  // a number and its comma
  for (std::size_t i = 0; i < count; ++i) {
    if (form == CellForm::kBinary) {
      append_number(bytes, columns[i].type, static_cast<std::uint32_t>(values[i]));
      continue;
    }
    char cell[kLongestCell];
    char* const end = std::to_chars(cell, cell + kLongestCell, values[i]).ptr;
    *end = ',';
    bytes.append(cell, end + 1);
  }
}

RowDecoder::RowDecoder(TestSubject const& subject, RowCodec const& codec,
                       InstanceColumns const& columns, CellForm form, std::int64_t instances)
    : codec_(codec),
      columns_(columns),
      form_(form),
      attributes_(static_cast<std::size_t>(codec.attributes())),
      words_(static_cast<std::size_t>(codec.words())),
      first_(attributes_) {
  auto const most = std::min(kMostTails, static_cast<std::uint64_t>(instances / kInstancesPerTail));
  std::vector<std::int32_t> low(subject.view().low.begin(), subject.view().low.end());
  // A tail is the remainder of the last word, so it ends where that word does.
  std::vector<std::uint64_t> key(words_);
  while (first_ > 0) {
    std::size_t const a = first_ - 1;
    auto const range = static_cast<std::uint64_t>(subject.view().code_count(a));
    if (tails_ * range > most) break;
    auto probe = low;
    probe[a] = subject.view().high[a];
    codec.row_key(probe.data(), key.data());
    if (range > 1 && key.back() != tails_ * (range - 1)) break;
    tails_ *= range;
    first_ = a;
  }
  std::size_t const width = attributes_ - first_;
  rows_.resize(static_cast<std::size_t>(tails_) * width);
  offset_.push_back(0);
  std::fill(key.begin(), key.end(), 0);
  std::vector<std::int32_t> row(attributes_);
  for (std::uint64_t t = 0; t < tails_; ++t) {
    key.back() = t;
    codec.row_of_key(key.data(), row.data());
    std::copy_n(row.data() + first_, width, rows_.data() + t * width);
    append_cells(bytes_, form_, row.data() + first_, columns_.all().data() + first_, width);
    offset_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
}

template <class WithTail, class Whole>
void RowDecoder::for_each(std::uint64_t const* keys, std::size_t count, WithTail const& with_tail,
                          Whole const& whole) const {
  std::uint64_t const* before = nullptr;
  std::uint64_t last_head = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const* key = keys + i * words_;
    std::uint64_t const head = key[words_ - 1] / tails_;
    auto const tail = static_cast<std::uint32_t>(key[words_ - 1] - head * tails_);
    bool same = before != nullptr && head == last_head;
    for (std::size_t w = 0; same && w + 1 < words_; ++w) same = key[w] == before[w];
    if (same) {
      with_tail(i, tail);
    } else {
      whole(i, key, tail);
    }
    before = key;
    last_head = head;
  }
}

void RowDecoder::decode_rows(std::uint64_t const* keys, std::size_t count,
                             std::int32_t* rows) const {
  std::size_t const width = attributes_ - first_;
  for_each(
      keys, count,
      [&](std::size_t i, std::uint32_t tail) {
        std::int32_t* const row = rows + i * attributes_;
        std::copy_n(row - attributes_, first_, row);
        std::copy_n(rows_.data() + tail * width, width, row + first_);
      },
      [&](std::size_t i, std::uint64_t const* key, std::uint32_t) {
        codec_.row_of_key(key, rows + i * attributes_);
      });
}

void RowDecoder::decode(std::uint64_t const* keys, std::size_t count, Decoded& out) const {
  out.head.resize(count);
  out.tail.resize(count);
  out.heads.clear();
  std::vector<std::int32_t> row(attributes_);
  auto const place = [&](std::size_t i, std::uint32_t tail) {
    out.head[i] = static_cast<std::uint32_t>(out.heads.size() - 1);
    out.tail[i] = tail;
  };
  for_each(keys, count, place, [&](std::size_t i, std::uint64_t const* key, std::uint32_t tail) {
    codec_.row_of_key(key, row.data());
    out.heads.emplace_back();
    append_cells(out.heads.back(), form_, row.data(), columns_.all().data(), first_);
    place(i, tail);
  });
}

}  // namespace fairlane
