// All decisions on a subject's boxes, as text to compare.
#pragma once

#include <string>
#include <vector>

#include "engine/verify/certain_shares.h"
#include "engine/verify/deciders/network_decider.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {

/// A decider of a subject's whole region, and all that it refers to.
struct RegionDecider {
  RegionDecider(SubjectView const& view, Backend& backend)
      : domain(view, backend.subject(), free_lists(view)),
        network(view.network),
        query(query_of(view, domain)),
        decider(domain, network, backend, query) {}

  static VerifyQuery query_of(SubjectView const& view, BoxDomain const& domain) {
    VerifyQuery query;
    query.variants.emplace_back();
    for (int v = 0; v < domain.variants(); ++v) query.variants[0].push_back(v);
    query.compares = [](int v, int w) { return v != w; };
    if (view.outputs() == 1) query.threshold = static_cast<double>(view.threshold);
    return query;
  }

  BoxDomain const domain;
  BoundNetwork const network;
  VerifyQuery const query;
  NetworkDecider decider;
};

/// What a backend's batches make of a subject's whole region: every box in order, round by round,
/// with what decided it.
inline std::vector<std::string> decided_boxes(SubjectView const& view, Backend& backend) {
  constexpr std::size_t kMostBoxes = 400;
  RegionDecider region(view, backend);
  std::vector<OpenBox> open;
  for (std::size_t p = 0; p < region.network.pairs().size(); ++p) {
    open.push_back({p, 0, 0, static_cast<std::int32_t>(p), 0, 0, region.domain.whole()});
  }
  std::vector<std::string> said;
  while (!open.empty() && said.size() < kMostBoxes) {
    std::vector<Decision> decisions(open.size());
    region.decider.decide(open, decisions);
    std::vector<OpenBox> parts;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Decision const& decision = decisions[i];
      std::string line = std::to_string(static_cast<int>(decision.verdict));
      for (AxisRange const& range : decision.box)
        line += ' ' + std::to_string(range.first) + ".." + std::to_string(range.last);
      for (std::int32_t const entry : decision.example.entries) line += ' ' + std::to_string(entry);
      said.push_back(line);
      // An unfair one is halved as well: otherwise it would be the last.
      bool const splits =
          decision.verdict == BoxVerdict::kOpen || decision.verdict == BoxVerdict::kUnfair;
      BoxCut const cut =
          decision.verdict == BoxVerdict::kUnfair ? middle_cut(decision.box, 0) : decision.cut;
      if (!splits || decision.box[cut.axis].size() < 2) continue;
      OpenBox left = open[i];
      left.box = decision.box;
      for (bool const upper : {false, true})
        parts.push_back(part_of(left, cut, upper, upper ? 1 : 0));
    }
    open = std::move(parts);
  }
  return said;
}

/// What a backend's batches count in a subject's whole region: what is certain of each box.
inline std::vector<double> counted_boxes(SubjectView const& view, Backend& backend) {
  constexpr std::int64_t kMostBoxes = 1000;
  RegionDecider region(view, backend);
  ExistingGroups const existing(region.domain, region.query.variants[0]);
  ShareQueue queue(region.domain, existing);
  std::vector<double> said;
  while (queue.boxes() < kMostBoxes) {
    auto const& boxes = queue.next({region.decider.costs().closer});
    if (boxes.empty()) break;
    std::vector<Decision> decisions(boxes.size());
    std::vector<CertainGroups> certain(boxes.size());
    region.decider.measure(existing, boxes, queue.in_part(), decisions, certain);
    for (CertainGroups const& groups : certain)
      said.insert(said.end(), {groups.fair, groups.unfair, groups.by_merged});
    queue.take(decisions, certain);
  }
  return said;
}

}  // namespace fairlane
