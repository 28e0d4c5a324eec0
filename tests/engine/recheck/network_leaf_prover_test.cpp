#include "engine/recheck/network_leaf_prover.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>

#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

Network network_of(SubjectView const& view) {
  Network network;
  for (LayerView const& layer : view.network) {
    network.layers.push_back({"",
                              layer.inputs,
                              layer.outputs,
                              layer.activation,
                              layer.alpha,
                              {layer.weights.begin(), layer.weights.end()},
                              {layer.bias.begin(), layer.bias.end()}});
  }
  return network;
}

/// Float32 sums of every layer for inputs in double, added up in the order given or its reverse.
std::vector<std::vector<float>> sums_of(Network const& network, std::vector<double> const& inputs,
                                        bool reversed) {
  std::vector<std::vector<float>> all;
  std::vector<float> values(inputs.begin(), inputs.end());
  for (DenseLayer const& layer : network.layers) {
    std::vector<float> sums = layer.bias;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::size_t const k = reversed ? values.size() - 1 - i : i;
      for (std::size_t o = 0; o < sums.size(); ++o)
        sums[o] = std::fma(values[k], layer.weights[k * sums.size() + o], sums[o]);
    }
    all.push_back(sums);
    for (float& z : sums) {
      if (layer.activation == Activation::kRelu) z = std::max(z, 0.0F);
      if (layer.activation == Activation::kLeakyRelu && z < 0.0F) z *= layer.alpha;
    }
    values = sums;
  }
  return all;
}

class RandomBoxes {
 public:
  explicit RandomBoxes(std::uint32_t seed) : random_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  Network network(std::uint32_t seed) {
    Network network;
    std::vector<int> const widths = seed % 3 == 0   ? std::vector<int>{40, 12, 1}
                                    : seed % 3 == 1 ? std::vector<int>{5, 6, 7, 8, 1}
                                                    : std::vector<int>{7, 3};
    int inputs = 3;
    float const scale = seed % 4 == 0 ? 100.0F : 1.0F;
    for (int const outputs : widths) {
      DenseLayer layer;
      layer.inputs = inputs;
      layer.outputs = outputs;
      layer.activation = seed % 5 == 0   ? Activation::kLeakyRelu
                         : seed % 5 == 1 ? Activation::kLinear
                                         : Activation::kRelu;
      layer.alpha = seed % 10 == 0 ? 0.3F : 1.7F;
      for (int i = 0; i < inputs * outputs; ++i)
        layer.weights.push_back(scale * static_cast<float>(uniform(-1.0, 1.0)));
      for (int i = 0; i < outputs; ++i)
        layer.bias.push_back(scale * static_cast<float>(uniform(-1.0, 1.0)));
      network.layers.push_back(std::move(layer));
      inputs = outputs;
    }
    return network;
  }

 private:
  std::mt19937 random_;
};

// What float32 gives lies within all bounds, whatever the order, also where a box is one point.
TEST(CheckedBounds, EncloseFloat32) {
  int narrowed = 0;
  int impossible = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomBoxes random(seed);
    Network const network = random.network(seed);
    CheckedNetwork checked(network);
    if (network.outputs() == 3) checked.compare(0, 2);
    for (int trial = 0; trial < 60; ++trial) {
      CheckedRange inputs;
      double const spread = trial % 3 == 0 ? 0.0 : trial % 3 == 1 ? 1.0 : 8.0;
      for (int k = 0; k < 3; ++k) {
        double const low = std::floor(random.uniform(-6.0, 6.0));
        inputs.low.push_back(low);
        inputs.high.push_back(low + std::floor(random.uniform(0.0, spread)));
      }
      CheckedBox box = checked.box_of(inputs);
      checked.bound(box);
      ASSERT_TRUE(box.possible && box.finite);
      CheckedLine const above = checked.line(box, true);
      CheckedLine const below = checked.line(box, false);
      // A condition on the output, and what it leaves.
      CheckedBox wanted = box;
      auto const output_of = [&](std::vector<double> const& x, bool reversed) {
        auto const last = sums_of(network, x, reversed).back();
        return last.size() == 3 ? static_cast<double>(last[2]) - static_cast<double>(last[0])
                                : static_cast<double>(last[0]);
      };
      auto const random_point = [&] {
        std::vector<double> x;
        for (std::size_t k = 0; k < 3; ++k)
          x.push_back(std::round(random.uniform(inputs.low[k], inputs.high[k])));
        return x;
      };
      // Also one that a point just meets, which may be the greatest of all.
      std::vector<double> const meets = trial % 4 == 0   ? inputs.low
                                        : trial % 4 == 1 ? inputs.high
                                                         : random_point();
      double const least = trial % 2 == 0
                               ? output_of(meets, trial % 8 == 0)
                               : random.uniform(box.sums.back().low[0], box.sums.back().high[0]);
      wanted.sums.back().low[0] = least;
      checked.narrow(wanted);
      impossible += wanted.possible ? 0 : 1;
      for (int point = 0; point < 20; ++point) {
        std::vector<double> const x = point < 2 ? meets : random_point();
        auto const sums = sums_of(network, x, point % 2 == 0);
        for (std::size_t l = 0; l + 1 < sums.size(); ++l) {
          for (std::size_t o = 0; o < sums[l].size(); ++o) {
            ASSERT_GE(static_cast<double>(sums[l][o]), box.sums[l].low[o]);
            ASSERT_LE(static_cast<double>(sums[l][o]), box.sums[l].high[o]);
          }
        }
        double const output = output_of(x, point % 2 == 0);
        ASSERT_GE(output, box.sums.back().low[0]);
        ASSERT_LE(output, box.sums.back().high[0]);
        double most = above.constant;
        double fewest = below.constant;
        for (std::size_t k = 0; k < 3; ++k) {
          most += above.slopes[k] * x[k];
          fewest += below.slopes[k] * x[k];
        }
        double const slack = 1e-14 * (std::abs(most) + std::abs(fewest) + 1.0);
        ASSERT_LE(output, most + slack);
        ASSERT_GE(output, fewest - slack);
        if (output < least) continue;
        ASSERT_TRUE(wanted.possible);
        for (std::size_t k = 0; k < 3; ++k) {
          ASSERT_GE(x[k], wanted.inputs.low[k]);
          ASSERT_LE(x[k], wanted.inputs.high[k]);
        }
        for (std::size_t l = 0; l + 1 < sums.size(); ++l) {
          for (std::size_t o = 0; o < sums[l].size(); ++o) {
            ASSERT_GE(static_cast<double>(sums[l][o]), wanted.sums[l].low[o]);
            ASSERT_LE(static_cast<double>(sums[l][o]), wanted.sums[l].high[o]);
          }
        }
      }
      for (std::size_t k = 0; k < 3; ++k)
        narrowed += wanted.inputs.low[k] > inputs.low[k] || wanted.inputs.high[k] < inputs.high[k];
    }
  }
  EXPECT_GT(narrowed, 50);
  EXPECT_GT(impossible, 0);
}

/// A subject with the labels of all groups, and provers of its boxes.
class ProvenSubject {
 public:
  /// relaxed  by how much values of the first axis may differ, which lacks the attribute's last one
  ///          then; 0: not at all
  /// limited  leaves out groups whose values of the first two axes add up to more than usual
  ProvenSubject(RandomSubject& subject, bool all_differ, double margin, std::int32_t relaxed = 0,
                bool limited = false)
      : view_(subject.view),
        packed_(subject.view, 16),
        relaxed_(relaxed),
        rules_(rules_of(view_, relaxed, limited)),
        domain_(view_, packed_, lists_of(view_, relaxed), rules_),
        network_(network_of(view_)),
        query_({{},
                [this, all_differ](int v, int w) { return differs(v, w, all_differ); },
                view_.outputs() == 1 ? static_cast<double>(view_.threshold) : 0.0,
                margin}) {
    for (int v = 0; v < domain_.variants(); ++v) variants_.push_back(v);
  }

  BoxDomain const& domain() const { return domain_; }
  int classes() const { return network_.outputs(); }

  /// Whether some group of a box is not proven fair, with or without a label, or within the margin.
  bool is_unfair(GroupBox const& box, int first, int second) const {
    bool unfair = false;
    each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
      if (is_left_out(entries)) return true;
      for (std::vector<std::int32_t> const& other : compared_with(entries)) {
        unfair = unfair || are_unfair(entries, other, first, second) ||
                 are_unfair(other, entries, first, second);
      }
      return true;
    });
    return unfair;
  }

  LeafOutcome prove(GroupBox const& box, int first, int second, int effort) const {
    auto const of_row = [this](std::int32_t const* row) {
      return outcome_of({row, row + domain_.attributes()});
    };
    NetworkLeafProver prover(domain_, network_, query_, of_row, effort, 1.0);
    return prover.prove(box, variants_, first, second);
  }

 private:
  bool differs(int v, int w, bool in_all) const {
    if (!in_all) return v != w;
    for (int s = 0; s < packed_.get().selected; ++s) {
      if (packed_.variant_value(v, s) == packed_.variant_value(w, s)) return false;
    }
    return true;
  }
  static std::vector<ValueList> lists_of(SubjectView const& view, std::int32_t relaxed) {
    std::vector<ValueList> lists = free_lists(view);
    if (relaxed > 0 && lists.front().size() > 1) lists.front().values.pop_back();
    return lists;
  }
  static RegionRules rules_of(SubjectView const& view, std::int32_t relaxed, bool limited) {
    RegionRules rules;
    auto const lists = free_lists(view);
    if (relaxed > 0) rules.relaxed.push_back({lists.front().attributes.front(), relaxed});
    if (!limited) return rules;
    LinearLimit limit;
    limit.coefficients.assign(view.low.size(), 0);
    for (std::size_t a = 0; a < 2; ++a) {
      limit.coefficients[static_cast<std::size_t>(lists[a].attributes.front())] = 1;
      limit.most += lists[a].values[lists[a].values.size() / 2];
    }
    rules.limits.push_back(limit);
    return rules;
  }
  bool is_left_out(std::vector<std::int32_t> const& entries) const {
    if (rules_.limits.empty()) return false;
    std::int64_t sum = 0;
    for (std::size_t a = 0; a < 2; ++a)
      sum += domain_.axis(a).values[static_cast<std::size_t>(entries[a])];
    return sum > rules_.limits.front().most;
  }
  /// Every group that one is compared with, itself among them.
  std::vector<std::vector<std::int32_t>> compared_with(
      std::vector<std::int32_t> const& entries) const {
    std::vector<std::vector<std::int32_t>> all;
    auto const& values = domain_.axis(0).values;
    auto const at = [&](std::int32_t entry) { return values[static_cast<std::size_t>(entry)]; };
    std::vector<std::int32_t> other = entries;
    for (other[0] = 0; other[0] < domain_.axis(0).size(); ++other[0]) {
      bool const near = std::abs(at(other[0]) - at(entries[0])) <= relaxed_;
      if (near && !is_left_out(other)) all.push_back(other);
    }
    return all;
  }
  bool are_unfair(std::vector<std::int32_t> const& upper, std::vector<std::int32_t> const& lower,
                  int first, int second) const {
    auto const& of_upper = outcomes(upper);
    auto const& of_lower = outcomes(lower);
    for (int const v : variants_) {
      for (int const w : variants_) {
        if (!query_.compares(v, w)) continue;
        auto const& a = of_upper[static_cast<std::size_t>(v)];
        auto const& b = of_lower[static_cast<std::size_t>(w)];
        bool const between = classes() <= 2 || (a.label == first && b.label == second);
        bool const close =
            query_.margin > 0.0 && a.lead > query_.least_upper() && b.lead <= query_.most_lower();
        if (a.label < 0 || b.label < 0 || (a.label != b.label && between) || close) return true;
      }
    }
    return false;
  }
  /// Of all variants of a group, evaluated once.
  std::vector<ContractOutcome> const& outcomes(std::vector<std::int32_t> const& entries) const {
    auto& known = outcomes_[entries];
    for (std::size_t v = known.size(); v < variants_.size(); ++v)
      known.push_back(outcome(entries, static_cast<int>(v)));
    return known;
  }
  ContractOutcome outcome_of(naive::Row const& row) const {
    naive::FloatReference const reference(view_);
    auto const z = reference.logits(row);
    double const first = static_cast<double>(z[0]);
    std::int32_t const label = reference.label(row);
    if (label == kUndefinedLabel) return {};
    return {label, z.size() == 1 ? first : static_cast<double>(z[1]) - first};
  }
  ContractOutcome outcome(std::vector<std::int32_t> const& entries, int variant) const {
    naive::Row row(domain_.attributes());
    domain_.row(entries, variant, row.data());
    return outcome_of(row);
  }

  SubjectView const& view_;
  PackedSubject packed_;
  std::int32_t relaxed_;
  RegionRules rules_;
  BoxDomain domain_;
  Network network_;
  VerifyQuery query_;
  std::vector<int> variants_;
  mutable std::map<std::vector<std::int32_t>, std::vector<ContractOutcome>> outcomes_;
};

// A leaf is proven only where every group evaluated by itself is fair, and with effort everywhere
// there.
TEST(NetworkLeafProver, AgreesWithEvaluatingEveryGroup) {
  std::array<int, 3> outcomes{};
  int at_once = 0;
  for (std::uint32_t seed = 1; seed <= 72; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.counts = seed % 2 == 0 ? std::vector<int>{3} : std::vector<int>{2, 2};
    shape.attributes = 4 + static_cast<int>(shape.counts.size());
    shape.activation = seed % 3 == 0 ? Activation::kLeakyRelu : Activation::kRelu;
    shape.encoded = seed % 4 == 0;
    shape.range = 6;
    shape.seed = seed;
    shape.widths = seed % 6 == 0   ? std::vector<int>{6, 2}
                   : seed % 6 == 3 ? std::vector<int>{6, 5, 3}
                                   : std::vector<int>{7, 5, 4, 1};
    RandomSubject subject(shape);
    if (shape.widths.back() == 1 && seed % 5 == 0)
      subject.view.threshold = naive::FloatReference(subject.view).logits(subject.row())[0];
    ProvenSubject const proven(
        subject, seed % 7 == 0, seed % 8 == 1 && shape.widths.back() < 3 ? 0.02 : 0.0,
        seed % 3 == 1 ? static_cast<std::int32_t>(1 + seed % 2) : 0, seed % 5 < 2);
    int const classes = proven.classes();
    for (int trial = 0; trial < 12; ++trial) {
      GroupBox box = proven.domain().whole();
      for (AxisRange& range : box) {
        std::int32_t const first = subject.uniform(0, range.last);
        if (subject.uniform(0, 2) > 0) range = {first, subject.uniform(first, range.last)};
      }
      for (int first = 0; first < std::max(classes - 1, 1); ++first) {
        for (int second = classes == 1 ? 0 : first + 1; second < classes; ++second) {
          bool const unfair = proven.is_unfair(box, first, second);
          LeafOutcome const quick = proven.prove(box, first, second, 1);
          ASSERT_FALSE(unfair && quick == LeafOutcome::kProven);
          LeafOutcome const outcome = proven.prove(box, first, second, 100'000);
          // Of more classes than the two a leaf is refuted for others', too.
          bool const told = classes <= 2 || unfair;
          ASSERT_TRUE(!told || outcome == (unfair ? LeafOutcome::kRefuted : LeafOutcome::kProven));
          ASSERT_NE(outcome, LeafOutcome::kUnproven);
          ++outcomes[static_cast<std::size_t>(outcome)];
          at_once += quick == LeafOutcome::kProven && proven.domain().groups(box) > 1.0 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(outcomes[static_cast<std::size_t>(LeafOutcome::kProven)], 100);
  EXPECT_GT(outcomes[static_cast<std::size_t>(LeafOutcome::kRefuted)], 100);
  EXPECT_GT(at_once, 100);
}

// Nothing is proven of groups whose outputs are no numbers.
TEST(NetworkLeafProver, RefutesWhatOverflows) {
  int refuted = 0;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.attributes = 4;
    shape.counts = {3};
    shape.range = 6;
    shape.widths = {8, 6, 1};
    shape.scale = 3.0e12F;
    shape.seed = seed;
    RandomSubject subject(shape);
    for (std::size_t layer = 0; layer < shape.widths.size(); ++layer) {
      // Of one sign, so that outputs overflow far from the threshold.
      for (float& w : subject.weights(layer)) w = std::abs(w);
    }
    ProvenSubject const proven(subject, false, 0.0);
    each_point(std::span<AxisRange const>(proven.domain().whole()),
               [&](std::vector<std::int32_t> const& entries) {
                 GroupBox group;
                 for (std::int32_t const entry : entries) group.push_back({entry, entry});
                 bool const unfair = proven.is_unfair(group, 0, 0);
                 LeafOutcome const outcome = proven.prove(group, 0, 0, 1);
                 EXPECT_EQ(outcome, unfair ? LeafOutcome::kRefuted : LeafOutcome::kProven);
                 refuted += unfair ? 1 : 0;
                 return outcome == (unfair ? LeafOutcome::kRefuted : LeafOutcome::kProven);
               });
  }
  EXPECT_GT(refuted, 0);
}

}  // namespace
}  // namespace fairlane
