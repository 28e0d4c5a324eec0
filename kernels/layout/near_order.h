// An order in which the heads of a walk lie close together: few consecutive ones have inputs in a
// small box, of which much can be proven.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/layout/walk_plan.h"

namespace fairlane {

/// Heads are taken period by period; a period has all combinations of the last factors.
///
/// One factor is cut into strips. Along a strip go all combinations of the others, from one to the
/// next by a single step of a single factor; each adds the strip's values. How wide strips are is
/// chosen by how much the first layer's sums can differ within `lanes` heads.
class NearOrder {
 public:
  /// plan         outlives it
  /// lanes        heads that are looked at together
  /// most_period  heads of a period, at most
  NearOrder(WalkPlan const& plan, int lanes, std::int64_t most_period);

  std::int64_t period() const { return period_; }
  /// [period] heads of the first period, in this order.
  std::vector<int> const& heads() const { return heads_; }
  /// Inputs of the factors that change within a period, and their values [period] in this order.
  std::vector<int> const& near_inputs() const { return near_inputs_; }
  float const* near_values(std::size_t i) const {
    return &near_values_[i * static_cast<std::size_t>(period_)];
  }
  /// Inputs of the other factors, and their values for a head.
  std::vector<int> const& far_inputs() const { return far_inputs_; }
  void far_values(std::int64_t head, std::vector<float>& values) const;

 private:
  struct Factor {
    std::int64_t size = 0;
    std::int64_t stride = 0;    // heads for which it keeps an entry
    std::vector<int> input;     // that it sets
    std::vector<float> values;  // [size][input]
    double step = 0.0;          // by which the first layer's sums change from entry to entry, about
  };
  void lay_out_factors(WalkPlan const& plan);
  void choose_strips(int lanes, std::size_t& along, int& width) const;
  void place(std::size_t along, int width);
  void list_near();

  std::vector<Factor> factors_;
  std::size_t first_ = 0;  // factor of a period
  std::int64_t period_ = 1;
  std::vector<int> heads_;
  std::vector<int> near_inputs_;
  std::vector<float> near_values_;  // [near inputs][period]
  std::vector<int> far_inputs_;
};

}  // namespace fairlane
