#include "engine/subject/kept_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestShown = 4096;  // of a path

/// Leaves out the rows of which that is false; returns how many.
std::int64_t keep_rows(Dataset& data, std::function<bool(std::int32_t const*)> const& keeps) {
  auto const stride = static_cast<std::size_t>(data.attributes);
  auto const count = static_cast<std::size_t>(data.count());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t const* row = data.rows.data() + i * stride;
    if (!keeps(row)) continue;
    if (kept != i) {
      std::copy_n(row, stride, data.rows.data() + kept * stride);
      if (!data.labels.empty()) data.labels[kept] = data.labels[i];
      if (!data.lines.empty()) data.lines[kept] = data.lines[i];
    }
    ++kept;
  }
  data.rows.resize(kept * stride);
  if (!data.labels.empty()) data.labels.resize(kept);
  if (!data.lines.empty()) data.lines.resize(kept);
  return static_cast<std::int64_t>(count - kept);
}

/// The constraint that a row violates, with its line: "line 17: kin Wife => sex Female"; empty
/// where it violates none.
std::string violated(Dataset const& data, std::int32_t const* row, Domain const& domain) {
  auto const broken = std::ranges::find_if(
      domain.constraints, [&](Constraint const& one) { return !satisfies(one, row); });
  if (broken == domain.constraints.end()) return "";
  auto const number = static_cast<std::size_t>((row - data.rows.data()) / data.attributes);
  std::string const line = data.lines.empty() ? fmt::format("row {}", number)
                                              : fmt::format("line {}", data.lines[number]);
  return line + ": " + constraint_text(*broken, domain);
}

}  // namespace

std::string keep_existing_rows(Dataset& data, Domain const& domain, std::string const& what) {
  if (domain.constraints.empty()) return "";
  std::int64_t const count = data.count();
  std::string first;
  std::int64_t const dropped = keep_rows(data, [&](std::int32_t const* row) {
    std::string const why = violated(data, row, domain);
    if (first.empty()) first = why;
    return why.empty();
  });
  if (dropped == 0) return "";
  if (dropped == count) {
    throw Error(ExitCode::kData,
                fmt::format("{}: each of {} rows violates a constraint of {}, the first on {}",
                            escaped(what, kLongestShown), count,
                            escaped(domain.source, kLongestShown), first));
  }
  return fmt::format("{}: {} of {} rows violate a constraint and were left out, the first on {}",
                     escaped(what, kLongestShown), dropped, count, first);
}

std::string keep_compared_rows(Dataset& data, std::span<std::int32_t const> selected,
                               std::span<std::vector<std::int32_t> const> values,
                               std::string const& what) {
  std::int64_t const count = data.count();
  std::int64_t const dropped = keep_rows(data, [&](std::int32_t const* row) {
    bool compared = true;
    for (std::size_t s = 0; s < selected.size() && compared; ++s) {
      compared = std::binary_search(values[s].begin(), values[s].end(),
                                    row[static_cast<std::size_t>(selected[s])]);
    }
    return compared;
  });
  if (dropped == 0) return "";
  if (dropped == count) {
    throw Error(
        ExitCode::kData,
        fmt::format("{}: none of {} rows has protected values among the compared ones; list "
                    "other values under protected",
                    escaped(what, kLongestShown), count));
  }
  return fmt::format(
      "{}: {} of {} rows have protected values that are not compared and "
      "were left out",
      escaped(what, kLongestShown), dropped, count);
}

}  // namespace fairlane
