// The choice against its formula, and on the demo's findings.
#include "engine/plausibility/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>

#include "engine/config/config_yaml.h"
#include "engine/subject/row_labels.h"
#include "tests/checkout.h"
#include "tests/engine/plausibility/small_table.h"

namespace fairlane {
namespace {

double least_distance(PlausibilityModel const& model, std::vector<std::int32_t> const& rows,
                      std::vector<std::size_t> const& of) {
  double least = std::numeric_limits<double>::infinity();
  auto const row = [&](std::size_t i) { return rows.data() + i * model.attributes(); };
  for (std::size_t i = 0; i < of.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      least = std::min(least, model.distance(row(of[i]), row(of[j])));
  return least;
}

/// The next of `candidates`, by the formula.
std::size_t naive_next(PlausibilityModel const& model, std::vector<std::int32_t> const& rows,
                       std::vector<double> const& severity,
                       std::vector<std::size_t> const& candidates,
                       std::vector<std::size_t> const& chosen) {
  std::size_t best = candidates[0];
  double most = -1.0;
  for (auto const i : candidates) {
    auto const more_severe = std::count_if(candidates.begin(), candidates.end(), [&](auto other) {
      return severity[other] > severity[i];
    });
    double const weight =
        1.0 - static_cast<double>(more_severe) / static_cast<double>(candidates.size());
    double distance = chosen.empty() ? 1.0 : std::numeric_limits<double>::infinity();
    for (auto const other : chosen) {
      distance = std::min(distance, model.distance(rows.data() + i * model.attributes(),
                                                   rows.data() + other * model.attributes()));
    }
    if (weight * distance > most) {
      most = weight * distance;
      best = i;
    }
  }
  return best;
}

TEST(Selection, FollowsItsFormula) {
  Domain const domain = mixed_domain();
  for (std::uint32_t const seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    PlausibilityModel const model(domain, table_of(domain, random_people(domain, 200, 0.8, random)),
                                  1);
    auto const people = random_people(domain, 80, 0.8, random);
    auto const scores = model.score(people);
    std::vector<double> severity;
    for (int i = 0; i < 80; ++i) severity.push_back(static_cast<double>(random() % 20) / 20.0);
    for (double const at_most : {-1.0, 60.0, 99.0, 100.0}) {
      std::vector<std::size_t> candidates;
      for (std::size_t i = 0; i < 80; ++i)
        if (scores[i].implausibility() <= at_most) candidates.push_back(i);
      if (candidates.size() < 10) {
        candidates.resize(80);
        std::iota(candidates.begin(), candidates.end(), std::size_t{0});
      }
      std::vector<std::size_t> expected;
      while (expected.size() < 10)
        expected.push_back(naive_next(model, people, severity, candidates, expected));
      EXPECT_EQ(choose_different(model, people, severity, scores, 10, at_most), expected);
    }
    EXPECT_TRUE(choose_different(model, people, severity, scores, 0).empty());
    EXPECT_TRUE(choose_different(model, {}, {}, {}, 10).empty());
  }
}

TEST(Selection, NobodyIsChosenTwice) {
  Domain domain;
  domain.attributes = {ordered_attribute(0, 9), ordered_attribute(0, 9)};
  PlausibilityModel const model(domain, table_of(domain, {1, 1, 2, 2, 3, 3}), 1);
  std::vector<std::int32_t> const people = {1, 1, 1, 1, 2, 2, 1, 1};
  std::vector<double> const severity = {0.5, 0.9, 0.1, 0.9};
  auto const scores = model.score(people);
  EXPECT_EQ(choose_different(model, people, severity, scores, 10),
            (std::vector<std::size_t>{1, 2}));
}

/// Of all groups of the demo that a change of gender decides.
TEST(Selection, DemosFindingsDiffer) {
  auto const folder = std::filesystem::path(source_dir()) / "configs" / "demo";
  TestSubject const subject(read_run_config((folder / "config.yaml").string(), {}));
  auto const& domain = subject.domain();
  auto const width = static_cast<std::size_t>(domain.size());
  auto const gender = static_cast<std::size_t>(domain.find("gender"));
  std::vector<std::int32_t> inputs;  // women, each followed by the man like her
  std::vector<std::int32_t> row;
  for (auto const& attribute : domain.attributes) row.push_back(*attribute.low);
  while (true) {
    for (std::int32_t const value : {0, 1}) {
      row[gender] = value;
      inputs.insert(inputs.end(), row.begin(), row.end());
    }
    std::size_t a = width;
    while (a > 0 && (a - 1 == gender || row[a - 1] == *domain.attributes[a - 1].high)) {
      --a;
      row[a] = *domain.attributes[a].low;
    }
    if (a == 0) break;
    ++row[a - 1];
  }
  auto const backend = make_backend(subject, {}, 42, {});
  auto const said = label_rows(subject, *backend, inputs);
  std::vector<std::int32_t> people;
  std::vector<double> severity;
  for (std::size_t i = 0; i < said.labels.size(); i += 2) {
    if (said.labels[i] == said.labels[i + 1]) continue;
    auto const first = inputs.begin() + static_cast<std::ptrdiff_t>(i * width);
    people.insert(people.end(), first, first + static_cast<std::ptrdiff_t>(width));
    severity.push_back(std::abs(static_cast<double>(said.scores[i]) - said.scores[i + 1]));
  }
  ASSERT_GT(severity.size(), 1000U);

  PlausibilityModel const model(domain, *subject.data(), 1);
  auto const scores = model.score(people);
  auto const chosen = choose_different(model, people, severity, scores, 10);
  ASSERT_EQ(chosen.size(), 10U);
  std::vector<std::size_t> order(severity.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::size_t> const first_ten(order.begin(), order.begin() + 10);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return severity[a] > severity[b]; });
  std::vector<std::size_t> const severest(order.begin(), order.begin() + 10);
  double const least = least_distance(model, people, chosen);
  EXPECT_GE(least, 2.0 * least_distance(model, people, first_ten));
  EXPECT_GE(least, 2.0 * least_distance(model, people, severest));
  for (auto const i : chosen) EXPECT_LE(scores[i].implausibility(), 99.0);
}

}  // namespace
}  // namespace fairlane
