// Symbolic generation one input after the other, as plainly as possible: lists for the queue and
// for the paths, and constraints as the sets of values that they leave.
#pragma once

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "engine/search/seeds.h"
#include "engine/search/symbolic/row_sampler.h"
#include "tests/engine/search/symbolic/naive_tree.h"
#include "tests/naive_reference.h"

namespace fairlane::naive {

/// A test of symbolic generation, in order.
struct SymbolicTest {
  Row row;
  bool found = false;
  bool directed = false;
};

class SymbolicReference {
 public:
  SymbolicReference(RunConfig const& config, TestSubject const& subject)
      : config_(config), subject_(subject), model_(subject.view()) {}

  std::vector<SymbolicTest> run() {
    MethodSpec const& method = find_method("sg");
    SeedSource const seeds(config_, method, subject_);
    auto const width = subject_.view().low.size();
    for (std::int64_t i = 0; i < seeds.count(); ++i) {
      Row row(width);
      seeds.rows(i, 1, row.data());
      queue_.push_back({5.0, row});
    }
    std::vector<SymbolicTest> tests;
    std::set<Row> profiles;
    while (!queue_.empty() && static_cast<std::int64_t>(tests.size()) < config_.global.num) {
      std::size_t best = 0;
      // Of equal ranks the first in the list is the first that came.
      bool const rows_decide = config_.sg.order == QueueOrder::kProgram;
      for (std::size_t i = 1; i < queue_.size(); ++i) {
        bool const before =
            rows_decide ? queue_[i] < queue_[best] : queue_[i].first < queue_[best].first;
        best = before ? i : best;
      }
      auto const [rank, row] = queue_[best];
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(best));
      Row profile = row;
      for (std::int32_t const s : subject_.view().selected)
        profile[static_cast<std::size_t>(s)] = 0;
      if (!profiles.insert(profile).second) continue;
      bool const found = model_.probe(row).pair >= 0;
      auto const path = tree_path(neighbours(row, tests.size()), row);
      tests.push_back({row, found, rank < 5.0});
      if (found && config_.local.num > 0) toggle_directed(path, row);
      toggle_undirected(path, row);
    }
    return tests;
  }

 private:
  using Path = std::vector<Predicate>;
  /// The values that each attribute may take.
  using Values = std::vector<std::set<std::int32_t>>;

  Sample neighbours(Row const& row, std::size_t number) const {
    std::int64_t const drawn = config_.sg.samples - 1;
    std::vector<std::int32_t> rows(static_cast<std::size_t>(drawn) * row.size());
    bool const local = config_.sg.neighbours == Neighbours::kLocal;
    RowSampler(subject_, config_.seed)
        .draw(static_cast<std::uint32_t>(number), 1, drawn, local ? row.data() : nullptr,
              rows.data());
    Sample sample;
    std::vector<Row> all = {row};
    for (auto at = rows.begin(); at != rows.end(); at += static_cast<std::ptrdiff_t>(row.size()))
      all.emplace_back(at, at + static_cast<std::ptrdiff_t>(row.size()));
    for (Row const& neighbour : all) {
      std::int32_t const label = model_.label(neighbour);
      if (label == kUndefinedLabel) continue;
      sample.rows.push_back(neighbour);
      sample.labels.push_back(label);
    }
    return sample;
  }

  bool is_protected(Predicate const& p) const {
    for (std::int32_t const s : subject_.view().selected) {
      if (s == p.attribute) return true;
    }
    return false;
  }
  static Predicate negation(Predicate p) {
    p.above = !p.above;
    p.confidence = 1.0 - p.confidence;
    return p;
  }
  static double mean_confidence(Path const& path) {
    double sum = 0.0;
    for (auto const& p : path) sum += p.confidence;
    return sum / static_cast<double>(path.size());
  }
  Values values_of(Path const& path) const {
    Values values;
    for (std::size_t a = 0; a < subject_.view().low.size(); ++a) {
      values.emplace_back();
      for (std::int32_t v = subject_.view().low[a]; v <= subject_.view().high[a]; ++v) {
        bool allowed = true;
        for (auto const& p : path) {
          if (p.attribute == static_cast<int>(a)) allowed &= (v > p.threshold) == p.above;
        }
        if (allowed) values[a].insert(v);
      }
    }
    return values;
  }
  static std::int32_t nearest(std::set<std::int32_t> const& values, std::int32_t to) {
    std::int32_t best = *values.begin();
    for (std::int32_t const v : values) best = std::abs(v - to) < std::abs(best - to) ? v : best;
    return best;
  }
  /// Queues the row moved so that it fulfils what the path says about the attributes.
  void queue(Path const& path, std::set<int> const& attributes, Row row, double rank) {
    Values const values = values_of(path);
    for (auto const& v : values) {
      if (v.empty()) return;
    }
    for (Values const& before : paths_) {
      if (before == values) return;
    }
    paths_.push_back(values);
    for (int const attribute : attributes) {
      auto const a = static_cast<std::size_t>(attribute);
      row[a] = config_.sg.solver == ToggleSolver::kLowest ? *values[a].begin()
                                                          : nearest(values[a], row[a]);
    }
    queue_.push_back({rank, row});
  }
  void toggle_directed(Path const& path, Row const& row) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (is_protected(path[i])) continue;
      if (config_.sg.t2 && path[i].confidence >= *config_.sg.t2) continue;
      Path toggled = path;
      toggled[i] = negation(path[i]);
      double const share = static_cast<double>(path.size() - i) / static_cast<double>(path.size());
      bool const by_leaf = config_.sg.order == QueueOrder::kLeaf;
      queue(toggled, {path[i].attribute}, row, 1.0 + (by_leaf ? share : mean_confidence(toggled)));
    }
  }
  void toggle_undirected(Path const& path, Row const& row) {
    Path prefix;
    std::set<int> attributes;
    for (auto const& p : path) {
      if (is_protected(p)) continue;
      if (p.confidence < config_.sg.t1) break;
      Path toggled = prefix;
      toggled.push_back(negation(p));
      attributes.insert(p.attribute);
      queue(toggled, attributes, row, 10.0 - mean_confidence(toggled));
      prefix.push_back(p);
    }
  }

  RunConfig const& config_;
  TestSubject const& subject_;
  FloatReference model_;
  std::vector<std::pair<double, Row>> queue_;
  std::vector<Values> paths_;
};

}  // namespace fairlane::naive
