#include "engine/plausibility/distinct_rows.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace fairlane {

DistinctRows distinct_rows(Dataset const& table) {
  DistinctRows distinct;
  distinct.attributes = static_cast<std::size_t>(table.attributes);
  std::size_t const width = distinct.attributes;
  auto const row = [&](std::size_t i) { return table.rows.data() + i * width; };
  std::vector<std::size_t> order(static_cast<std::size_t>(table.count()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(row(a), row(a) + width, row(b), row(b) + width);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::int32_t const* const here = row(order[i]);
    if (i > 0 && std::equal(here, here + width, row(order[i - 1]))) {
      ++distinct.counts.back();
      continue;
    }
    distinct.rows.insert(distinct.rows.end(), here, here + width);
    distinct.counts.push_back(1);
  }
  return distinct;
}

DistinctRows rows_to_compare_with(Dataset const& table) {
  if (table.count() == 0)
    throw data_error(table.source, "no rows, expected at least one to compare people with");
  return distinct_rows(table);
}

}  // namespace fairlane
