// What a verification writes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "engine/subject/subject.h"
#include "engine/verify/box_queue.h"
#include "engine/verify/certain_shares.h"
#include "engine/verify/verify.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// The method that a verification's summary.json names.
inline std::string const kVerifyMethod = "verify";

/// Everything that is known at the end.
/// float32_only  examples that double precision does not confirm
struct VerifyReport {
  TestSubject const& subject;
  VerifyOptions const& options;
  BoxDomain const& domain;
  Cells const& cells;
  BoxQueue const& queue;
  RowDescriber& rows;
  std::optional<CertainShares> shares = {};
  std::int64_t float32_only = 0;
  Json against = {};  // as against_json() has it; null: no other verification
  double search_seconds = 0.0;
  double total_seconds = 0.0;
};

/// cells.csv: a line for every cell: its number, the least and greatest value of every attribute,
/// its verdict (sat, unsat, unknown), why it is unknown, and how many boxes were looked at.
std::string cells_csv(VerifyReport const& report);
/// counterexamples.csv: a line for every sat cell: the cell, the attributes of the person with
/// label 1, its counterpart's attributes under test and relaxed ones, the outputs of both in
/// float32 and in double precision, and whether the labels are the same in both. Counts those for
/// which they are not.
std::string counterexamples_csv(VerifyReport const& report, std::int64_t& float32_only);
/// certificate.txt, which belongs to a manifest of that text, and to results with these names and
/// texts.
std::string certificate_of(VerifyReport const& report, std::string const& manifest,
                           std::vector<std::pair<std::string, std::string>> const& results);
std::string verify_summary_json(VerifyReport const& report);

}  // namespace fairlane
