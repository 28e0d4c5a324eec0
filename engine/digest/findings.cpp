#include "engine/digest/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/threads/ordered_pipeline.h"
#include "engine/results/instances_reader.h"
#include "models/data/csv_scanner.h"

namespace fairlane::digest {
namespace {

constexpr std::size_t kKeptPairs = 10;
constexpr std::size_t kKeptDirections = 40;
constexpr std::size_t kMostDirections = 1U << 16;  // counted apart
constexpr std::int64_t kMostTiles = 24;            // of an attribute
constexpr std::int32_t kDirectCodes = 1 << 16;

/// How often each code occurs.
class CodeTally {
 public:
  void add(std::int32_t code) {
    auto const at = static_cast<std::size_t>(code);
    if (at < direct_.size()) {
      ++direct_[at];
    } else {
      add_far(code, 1);
    }
  }
  void add(CodeTally const& other) {
    for (CodeCount const& one : other.counts()) add_far(one.code, one.count);
  }
  std::vector<CodeCount> counts() const {
    std::vector<CodeCount> all;
    for (auto const& [code, count] : far_) {
      if (code < 0) all.push_back({code, count, 0});
    }
    for (std::size_t code = 0; code < direct_.size(); ++code) {
      if (direct_[code] > 0) all.push_back({static_cast<std::int32_t>(code), direct_[code], 0});
    }
    for (auto const& [code, count] : far_) {
      if (code > 0) all.push_back({code, count, 0});
    }
    return all;
  }

 private:
  void add_far(std::int32_t code, std::int64_t count) {
    if (code < 0 || code >= kDirectCodes) {
      far_[code] += count;
      return;
    }
    auto const at = static_cast<std::size_t>(code);
    if (at >= direct_.size()) direct_.resize(at + 1);
    direct_[at] += count;
  }

  std::vector<std::int64_t> direct_;
  std::map<std::int32_t, std::int64_t> far_;
};

/// Who gets the lower label and who the higher one: both sides' protected values, then labels.
using Direction = std::vector<std::int32_t>;
struct DirectionHash {
  std::size_t operator()(Direction const& key) const {
    std::size_t hash = 1469598103934665603U;  // FNV-1a
    for (std::int32_t const value : key)
      hash = (hash ^ static_cast<std::uint32_t>(value)) * 1099511628211U;
    return hash;
  }
};

/// Of float32 scores, as instances have them.
float gap(float score, float pair_score) { return std::fabs(score - pair_score); }

/// What is known of some rows.
class FindingTally {
 public:
  FindingTally(InstanceColumns const& columns, std::vector<int> const& selected)
      : columns_(&columns), selected_(&selected), values_(columns.attributes()) {}

  void add(std::int64_t number, InstanceRecord const& record) {
    ++count_;
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i].add(record.row[i]);
    if (!columns_->has_labels()) return;
    add_direction(record);
    add_pair(number, record);
  }
  /// Rows that come after these.
  void add(FindingTally&& later) {
    count_ += later.count_;
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i].add(later.values_[i]);
    for (auto const& [key, count] : later.directions_) count_direction(key, count);
    pairs_.add(std::move(later.pairs_));
  }

  std::int64_t count() const { return count_; }
  std::vector<CodeTally> const& values() const { return values_; }
  /// Of each profile its widest pair, the first of those; widest first.
  std::vector<KeptFinding> take_pairs() { return pairs_.take(); }
  std::vector<std::pair<Direction, std::int64_t>> directions() const {
    std::vector<std::pair<Direction, std::int64_t>> all(directions_.begin(), directions_.end());
    std::ranges::sort(all, [](auto const& a, auto const& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return all;
  }

 private:
  void add_direction(InstanceRecord const& record) {
    std::size_t const n = selected_->size();
    bool const is_lower = record.label < record.pair_label;
    key_.resize(2 * n + 2);
    for (std::size_t i = 0; i < n; ++i) {
      key_[is_lower ? i : n + i] = record.row[static_cast<std::size_t>((*selected_)[i])];
      key_[is_lower ? n + i : i] = record.pair[i];
    }
    key_[2 * n] = std::min(record.label, record.pair_label);
    key_[2 * n + 1] = std::max(record.label, record.pair_label);
    count_direction(key_, 1);
  }
  void count_direction(Direction const& key, std::int64_t count) {
    auto const found = directions_.find(key);
    if (found != directions_.end()) {
      found->second += count;
    } else if (directions_.size() < kMostDirections) {
      directions_.emplace(key, count);
    }
  }

  void add_pair(std::int64_t number, InstanceRecord const& record) {
    FindingRank const rank = {-gap(record.score, record.pair_score), 0.0, number};
    if (!(rank < pairs_.limit())) return;
    pairs_.add(rank, profile_of({record.row, columns_->attributes()}, *selected_),
               kept_finding(*columns_, number, record));
  }

  InstanceColumns const* columns_;
  std::vector<int> const* selected_;
  std::int64_t count_ = 0;
  std::vector<CodeTally> values_;
  std::unordered_map<Direction, std::int64_t, DirectionHash> directions_;
  BestFindings pairs_{kKeptPairs};
  Direction key_;
};

/// "age 18-29, race A".
std::string values_words(Domain const& domain, std::vector<int> const& selected,
                         std::int32_t const* codes) {
  std::string text;
  for (std::size_t i = 0; i < selected.size(); ++i) {
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(selected[i])];
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", attribute.name, attribute.word(codes[i]));
  }
  return text;
}

Json class_json(Domain const& domain, std::int32_t label) {
  return {{"class", label}, {"word", domain.label_word(label)}};
}

/// The rows of a file in blocks, and what is known of each.
struct TalliedBlock {
  InstanceBlock block;
  std::optional<FindingTally> tally;
};

FindingTally tally_of(ResultsPlace const& place, RunConfig const& config,
                      std::vector<int> const& selected, InstanceColumns const& columns) {
  InstanceFile file(place.files, config.output.format, columns);
  FindingTally all(columns, selected);
  auto const fail = [&](std::int64_t number, char const* what) {
    throw data_error(file.place(number), what);
  };
  auto const work = [&](TalliedBlock& one) {
    one.tally.emplace(columns, selected);
    file.parse(
        one.block,
        [&](std::int64_t number, InstanceRecord const& record) { one.tally->add(number, record); },
        fail);
  };
  OrderedPipeline<TalliedBlock> pipeline(
      machine_threads(), work, [&](TalliedBlock& one) { all.add(std::move(*one.tally)); });
  while (true) {
    TalliedBlock& one = pipeline.slot();
    if (!file.next(one.block)) break;
    pipeline.submit();
  }
  pipeline.drain();
  file.require_listed_rows();
  return all;
}

}  // namespace

Json tiles_of(Attribute const& attribute, std::vector<CodeCount> const& counts, bool is_share) {
  Json tiles = Json::array();
  if (counts.empty() || !attribute.low || !attribute.high) return tiles;
  std::int64_t const codes = attribute.code_count();
  std::int64_t const width = (codes + kMostTiles - 1) / kMostTiles;
  std::size_t next = 0;
  for (std::int64_t first = 0; first < codes; first += width) {
    std::int64_t const last = std::min(codes, first + width) - 1;
    std::int32_t const low = attribute.code_at(first);
    std::int32_t const high = attribute.code_at(last);
    CodeCount sum;
    for (; next < counts.size() && counts[next].code <= high; ++next) {
      sum.count += counts[next].count;
      sum.of += counts[next].of;
    }
    std::string const word =
        low == high ? attribute.word(low)
                    : fmt::format("{} to {}", attribute.word(low), attribute.word(high));
    Json tile = {{"value", word}, {"count", sum.count}};
    if (is_share) tile["of"] = sum.of;
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

Json pair_json(Domain const& domain, std::vector<std::int32_t> const& row,
               std::vector<std::int32_t> const& other, std::int32_t label,
               std::int32_t other_label) {
  Json words = Json::object();
  Json changed = Json::array();
  for (std::size_t i = 0; i < row.size(); ++i) {
    Attribute const& attribute = domain.attributes[i];
    words[attribute.name] = attribute.word(row[i]);
    if (row[i] == other[i]) continue;
    changed.push_back({{"attribute", attribute.name},
                       {"from", attribute.word(row[i])},
                       {"to", attribute.word(other[i])}});
  }
  return {{"words", words},
          {"changed", changed},
          {"decision", class_json(domain, label)},
          {"other", class_json(domain, other_label)}};
}

Json finding_json(Domain const& domain, InstanceColumns const& columns,
                  std::vector<int> const& selected, KeptFinding const& finding) {
  std::vector<std::int32_t> other = finding.row;
  for (std::size_t i = 0; i < selected.size(); ++i)
    other[static_cast<std::size_t>(selected[i])] = finding.pair[i];
  Json json = pair_json(domain, finding.row, other, finding.label, finding.pair_label);
  if (columns.has_scores()) {
    json["decision"]["score"] = finding.score;
    json["other"]["score"] = finding.pair_score;
  }
  return json;
}

std::vector<int> selected_of(RunConfig const& config, Domain const& domain,
                             std::string const& dir) {
  std::vector<int> selected;
  for (ProtectedAttribute const& one : config.protected_attributes) {
    selected.push_back(domain.find(one.name));
    if (selected.back() < 0)
      throw data_error(escaped(dir, dir.size()) + "/manifest.json",
                       fmt::format("protects {}, which its domain lacks", in_quotes(one.name)));
  }
  std::ranges::sort(selected);
  return selected;
}

Json digest_findings(ResultsPlace const& place, RunConfig const& config, Domain const& domain) {
  std::vector<int> const selected = selected_of(config, domain, place.dir);
  InstanceColumns const columns(domain, selected, config.output);
  FindingTally all = tally_of(place, config, selected, columns);
  Json values = Json::array();
  for (std::size_t i = 0; i < domain.attributes.size(); ++i) {
    Json tiles = tiles_of(domain.attributes[i], all.values()[i].counts(), false);
    if (tiles.empty()) continue;
    values.push_back({{"attribute", domain.attributes[i].name}, {"tiles", std::move(tiles)}});
  }
  Json directions = Json::array();
  auto const found = all.directions();
  std::size_t const n = selected.size();
  for (std::size_t i = 0; i < std::min(kKeptDirections, found.size()); ++i) {
    Direction const& key = found[i].first;
    directions.push_back({{"lower", values_words(domain, selected, key.data())},
                          {"higher", values_words(domain, selected, key.data() + n)},
                          {"lower_decision", class_json(domain, key[2 * n])},
                          {"higher_decision", class_json(domain, key[2 * n + 1])},
                          {"count", found[i].second}});
  }
  Json pairs = Json::array();
  for (KeptFinding const& pair : all.take_pairs()) {
    Json json = finding_json(domain, columns, selected, pair);
    if (columns.has_scores()) json["pair_difference"] = gap(pair.score, pair.pair_score);
    pairs.push_back(std::move(json));
  }
  return {{"count", all.count()},
          {"values", std::move(values)},
          {"directions", std::move(directions)},
          {"all_directions", found.size()},
          {"pairs", std::move(pairs)}};
}

Json digest_values(std::string const& path, Domain const& domain) {
  std::string const text = read_file(path, kMaxTableBytes);
  CsvScanner scanner(text, path);
  CsvHeader const header = read_csv_header(scanner);
  std::vector<std::string> const expected = {"attribute", "value", "groups",
                                             "discriminatory_groups"};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i >= header.names.size() || header.names[i] != expected[i])
      scanner.fail(1, 1,
                   "has other columns than those of `enumerate`, expected attribute,value,"
                   "groups,discriminatory_groups");
  }
  std::vector<std::vector<CodeCount>> counts(domain.attributes.size());
  bool is_share = true;
  while (!scanner.no_more_records()) {
    int attribute = -1;
    CodeCount one;
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == 0) attribute = domain.find(std::string(cell.text));
      if (attribute < 0)
        scanner.fail(cell, fmt::format("{} is no attribute of the domain", in_quotes(cell.text)));
      // A shard of an enumeration does not know how many there are.
      bool const is_open = i == 2 && cell.text.empty();
      is_share = is_share && !is_open;
      std::optional<double> const number = i == 0 || is_open ? 0.0 : number_in(cell.text);
      if (!number) scanner.fail(cell, fmt::format("{} is no number", in_quotes(cell.text)));
      if (i == 1) one.code = static_cast<std::int32_t>(*number);
      if (i == 2) one.of = static_cast<std::int64_t>(*number);
      if (i == 3) one.count = static_cast<std::int64_t>(*number);
      if (cell.last) break;
    }
    counts[static_cast<std::size_t>(attribute)].push_back(one);
  }
  Json values = Json::array();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    Attribute attribute = domain.attributes[i];
    std::ranges::sort(counts[i], {}, &CodeCount::code);
    if (!counts[i].empty()) {  // the values that were counted, of the domain's
      attribute.low =
          std::max(attribute.low.value_or(counts[i].front().code), counts[i].front().code);
      attribute.high =
          std::min(attribute.high.value_or(counts[i].back().code), counts[i].back().code);
    }
    Json tiles = tiles_of(attribute, counts[i], is_share);
    if (!tiles.empty())
      values.push_back({{"attribute", attribute.name}, {"tiles", std::move(tiles)}});
  }
  return values;
}

}  // namespace fairlane::digest
