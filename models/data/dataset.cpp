#include "models/data/dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::int64_t kListed = 20;  // rows named in one message

// Index of the first value that may not occur, or the number of attributes.
std::size_t first_outside(std::int32_t const* row, Domain const& domain) {
  std::size_t j = 0;
  while (j < domain.attributes.size() && domain.attributes[j].allows(row[j])) ++j;
  return j;
}

}  // namespace

void apply_out_of_domain(Dataset& data, Domain const& domain, OutOfDomain policy) {
  if (data.attributes != domain.size()) {
    throw Error(ExitCode::kBug, fmt::format("{}: the table has {} attributes, the domain {} has {}",
                                            escaped(data.source), data.attributes,
                                            escaped(domain.source), domain.size()));
  }
  auto const stride = static_cast<std::size_t>(data.attributes);
  auto const count = static_cast<std::size_t>(data.count());
  std::size_t kept = 0;
  std::int64_t outside = 0;
  std::string listed;
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t* const row = data.rows.data() + i * stride;
    std::size_t const j = first_outside(row, domain);
    bool const is_outside = j < stride;
    if (is_outside) {
      if (outside < kListed && policy == OutOfDomain::kError) {
        std::string const place = i < data.lines.size() ? fmt::format("line {}", data.lines[i])
                                                        : fmt::format("row {}", i);
        listed += fmt::format("{}{} {} = {} (expected {})", outside == 0 ? "" : ", ", place,
                              escaped(domain.attributes[j].name, 60), row[j],
                              domain.attributes[j].codes_text());
      }
      ++outside;
      if (policy == OutOfDomain::kDrop) continue;
      if (policy == OutOfDomain::kClip) {
        for (std::size_t k = j; k < stride; ++k) row[k] = domain.attributes[k].nearest(row[k]);
      }
    }
    if (kept != i) {
      std::copy_n(row, stride, data.rows.data() + kept * stride);
      if (!data.labels.empty()) data.labels[kept] = data.labels[i];
      if (!data.lines.empty()) data.lines[kept] = data.lines[i];
    }
    ++kept;
  }
  if (policy == OutOfDomain::kError && outside > 0) {
    std::string const more =
        outside > kListed ? fmt::format(" and {} more", outside - kListed) : "";
    throw Error(
        ExitCode::kData,
        fmt::format("{}: {} of {} rows lie outside the domain {}: {}{}; correct the bounds or set "
                    "out_of_domain to drop or clip",
                    escaped(data.source), outside, count, escaped(domain.source), listed, more));
  }
  if (policy == OutOfDomain::kDrop && kept == 0 && count > 0) {
    throw Error(ExitCode::kData,
                fmt::format("{}: all {} rows lie outside the domain {}, none is left",
                            escaped(data.source), count, escaped(domain.source)));
  }
  data.rows.resize(kept * stride);
  if (!data.labels.empty()) data.labels.resize(kept);
  if (!data.lines.empty()) data.lines.resize(kept);
  if (policy == OutOfDomain::kDrop) data.dropped += outside;
  if (policy == OutOfDomain::kClip) data.clipped += outside;
}

}  // namespace fairlane
