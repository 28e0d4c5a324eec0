#include "engine/results/instance_columns.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/text.h"

namespace fairlane {
namespace {

struct FixedColumn {
  char const* name;
  ColumnKind kind;
  OutputColumns least;  // the fewest columns that it is one of
};
constexpr FixedColumn kFixed[] = {
    {"label", ColumnKind::kLabel, OutputColumns::kLabels},
    {"pair_label", ColumnKind::kPairLabel, OutputColumns::kLabels},
    {"score", ColumnKind::kScore, OutputColumns::kAll},
    {"pair_score", ColumnKind::kPairScore, OutputColumns::kAll},
    {"phase", ColumnKind::kPhase, OutputColumns::kAll},
    {"seed", ColumnKind::kSeed, OutputColumns::kAll},
    {"iteration", ColumnKind::kIteration, OutputColumns::kAll},
};
constexpr FixedColumn kVoted[] = {
    {"voted_label", ColumnKind::kVotedLabel, OutputColumns::kInputs},
    {"vote", ColumnKind::kVote, OutputColumns::kInputs},
};

NpyType type_of(ColumnKind kind, int classes) {
  switch (kind) {
    case ColumnKind::kLabel:
    case ColumnKind::kPairLabel:
    case ColumnKind::kVotedLabel:
      return smallest_npy_type(0, classes - 1);
    case ColumnKind::kScore:
    case ColumnKind::kPairScore:
    case ColumnKind::kVote:
      return NpyType::kF4;
    case ColumnKind::kPhase:
      return smallest_npy_type(0, static_cast<std::int64_t>(kFinderPhases.size()) - 1);
    default:
      return NpyType::kU4;
  }
}

NpyType type_of(Attribute const& attribute) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return smallest_npy_type(attribute.low.value_or(kLeast), attribute.high.value_or(kMost));
}

}  // namespace

InstanceColumns::InstanceColumns(Domain const& domain, std::span<std::int32_t const> selected,
                                 OutputConfig const& output, int classes)
    : which_(output.columns),
      has_votes_(output.vote.has_value()),
      attributes_(domain.attributes.size()),
      selected_(which_ == OutputColumns::kInputs ? 0 : selected.size()) {
  for (std::size_t a = 0; a < attributes_; ++a) {
    Attribute const& attribute = domain.attributes[a];
    columns_.push_back({attribute.name, ColumnKind::kAttribute, a, type_of(attribute)});
  }
  for (std::size_t s = 0; s < selected_; ++s) {
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(selected[s])];
    columns_.push_back({"pair_" + attribute.name, ColumnKind::kPair, s, type_of(attribute)});
  }
  auto const add = [&](FixedColumn const& column) {
    columns_.push_back({column.name, column.kind, 0, type_of(column.kind, classes)});
  };
  for (FixedColumn const& column : kFixed) {
    if (which_ >= column.least) add(column);
  }
  if (has_votes_) std::ranges::for_each(kVoted, add);
  std::set<std::string> taken;
  for (InstanceColumn const& column : columns_) {
    std::string name = column.name;
    while (!taken.insert(name).second) name += '_';
    fields_.push_back({name, column.type});
  }
}

InstanceColumns::InstanceColumns(TestSubject const& subject, OutputConfig const& output)
    : InstanceColumns(subject.domain(), subject.selected(), output,
                      std::max(2, subject.model().outputs())) {}

std::string InstanceColumns::csv_header() const {
  std::string header;
  for (InstanceColumn const& column : columns_)
    header += (header.empty() ? "" : ",") + csv_cell(column.name);
  return header + '\n';
}

}  // namespace fairlane
