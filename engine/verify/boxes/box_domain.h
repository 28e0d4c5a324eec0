// The groups that are verified as a product of axes, and boxes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/linear_limit.h"
#include "kernels/boxes/box_kernels.h"
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

/// Where a box is cut into two: behind an entry of an axis.
struct BoxCut {
  std::size_t axis = 0;
  std::int32_t entry = 0;
};

/// Calls take(entries [axes]) for each point of a box, the last axis fastest, until it returns
/// false.
template <class Take>
void each_point(std::span<AxisRange const> box, Take const& take) {
  std::vector<std::int32_t> entries;
  for (AxisRange const& range : box) entries.push_back(range.first);
  while (take(entries)) {
    std::size_t a = entries.size();
    while (a > 0 && entries[a - 1] == box[a - 1].last) {
      entries[a - 1] = box[a - 1].first;
      --a;
    }
    if (a == 0) return;
    ++entries[a - 1];
  }
}

/// By how much two people's values of an attribute may differ, beside those under test.
struct RelaxedAttribute {
  int attribute = 0;
  std::int32_t by = 0;
};

/// Who belongs to a region of value lists, and who is compared with whom.
struct RegionRules {
  std::vector<RelaxedAttribute> relaxed;
  std::vector<LinearLimit> limits;
};

/// Axes are value lists: one attribute, or several that take only listed combinations together.
/// Their product is the region, less what limits leave out; each of its points is a group with all
/// variants. An axis that is relaxed has more entries than the region: those of people with whom
/// the region's are compared.
class BoxDomain {
 public:
  /// view    of the subject
  /// packed  is laid out from it, outlives this
  /// lists   of every attribute that is not under test; one with a list of its own may be relaxed
  BoxDomain(SubjectView const& view, PackedSubject const& packed, std::vector<ValueList> lists,
            RegionRules rules = {});

  std::size_t axes() const { return axes_.size(); }
  ValueList const& axis(std::size_t a) const { return axes_[a].list; }
  int inputs() const { return inputs_; }
  int variants() const { return packed_.get().variants; }
  GroupBox whole() const;
  /// Points of a box, those that limits leave out among them.
  static double groups(std::span<AxisRange const> box);

  bool relaxed() const { return relaxed_; }
  bool limited() const { return !limits_.empty(); }
  /// What each entry adds to a limit's sum, [axes][entries], which is at most `most`.
  struct Limit {
    std::vector<std::vector<std::int64_t>> sums;
    std::int64_t most = 0;
  };
  std::span<Limit const> limits() const { return limits_; }
  /// Entries of an axis with which one of its entries is compared.
  AxisRange near(std::size_t axis, std::int32_t entry) const {
    Axis const& a = axes_[axis];
    return a.near.empty() ? AxisRange{entry, entry} : a.near[static_cast<std::size_t>(entry)];
  }
  /// A box of all with whom some group of a box is compared.
  GroupBox widened(std::span<AxisRange const> box) const;
  /// Narrows a box to who is compared with some group of another, and the other likewise. Returns
  /// false where that is nobody.
  bool link(std::span<AxisRange> own, std::span<AxisRange> beside) const;
  /// By how much an input of two people who are compared may differ, where they differ in no
  /// attribute under test; [inputs] infinite where it is not known.
  std::vector<double> const& apart() const { return apart_; }
  /// How far a point is beyond the limits, 0 within them.
  std::int64_t excess(std::span<std::int32_t const> entries) const;
  /// Whether all points of a box are within the limits.
  bool is_within_limits(std::span<AxisRange const> box) const;
  /// Narrows a box to where points within the limits can be. Returns false where that is nowhere.
  bool keep_limits(std::span<AxisRange> box) const;

  /// Intervals [inputs] of a box's inputs; those of attributes under test are left alone.
  void enclose(std::span<AxisRange const> box, Interval* inputs) const;
  /// How inputs [inputs] are spread over a box's groups; those of attributes under test are left
  /// alone.
  void spread(std::span<AxisRange const> box, InputSpread* inputs) const;
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
  /// What an axis's entry adds to a linear sum of inputs. slopes: [inputs]
  double added(std::size_t axis, std::int32_t entry, double const* slopes) const {
    auto const of = values(axis, entry);
    double sum = 0.0;
    for (std::size_t k = 0; k < of.size(); ++k) sum += slopes[axes_[axis].inputs[k]] * of[k];
    return sum;
  }
  /// Inputs of the attributes under test.
  std::vector<int> const& variant_inputs() const { return variant_inputs_; }
  /// Whether one input takes the entries' values in ascending order.
  bool ordered(std::size_t axis) const { return axes_[axis].ordered; }
  /// What one input rises by from each entry to the next; 0 where there is no such step.
  double step(std::size_t axis) const { return axes_[axis].step; }

  /// Which members of groups exist: their rows satisfy all of these. Empty: all do.
  std::span<ConstraintView const> constraints() const { return constraints_; }
  /// The row [attributes] of a group, in dataset order, with a variant's values.
  /// entries [axes]
  void row(std::span<std::int32_t const> entries, int variant, std::int32_t* row) const;
  /// Only the variant's values.
  void set_variant(int variant, std::int32_t* row) const { packed_.set_variant(variant, row); }
  std::size_t attributes() const { return packed_.column_of().size(); }

 private:
  struct Axis {
    ValueList list;
    std::vector<int> inputs;     // [width]
    std::vector<double> values;  // [entries][width]
    bool ordered = false;
    double step = 0.0;
    double rise = 0.0;            // from each entry to the next, up to `off`; 0: uneven
    double off = 0.0;             // from values that rise so, at most
    AxisRange region;             // entries of the region
    std::vector<AxisRange> near;  // [entries]; empty: not relaxed
  };
  void relax(Axis& axis, SubjectView const& view, std::int32_t by);
  static void find_rise(Axis& axis);
  void find_apart(Axis const& axis);

  PackedSubject const& packed_;
  std::span<ConstraintView const> constraints_;
  std::vector<Axis> axes_;
  std::vector<int> first_input_;        // [attributes]
  std::vector<int> variant_inputs_;     // of the attributes under test
  std::vector<double> variant_values_;  // [variants][variant_inputs]
  int inputs_ = 0;
  std::vector<Limit> limits_;
  std::vector<double> apart_;
  bool relaxed_ = false;
};

}  // namespace fairlane
