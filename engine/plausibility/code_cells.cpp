#include "engine/plausibility/code_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"

namespace fairlane {

CodeCells::CodeCells(Domain const& domain, std::size_t attribute, DistinctRows const& rows)
    : attribute_(domain.attributes[attribute]) {
  constexpr std::int64_t kMostAlone = 64;  // codes of which tables of pairs stay small
  constexpr std::int64_t kRuns = 32;       // as fine as some thousand rows can tell
  std::int64_t const codes = attribute_.code_count();
  if (codes <= kMostAlone) {
    for (std::int64_t i = 0; i < codes; ++i) first_.push_back(i);
    are_alone_ = true;
    return;
  }
  std::map<std::int64_t, std::int64_t> rows_of;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < rows.count(); ++i) {
    rows_of[attribute_.index_of(rows.row(i)[attribute])] += rows.counts[i];
    all += rows.counts[i];
  }
  std::int64_t const enough = (all + kRuns - 1) / kRuns;
  std::int64_t begin = 0;
  std::int64_t held = 0;
  auto const close = [&](std::int64_t end) {
    if (end > begin) first_.push_back(begin);
    begin = end;
    held = 0;
  };
  for (auto const& [index, count] : rows_of) {
    if (count >= enough) close(index);
    held += count;
    if (held >= enough) close(index + 1);
  }
  close(codes);
}

std::int64_t CodeCells::width(std::size_t cell) const {
  return (cell + 1 < first_.size() ? first_[cell + 1] : attribute_.code_count()) - first_[cell];
}

std::size_t CodeCells::cell_of(std::int32_t code) const {
  std::int64_t const index = attribute_.index_of(code);
  if (index < 0) {
    throw Error(ExitCode::kBug, fmt::format("attribute \"{}\": {} is not a code of the domain, {}",
                                            attribute_.name, code, attribute_.codes_text()));
  }
  if (are_alone_) return static_cast<std::size_t>(index);
  auto const next = std::upper_bound(first_.begin(), first_.end(), index);
  return static_cast<std::size_t>(next - first_.begin()) - 1;
}

}  // namespace fairlane
