// Inputs as keys that sort like their rows.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/row_keys.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// Bits of a row key's word: two of the first word are left for the kind of record.
inline constexpr int kRowKeyBits = 62;

/// Turns backend keys into rows, and rows into keys that sort like the rows.
///
/// A row key is the row's mixed-radix number over the domain in dataset order, cut into words of at
/// most kRowKeyBits, most significant word first; comparing the words one after the other compares
/// the rows.
class RowCodec {
 public:
  explicit RowCodec(PackedSubject const& subject);
  int attributes() const { return attributes_; }
  int words() const { return words_; }
  /// The same for kernels, valid as long as this is.
  RowKeys keys() const;
  /// key [words] of an input given by the backend's group key and variant.
  void key(std::uint64_t const* group, std::uint32_t variant, std::uint64_t* key) const;
  /// row [attributes] of the same.
  void row(std::uint64_t const* group, std::uint32_t variant, std::int32_t* row) const;
  void row_key(std::int32_t const* row, std::uint64_t* key) const;
  void row_of_key(std::uint64_t const* key, std::int32_t* row) const;
  /// Key of the row with the least value in every selected attribute: equal for all members of a
  /// group.
  void group_of_key(std::uint64_t const* key, std::uint64_t* group) const {
    for (int w = 0; w < words_; ++w) group[w] = key[w];
    for (auto const& digit : selected_digits_) {
      std::uint64_t const word = key[digit.word];
      std::uint64_t const upto = digit.span == 0 ? word : word % digit.span;
      group[digit.word] -= digit.stride == 1 ? upto : upto - word % digit.stride;
    }
  }

 private:
  /// A selected attribute's digit: (key % span) - (key % stride) is what it contributes; span 0:
  /// the leading digit.
  struct Digit {
    int word;
    std::uint64_t stride;
    std::uint64_t span;
  };
  void find_runs(PackedSubject const& subject);
  void list_variants(PackedSubject const& subject);

  int attributes_ = 0;
  int words_ = 1;
  std::vector<std::int32_t> low_;                 // [attributes]
  std::vector<std::vector<std::int32_t>> lists_;  // [attributes] codes; empty: all from low on
  std::vector<std::uint64_t> range_;              // [attributes] how many codes
  std::vector<int> word_;                         // [attributes] word of the attribute's digit
  std::vector<std::uint64_t> stride_;             // [attributes]
  std::vector<int> selected_;                     // attributes under test
  std::vector<Digit> selected_digits_;
  std::vector<RowKeyRun> runs_;             // see RowKeys
  std::vector<int> first_run_;              // [words + 1]
  std::vector<std::uint64_t> variant_key_;  // [variants][words] what the selected digits contribute
  std::vector<int> bits_;                   // [words]
};

}  // namespace fairlane
