// The classifiers that label added rows: they do not see the protected attributes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/subject/subject.h"
#include "engine/train/metrics.h"
#include "engine/train/training_table.h"
#include "models/train/voter.h"

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

  /// rows: [count][attributes] codes.
  Votes vote(std::span<std::int32_t const> rows, Vote vote) const;

  struct Member {
    std::string name;
    Metrics held_out;
  };
  /// Each with how good it is on the rows that were held out.
  std::vector<Member> const& members() const { return members_; }

 private:
  /// One column of the inputs.
  struct Column {
    std::size_t attribute = 0;
    std::int32_t code = 0;  // one-hot: which it stands for
    bool is_one_hot = false;
    double mean = 0.0;
    double deviation = 1.0;
  };

  std::vector<float> inputs(std::span<std::int32_t const> rows) const;
  /// Shares [voters][rows][classes].
  std::vector<std::vector<float>> shares(std::vector<float> const& inputs) const;

  std::size_t attributes_;
  int classes_;
  std::vector<Column> columns_;
  std::vector<Network> networks_;
  std::vector<std::unique_ptr<FittedVoter>> voters_;
  std::vector<Member> members_;
};

}  // namespace fairlane
