#include "kernels/boxes/leaf_list.h"

#include <algorithm>

namespace fairlane {
namespace {

constexpr int kLeastRow = 64;  // places: a few registers

}  // namespace

void LeafList::begin(std::span<int const> sizes) {
  sizes_.assign(sizes.begin(), sizes.end());
  inner_ = static_cast<int>(sizes.size());
  for (int row = 1; inner_ > 0 && row < kLeastRow;)
    row *= sizes_[static_cast<std::size_t>(--inner_)];
  sets_.clear();
  values_.clear();
  asked_.clear();
}

void LeafList::put(std::span<std::uint64_t const> set, std::int32_t value) {
  std::uint32_t asked = 0;
  for (std::size_t a = 0; a < static_cast<std::size_t>(inner_); ++a)
    if (set[a] != low_bits(sizes_[a])) asked |= std::uint32_t{1} << a;
  asked_.emplace_back(asked, static_cast<std::int32_t>(values_.size()));
  sets_.insert(sets_.end(), set.begin(), set.end());
  values_.push_back(value);
}

LeafTable LeafList::view() {
  std::ranges::sort(asked_);
  order_.clear();
  groups_.clear();
  for (auto const& [asked, leaf] : asked_) {
    if (groups_.empty() || groups_.back().asked != asked) groups_.push_back({asked, 0});
    ++groups_.back().leaves;
    order_.push_back(leaf);
  }
  return {static_cast<int>(sizes_.size()),
          inner_,
          static_cast<int>(groups_.size()),
          sizes_.data(),
          groups_.data(),
          order_.data(),
          sets_.data(),
          values_.data()};
}

}  // namespace fairlane
