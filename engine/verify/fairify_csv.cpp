#include "engine/verify/fairify_csv.h"

#include <fmt/format.h>
#include <utility>

#include "base/text.h"

namespace fairlane {
namespace {

/// How a column gets its value.
enum class Value : std::uint8_t {
  kPartition,
  kVerdict,
  kSat,
  kUnsat,
  kUnknown,
  kZero,
  kNoAccuracy,
  kUpper,
  kLower,
};

struct Column {
  char const* name;
  Value value;
};

constexpr Column kColumns[] = {
    {"Partition_ID", Value::kPartition},
    {"Verification", Value::kVerdict},
    {"SAT_count", Value::kSat},
    {"UNSAT_count", Value::kUnsat},
    {"UNK_count", Value::kUnknown},
    {"h_attempt", Value::kZero},
    {"h_success", Value::kZero},
    {"B_compression", Value::kZero},
    {"S_compression", Value::kZero},
    {"ST_compression", Value::kZero},
    {"H_compression", Value::kZero},
    {"T_compression", Value::kZero},
    {"SV-time", Value::kZero},
    {"S-time", Value::kZero},
    {"HV-Time", Value::kZero},
    {"H-Time", Value::kZero},
    {"Total-Time", Value::kZero},
    {"C-check", Value::kZero},
    {"V-accurate", Value::kZero},
    {"Original-acc", Value::kNoAccuracy},
    {"Pruned-acc", Value::kNoAccuracy},
    {"Acc-dec", Value::kNoAccuracy},
    {"C1", Value::kUpper},
    {"C2", Value::kLower},
};

}  // namespace

std::string fairify_csv(VerifyReport const& report) {
  std::string text;
  for (Column const& column : kColumns)
    text += fmt::format("{}{}", text.empty() ? "" : ",", column.name);
  text += '\n';
  std::int64_t sat = 0;
  std::int64_t unsat = 0;
  std::int64_t unknown = 0;
  std::vector<std::int32_t> row(report.domain.attributes());
  for (std::int64_t cell = 0; cell < report.cells.count(); ++cell) {
    CellVerdict const verdict = report.queue.states()[static_cast<std::size_t>(cell)].verdict;
    ++(verdict == CellVerdict::kUnfair ? sat : verdict == CellVerdict::kFair ? unsat : unknown);
    auto const person = [&](bool upper) {
      if (verdict != CellVerdict::kUnfair) return std::string();
      UnfairPair const& found = report.queue.examples().at(cell);
      report.domain.row(upper ? found.entries : found.other,
                        upper ? found.pair.upper : found.pair.lower, row.data());
      return csv_cell(fmt::format("[{}]", fmt::join(row, ", ")));
    };
    bool first = true;
    for (Column const& column : kColumns) {
      if (!std::exchange(first, false)) text += ',';
      switch (column.value) {
        case Value::kPartition:
          text += std::to_string(cell + 1);
          break;
        case Value::kVerdict:
          text += kVerdictWords[static_cast<std::size_t>(verdict)];
          break;
        case Value::kSat:
          text += std::to_string(sat);
          break;
        case Value::kUnsat:
          text += std::to_string(unsat);
          break;
        case Value::kUnknown:
          text += std::to_string(unknown);
          break;
        case Value::kZero:
          text += '0';
          break;
        case Value::kNoAccuracy:
          text += '-';
          break;
        case Value::kUpper:
        case Value::kLower:
          text += person(column.value == Value::kUpper);
          break;
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace fairlane
