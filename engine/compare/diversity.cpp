#include "engine/compare/diversity.h"

#include <algorithm>

namespace fairlane {
namespace {

constexpr std::int64_t kShort = 1 << 16;  // values of an attribute that are counted in an array

}  // namespace

Diversity::Diversity(TestSubject const& subject) : width_(subject.view().low.size()) {
  auto const& view = subject.view();
  for (std::size_t a = 0; a < width_; ++a) {
    auto const& selected = view.selected;
    if (std::find(selected.begin(), selected.end(), static_cast<std::int32_t>(a)) != selected.end())
      continue;
    Attribute attribute{a, view.low[a], view.high[a], view.code_count(a), {}, {}};
    std::int64_t const values = std::int64_t{attribute.high} - attribute.low + 1;
    if (values <= kShort) attribute.groups.resize(static_cast<std::size_t>(values));
    attributes_.push_back(std::move(attribute));
  }
}

void Diversity::add(std::int32_t const* rows, std::size_t count) {
  groups_ += static_cast<std::int64_t>(count);
  for (auto& attribute : attributes_) {
    std::int32_t const* value = rows + attribute.index;
    if (attribute.groups.empty()) {
      for (std::size_t i = 0; i < count; ++i, value += width_) ++attribute.some[*value];
    } else {
      for (std::size_t i = 0; i < count; ++i, value += width_)
        ++attribute.groups[static_cast<std::size_t>(*value - attribute.low)];
    }
  }
}

template <class Take>
void Diversity::for_each_value(Attribute const& attribute, Take const& take) {
  for (auto const& [value, groups] : attribute.some) take(value, groups);
  for (std::size_t i = 0; i < attribute.groups.size(); ++i) {
    if (attribute.groups[i] > 0)
      take(attribute.low + static_cast<std::int32_t>(i), attribute.groups[i]);
  }
}

double Diversity::value_coverage() const {
  if (attributes_.empty()) return 0.0;
  double sum = 0.0;
  for (auto const& attribute : attributes_) {
    double occurring = 0.0;
    for_each_value(attribute, [&](std::int32_t, std::int64_t) { occurring += 1.0; });
    sum += occurring / static_cast<double>(attribute.codes);
  }
  return sum / static_cast<double>(attributes_.size());
}

double Diversity::mean_distance() const {
  if (groups_ < 2) return 0.0;
  auto const all = static_cast<double>(groups_);
  double const pairs = all * (all - 1.0) / 2.0;
  double sum = 0.0;
  double count = 0.0;
  for (auto const& attribute : attributes_) {
    if (attribute.high == attribute.low) continue;
    count += 1.0;
    // Ascending: a value is that much above each of those before it.
    double before = 0.0;  // groups
    double below = 0.0;   // their values' sum, from low
    double distances = 0.0;
    for_each_value(attribute, [&](std::int32_t value, std::int64_t groups) {
      double const height = static_cast<double>(value) - attribute.low;
      auto const n = static_cast<double>(groups);
      distances += n * (height * before - below);
      before += n;
      below += n * height;
    });
    sum += distances / pairs / (static_cast<double>(attribute.high) - attribute.low);
  }
  return count > 0.0 ? sum / count : 0.0;
}

}  // namespace fairlane
