// Bounds of a network over many boxes of inputs at once: what the kernels take and give.
//
// Arrays have a row of `block` doubles for each input or unit: value i of lane n is
// [i * block + n]. Every lane is a box of its own; further blocks follow, each with all its arrays.
// What is proven, and why, says kernels/boxes/network_bounds.h.
#pragma once

#include "kernels/boxes/leaf_sums.h"
#include "kernels/core/pack.h"
#include "kernels/core/views.h"

namespace fairlane {

/// A layer as boxes need it.
/// weights     [inputs][outputs], and transposed [outputs][inputs]
/// magnitudes  [inputs][outputs] that rounding errors are relative to, and of the biases
/// first_unit  number of its first unit; units are numbered through all layers
/// straight    of two lines that meet at 0: `slope` below it, 1 above; 1 where there is one line
struct BoxLayer {
  int inputs = 0;
  int outputs = 0;
  int first_unit = 0;
  bool straight = true;
  double slope = 0.0;
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
  double const* weights = nullptr;
  double const* transposed = nullptr;
  double const* magnitudes = nullptr;
  double const* bias = nullptr;
  double const* bias_magnitudes = nullptr;
};

/// A network of one output, or of several, of which its last unit is the difference of two.
/// units    of all layers
/// hidden   units of the first layer, if it is not the last one
/// outputs  of the network itself
/// widest   inputs or outputs of a layer
struct BoxNetwork {
  int layers = 0;
  BoxLayer const* layer = nullptr;
  int inputs = 0;
  int units = 0;
  int hidden = 0;
  int outputs = 1;
  int widest = 0;
  bool straight = true;
  double terms = 0.0;  // that a constant is summed up from, at most

  FL_HD BoxLayer const& last() const { return layer[layers - 1]; }
};

/// How an input is spread over a box's groups, of which each is as likely and independent of the
/// others; or, where that says nothing, its range.
/// mean_low, mean_high  where its mean lies, of values a step apart or any others
/// variance             of values a step apart; of others a quarter of their reach, squared; or 0
/// breadth              of values a step apart half of all their steps and one more, squared
struct InputSpread {
  double mean_low = 0.0;
  double mean_high = 0.0;
  double variance = 0.0;
  double breadth = 0.0;
};

/// What is known of the boxes of some lanes.
/// low, high          [inputs] in, and narrowed: no input of the box outside them meets `wanted`
/// sum_low, sum_high  [units] bounds of every unit's float32 sum, in and narrowed
/// below, above       [inputs] coefficients of lines in the inputs that the output is never below
///                    and never above, and their constants [1]
/// below_units, above_units
///                    [hidden] coefficients of the same lines in what the first layer's units
///                    give, before these are replaced by lines of their own
/// least, most        [1] of the output over the box
/// possible           [1] 0 where no input of the box keeps all bounds, as is proven
/// wanted             [1] 1: narrow to outputs above the threshold; -1: to others; 0: to neither
/// share              [1] 0; or, after bounds: how many groups a tail may have (box_spilling.h)
/// rarity             [1] ln(1 / share)
/// level              [1] the threshold
/// mean_low, mean_high, variance, breadth
///                    [inputs] InputSpread of each
/// left_out           [1] share of the groups, at most, of which the lines say nothing
/// below_spill, above_spill
///                    [1] mean over the groups, at most, of what the output lies beyond each line
/// crossing           [1] what the line below is above the other one by at most, but for `left_out`
struct BoxLanes {
  double* low = nullptr;
  double* high = nullptr;
  double* sum_low = nullptr;
  double* sum_high = nullptr;
  double* below = nullptr;
  double* below_constant = nullptr;
  double* above = nullptr;
  double* above_constant = nullptr;
  double* below_units = nullptr;
  double* above_units = nullptr;
  double* least = nullptr;
  double* most = nullptr;
  double* possible = nullptr;
  double* wanted = nullptr;
  double* share = nullptr;
  double* rarity = nullptr;
  double* level = nullptr;
  double* mean_low = nullptr;
  double* mean_high = nullptr;
  double* variance = nullptr;
  double* breadth = nullptr;
  double* left_out = nullptr;
  double* below_spill = nullptr;
  double* above_spill = nullptr;
  double* crossing = nullptr;
  double* work = nullptr;  // [box_work(network)] rows of working memory

  /// Arrays that lie so much further on.
  FL_HD BoxLanes moved(long by, long work_by) const {
    return {low + by,         high + by,           sum_low + by,     sum_high + by,
            below + by,       below_constant + by, above + by,       above_constant + by,
            below_units + by, above_units + by,    least + by,       most + by,
            possible + by,    wanted + by,         share + by,       rarity + by,
            level + by,       mean_low + by,       mean_high + by,   variance + by,
            breadth + by,     left_out + by,       below_spill + by, above_spill + by,
            crossing + by,    work + work_by};
  }
};

/// Rows of a block, beside its working memory.
inline int box_rows(BoxNetwork const& n) { return 8 * n.inputs + 2 * n.units + 2 * n.hidden + 13; }

/// Rows of working memory.
inline int box_work(BoxNetwork const& n) {
  constexpr int kOfUnit = 8;   // error, two lines, a range, a number
  constexpr int kOfInput = 4;  // of a layer: sums of rows
  constexpr int kConstants = 16;
  return kOfUnit * n.units + n.layers + 2 * kOfInput * n.widest + kConstants;
}

/// The arrays of the first block. values [blocks][box_rows(network)][block],
/// work [blocks][box_work(network)][block]
inline BoxLanes lay_out_boxes(BoxNetwork const& n, int block, double* values, double* work) {
  auto const take = [&](int rows) {
    double* const begin = values;
    values += static_cast<long>(rows) * block;
    return begin;
  };
  BoxLanes b;
  b.low = take(n.inputs);
  b.high = take(n.inputs);
  b.sum_low = take(n.units);
  b.sum_high = take(n.units);
  b.wanted = take(1);
  b.share = take(1);
  b.rarity = take(1);
  b.level = take(1);
  b.mean_low = take(n.inputs);
  b.mean_high = take(n.inputs);
  b.variance = take(n.inputs);
  b.breadth = take(n.inputs);
  b.below = take(n.inputs);
  b.above = take(n.inputs);
  b.below_units = take(n.hidden);
  b.above_units = take(n.hidden);
  b.below_constant = take(1);
  b.above_constant = take(1);
  b.least = take(1);
  b.most = take(1);
  b.possible = take(1);
  b.left_out = take(1);
  b.below_spill = take(1);
  b.above_spill = take(1);
  b.crossing = take(1);
  b.work = work;
  return b;
}

/// What two lists add to a form, and to the sums of hinges, whose positive parts it loses.
/// row_sums     [rows][1 + hinges] first to the form
/// column_sums  [1 + hinges][columns, rounded up to whole registers]
/// weights      [hinges] how often each positive part is lost
struct HingeTable {
  int rows = 0;
  int columns = 0;
  int hinges = 0;
  double const* row_sums = nullptr;
  double const* column_sums = nullptr;
  double const* weights = nullptr;
};

/// Functions of one instruction set of the host, for `lanes` boxes at a time: blocks of so many.
struct BoxKernels {
  int lanes = 0;
  /// Bounds all sums and the output over the lanes' boxes.
  void (*bound)(BoxNetwork const&, BoxLanes const&) = nullptr;
  /// After bound(): narrows boxes and sums to what can be wanted.
  void (*narrow)(BoxNetwork const&, double threshold, BoxLanes const&) = nullptr;
  /// Outputs [1] at points low [inputs], and their slopes there, below [inputs], where asked for.
  void (*probe)(BoxNetwork const&, BoxLanes const&, bool slopes) = nullptr;
  /// to[i] += scale * from[i], for `count` values, rounded up to whole lanes.
  void (*add)(double const* from, double scale, double* to, int count) = nullptr;
  /// What each row and column add to the form: sums [rows][columns], with room for a register.
  void (*tabulate)(HingeTable const&, double* sums) = nullptr;
  /// to [inputs][width] of a layer from its `from` [outputs][width], by its weights' magnitudes.
  /// width: a multiple of `lanes`
  void (*weigh)(BoxLayer const&, double const* from, int width, double* to) = nullptr;
  /// Those of LeafSums.
  void (*add_leaves)(LeafTable const&, std::int32_t* scratch, std::int32_t* sums) = nullptr;
  void (*spread_leaves)(std::int32_t const* from, int count, int size,
                        std::int32_t* sums) = nullptr;
  void (*span_leaves)(std::int32_t const* shared, std::int32_t const* own, int tables, int places,
                      std::int32_t* least, std::int32_t* most) = nullptr;
  void (*rank_leaves)(ClassSums const&, std::uint32_t* labels) = nullptr;
};

/// The best ones that this processor runs, or those of an instruction set as
/// kernels/cpu/lane_kernels.h names them. Throws Error(kUnavailable).
BoxKernels const& box_kernels(char const* isa = "");

}  // namespace fairlane
