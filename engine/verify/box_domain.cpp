#include "engine/verify/box_domain.h"

#include <algorithm>
#include <cmath>

namespace fairlane {

BoxDomain::BoxDomain(SubjectView const& view, PackedSubject const& packed,
                     std::vector<ValueList> lists)
    : packed_(packed) {
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    first_input_.push_back(inputs_);
    inputs_ += view.encoding(a).width;
  }
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
    std::size_t const width = list.attributes.size();
    for (int const a : list.attributes) number(static_cast<std::size_t>(a), axis.inputs);
    for (std::size_t i = 0; i < list.values.size(); ++i)
      append(static_cast<std::size_t>(list.attributes[i % width]), list.values[i], axis.values);
    axis.ordered =
        axis.inputs.size() == 1 && std::is_sorted(axis.values.begin(), axis.values.end());
    if (axis.ordered && axis.values.size() > 1) {
      double const step = axis.values[1] - axis.values[0];
      bool even = true;
      for (std::size_t e = 1; e < axis.values.size(); ++e)
        even = even && axis.values[e] - axis.values[e - 1] == step;
      axis.step = even ? step : 0.0;
    }
    axis.list = std::move(list);
    axes_.push_back(std::move(axis));
  }
  for (std::int32_t const s : view.selected) number(static_cast<std::size_t>(s), variant_inputs_);
  for (int v = 0; v < variants(); ++v) {
    for (std::size_t i = 0; i < view.selected.size(); ++i) {
      append(static_cast<std::size_t>(view.selected[i]),
             packed.variant_value(v, static_cast<int>(i)), variant_values_);
    }
  }
}

GroupBox BoxDomain::whole() const {
  GroupBox box;
  for (Axis const& axis : axes_)
    box.push_back({0, static_cast<std::int32_t>(axis.list.size()) - 1});
  return box;
}

double BoxDomain::groups(std::span<AxisRange const> box) const {
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
  packed_.set_variant(variant, row);
}

}  // namespace fairlane
