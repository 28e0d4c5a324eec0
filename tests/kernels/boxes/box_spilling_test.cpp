#include "kernels/boxes/box_spilling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_boxes.h"
#include "tests/kernels/boxes/batch_bounds.h"

namespace fairlane {
namespace {

using Tails = BoxTails<ScalarBoxPack>;

/// Calls visit(row) for every row of codes in a box.
template <class Visit>
void each_row(std::vector<Interval> const& box, Visit const& visit) {
  naive::Row row;
  for (Interval const& x : box) row.push_back(static_cast<std::int32_t>(x.low));
  while (true) {
    visit(row);
    std::size_t k = 0;
    while (k < row.size() && row[k] == static_cast<std::int32_t>(box[k].high)) {
      row[k] = static_cast<std::int32_t>(box[k].low);
      ++k;
    }
    if (k == row.size()) return;
    ++row[k];
  }
}

/// The rows of a form's inputs, one box.
struct FormBox {
  explicit FormBox(std::vector<Interval> const& box) {
    network.inputs = static_cast<int>(box.size());
    network.straight = false;  // no lines of an output
    for (InputSpread const& input : spread_of(box)) {
      mean_low.push_back(input.mean_low);
      mean_high.push_back(input.mean_high);
      variance.push_back(input.variance);
      breadth.push_back(input.breadth);
    }
    for (Interval const& x : box) {
      low.push_back(x.low);
      high.push_back(x.high);
    }
    lanes.low = low.data();
    lanes.high = high.data();
    lanes.mean_low = mean_low.data();
    lanes.mean_high = mean_high.data();
    lanes.variance = variance.data();
    lanes.breadth = breadth.data();
    lanes.below = lanes.above = zeros.data();
  }

  std::vector<double> low, high, mean_low, mean_high, variance, breadth;
  std::vector<double> zeros = std::vector<double>(16);
  BoxNetwork network;
  BoxLanes lanes;
};

TEST(BoxTails, BoundTheLogarithmOfTheMeanOfAnExponential) {
  // Of n values a step apart, at all rates: what Chernoff's bound rests on.
  for (int n = 2; n <= 200; n = n < 8 ? n + 1 : 2 * n) {
    for (double y = 1.0e-3; n * y < 200.0; y *= 1.2) {
      double const exact = n * y < 20.0
                               ? std::log(std::sinh(n * y) / (n * std::sinh(y)))
                               : (n - 1) * y - std::log(n) + std::log1p(-std::exp(-2.0 * n * y)) -
                                     std::log1p(-std::exp(-2.0 * y));
      double const square = 4.0 * y * y;  // of the rate, for steps of 1
      double const bound = Tails::log_mean(square * (n * n - 1) / 12.0, square * n * n / 4.0);
      ASSERT_GE(bound, exact - 1e-12) << n << " values, " << y;
      // Close where bounds are taken: below the rate times the deviation, with n = 2 at worst.
      if (n > 2 && n * y < 9.0) {
        ASSERT_LE(bound, 1.25 * exact + 0.05) << n << " values, " << y;
      }
    }
  }
}

TEST(BoxTails, HoldForms) {
  RandomSubject subject({});
  int with_tail = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<Interval> box;
    std::vector<double> form;
    int const inputs = subject.uniform(1, 6);
    for (int k = 0; k < inputs; ++k) {
      double const low = subject.uniform(-3, 3);
      box.push_back({low, low + subject.uniform(0, trial % 2 == 0 ? 4 : 1)});
      form.push_back(subject.uniform(-8, 8) / 4.0);
    }
    FormBox const at(box);
    double const constant = subject.uniform(-4, 4) / 8.0;
    int const halvings = subject.uniform(1, 8);
    double const sign = trial % 3 == 0 ? -1.0 : 1.0;
    auto const limits = Tails::limits_anywhere(at.network, at.lanes, form.data(), sign, constant,
                                               std::log(2.0) * halvings);
    // The worst value of the first input, whatever the others are.
    std::vector<Interval> others = box;
    others[0].low = others[0].high = sign * form[0] > 0.0 ? box[0].high : box[0].low;
    double groups = 0.0;
    double beyond = 0.0;
    double excess = 0.0;
    each_row(others, [&](naive::Row const& row) {
      double value = constant;
      for (int k = 0; k < inputs; ++k)
        value += form[static_cast<std::size_t>(k)] * row[static_cast<std::size_t>(k)];
      value *= sign;
      ASSERT_LE(value, limits.all);
      groups += 1.0;
      beyond += value > limits.most ? 1.0 : 0.0;
      excess += std::max(value - limits.most, 0.0);
    });
    double const share = std::ldexp(1.0, -halvings);
    ASSERT_LE(beyond, share * groups);
    ASSERT_LE(excess, share * limits.excess * groups);
    with_tail += beyond > 0.0 ? 1 : 0;
  }
  EXPECT_GT(with_tail, 20);
}

/// How far the threshold lies beyond the lines of unfair groups.
struct Beyond {
  std::vector<double> below;  // [unfair groups]
  std::vector<double> above;
};

/// A share of the largest may be anything; the others' mean over all groups is at most so much.
void expect_within(std::vector<double> beyond, double left_out, double spill, double groups) {
  std::ranges::sort(beyond, std::greater<>());
  auto const skipped = static_cast<std::size_t>(left_out * groups);
  double sum = 0.0;
  for (std::size_t i = skipped; i < beyond.size(); ++i) sum += beyond[i];
  ASSERT_LE(sum, spill * groups + 1e-9);
}

// Every group of boxes of thousands, evaluated by itself.
TEST(BoxSpilling, LinesLeaveOutNoMoreUnfairGroupsThanTheySay) {
  int narrower = 0;
  int with_tails = 0;
  int unfair_beyond = 0;
  for (Activation const activation :
       {Activation::kRelu, Activation::kLeakyRelu, Activation::kTanh, Activation::kRelu}) {
    for (std::uint32_t seed = 1; seed <= 24; ++seed) {
      SCOPED_TRACE(seed);
      RandomSubject::Shape shape;
      shape.attributes = 8;
      shape.range = 4;
      shape.activation = activation;
      shape.seed = seed;
      shape.widths = seed % 3 == 0   ? std::vector<int>{6, 5, 4, 1}
                     : seed % 3 == 1 ? std::vector<int>{9, 1}
                                     : std::vector<int>{7, 5, 1};
      RandomSubject subject(shape);
      // The attribute under test has effects, so that many groups are unfair.
      for (int o = 0; o < shape.widths[0]; ++o)
        subject.weights(0)[static_cast<std::size_t>(o)] *= 3.0F;
      // Weights of one sign let only one of the lines be left.
      for (float& w : subject.weights(shape.widths.size() - 1)) {
        if (seed % 4 < 2) w = seed % 4 == 0 ? std::abs(w) : -std::abs(w);
      }
      auto const backend = make_cpu_backend(subject.view, {});
      BoundNetwork const network(subject.view.network);
      auto const batch = make_cpu_box_batch(network, "");
      BoxMemory& memory = batch->memory();
      BoxLanes const& b = memory.get();
      for (int box_number = 0; box_number < 3; ++box_number) {
        std::vector<Interval> box;
        for (std::size_t a = 0; a < subject.view.low.size(); ++a) {
          box.push_back({static_cast<double>(subject.view.low[a]),
                         static_cast<double>(subject.view.high[a])});
        }
        float level = 0.0F;
        naive::Row const some_row = subject.row();
        backend->logits(some_row.data(), 1, &level);
        for (int k = 0; k < network.get().inputs; ++k) {
          memory.at(b.low, k, 0) = box[static_cast<std::size_t>(k)].low;
          memory.at(b.high, k, 0) = box[static_cast<std::size_t>(k)].high;
        }
        for (int u = 0; u < network.get().units; ++u) {
          memory.at(b.sum_low, u, 0) = -kUnknown;
          memory.at(b.sum_high, u, 0) = kUnknown;
        }
        memory.at(b.share, 0, 0) = 0.0;
        batch->bound(0, 1);
        auto const width = [&] {
          double sum = memory.at(b.above_constant, 0, 0) - memory.at(b.below_constant, 0, 0);
          for (int k = 0; k < network.get().inputs; ++k) {
            auto const& x = box[static_cast<std::size_t>(k)];
            sum += (memory.at(b.above, k, 0) - memory.at(b.below, k, 0)) * (x.low + x.high) / 2.0;
          }
          return sum;
        };
        double const before = width();
        memory.ask_for_most(0, spread_of(box), static_cast<double>(level), 1 + box_number);
        batch->bound(0, 1);
        narrower += width() < 0.95 * before ? 1 : 0;
        double const left_out = memory.at(b.left_out, 0, 0);
        double const spills = memory.at(b.below_spill, 0, 0) + memory.at(b.above_spill, 0, 0);
        with_tails += left_out > 0.0 || spills > 0.0 ? 1 : 0;
        // How steep a smooth activation is beyond its lines is not known.
        if (activation == Activation::kTanh) {
          ASSERT_EQ(spills, 0.0);
        }
        // A line of a group is that of its worst member; the first input tells members apart.
        auto const line = [&](double* rows, double const* constant, naive::Row const& row,
                              bool least) {
          double sum = *constant;
          for (int k = 1; k < network.get().inputs; ++k)
            sum += memory.at(rows, k, 0) * row[static_cast<std::size_t>(k)];
          double const slope = memory.at(rows, 0, 0);
          double const one = sum + slope * box[0].low;
          double const other = sum + slope * box[0].high;
          return least ? std::min(one, other) : std::max(one, other);
        };
        Beyond beyond;
        double groups = 0.0;
        double crossing = 0.0;
        std::vector<Interval> first = box;
        first[0].high = first[0].low;
        each_row(first, [&](naive::Row row) {
          groups += 1.0;
          bool above = false;
          bool not_above = false;
          for (double x = box[0].low; x <= box[0].high; x += 1.0) {
            row[0] = static_cast<std::int32_t>(x);
            float z = 0.0F;
            backend->logits(row.data(), 1, &z);
            (z > level ? above : not_above) = true;
          }
          double const lower = line(b.below, b.below_constant, row, true);
          double const upper = line(b.above, b.above_constant, row, false);
          crossing += lower > upper + memory.at(b.crossing, 0, 0) ? 1.0 : 0.0;
          if (!above || !not_above) return;
          beyond.below.push_back(std::max(lower - static_cast<double>(level), 0.0));
          beyond.above.push_back(std::max(static_cast<double>(level) - upper, 0.0));
          unfair_beyond += beyond.below.back() + beyond.above.back() > 0.0 ? 1 : 0;
        });
        ASSERT_LE(crossing, left_out * groups);
        expect_within(beyond.below, left_out, memory.at(b.below_spill, 0, 0), groups);
        expect_within(beyond.above, left_out, memory.at(b.above_spill, 0, 0), groups);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(narrower, 50);
  EXPECT_GT(with_tails, 50);
  EXPECT_GT(unfair_beyond, 2);  // or nothing was tried
}

}  // namespace
}  // namespace fairlane
