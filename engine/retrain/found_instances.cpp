#include "engine/retrain/found_instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "engine/learning/training_draws.h"
#include "engine/results/instances.h"
#include "engine/results/instances_reader.h"
#include "engine/results/manifest.h"
#include "kernels/k_means.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;

/// A row of codes without those under test.
std::vector<std::int32_t> group_of(std::int32_t const* row, TestSubject const& subject) {
  std::vector<std::int32_t> group;
  auto const& selected = subject.selected();
  for (std::int32_t a = 0; a < subject.domain().size(); ++a) {
    if (std::ranges::find(selected, a) == selected.end()) group.push_back(row[a]);
  }
  return group;
}

/// [severity] 1 on average; all 1 where no severity is above 0.
std::vector<float> weights_of(std::vector<float> const& severity, FoundWeights weights) {
  std::vector<float> result(severity.size(), 1.0F);
  double sum = 0.0;
  for (float const one : severity) sum += static_cast<double>(one);
  if (weights == FoundWeights::kEven || !(sum > 0.0) || !std::isfinite(sum)) return result;
  double const mean = sum / static_cast<double>(severity.size());
  for (std::size_t i = 0; i < severity.size(); ++i)
    result[i] = static_cast<float>(static_cast<double>(severity[i]) / mean);
  return result;
}

/// Takes one of each cluster in turn, in the order that they have.
void deal_clusters(std::vector<std::int32_t> const& cluster, std::vector<std::uint32_t>& order) {
  std::vector<std::vector<std::uint32_t>> members;
  for (std::uint32_t const i : order) {
    auto const own = static_cast<std::size_t>(cluster[i]);
    if (own >= members.size()) members.resize(own + 1);
    members[own].push_back(i);
  }
  order.clear();
  for (std::size_t turn = 0; order.size() < cluster.size(); ++turn) {
    for (auto const& of_one : members) {
      if (turn < of_one.size()) order.push_back(of_one[turn]);
    }
  }
}

}  // namespace

FoundInstances read_instances(std::string const& dir, TestSubject const& subject,
                              RetrainConfig const& config) {
  auto const bad = [&](std::string const& what) {
    return Error(ExitCode::kData, fmt::format("{}: {}", escaped(dir, kLongestPath), what));
  };
  RecordedRun const recorded = read_manifest(dir);
  if (recorded.command != "run" && recorded.command != "enumerate") {
    throw bad(fmt::format("has results of `{}`, expected IDIs of `run` or `enumerate`",
                          recorded.command));
  }
  if (recorded.config.output.format == OutputFormat::kNone)
    throw bad("has no instances (output.format: none), expected them written");
  // Its own columns; its rows must be of this domain.
  TestSubject const theirs(recorded.config);
  auto const differs = [&](Attribute const& a, Attribute const& b) {
    return a.name != b.name || a.low != b.low || a.high != b.high || a.values != b.values;
  };
  if (!std::ranges::equal(theirs.domain().attributes, subject.domain().attributes,
                          std::not_fn(differs))) {
    throw bad("was made on another domain, expected that of the configuration");
  }
  if (theirs.selected() != subject.selected() || theirs.values() != subject.values())
    throw bad("compares other protected values, expected those of the configuration");
  auto const width = static_cast<std::size_t>(subject.domain().size());
  InstanceColumns const columns(theirs, recorded.config.output);
  if (!columns.has_labels())
    throw bad("has no pairs of its instances, expected output.columns labels or all");
  if (config.needs_scores() && !columns.has_scores()) {
    throw bad(fmt::format(
        "has no scores, by which retrain.{}: severity goes; expected output.columns: all",
        config.picking == Picking::kSeverity ? "picking" : "weights"));
  }
  InstanceFile file(dir, recorded.config.output.format, columns);
  FoundInstances found;
  InstanceBlock block;
  while (file.next(block)) {
    file.parse(
        block,
        [&](std::int64_t number, InstanceRecord const& record) {
          for (std::size_t a = 0; a < width; ++a) {
            if (!subject.domain().attributes[a].allows(record.row[a]))
              throw bad(file.place(number) + ": lies outside the domain");
          }
          found.pairs.first.insert(found.pairs.first.end(), record.row, record.row + width);
          std::size_t const at = found.pairs.second.size();
          found.pairs.second.insert(found.pairs.second.end(), record.row, record.row + width);
          for (std::size_t s = 0; s < subject.selected().size(); ++s)
            found.pairs.second[at + static_cast<std::size_t>(subject.selected()[s])] =
                record.pair[s];
          found.severity.push_back(std::abs(record.score - record.pair_score));
        },
        [&](std::int64_t number, char const* what) {
          throw bad(file.place(number) + ": " + what);
        });
  }
  file.require_listed_rows();
  found.pairs.weights = weights_of(found.severity, config.weights);
  return found;
}

std::vector<std::uint32_t> pick(FoundInstances const& found, TestSubject const& subject,
                                RunConfig const& config, int threads) {
  auto order =
      shuffled(static_cast<std::uint32_t>(found.count()), TrainingDraw::kSample, 0, config.seed);
  auto const width = static_cast<std::size_t>(subject.domain().size());
  switch (config.retrain.picking) {
    case Picking::kRandom:
      break;
    case Picking::kGroups: {
      std::set<std::vector<std::int32_t>> seen;
      std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) {
        return seen.insert(group_of(&found.pairs.first[i * width], subject)).second;
      });
      break;
    }
    case Picking::kClusters: {
      if (order.empty()) break;
      RowTable const rows{found.pairs.first.data(), static_cast<std::int64_t>(found.count()),
                          subject.domain().size()};
      deal_clusters(k_means(rows, config.global.clusters, config.seed, threads), order);
      break;
    }
    case Picking::kSeverity:
      std::ranges::stable_sort(order, std::greater<>(),
                               [&](std::uint32_t i) { return found.severity[i]; });
      break;
  }
  return order;
}

std::vector<std::int32_t> added_members(FoundInstances const& found, std::uint32_t number,
                                        TestSubject const& subject, AddedMembers members) {
  auto const width = static_cast<std::ptrdiff_t>(subject.domain().size());
  auto const first = found.pairs.first.begin() + number * width;
  std::vector<std::int32_t> rows(first, first + width);
  if (members == AddedMembers::kPair) {
    auto const second = found.pairs.second.begin() + number * width;
    rows.insert(rows.end(), second, second + width);
  }
  if (members != AddedMembers::kAll) return rows;
  std::vector<std::int32_t> const row = rows;
  rows.clear();
  for (std::int64_t v = 0; v < subject.variants(); ++v) {
    std::vector<std::int32_t> member = row;
    set_variant(subject, v, member.data());
    if (subject.constraints().allows(member.data()))
      rows.insert(rows.end(), member.begin(), member.end());
  }
  return rows;
}

}  // namespace fairlane
