// A network whose boxes are decided, beside the evaluation of every group.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>

#include "engine/verify/boxes/cells.h"
#include "engine/verify/deciders/network_decider.h"
#include "engine/verify/share_round.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {

/// A subject whose boxes are decided, and all of whose groups are evaluated one by one.
class DecidedSubject {
 public:
  DecidedSubject(RandomSubject& subject, bool all_differ, RegionRules rules = {},
                 double margin = 0.0)
      : view_(subject.view),
        backend_(make_cpu_backend(subject.view, {})),
        domain_(view_, backend_->subject(), part_of(free_lists(view_), rules), rules),
        network_(view_.network),
        query_({{}, {}, view_.outputs() == 1 ? static_cast<double>(view_.threshold) : 0.0, margin}),
        rules_(std::move(rules)),
        decider_(domain_, network_, *backend_, query_),
        existing_(domain_, {}),
        walk_(domain_, *backend_) {
    query_.variants.emplace_back();
    for (int v = 0; v < domain_.variants(); ++v) query_.variants[0].push_back(v);
    query_.compares = [this, all_differ](int v, int w) { return differs(v, w, all_differ); };
    find_unfair();
  }

  BoxDomain const& domain() const { return domain_; }
  /// From now on boxes that are not decided otherwise are evaluated whole.
  void evaluate_open() { evaluate_ = true; }
  /// A relaxed attribute's region ends before its values do.
  static std::vector<ValueList> part_of(std::vector<ValueList> lists, RegionRules const& rules) {
    for (ValueList& list : lists) {
      for (RelaxedAttribute const& relaxed : rules.relaxed) {
        if (list.attributes.front() != relaxed.attribute || list.values.size() < 4) continue;
        list.values.erase(list.values.begin());
        list.values.pop_back();
      }
    }
    return lists;
  }

  /// Decides a box with all its parts, and compares with what is known.
  void expect_right(GroupBox const& box, std::uint64_t id) {
    std::vector<OpenBox> open;
    for (std::size_t p = 0; p < network_.pairs().size(); ++p)
      open.push_back({id, 0, 0, static_cast<std::int32_t>(p), 0, 0, box, 0, evaluate_});
    bool unfair = false;
    bool close = false;
    while (!open.empty() && !unfair) {
      std::vector<Decision> decisions(open.size());
      decider_.decide(open, decisions);
      std::vector<OpenBox> parts;
      for (std::size_t i = 0; i < open.size(); ++i) {
        Decision const& decision = decisions[i];
        ++verdicts[static_cast<std::size_t>(decision.verdict)];
        if (decision.verdict == BoxVerdict::kUnfair) {
          unfair = true;
          expect_example(open[i].box, decision);
        } else if (decision.verdict == BoxVerdict::kOpen) {
          // What narrowing has left out holds nothing.
          visit(open[i].box, [&](std::vector<std::int32_t> const& entries) {
            bool inside = true;
            for (std::size_t a = 0; a < entries.size(); ++a) {
              inside = inside && entries[a] >= decision.box[a].first &&
                       entries[a] <= decision.box[a].last;
            }
            ASSERT_TRUE(inside || !unfair_between(open[i].classes, entries));
          });
          AxisRange const whole = decision.box[decision.cut.axis];
          ASSERT_GT(whole.size(), 1);
          std::int32_t const middle = whole.first + whole.size() / 2;
          for (bool const upper : {false, true}) {
            OpenBox part{++id * 77, open[i].depth + 1, 0, open[i].classes, 0,
                         0,         decision.box,      0, evaluate_};
            part.box[decision.cut.axis] =
                upper ? AxisRange{middle, whole.last} : AxisRange{whole.first, middle - 1};
            parts.push_back(part);
          }
        } else if (decision.verdict == BoxVerdict::kWithinMargin) {
          close = true;
        } else {
          bool const checked = decision.verdict != BoxVerdict::kUndefined;
          visit(open[i].box, [&](std::vector<std::int32_t> const& entries) {
            ASSERT_FALSE(unfair_between(open[i].classes, entries))
                << "by " << static_cast<int>(decision.verdict);
            ASSERT_FALSE(checked && query_.margin > 0.0 && close_[number_of(entries)]);
          });
        }
        if (testing::Test::HasFatalFailure()) return;
      }
      open = std::move(parts);
    }
    bool expected = false;
    for_groups(box, [&](std::vector<std::int32_t> const&, bool is_unfair) {
      expected = expected || is_unfair;
    });
    ASSERT_EQ(unfair, expected);
    bool expected_close = false;
    visit(box, [&](std::vector<std::int32_t> const& entries) {
      expected_close = expected_close || close_[number_of(entries)];
    });
    ASSERT_TRUE(unfair || query_.margin == 0.0 || close == expected_close);
  }

  /// Counts what is certain of a box, in a look of either kind, and compares with what is known.
  void expect_certain(GroupBox const& box, std::int32_t wait) {
    std::vector<OpenBox> const open = {{1, 0, 0, 0, wait, 0, box}};
    std::vector<Decision> decisions(1);
    std::vector<CertainGroups> certain(1);
    decider_.measure(existing_, open, true, decisions, certain);
    CertainGroups const known = known_of(box);
    ASSERT_LE(certain[0].fair, known.fair);
    ASSERT_LE(certain[0].unfair, known.unfair);
    ASSERT_LE(certain[0].by_merged, known.fair);
    if (decisions[0].verdict != BoxVerdict::kOpen) {
      ASSERT_EQ(certain[0].fair + certain[0].unfair, known.fair + known.unfair);
    }
    counted += certain[0].fair + certain[0].unfair;
    counted_unfair += decisions[0].verdict == BoxVerdict::kOpen ? certain[0].unfair : 0.0;
    groups += known.fair + known.unfair;
  }

  /// Whether all variants of a group are compared with each other.
  bool compares_all() const {
    for (int const v : query_.variants[0]) {
      for (int const w : query_.variants[0]) {
        if (v != w && !query_.compares(v, w)) return false;
      }
    }
    return true;
  }

  /// Evaluates all of a box, and compares with what is known.
  void expect_walked(GroupBox const& box) {
    CertainGroups const known = known_of(box);
    CertainGroups const walked = walk_.count(box);
    ASSERT_EQ(walked.fair, known.fair);
    ASSERT_EQ(walked.unfair, known.unfair);
    groups += known.fair + known.unfair;
  }

  /// Counts all groups, which ends where nothing is undecided. Returns how many boxes were
  /// evaluated whole, where a group of them costs so much.
  std::size_t expect_shares(double group_cost) {
    ShareQueue queue(domain_, existing_);
    MeasureCosts costs = decider_.costs();
    costs.group = group_cost;
    std::size_t evaluated = 0;
    for (ShareRound round(existing_, [] { return false; }); round.begin(queue, costs);) {
      round.measure(decider_, 0, round.boxes());
      for (std::size_t const box : round.to_evaluate()) {
        round.evaluate(walk_, box);
        ++evaluated;
      }
      round.end(queue);
    }
    expect_exact(queue.shares());
    return evaluated;
  }
  void expect_exact(CertainShares const& shares) const {
    auto const unfair = static_cast<double>(std::ranges::count(unfair_, true));
    ASSERT_NEAR(shares.unfair, unfair, 1e-6);
    ASSERT_NEAR(shares.fair, static_cast<double>(unfair_.size()) - unfair, 1e-6);
  }

  std::array<int, kBoxVerdicts> verdicts{};
  double counted = 0.0;
  double counted_unfair = 0.0;  // of boxes that are left open
  double groups = 0.0;

 private:
  /// What evaluating a box's groups one by one has shown.
  CertainGroups known_of(GroupBox const& box) const {
    CertainGroups known;
    visit(box, [&](std::vector<std::int32_t> const& entries) {
      std::size_t const number = number_of(entries);
      known.fair += unfair_[number] || undefined_[number] ? 0.0 : 1.0;
      known.unfair += unfair_[number] ? 1.0 : 0.0;
    });
    return known;
  }
  bool differs(int v, int w, bool in_all) const {
    if (!in_all) return v != w;
    PackedSubject const& packed = backend_->subject();
    for (int s = 0; s < packed.get().selected; ++s) {
      if (packed.variant_value(v, s) == packed.variant_value(w, s)) return false;
    }
    return true;
  }
  /// What a variant's output is, from the threshold, and its label.
  struct Outcome {
    double lead = 0.0;
    std::int32_t label = 0;
  };
  Outcome outcome(std::vector<std::int32_t> const& entries, int variant) const {
    naive::Row row(view_.low.size());
    domain_.row(entries, variant, row.data());
    naive::FloatReference const reference(view_);
    auto const z = reference.logits(row);
    double const lead = z.size() == 1 ? static_cast<double>(z[0]) - query_.threshold
                                      : static_cast<double>(z[1]) - static_cast<double>(z[0]);
    return {lead, reference.label(row)};
  }
  /// The value of an attribute that a group has.
  std::int32_t value(std::vector<std::int32_t> const& entries, std::size_t attribute) const {
    naive::Row row(view_.low.size());
    domain_.row(entries, 0, row.data());
    return row[attribute];
  }
  bool is_limited(std::vector<std::int32_t> const& entries) const {
    for (LinearLimit const& limit : rules_.limits) {
      std::int64_t sum = 0;
      for (std::size_t a = 0; a < limit.coefficients.size(); ++a) {
        if (limit.coefficients[a] != 0) sum += limit.coefficients[a] * value(entries, a);
      }
      if (sum > limit.most) return true;
    }
    return false;
  }
  bool are_compared(std::vector<std::int32_t> const& one,
                    std::vector<std::int32_t> const& other) const {
    for (std::size_t a = 0; a < one.size(); ++a) {
      std::int32_t by = 0;
      for (RelaxedAttribute const& relaxed : rules_.relaxed) {
        if (domain_.axis(a).attributes.front() == relaxed.attribute) by = relaxed.by;
      }
      auto const& values = domain_.axis(a).values;
      if (std::abs(values[static_cast<std::size_t>(one[a])] -
                   values[static_cast<std::size_t>(other[a])]) > by)
        return false;
    }
    return true;
  }
  /// Compares every group with every other one that it is compared with.
  void find_unfair() {
    struct Group {
      std::vector<std::int32_t> entries;
      std::vector<Outcome> outcomes;
      bool limited;
    };
    std::vector<Group> people;
    visit(all_entries(), [&](std::vector<std::int32_t> const& entries) {
      people.push_back({entries, {}, is_limited(entries)});
      for (int v = 0; v < domain_.variants(); ++v)
        people.back().outcomes.push_back(outcome(entries, v));
    });
    between_.resize(people.size());
    bool const alone = rules_.relaxed.empty();
    for (std::size_t g = 0; g < people.size(); ++g) {
      Group const& own = people[g];
      bool unfair = false;
      bool close = false;
      bool undefined = false;
      for (std::size_t h = alone ? g : 0; h < (alone ? g + 1 : people.size()); ++h) {
        Group const& other = people[h];
        if (own.limited || other.limited || !are_compared(own.entries, other.entries)) continue;
        for (Outcome const& z : other.outcomes) undefined = undefined || z.label == kUndefinedLabel;
        for (int v = 0; v < domain_.variants(); ++v) {
          for (int w = 0; w < domain_.variants(); ++w) {
            auto const [a, label] = own.outcomes[static_cast<std::size_t>(v)];
            auto const [b, other_label] = other.outcomes[static_cast<std::size_t>(w)];
            if (!query_.compares(v, w) || label == kUndefinedLabel ||
                other_label == kUndefinedLabel)
              continue;
            if (label != other_label) {
              unfair = true;
              between_[g].insert(std::minmax(label, other_label));
            }
            close = close || (std::max(a, b) > -query_.margin && std::min(a, b) <= query_.margin);
          }
        }
      }
      unfair_.push_back(unfair);
      close_.push_back(close);
      undefined_.push_back(undefined);
    }
  }
  bool unfair_between(std::int32_t classes, std::vector<std::int32_t> const& entries) const {
    auto const [first, second] = network_.pairs()[static_cast<std::size_t>(classes)];
    auto const& between = between_[number_of(entries)];
    return second == 0 ? !between.empty() : between.contains({first, second});
  }
  /// All entries of all axes: those beyond the region, of relaxed ones, among them.
  GroupBox all_entries() const {
    GroupBox box;
    for (std::size_t a = 0; a < domain_.axes(); ++a)
      box.push_back({0, static_cast<std::int32_t>(domain_.axis(a).size()) - 1});
    return box;
  }
  template <class Visit>
  void visit(GroupBox const& box, Visit const& what) const {
    std::vector<std::int32_t> entries;
    for (AxisRange const& range : box) entries.push_back(range.first);
    for (std::size_t a = entries.size(); a > 0 || entries.empty();) {
      what(entries);
      for (a = entries.size(); a > 0; --a) {
        if (entries[a - 1] < box[a - 1].last) {
          ++entries[a - 1];
          break;
        }
        entries[a - 1] = box[a - 1].first;
      }
      if (entries.empty()) break;
    }
  }
  template <class Visit>
  void for_groups(GroupBox const& box, Visit const& what) const {
    visit(box, [&](std::vector<std::int32_t> const& entries) {
      what(entries, unfair_[number_of(entries)]);
    });
  }
  std::size_t number_of(std::vector<std::int32_t> const& entries) const {
    std::size_t number = 0;
    for (std::size_t a = 0; a < entries.size(); ++a)
      number = number * static_cast<std::size_t>(domain_.axis(a).size()) +
               static_cast<std::size_t>(entries[a]);
    return number;
  }
  void expect_example(GroupBox const& box, Decision const& decision) const {
    UnfairPair const& found = decision.example;
    auto const inside = [&](std::vector<std::int32_t> const& entries) {
      for (std::size_t a = 0; a < box.size(); ++a) {
        if (entries[a] < box[a].first || entries[a] > box[a].last) return false;
      }
      return true;
    };
    ASSERT_TRUE(inside(found.entries) || inside(found.other));
    ASSERT_TRUE(are_compared(found.entries, found.other));
    ASSERT_FALSE(is_limited(found.entries) || is_limited(found.other));
    ASSERT_GT(outcome(found.entries, found.pair.upper).label,
              outcome(found.other, found.pair.lower).label);
    ASSERT_NE(outcome(found.other, found.pair.lower).label, kUndefinedLabel);
    ASSERT_TRUE(query_.compares(found.pair.upper, found.pair.lower));
  }

  SubjectView const& view_;
  std::unique_ptr<Backend> backend_;
  BoxDomain domain_;
  BoundNetwork network_;
  VerifyQuery query_;
  RegionRules rules_;
  NetworkDecider decider_;
  ExistingGroups existing_;
  BoxWalk walk_;
  std::vector<bool> unfair_;                                              // [groups]
  std::vector<std::set<std::pair<std::int32_t, std::int32_t>>> between_;  // [groups] labels
  std::vector<bool> close_;      // [groups] unfair, could outputs be off by the margin
  std::vector<bool> undefined_;  // [groups] some output is no number
  bool evaluate_ = false;        // what bounds do not decide
};

inline GroupBox random_part(RandomSubject& subject, GroupBox box) {
  for (AxisRange& range : box) {
    std::int32_t const first = subject.uniform(0, range.last);
    if (subject.uniform(0, 2) > 0) range = {first, subject.uniform(first, range.last)};
  }
  return box;
}

/// Calls test(subject, decided, seed) for 80 networks of every kind.
template <class Test>
void for_subjects(Test const& test) {
  std::uint32_t seed = 1;
  for (Activation const activation :
       {Activation::kRelu, Activation::kLeakyRelu, Activation::kLinear, Activation::kTanh,
        Activation::kSigmoid, Activation::kElu, Activation::kSilu, Activation::kGelu,
        Activation::kRelu, Activation::kRelu}) {
    for (auto const& counts : std::vector<std::vector<int>>{{2}, {6}, {3, 2}, {2, 2, 2}}) {
      for (bool const encoded : {false, true}) {
        ++seed;
        RandomSubject::Shape shape;
        shape.attributes = 4 + static_cast<int>(counts.size());
        shape.counts = counts;
        shape.activation = activation;
        shape.encoded = encoded;
        shape.seed = seed;
        shape.range = 8;
        shape.widths = seed % 4 == 0   ? std::vector<int>{6, 2}
                       : seed % 4 == 1 ? std::vector<int>{8, 5, 1}
                       : seed % 4 == 2 ? std::vector<int>{5, 5, 5, 1}
                                       : std::vector<int>{7, 1};
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomSubject subject(shape);
        // On every other one, some input lies on the threshold itself.
        if (shape.widths.back() == 1 && seed % 2 == 0) {
          naive::FloatReference const exact(subject.view);
          subject.view.threshold = exact.logits(subject.row())[0];
        }
        DecidedSubject decided(subject, seed % 5 == 0);
        test(subject, decided, seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace fairlane
