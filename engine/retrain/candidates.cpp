#include "engine/retrain/candidates.h"

#include <algorithm>

namespace fairlane {
namespace {

double accuracy_of(Candidate const& one) { return deciding(one.validation, one.test).accuracy; }

/// Whether no other candidate is as fair and as accurate.
bool is_pareto(Candidate const& one, std::vector<Candidate> const& all) {
  return std::none_of(all.begin(), all.end(), [&](Candidate const& other) {
    double const share = other.share.share;
    double const accuracy = accuracy_of(other);
    bool const is_no_worse = share <= one.share.share && accuracy >= accuracy_of(one);
    bool const is_better = share < one.share.share || accuracy > accuracy_of(one);
    return is_no_worse && is_better;
  });
}

}  // namespace

Metrics const& deciding(Metrics const& validation, Metrics const& test) {
  return validation.rows > 0 ? validation : test;
}

std::optional<std::size_t> choose(std::vector<Candidate> const& candidates,
                                  Original const& original, RetrainConfig const& config) {
  Metrics const& before = deciding(original.validation, original.test);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate const& one = candidates[i];
    Metrics const& metrics = deciding(one.validation, one.test);
    bool const is_accurate = metrics.accuracy >= before.accuracy - config.accuracy_lost &&
                             metrics.f1 >= before.f1 - config.f1_lost;
    // Similar members agree where everything is decided alike: fair, and useless.
    bool const is_useful = metrics.decided_classes >= before.decided_classes;
    if (!is_accurate || !is_useful || !(one.share.share < original.share.share)) continue;
    if (!best || one.share.share < candidates[*best].share.share) best = i;
  }
  return best;
}

Json candidates_json(std::vector<Candidate> const& candidates) {
  Json json = Json::array();
  for (Candidate const& one : candidates) {
    json.push_back({{"round", one.round},
                    {"consistency", one.strength},
                    {"added_rows", one.added},
                    {"domain_share", domain_share_json(one.share)},
                    {"validation", metrics_json(one.validation)},
                    {"test", metrics_json(one.test)},
                    {"is_pareto", is_pareto(one, candidates)}});
  }
  return json;
}

}  // namespace fairlane
