// What a model learns from beside its table, and how it is kept from seeing protected attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/learning/electorate.h"
#include "engine/learning/training_table.h"
#include "engine/subject/subject.h"
#include "models/network.h"

namespace fairlane {

/// Rows that are added to a table.
/// shares   [rows] how much of the vote was for the label
/// weights  [rows] beside 1 for a row of the table
struct AddedRows {
  TrainingRows rows;
  std::vector<float> shares;
  std::vector<float> weights;

  /// codes: [labels][attributes].
  void set(TrainingTable const& table, std::vector<std::int32_t> codes, Votes votes,
           std::vector<float> of_rows);
  void append(AddedRows const& more);
  /// Keeps the first so many rows.
  void keep(std::size_t count);
  /// Appends them to the rows of the table.
  void append_to(TrainingRows& rows) const;
  /// Multiplies the last weights, which are those of these rows.
  void weigh(std::vector<float>& all) const;
};

/// Attributes, label, and `added`: 0 for the first `plain` rows, 1 for the others; the column is
/// left out where all are plain.
std::string labelled_csv(Domain const& domain, TrainingRows const& rows, std::size_t plain);
/// Attributes, label and `vote`, the share of the vote that was for it.
std::string added_csv(Domain const& domain, AddedRows const& added);

/// Sets the inputs of the attributes under test to 0.
void hide_protected(TestSubject const& subject, TrainingRows& rows);
/// Sets the weights of these inputs to 0: for a network that has learnt from hidden ones nothing
/// changes, and for every input its output is that of all members of the similar set, bit for bit.
void forget_protected(TestSubject const& subject, Network& network);

}  // namespace fairlane
