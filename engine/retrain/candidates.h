// Models among which a retraining chooses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/config/run_config.h"
#include "engine/learning/metrics.h"
#include "engine/results/summary.h"
#include "models/network.h"

namespace fairlane {

/// One model that was trained, or given to be judged.
/// round     in which it was trained, from 0
/// strength  of the consistency term
/// added     rows that it learnt from beside the table's
/// model     its file, where it was not trained here
struct Candidate {
  int round = 0;
  double strength = 0.0;
  std::size_t added = 0;
  Network network;
  std::string model;
  Metrics validation;
  Metrics test;
  DomainShare share;
};

/// Of a model, what candidates are held against. validation or test: see `deciding`.
struct Original {
  Metrics validation;
  Metrics test;
  DomainShare share;
};

/// What is decided by: the validation rows, or those held out where there are none.
Metrics const& deciding(Metrics const& validation, Metrics const& test);

/// Number of the candidate with the fewest IDIs among those that lose no more than the
/// configuration allows, decide every class that the original does, and have fewer IDIs than it.
std::optional<std::size_t> choose(std::vector<Candidate> const& candidates,
                                  Original const& original, RetrainConfig const& config);

/// summary.json's `candidates`; is_pareto: no other one is as fair and as accurate.
Json candidates_json(std::vector<Candidate> const& candidates);

}  // namespace fairlane
