#include "engine/plausibility/surprise_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "engine/plausibility/surprises.h"

namespace fairlane {

SurpriseBound::SurpriseBound(Domain const& domain, Dataset const& table, double percentile) {
  DistinctRows const rows = rows_to_compare_with(table);
  ThreadPool pool;
  ChowLiuTree const tree(domain, rows, pool, 1);
  most_steps_ = Surprises(tree, rows, pool, 1).most_steps(percentile);
  nats_per_step_ = tree.nats_per_step();
  for (std::size_t a = 0; a < domain.attributes.size(); ++a) {
    if (tree.parents()[a] >= 0) {
      auto const parent = static_cast<std::size_t>(tree.parents()[a]);
      add_index(domain, tree, parent, tree.cells(a).count());
    }
    add_index(domain, tree, a, 1);
    add_term(TermKind::kLookUp, a, 0, tree.steps_of(a));
  }
}

std::vector<std::int32_t> SurpriseBound::slack(double weight) const {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> steps;
  for (int i = 0; i < kSlacks; ++i) {
    double const nats = -std::log((i + 0.5) / kSlacks) / weight;
    steps.push_back(static_cast<std::int32_t>(std::min(kMost, std::round(nats / nats_per_step_))));
  }
  return steps;
}

void SurpriseBound::add_index(Domain const& domain, ChowLiuTree const& tree, std::size_t attribute,
                              std::size_t scale) {
  constexpr std::int64_t kMostCodes = std::int64_t{1} << 20;  // 4 MiB
  Attribute const& known = domain.attributes[attribute];
  std::int64_t const codes = std::int64_t{*known.high} - *known.low + 1;
  if (codes > kMostCodes) {
    throw Error(ExitCode::kUnavailable,
                fmt::format("attribute \"{}\": {} codes, of which a search that asks how plausible "
                            "an input is takes at most {}; leave `plausibility` out",
                            known.name, codes, kMostCodes));
  }
  std::vector<std::int32_t> table(static_cast<std::size_t>(codes), 0);
  for (std::int64_t i = 0; i < codes; ++i) {
    auto const code = static_cast<std::int32_t>(*known.low + i);
    if (!known.allows(code)) continue;
    table[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(tree.cells(attribute).cell_of(code) * scale);
  }
  add_term(TermKind::kIndex, attribute, *known.low, std::move(table));
}

void SurpriseBound::add_term(TermKind kind, std::size_t attribute, std::int32_t from,
                             std::vector<std::int32_t> table) {
  auto const to = static_cast<std::int32_t>(from + static_cast<std::int64_t>(table.size()) - 1);
  tables_.push_back(std::move(table));  // a vector that moves leaves its values where they are
  terms_.push_back({static_cast<int>(attribute), kind, 0, from, to, tables_.back().data()});
}

}  // namespace fairlane
