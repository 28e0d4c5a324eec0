// The classifiers that label IDIs: they do not see the protected attributes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/learning/metrics.h"
#include "engine/learning/nearest_neighbours.h"
#include "engine/learning/training_table.h"
#include "engine/subject/subject.h"
#include "models/train/forest.h"

namespace fairlane {

/// What rows are labelled with.
/// labels  [rows]
/// shares  [rows] how much of the vote was for the label
struct Votes {
  std::vector<std::int32_t> labels;
  std::vector<float> shares;
};

/// Two networks, a logistic regression, the nearest neighbours and a random forest, fitted to a
/// table without its protected attributes, so that all members of a similar set get one label.
/// Attributes with categories are one-hot, up to 64 codes; all others are standardised.
class Electorate {
 public:
  /// Protected are the attributes that the domain flags and those under test.
  /// Throws Error(kUnavailable) without LibTorch or OpenCV, Error(kData) where nothing is left to
  /// learn from, Error(kInterrupted).
  Electorate(TestSubject const& subject, TrainingTable const& table, std::uint64_t seed,
             std::atomic<bool> const* stop);

  /// rows: [count][attributes] codes. What a row gets is a function of that row alone; any thread.
  Votes vote(std::span<std::int32_t const> rows, Vote vote) const;

  struct Member {
    std::string name;
    Metrics held_out;
  };
  /// Each with how good it is on the rows that were held out.
  std::vector<Member> const& members() const { return members_; }

 private:
  /// An attribute that is seen.
  struct Seen {
    std::size_t attribute = 0;
    std::vector<std::int32_t> codes;  // that are one-hot; empty: a number
    double mean = 0.0;
    double deviation = 1.0;

    float standard(std::int32_t code) const {
      return static_cast<float>((code - mean) / deviation);
    }
  };

  /// What networks and the forest take: [rows][columns_].
  std::vector<float> inputs(std::span<std::int32_t const> rows) const;
  /// The same with a number for each category: [rows][seen_].
  std::vector<float> mixed(std::span<std::int32_t const> rows) const;
  /// Shares [members][rows][classes].
  std::vector<std::vector<float>> shares(std::span<std::int32_t const> rows) const;

  std::size_t attributes_;
  int classes_;
  std::vector<Seen> seen_;
  std::size_t columns_ = 0;
  std::vector<Network> networks_;
  std::optional<NearestNeighbours> neighbours_;
  std::optional<RandomForest> forest_;
  std::vector<Member> members_;
};

/// Name of each, and how good it is on the rows that were held out.
Json voters_json(std::vector<Electorate::Member> const& members);

/// The electorate of a configuration's table, divided as `train` divides it by default. Throws as
/// Electorate and read_training_table do.
Electorate table_electorate(RunConfig const& config, TestSubject const& subject,
                            std::atomic<bool> const* stop);

}  // namespace fairlane
