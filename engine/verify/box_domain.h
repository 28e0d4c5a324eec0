// The groups that are verified as a product of axes, and boxes of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/boxes/relaxation.h"
#include "kernels/core/views.h"
#include "kernels/layout/plan.h"
#include "kernels/layout/walk_plan.h"

namespace fairlane {

/// Entries of an axis from first to last.
struct AxisRange {
  std::int32_t first = 0;
  std::int32_t last = 0;

  std::int32_t size() const { return last - first + 1; }
  friend bool operator==(AxisRange const&, AxisRange const&) = default;
};

/// A box of groups: a range of each axis.
using GroupBox = std::vector<AxisRange>;

/// Axes are value lists: one attribute, or several that take only listed combinations together.
/// Their product is the region; each of its points is a group with all variants.
class BoxDomain {
 public:
  /// view    of the subject
  /// packed  is laid out from it, outlives this
  /// lists   of every attribute that is not under test
  BoxDomain(SubjectView const& view, PackedSubject const& packed, std::vector<ValueList> lists);

  std::size_t axes() const { return axes_.size(); }
  ValueList const& axis(std::size_t a) const { return axes_[a].list; }
  int inputs() const { return inputs_; }
  int variants() const { return packed_.get().variants; }
  GroupBox whole() const;
  double groups(std::span<AxisRange const> box) const;

  /// Intervals [inputs] of a box's inputs; those of attributes under test are left alone.
  void enclose(std::span<AxisRange const> box, Interval* inputs) const;
  /// Narrows a box to what inputs [inputs] leave of it. Returns false where that is nothing.
  bool narrow(Interval const* inputs, std::span<AxisRange> box) const;
  /// Inputs of the attributes under test, for variants from a list: their values' hull, into
  /// inputs [inputs].
  void enclose_variants(std::span<int const> variants, Interval* inputs) const;
  /// First input of an axis's entry, and how many: value [width].
  std::span<double const> values(std::size_t axis, std::int32_t entry) const {
    Axis const& a = axes_[axis];
    auto const width = a.inputs.size();
    return {&a.values[static_cast<std::size_t>(entry) * width], width};
  }
  /// [width] which inputs those are.
  std::vector<int> const& axis_inputs(std::size_t axis) const { return axes_[axis].inputs; }
  /// Inputs of the attributes under test.
  std::vector<int> const& variant_inputs() const { return variant_inputs_; }
  /// Whether one input takes the entries' values in ascending order.
  bool ordered(std::size_t axis) const { return axes_[axis].ordered; }
  /// What one input rises by from each entry to the next; 0 where there is no such step.
  double step(std::size_t axis) const { return axes_[axis].step; }

  /// The row [attributes] of a group, in dataset order, with a variant's values.
  /// entries [axes]
  void row(std::span<std::int32_t const> entries, int variant, std::int32_t* row) const;
  std::size_t attributes() const { return packed_.column_of().size(); }

 private:
  struct Axis {
    ValueList list;
    std::vector<int> inputs;     // [width]
    std::vector<double> values;  // [entries][width]
    bool ordered = false;
    double step = 0.0;
  };

  PackedSubject const& packed_;
  std::vector<Axis> axes_;
  std::vector<int> first_input_;        // [attributes]
  std::vector<int> variant_inputs_;     // of the attributes under test
  std::vector<double> variant_values_;  // [variants][variant_inputs]
  int inputs_ = 0;
};

}  // namespace fairlane
