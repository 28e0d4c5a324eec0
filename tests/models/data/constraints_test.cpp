#include "models/data/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "models/data/domain.h"
#include "models/data/domain_yaml.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

// Draws domains so small that all of their inputs can be tried, and constraints of every kind.
class DomainDraw {
 public:
  explicit DomainDraw(std::uint32_t seed) : random_(seed) {}

  int below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  Domain domain() {
    Domain domain;
    domain.source = "drawn.yaml";
    int const attributes = 2 + below(3);
    for (int a = 0; a < attributes; ++a) {
      Attribute attribute;
      attribute.name = fmt::format("a{}", a);
      int const low = below(9) - 4;
      attribute.low = low;
      attribute.high = low + below(6);
      if (below(4) == 0) {
        attribute.values = {low};
        // Lists with gaps wide enough for no table to reach over them, now and then.
        int const step = below(6) == 0 ? 40000 : 3;
        for (int i = below(4); i >= 0; --i)
          attribute.values.push_back(attribute.values.back() + 1 + below(step));
        attribute.high = attribute.values.back();
      }
      domain.attributes.push_back(attribute);
    }
    return domain;
  }

  Constraint constraint(Domain const& domain) {
    Constraint constraint;
    constraint.place = "drawn.yaml:1:1";
    std::vector<int> order;
    for (int a = 0; a < domain.size(); ++a) order.push_back(a);
    std::shuffle(order.begin(), order.end(), random_);
    constraint.kind = static_cast<ConstraintKind>(below(3));
    std::size_t const used = 2 + static_cast<std::size_t>(below(domain.size() - 1));
    order.resize(used);
    switch (constraint.kind) {
      case ConstraintKind::kImplication: {
        std::size_t const when = 1 + static_cast<std::size_t>(below(static_cast<int>(used) - 1));
        for (std::size_t i = 0; i < used; ++i)
          (i < when ? constraint.when : constraint.then).push_back(condition(domain, order[i]));
        break;
      }
      case ConstraintKind::kSum:
        for (int const a : order)
          constraint.terms.push_back({a, below(2) == 0 ? 1 : -2 - below(3)});
        constraint.least = below(20) - 14;
        constraint.most = constraint.least + below(16);
        if (below(3) == 0) constraint.least = INT64_MIN;
        if (below(3) == 0) constraint.most = INT64_MAX;
        break;
      case ConstraintKind::kCombinations:
        constraint.attributes = order;
        for (int i = below(30); i >= 0; --i)
          for (int const a : order) constraint.rows.push_back(code(domain, a));
        constraint.rows = distinct_rows(constraint.rows, used);
        break;
    }
    return constraint;
  }

  std::int32_t code(Domain const& domain, int a) {
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(a)];
    return attribute.code_at(below(static_cast<int>(attribute.code_count())));
  }

 private:
  CodeCondition condition(Domain const& domain, int a) {
    std::vector<CodeInterval> ranges;
    for (int i = below(4); i > 0; --i) {
      std::int32_t const one = code(domain, a);
      std::int32_t const other = below(2) == 0 ? one : code(domain, a);
      ranges.push_back({std::min(one, other), std::max(one, other)});
    }
    return {a, settled_ranges(ranges, domain.attributes[static_cast<std::size_t>(a)])};
  }

  std::mt19937 random_;
};

std::vector<std::vector<std::int32_t>> inputs_of(Domain const& domain) {
  std::vector<std::vector<std::int32_t>> inputs = {{}};
  for (Attribute const& attribute : domain.attributes) {
    std::vector<std::vector<std::int32_t>> longer;
    for (auto const& input : inputs) {
      for (std::int64_t i = 0; i < attribute.code_count(); ++i) {
        longer.push_back(input);
        longer.back().push_back(attribute.code_at(i));
      }
    }
    inputs = std::move(longer);
  }
  return inputs;
}

// What a kernel does with a view, written anew.
bool view_allows(ConstraintView const& view, std::vector<std::int32_t> const& row) {
  std::int64_t sum = 0;
  for (TermView const& term : view.terms) {
    std::int32_t const code = row[static_cast<std::size_t>(term.attribute)];
    if (term.kind == TermKind::kCode) sum += std::int64_t{term.factor} * code;
    if (term.kind == TermKind::kWithin && term.from <= code && code <= term.to) sum += term.factor;
    if (term.kind == TermKind::kTable) {
      EXPECT_TRUE(term.from <= code && code <= term.to) << "a code outside of a table";
      sum += term.table[code - term.from];
    }
    EXPECT_TRUE(sum >= INT32_MIN && sum <= INT32_MAX) << "a sum outside of int32";
  }
  if (view.set.empty()) return sum <= view.bound;
  EXPECT_EQ(view.set.size(), static_cast<std::size_t>(view.bound) / 32 + 1);
  if (sum < 0 || sum > view.bound) return false;
  return (view.set[static_cast<std::size_t>(sum) / 32] >> (sum % 32) & 1U) != 0;
}

bool in_box(std::vector<std::int32_t> const& input, std::vector<std::int32_t> const& low,
            std::vector<std::int32_t> const& high) {
  for (std::size_t a = 0; a < input.size(); ++a)
    if (input[a] < low[a] || input[a] > high[a]) return false;
  return true;
}

TEST(CompiledConstraints, SayWhatTheWordsSay) {
  constexpr int kDomains = 4000;
  constexpr int kBoxes = 6;
  int refused = 0;
  int excluded = 0;
  int kept = 0;
  for (std::uint32_t seed = 0; seed < kDomains; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    DomainDraw draw(seed);
    Domain domain = draw.domain();
    auto const inputs = inputs_of(domain);
    std::vector<Constraint> drawn;
    for (int i = draw.below(3); i >= 0; --i) drawn.push_back(draw.constraint(domain));
    for (Constraint const& one : drawn) {
      domain.constraints = {one};
      auto const count = std::ranges::count_if(
          inputs, [&](auto const& input) { return satisfies(one, input.data()); });
      if (one.kind == ConstraintKind::kImplication && count == 0) {
        expect_error(ExitCode::kConfig, {"drawn.yaml:1:1", "no input"},
                     [&] { CompiledConstraints{domain}; });
      }
      try {
        CompiledConstraints const compiled(domain);
        if (count == static_cast<std::ptrdiff_t>(inputs.size())) {
          EXPECT_TRUE(compiled.empty()) << constraint_text(one, domain);
        }
      } catch (Error const&) {
        ++refused;
        EXPECT_EQ(count, 0) << constraint_text(one, domain);
      }
    }
    domain.constraints = drawn;
    CompiledConstraints compiled;
    try {
      compiled = CompiledConstraints(domain);
    } catch (Error const&) {
      continue;
    }
    ++kept;
    for (auto const& input : inputs) {
      bool const expected = satisfies(domain.constraints, input.data());
      ASSERT_EQ(compiled.allows(input.data()), expected)
          << fmt::format("{}", fmt::join(input, ","));
      ASSERT_EQ(!compiled.excludes(input.data(), input.data()), expected);
      ASSERT_EQ(std::ranges::all_of(compiled.views(),
                                    [&](auto const& view) { return view_allows(view, input); }),
                expected);
    }
    for (int i = 0; i < kBoxes; ++i) {
      std::vector<std::int32_t> low;
      std::vector<std::int32_t> high;
      for (int a = 0; a < domain.size(); ++a) {
        std::int32_t const one = draw.code(domain, a);
        std::int32_t const other = draw.code(domain, a);
        low.push_back(std::min(one, other));
        high.push_back(std::max(one, other));
      }
      if (!compiled.excludes(low.data(), high.data())) continue;
      ++excluded;
      for (auto const& input : inputs)
        ASSERT_FALSE(in_box(input, low, high) && satisfies(domain.constraints, input.data()));
    }
  }
  // What was drawn tries all branches.
  EXPECT_GT(refused, kDomains / 20);
  EXPECT_GT(kept, kDomains / 2);
  EXPECT_GT(excluded, kDomains / 4);
}

constexpr char const* kPeople = R"(attributes:
  - {name: age, low: 0, high: 99}
  - {name: kin, categories: [Wife, Husband, Other]}
  - {name: sex, protected: true, categories: [Female, Male]}
  - {name: gain, low: -1, high: 1999999}
  - {name: far, low: 16000000, high: 16000003}
)";

CompiledConstraints compiled_people(std::string const& constraints) {
  Domain domain =
      parse_domain_yaml(std::string(kPeople) + "constraints:\n" + constraints, "d.yaml");
  resolve_bounds(domain, nullptr);
  return CompiledConstraints(domain);
}

TEST(CompiledConstraints, LeavesOutWhatExcludesNothing) {
  EXPECT_TRUE(CompiledConstraints().empty());
  EXPECT_TRUE(compiled_people("  - {sum: {age: 1, kin: 1}, at_least: 0, at_most: 101}\n").empty());
  EXPECT_TRUE(compiled_people("  - {if: {age: {at_most: -1}}, then: {sex: Male}}\n").empty());
  EXPECT_TRUE(compiled_people("  - {if: {age: 5}, then: {sex: [Male, Female]}}\n").empty());
  EXPECT_TRUE(compiled_people("  - {combinations: [sex, kin], rows: [[0, 0], [0, 1], [0, 2], [1, "
                              "0], [1, 1], [1, 2]]}\n")
                  .empty());
}

TEST(CompiledConstraints, HasATermForEachConditionThatCanFail) {
  auto const compiled = compiled_people(
      "  - {if: {kin: Wife, age: {at_least: 0}}, then: {sex: Female, gain: {at_least: -1}}}\n");
  ASSERT_EQ(compiled.views().size(), 1U);
  ConstraintView const& view = compiled.views().front();
  ASSERT_EQ(view.terms.size(), 2U);
  EXPECT_EQ(view.bound, 1);
  EXPECT_TRUE(view.set.empty());
  EXPECT_EQ(view.terms[0].attribute, 1);
  EXPECT_EQ(view.terms[0].kind, TermKind::kWithin);
  EXPECT_EQ(view.terms[1].attribute, 2);
  EXPECT_EQ(view.terms[1].from, 1);
}

TEST(CompiledConstraints, ShareTheirArraysWithCopies) {
  CompiledConstraints copy;
  {
    auto const compiled =
        compiled_people("  - {combinations: [kin, sex], rows: [[Wife, Female]]}\n");
    copy = compiled;
    EXPECT_EQ(copy.views().data(), compiled.views().data());
  }
  std::int32_t const wife[] = {30, 0, 0, 0, 16000000};
  std::int32_t const man[] = {30, 0, 1, 0, 16000000};
  EXPECT_TRUE(copy.allows(wife));
  EXPECT_FALSE(copy.allows(man));
}

TEST(CompiledConstraints, RefusesWhatLeavesNothing) {
  auto const fails = [](std::string const& constraint, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kConfig, parts, [&] { compiled_people("  - " + constraint + "\n"); });
  };
  fails("{sum: {age: 1, kin: 1}, at_least: 102}", {"d.yaml:8:5", "no input", "at least 102"});
  fails("{sum: {age: 1}, at_most: -1}", {"d.yaml:8:5", "no input"});
  fails("{if: {age: {at_least: 0}}, then: {kin: {not: [0, 1, 2]}}}", {"d.yaml:8:5", "no input"});
  fails("{sum: {gain: 16777216, age: 1}, at_least: 3}", {"d.yaml:8:5", "smaller factors"});
}

TEST(CompiledConstraints, RefusesMoreCombinationsThanItKeeps) {
  expect_error(
      ExitCode::kConfig, {"d.yaml:4:5", "wide, many, more together as listed", "bits"}, [] {
        Domain const domain = parse_domain_yaml(R"(attributes: [{name: wide, low: 0, high: 9999999},
  {name: many, low: 0, high: 9999999}, {name: more, low: 0, high: 9}]
constraints:
  - {combinations: [wide, many, more], rows: [[0, 0, 0]]}
)",
                                                "d.yaml");
        CompiledConstraints{domain};
      });
}

TEST(CompiledConstraints, NumbersCombinationsOfWideAttributes) {
  auto const compiled = compiled_people(
      "  - {combinations: [gain, far, age], rows: [[0, 16000000, 7], [99999, 16000003, 7], [5, "
      "16000001, 9]]}\n");
  auto const allows = [&](std::int32_t gain, std::int32_t far, std::int32_t age) {
    std::int32_t const row[] = {age, 0, 0, gain, far};
    return compiled.allows(row);
  };
  EXPECT_TRUE(allows(0, 16000000, 7));
  EXPECT_TRUE(allows(99999, 16000003, 7));
  EXPECT_TRUE(allows(5, 16000001, 9));
  EXPECT_FALSE(allows(5, 16000001, 8));
  EXPECT_FALSE(allows(5, 16000002, 9));
  EXPECT_FALSE(allows(6, 16000001, 9));
  EXPECT_FALSE(allows(99999, 16000003, 9));
}

}  // namespace
}  // namespace fairlane
