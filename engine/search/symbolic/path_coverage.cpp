#include "engine/search/symbolic/path_coverage.h"

#include <algorithm>
#include <vector>

#include "engine/record/row_codec.h"
#include "engine/search/symbolic/decision_tree.h"
#include "engine/search/symbolic/row_sampler.h"

namespace fairlane {
namespace {

constexpr std::uint32_t kReferenceStream = 0xFFFFFFFEU;  // of the sampler: no test has this number
constexpr std::int64_t kUniformRows = 10'000;            // where there is no table

/// The rows that the reference tree is fitted to; of a table too long for a tree, as many in equal
/// distances.
std::vector<std::int32_t> reference_rows(TestSubject const& subject, std::uint64_t run_seed) {
  auto const width = static_cast<std::size_t>(subject.domain().size());
  Dataset const* const data = subject.data();
  std::vector<std::int32_t> rows;
  if (data == nullptr || data->count() == 0) {
    rows.resize(static_cast<std::size_t>(kUniformRows) * width);
    RowSampler(subject, run_seed).draw(kReferenceStream, 0, kUniformRows, nullptr, rows.data());
    return rows;
  }
  if (data->count() <= kMostTreeRows) return data->rows;
  rows.reserve(static_cast<std::size_t>(kMostTreeRows) * width);
  for (std::int64_t i = 0; i < kMostTreeRows; ++i) {
    auto const row = static_cast<std::size_t>(i * data->count() / kMostTreeRows);
    rows.insert(rows.end(), data->rows.begin() + static_cast<std::ptrdiff_t>(row * width),
                data->rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  }
  return rows;
}

DecisionTree reference_tree(TestSubject const& subject, std::uint64_t run_seed, Backend& backend) {
  int const width = subject.domain().size();
  std::vector<std::int32_t> rows = reference_rows(subject, run_seed);
  auto const count = static_cast<std::int64_t>(rows.size()) / width;
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(count));
  label_rows(backend, rows.data(), count, labels.data());
  return DecisionTree(defined_rows(rows.data(), labels.data(), count, width));
}

}  // namespace

PathCoverage path_coverage(TestSubject const& subject, std::uint64_t run_seed, Backend& backend,
                           Findings& findings, std::uint64_t cut) {
  DecisionTree const tree = reference_tree(subject, run_seed, backend);
  RowCodec const& codec = findings.codec();
  std::vector<std::uint8_t> covered(static_cast<std::size_t>(tree.leaves()), 0);
  std::vector<std::int32_t> row(static_cast<std::size_t>(codec.attributes()));
  findings.for_each_visit(backend, [&](std::uint64_t const* key, std::uint64_t finder) {
    if (finder >= cut) return;
    codec.row_of_key(key, row.data());
    covered[static_cast<std::size_t>(tree.leaf(row.data()))] = 1;
  });
  return {std::count(covered.begin(), covered.end(), 1), tree.leaves()};
}

}  // namespace fairlane
