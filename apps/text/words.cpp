#include "apps/text/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/results/instances.h"
#include "engine/results/instances_reader.h"
#include "models/data/domain_yaml.h"

namespace fairlane {

std::string value_words(Attribute const& attribute, std::int32_t code) {
  return escaped(attribute.word(code));
}

bool has_words(Attribute const& attribute) {
  return !attribute.categories.empty() || !attribute.bins.empty();
}

std::string all_words(Attribute const& attribute) {
  constexpr std::int64_t kShown = 5;
  constexpr std::size_t kShownBytes = 24;  // of each
  if (!has_words(attribute)) return {};
  std::string text;
  for (std::int64_t i = 0; i < std::min(kShown, attribute.code_count()); ++i) {
    text += (i == 0 ? "" : ", ") + escaped(attribute.word(attribute.code_at(i)), kShownBytes);
  }
  return text + (attribute.code_count() > kShown ? ", ..." : "");
}

std::string decision_words(Domain const& domain, std::int32_t label) {
  return escaped(domain.label_word(label));
}

std::string row_words(Domain const& domain, std::span<std::int32_t const> row,
                      std::span<int const> left_out) {
  std::string text;
  for (int i = 0; i < domain.size(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
    auto const column = static_cast<std::size_t>(i);
    Attribute const& attribute = domain.attributes[column];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", escaped(attribute.name),
                        value_words(attribute, row[column]));
  }
  return text;
}

std::vector<int> attribute_indices(Domain const& domain, std::span<std::string const> names) {
  std::vector<int> indices;
  for (std::string const& name : names) {
    int const index = domain.find(name);
    if (index < 0) {
      throw Error(ExitCode::kBug,
                  fmt::format("{}: has no attribute {}", escaped(domain.source), in_quotes(name)));
    }
    indices.push_back(index);
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

Domain recorded_domain(RecordedRun const& recorded) {
  std::string const& path = recorded.config.domain;
  if (sha256_file(path) != recorded.domain_sha256) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: has changed since the run", escaped(path, path.size())));
  }
  return read_domain_yaml(path);
}

std::vector<ReportedPair> read_pairs(std::string const& dir, Domain const& domain,
                                     std::span<int const> protected_columns,
                                     OutputConfig const& output, std::size_t limit) {
  InstanceFile file(dir, output.format, InstanceColumns(domain, protected_columns, output));
  std::vector<ReportedPair> pairs;
  auto const take = [&](std::int64_t, InstanceRecord const& record) {
    if (pairs.size() == limit) return;
    ReportedPair& pair = pairs.emplace_back();
    pair.row.assign(record.row, record.row + domain.size());
    pair.pair.assign(record.pair, record.pair + protected_columns.size());
    pair.label = record.label;
    pair.pair_label = record.pair_label;
  };
  auto const fail = [&](std::int64_t number, char const* what) {
    throw data_error(file.place(number), what);
  };
  InstanceBlock block;
  while (pairs.size() < limit && file.next(block)) file.parse(block, take, fail);
  return pairs;
}

}  // namespace fairlane
