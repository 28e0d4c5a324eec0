// The columns of the instances: what is written of each, in which order, and as which numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/subject/subject.h"
#include "engine/tables/npy.h"

namespace fairlane {

/// Who found an instance, as its row says: the searches' phases, or a walk over all (kFoundByWalk).
inline constexpr std::array<std::string_view, 3> kFinderPhases = {"global", "local", "walk"};
inline std::size_t finder_phase(std::uint64_t finder) {
  if (finder == kFoundByWalk) return 2;
  return Finder::phase(finder) == Phase::kGlobal ? 0 : 1;
}

/// What a column of the instances holds.
enum class ColumnKind {
  kAttribute,
  kPair,
  kLabel,
  kPairLabel,
  kScore,
  kPairScore,
  kPhase,
  kSeed,
  kIteration,
  kVotedLabel,
  kVote
};

/// name   as a CSV has it; an attribute may have the name of another column
/// place  of an attribute among all, of a pair's value among the selected ones
/// type   the smallest one that holds all values
struct InstanceColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kAttribute;
  std::size_t place = 0;
  NpyType type = NpyType::kI4;
};

/// The columns in order: attributes, values of the pair, and what else is known.
class InstanceColumns {
 public:
  /// selected  [selected] the protected attributes, ascending
  /// classes   that labels are of
  InstanceColumns(Domain const& domain, std::span<std::int32_t const> selected,
                  OutputConfig const& output, int classes = 2);
  InstanceColumns(TestSubject const& subject, OutputConfig const& output);

  std::vector<InstanceColumn> const& all() const { return columns_; }
  std::size_t attributes() const { return attributes_; }
  /// Values of the pair.
  std::size_t selected() const { return selected_; }
  /// Pair and labels.
  bool has_labels() const { return which_ >= OutputColumns::kLabels; }
  /// Scores, and who found an instance.
  bool has_scores() const { return which_ >= OutputColumns::kAll; }
  /// The label that voters give, and the share of the vote that is for it.
  bool has_votes() const { return has_votes_; }
  /// The header of a CSV, with its line's end.
  std::string csv_header() const;
  /// The same for arrays, whose fields have distinct names: a later one of a name gets an
  /// underscore.
  std::vector<NpyField> const& fields() const { return fields_; }

 private:
  OutputColumns which_;
  bool has_votes_;
  std::vector<InstanceColumn> columns_;
  std::vector<NpyField> fields_;
  std::size_t attributes_;
  std::size_t selected_;
};

}  // namespace fairlane
