#include "engine/verify/ensembles/kind_rows.h"

namespace fairlane {
namespace {

constexpr std::size_t kLeastRow = 64;  // kinds

}  // namespace

void KindRows::begin(BoxKinds const& kinds, std::span<std::size_t const> order) {
  kinds_ = &kinds;
  order_.assign(order.begin(), order.end());
  outer_ = order.size();
  std::size_t row = 1;
  while (outer_ > 0 && row < kLeastRow) row *= axis(--outer_).kinds();
  place_.assign(outer_, 0);
  groups_ = 1.0;
  entries_.clear();
  for (BoxKinds::Axis const& axis : kinds.axes()) {
    entries_.push_back(axis.first[0]);
    if (axis.kinds() == 1) groups_ *= axis.sizes[0];
  }
  for (std::size_t i = 0; i < outer_; ++i) groups_ *= axis(i).sizes[0];
  groups_in_row_.clear();
  entries_in_row_.clear();
  changed_.clear();
  std::vector<std::size_t> place(order.size() - outer_);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < row; ++i) {
    double groups = 1.0;
    for (std::size_t k = 0; k < place.size(); ++k) {
      groups *= axis(outer_ + k).sizes[place[k]];
      entries_in_row_.push_back(axis(outer_ + k).first[place[k]]);
    }
    groups_in_row_.push_back(groups);
    changed_.push_back(changed);
    std::size_t k = place.size();
    while (k > 0 && ++place[k - 1] == axis(outer_ + k - 1).kinds()) place[--k] = 0;
    changed = k == 0 ? 0 : outer_ + k - 1;
  }
}

void KindRows::next() {
  for (std::size_t i = outer_; i-- > 0;) {
    std::size_t& place = place_[i];
    groups_ /= axis(i).sizes[place];
    place = place + 1 < axis(i).kinds() ? place + 1 : 0;
    groups_ *= axis(i).sizes[place];
    entries_[order_[i]] = axis(i).first[place];
    if (place > 0) return;
  }
}

std::span<std::int32_t const> KindRows::entries(std::size_t i) {
  std::size_t const inner = order_.size() - outer_;
  for (std::size_t k = 0; k < inner; ++k)
    entries_[order_[outer_ + k]] = entries_in_row_[i * inner + k];
  return entries_;
}

std::span<std::int32_t const> KindRows::entries_of(std::size_t kind) {
  for (std::size_t i = order_.size(); i-- > 0; kind /= axis(i).kinds())
    entries_[order_[i]] = axis(i).first[kind % axis(i).kinds()];
  return entries_;
}

}  // namespace fairlane
