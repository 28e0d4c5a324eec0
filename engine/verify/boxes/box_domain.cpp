#include "engine/verify/boxes/box_domain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fairlane {

BoxDomain::BoxDomain(SubjectView const& view, PackedSubject const& packed,
                     std::vector<ValueList> lists, RegionRules rules)
    : packed_(packed), constraints_(view.constraints) {
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    first_input_.push_back(inputs_);
    inputs_ += view.encoding(a).width;
  }
  apart_.resize(static_cast<std::size_t>(inputs_));
  auto const append = [&](std::size_t attribute, std::int32_t code, std::vector<double>& to) {
    std::vector<float> inputs;
    int const column = packed.column_of()[attribute];
    packed.append_inputs(column, packed.place_of(column, code), inputs);
    to.insert(to.end(), inputs.begin(), inputs.end());
  };
  auto const number = [&](std::size_t attribute, std::vector<int>& to) {
    for (int k = 0; k < view.encoding(attribute).width; ++k)
      to.push_back(first_input_[attribute] + k);
  };
  for (ValueList& list : lists) {
    Axis axis;
    axis.list = std::move(list);
    axis.region = {0, static_cast<std::int32_t>(axis.list.size()) - 1};
    for (RelaxedAttribute const& relaxed : rules.relaxed) {
      if (axis.list.attributes == std::vector<int>{relaxed.attribute})
        relax(axis, view, relaxed.by);
    }
    std::size_t const width = axis.list.attributes.size();
    for (int const a : axis.list.attributes) number(static_cast<std::size_t>(a), axis.inputs);
    for (std::size_t i = 0; i < axis.list.values.size(); ++i) {
      append(static_cast<std::size_t>(axis.list.attributes[i % width]), axis.list.values[i],
             axis.values);
    }
    axis.ordered =
        axis.inputs.size() == 1 && std::is_sorted(axis.values.begin(), axis.values.end());
    if (axis.ordered && axis.values.size() > 1) {
      double const step = axis.values[1] - axis.values[0];
      bool even = true;
      for (std::size_t e = 1; e < axis.values.size(); ++e)
        even = even && axis.values[e] - axis.values[e - 1] == step;
      axis.step = even ? step : 0.0;
    }
    find_rise(axis);
    find_apart(axis);
    axes_.push_back(std::move(axis));
  }
  for (std::int32_t const s : view.selected) number(static_cast<std::size_t>(s), variant_inputs_);
  for (int v = 0; v < variants(); ++v) {
    for (std::size_t i = 0; i < view.selected.size(); ++i) {
      append(static_cast<std::size_t>(view.selected[i]),
             packed.variant_value(v, static_cast<int>(i)), variant_values_);
    }
  }
  for (LinearLimit const& limit : rules.limits) {
    Limit sums{{}, limit.most};
    for (Axis const& axis : axes_) {
      std::size_t const width = axis.list.attributes.size();
      sums.sums.emplace_back(static_cast<std::size_t>(axis.list.size()));
      for (std::size_t i = 0; i < axis.list.values.size(); ++i) {
        auto const a = static_cast<std::size_t>(axis.list.attributes[i % width]);
        sums.sums.back()[i / width] += limit.coefficients[a] * axis.list.values[i];
      }
    }
    limits_.push_back(std::move(sums));
  }
}

void BoxDomain::relax(Axis& axis, SubjectView const& view, std::int32_t by) {
  // Whoever is compared may lie beyond the region, but not beyond the attribute's own values.
  relaxed_ = true;
  auto const attribute = static_cast<std::size_t>(axis.list.attributes.front());
  std::int32_t const low = axis.list.values.front();
  std::int32_t const high = axis.list.values.back();
  std::vector<std::int32_t>& values = axis.list.values;
  values.clear();
  for (std::int64_t i = 0; i < view.code_count(attribute); ++i) {
    std::int32_t const value = view.code_at(attribute, i);
    if (value >= low - by && value <= high + by) values.push_back(value);
  }
  auto const place = [&](std::vector<std::int32_t>::iterator at) {
    return static_cast<std::int32_t>(at - values.begin());
  };
  axis.region = {place(std::ranges::lower_bound(values, low)),
                 place(std::ranges::upper_bound(values, high)) - 1};
  for (std::int32_t const value : values) {
    axis.near.push_back({place(std::ranges::lower_bound(values, value - by)),
                         place(std::ranges::upper_bound(values, value + by)) - 1});
  }
}

void BoxDomain::find_rise(Axis& axis) {
  constexpr double kEven = 1.0e-3;  // of a step, more than scaled codes are rounded by
  std::size_t const entries = axis.values.size();
  if (axis.inputs.size() != 1 || entries < 2) return;
  axis.rise = (axis.values.back() - axis.values.front()) / static_cast<double>(entries - 1);
  for (std::size_t e = 0; e < entries; ++e) {
    double const even = axis.values.front() + axis.rise * static_cast<double>(e);
    axis.off = std::max(axis.off, std::abs(axis.values[e] - even));
  }
  if (!(axis.off <= kEven * std::abs(axis.rise))) axis.rise = 0.0;
}

void BoxDomain::find_apart(Axis const& axis) {
  for (std::size_t e = 0; e < axis.near.size(); ++e) {
    for (int const k : axis.inputs) {
      double& apart = apart_[static_cast<std::size_t>(k)];
      auto const last = static_cast<std::size_t>(axis.near[e].last);
      apart = axis.ordered ? std::max(apart, axis.values[last] - axis.values[e])
                           : std::numeric_limits<double>::infinity();
    }
  }
}

GroupBox BoxDomain::widened(std::span<AxisRange const> box) const {
  GroupBox wide(box.begin(), box.end());
  for (std::size_t a = 0; a < axes_.size(); ++a)
    wide[a] = {near(a, box[a].first).first, near(a, box[a].last).last};
  return wide;
}

bool BoxDomain::link(std::span<AxisRange> own, std::span<AxisRange> beside) const {
  auto const keep_near = [&](std::size_t a, AxisRange& range, AxisRange const& other) {
    range.first = std::max(range.first, near(a, other.first).first);
    range.last = std::min(range.last, near(a, other.last).last);
    return range.first <= range.last;
  };
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (!keep_near(a, own[a], beside[a]) || !keep_near(a, beside[a], own[a])) return false;
  }
  return true;
}

std::int64_t BoxDomain::excess(std::span<std::int32_t const> entries) const {
  std::int64_t beyond = 0;
  for (Limit const& limit : limits_) {
    std::int64_t sum = -limit.most;
    for (std::size_t a = 0; a < entries.size(); ++a)
      sum += limit.sums[a][static_cast<std::size_t>(entries[a])];
    beyond += std::max<std::int64_t>(sum, 0);
  }
  return beyond;
}

bool BoxDomain::keep_limits(std::span<AxisRange> box) const {
  auto const least_of = [&](Limit const& limit, std::size_t a) {
    auto const* const sums = limit.sums[a].data();
    // One attribute's multiples rise or fall.
    if (axes_[a].list.attributes.size() == 1)
      return std::min(sums[box[a].first], sums[box[a].last]);
    return *std::min_element(sums + box[a].first, sums + box[a].last + 1);
  };
  for (Limit const& limit : limits_) {
    std::int64_t least = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) least += least_of(limit, a);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      std::int64_t const room = limit.most - (least - least_of(limit, a));
      auto const& sums = limit.sums[a];
      AxisRange& range = box[a];
      auto const beyond = [&](std::int32_t e) { return sums[static_cast<std::size_t>(e)] > room; };
      while (range.first <= range.last && beyond(range.first)) ++range.first;
      while (range.first <= range.last && beyond(range.last)) --range.last;
      if (range.first > range.last) return false;
    }
  }
  return true;
}

bool BoxDomain::is_within_limits(std::span<AxisRange const> box) const {
  return std::ranges::all_of(limits_, [&](Limit const& limit) {
    std::int64_t greatest = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      auto const* const sums = limit.sums[a].data();
      greatest += *std::max_element(sums + box[a].first, sums + box[a].last + 1);
    }
    return greatest <= limit.most;
  });
}

GroupBox BoxDomain::whole() const {
  GroupBox box;
  for (Axis const& axis : axes_) box.push_back(axis.region);
  return box;
}

double BoxDomain::groups(std::span<AxisRange const> box) {
  double product = 1.0;
  for (AxisRange const& range : box) product *= range.size();
  return product;
}

void BoxDomain::enclose(std::span<AxisRange const> box, Interval* inputs) const {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    Axis const& axis = axes_[a];
    auto const [first, last] = box[a];
    if (axis.ordered) {
      inputs[axis.inputs[0]] = {axis.values[static_cast<std::size_t>(first)],
                                axis.values[static_cast<std::size_t>(last)]};
      continue;
    }
    std::size_t const width = axis.inputs.size();
    for (std::size_t k = 0; k < width; ++k) {
      Interval hull{axis.values[static_cast<std::size_t>(first) * width + k], 0.0};
      hull.high = hull.low;
      for (auto e = static_cast<std::size_t>(first); e <= static_cast<std::size_t>(last); ++e) {
        hull.low = std::min(hull.low, axis.values[e * width + k]);
        hull.high = std::max(hull.high, axis.values[e * width + k]);
      }
      inputs[axis.inputs[k]] = hull;
    }
  }
}

void BoxDomain::spread(std::span<AxisRange const> box, InputSpread* inputs) const {
  constexpr double kBoundless = 1.0e30;  // times a variance, so that it never bounds anything
  std::vector<Interval> ranges(static_cast<std::size_t>(inputs_));
  enclose(box, ranges.data());
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    Axis const& axis = axes_[a];
    double const entries = box[a].size();
    for (int const k : axis.inputs) {
      auto const [low, high] = ranges[static_cast<std::size_t>(k)];
      inputs[k] = {low, high, 0.0, 0.0};
    }
    if (axis.inputs.size() != 1 || box[a].size() == 1) continue;
    auto const first = axis.values.begin() + box[a].first;
    auto const last = axis.values.begin() + box[a].last;
    InputSpread& spread = inputs[axis.inputs[0]];
    if (axis.rise != 0.0) {
      double const square = axis.rise * axis.rise;
      double const mean = (*first + *last) / 2.0;
      spread = {mean - 2.0 * axis.off, mean + 2.0 * axis.off,
                square * (entries * entries - 1.0) / 12.0, square * entries * entries / 4.0};
    } else {
      double const reach = spread.mean_high - spread.mean_low;
      double const mean = std::accumulate(first, last + 1, 0.0) / entries;
      double const variance = reach * reach / 4.0;
      spread = {mean, mean, variance, kBoundless * variance};
    }
  }
}

bool BoxDomain::narrow(Interval const* inputs, std::span<AxisRange> box) const {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    Axis const& axis = axes_[a];
    AxisRange& range = box[a];
    std::size_t const width = axis.inputs.size();
    auto const outside = [&](std::int32_t entry) {
      for (std::size_t k = 0; k < width; ++k) {
        double const x = axis.values[static_cast<std::size_t>(entry) * width + k];
        Interval const& in = inputs[axis.inputs[k]];
        if (x < in.low || x > in.high) return true;
      }
      return false;
    };
    while (range.first <= range.last && outside(range.first)) ++range.first;
    while (range.first <= range.last && outside(range.last)) --range.last;
    if (range.first > range.last) return false;
  }
  return true;
}

void BoxDomain::enclose_variants(std::span<int const> variants, Interval* inputs) const {
  std::size_t const width = variant_inputs_.size();
  for (std::size_t k = 0; k < width; ++k) {
    Interval& hull = inputs[variant_inputs_[k]];
    for (std::size_t i = 0; i < variants.size(); ++i) {
      double const x = variant_values_[static_cast<std::size_t>(variants[i]) * width + k];
      hull = i == 0 ? Interval{x, x} : Interval{std::min(hull.low, x), std::max(hull.high, x)};
    }
  }
}

void BoxDomain::row(std::span<std::int32_t const> entries, int variant, std::int32_t* row) const {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    ValueList const& list = axes_[a].list;
    std::size_t const width = list.attributes.size();
    for (std::size_t i = 0; i < width; ++i) {
      row[list.attributes[i]] = list.values[static_cast<std::size_t>(entries[a]) * width + i];
    }
  }
  set_variant(variant, row);
}

}  // namespace fairlane
