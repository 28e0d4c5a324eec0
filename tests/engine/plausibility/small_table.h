// Small domains and tables for tests of plausibility.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {

inline Attribute ordered_attribute(std::int32_t low, std::int32_t high) {
  Attribute attribute;
  attribute.name = "ordered";
  attribute.low = low;
  attribute.high = high;
  return attribute;
}

inline Attribute nominal_attribute(std::int32_t low, std::int32_t high) {
  Attribute attribute = ordered_attribute(low, high);
  attribute.name = "nominal";
  for (std::int32_t code = low; code <= high; ++code)
    attribute.categories.push_back("c" + std::to_string(code));
  return attribute;
}

inline Attribute listed_attribute(std::vector<std::int32_t> values) {
  Attribute attribute = ordered_attribute(values.front(), values.back());
  attribute.name = "listed";
  attribute.values = std::move(values);
  return attribute;
}

/// Every kind of attribute: nominal with few codes and more than a word has bits, ordered, binned,
/// of one code, of a list of codes, and of many codes.
inline Domain mixed_domain() {
  Domain domain;
  domain.attributes = {nominal_attribute(0, 3),         ordered_attribute(1, 50),
                       ordered_attribute(7, 7),         nominal_attribute(-2, 97),
                       listed_attribute({-3, 0, 1, 9}), ordered_attribute(0, 10'000),
                       nominal_attribute(0, 1),         ordered_attribute(0, 6)};
  domain.attributes.back().categories = {"a", "b", "c", "d", "e", "f", "g"};
  domain.attributes.back().bins = {0, 1, 2, 3, 4, 5, 6, 7};
  return domain;
}

/// Codes that each go with the one before in about `tied` of the rows.
inline std::vector<std::int32_t> random_people(Domain const& domain, std::size_t count, double tied,
                                               std::mt19937& random) {
  std::vector<std::int32_t> rows;
  std::bernoulli_distribution is_tied(tied);
  for (std::size_t i = 0; i < count; ++i) {
    double share = 0.0;
    for (auto const& attribute : domain.attributes) {
      if (!is_tied(random)) share = std::uniform_real_distribution<double>(0.0, 1.0)(random);
      auto const codes = static_cast<double>(attribute.code_count());
      rows.push_back(attribute.code_at(static_cast<std::int64_t>(share * codes)));
    }
  }
  return rows;
}

inline Dataset table_of(Domain const& domain, std::vector<std::int32_t> rows) {
  Dataset table;
  table.source = "table.csv";
  table.attributes = domain.size();
  table.rows = std::move(rows);
  return table;
}

/// Gower's distance, as its definition says.
inline double naive_distance(Domain const& domain, std::int32_t const* a, std::int32_t const* b) {
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < domain.attributes.size(); ++i) {
    auto const& attribute = domain.attributes[i];
    if (*attribute.high == *attribute.low) continue;
    count += 1.0;
    if (!attribute.categories.empty() && attribute.bins.empty()) {
      sum += a[i] != b[i] ? 1.0 : 0.0;
    } else {
      sum += std::abs(a[i] - b[i]) / static_cast<double>(*attribute.high - *attribute.low);
    }
  }
  return count > 0.0 ? sum / count : 0.0;
}

}  // namespace fairlane
