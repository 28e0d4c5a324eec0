#include "engine/search/symbolic/path_toggles.h"

#include <algorithm>
#include <map>

namespace fairlane {
namespace {

using Bounds = std::map<int, CodeRange>;

/// The part of an interval whose ends are in the list.
CodeRange between_codes(CodeRange interval, CodeList codes) {
  auto const first = std::lower_bound(codes.begin(), codes.end(), interval.low);
  auto const end = std::upper_bound(codes.begin(), codes.end(), interval.high);
  if (first >= end) return {1, 0};
  return {*first, *(end - 1)};
}

/// Intersection of the predicates, for each attribute that they bound. Its ends are codes that the
/// attribute may take.
Bounds bounds_of(std::span<Predicate const> predicates, std::vector<CodeRange> const& domain,
                 std::span<CodeList const> codes) {
  Bounds bounds;
  for (Predicate const& p : predicates) {
    auto& interval = bounds.try_emplace(p.attribute, domain[static_cast<std::size_t>(p.attribute)])
                         .first->second;
    if (p.above) {
      interval.low = std::max(interval.low, p.threshold + 1);
    } else {
      interval.high = std::min(interval.high, p.threshold);
    }
  }
  for (auto& [attribute, interval] : bounds) {
    auto const a = static_cast<std::size_t>(attribute);
    if (!codes.empty() && !codes[a].empty()) interval = between_codes(interval, codes[a]);
  }
  return bounds;
}

Predicate negated(Predicate const& p) {
  return {p.attribute, !p.above, p.threshold, 1.0 - p.confidence};
}

double average_confidence(std::span<Predicate const> predicates) {
  double sum = 0.0;
  for (Predicate const& p : predicates) sum += p.confidence;
  return sum / static_cast<double>(predicates.size());
}

}  // namespace

std::optional<std::vector<std::int32_t>> canonical_box(std::span<Predicate const> predicates,
                                                       std::vector<CodeRange> const& domain,
                                                       std::span<CodeList const> codes) {
  std::vector<std::int32_t> box;
  for (auto const& [attribute, interval] : bounds_of(predicates, domain, codes)) {
    if (interval.empty()) return {};
    if (interval == domain[static_cast<std::size_t>(attribute)]) continue;
    box.insert(box.end(), {attribute, interval.low, interval.high});
  }
  return box;
}

bool solve(std::span<Predicate const> predicates, std::vector<CodeRange> const& domain,
           ToggleSolver solver, std::span<std::int32_t> row, std::span<CodeList const> codes) {
  Bounds const bounds = bounds_of(predicates, domain, codes);
  for (auto const& [attribute, interval] : bounds) {
    if (interval.empty()) return false;
  }
  for (auto const& [attribute, interval] : bounds) {
    std::int32_t& value = row[static_cast<std::size_t>(attribute)];
    value = solver == ToggleSolver::kLowest ? interval.low
                                            : std::clamp(value, interval.low, interval.high);
  }
  return true;
}

std::vector<Toggle> toggles(std::span<Predicate const> path, std::span<std::int32_t const> row,
                            bool directed, ToggleSpace const& space, SymbolicConfig const& config) {
  std::vector<Toggle> found;
  auto const movable = [&](Predicate const& p) {
    return space.movable[static_cast<std::size_t>(p.attribute)] != 0;
  };
  /// Adds the path; `bounding` are the predicates that the input has to fulfil.
  auto const add = [&](std::span<Predicate const> toggled, std::span<Predicate const> bounding,
                       bool is_directed, double rank) {
    auto box = canonical_box(toggled, space.domain, space.codes);
    if (!box) return;
    Toggle toggle;
    toggle.directed = is_directed;
    toggle.rank = rank;
    toggle.box = std::move(*box);
    toggle.row.assign(row.begin(), row.end());
    solve(bounding, space.domain, config.solver, toggle.row, space.codes);
    found.push_back(std::move(toggle));
  };

  std::vector<Predicate> toggled(path.begin(), path.end());
  std::vector<Predicate> same_attribute;
  for (std::size_t i = 0; directed && i < path.size(); ++i) {
    if (!movable(path[i]) || (config.t2 && path[i].confidence >= *config.t2)) continue;
    toggled[i] = negated(path[i]);
    same_attribute.clear();
    for (Predicate const& p : toggled) {
      if (p.attribute == path[i].attribute) same_attribute.push_back(p);
    }
    double const from_leaf =
        static_cast<double>(path.size() - i) / static_cast<double>(path.size());
    add(toggled, same_attribute, true,
        kDirectedRank +
            (config.order == QueueOrder::kLeaf ? from_leaf : average_confidence(toggled)));
    toggled[i] = path[i];
  }

  std::vector<Predicate> prefix;
  for (Predicate const& p : path) {
    if (!movable(p)) continue;
    if (p.confidence < config.t1) break;
    prefix.push_back(negated(p));
    add(prefix, prefix, false, kUndirectedRank - average_confidence(prefix));
    prefix.back() = p;
  }
  return found;
}

}  // namespace fairlane
