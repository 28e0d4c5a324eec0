#include "apps/text/verified_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "apps/console.h"
#include "apps/text/words.h"
#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestCsv = std::size_t{1} << 34;
constexpr std::size_t kShownPlaces = 6;
constexpr std::size_t kShownPairs = 3;

using Words = std::vector<std::string>;

/// Lines of a CSV file whose cells hold no commas but in the header, below it.
std::vector<Words> lines_of(std::string const& path) {
  std::istringstream text(read_file(path, kLongestCsv));
  std::vector<Words> lines;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; std::getline(words, word, ',');) lines.back().push_back(word);
  }
  return lines;
}

template <class Number>
Number number_of(std::string const& path, std::size_t line, std::string const& word) {
  Number value{};
  auto const [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size()) {
    throw Error(ExitCode::kData, fmt::format("{}:{}: {} is no number", escaped(path, 4096),
                                             line + 2, in_quotes(word)));
  }
  return value;
}

void check_width(std::string const& path, std::size_t line, Words const& words, std::size_t least) {
  if (words.size() >= least) return;
  throw Error(ExitCode::kData, fmt::format("{}:{}: has {} columns, expected at least {}",
                                           escaped(path, 4096), line + 2, words.size(), least));
}

/// Unfair cells among those with some values of an attribute.
struct Place {
  std::size_t attribute = 0;
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::int64_t cells = 0;
  std::int64_t unfair = 0;

  double share() const { return static_cast<double>(unfair) / static_cast<double>(cells); }
};

std::string values_text(Attribute const& attribute, Place const& place) {
  std::string const low = value_words(attribute, place.low);
  if (place.low == place.high) return low;
  return low + " to " + value_words(attribute, place.high);
}

std::string places_text(std::string const& path, Domain const& domain) {
  std::size_t const width = domain.attributes.size();
  auto const lines = lines_of(path);
  std::vector<std::map<std::pair<std::int32_t, std::int32_t>, Place>> places(width);
  std::int64_t unfair = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    check_width(path, i, lines[i], 2 + 2 * width);
    bool const is_unfair = lines[i][1 + 2 * width] == "sat";
    unfair += is_unfair ? 1 : 0;
    for (std::size_t a = 0; a < width; ++a) {
      auto const low = number_of<std::int32_t>(path, i, lines[i][1 + 2 * a]);
      auto const high = number_of<std::int32_t>(path, i, lines[i][2 + 2 * a]);
      Place& place = places[a].try_emplace({low, high}, Place{a, low, high, 0, 0}).first->second;
      ++place.cells;
      place.unfair += is_unfair ? 1 : 0;
    }
  }
  if (unfair == 0) return {};
  // What is farthest from the share of all, of the attributes that are cut.
  double const all = static_cast<double>(unfair) / static_cast<double>(lines.size());
  std::vector<Place> shown;
  for (auto const& of_attribute : places) {
    if (of_attribute.size() < 2) continue;
    for (auto const& [ends, place] : of_attribute) shown.push_back(place);
  }
  std::ranges::stable_sort(shown, std::greater(),
                           [&](Place const& place) { return std::abs(place.share() - all); });
  if (shown.size() > kShownPlaces) shown.resize(kShownPlaces);
  if (shown.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"attribute", "values", "cells", "unfair"}};
  for (Place const& place : shown) {
    Attribute const& attribute = domain.attributes[place.attribute];
    rows.push_back({escaped(attribute.name), values_text(attribute, place),
                    with_commas(place.cells), percent(place.share())});
  }
  return fmt::format("\nwhere cells are unfair more or less often than {} of all:\n{}",
                     percent(all), aligned(rows, {"attribute", "values"}));
}

std::string pairs_text(std::string const& path, Domain const& domain,
                       std::vector<int> const& compared, std::size_t tested) {
  std::size_t const width = domain.attributes.size();
  auto lines = lines_of(path);
  // Cell, the person, its counterpart's attributes, the labels, the outputs.
  std::size_t const labels = 1 + width + compared.size();
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    check_width(path, i, lines[i], labels + 4);
    double const gap = number_of<double>(path, i, lines[i][labels + 2]) -
                       number_of<double>(path, i, lines[i][labels + 3]);
    order.emplace_back(-gap, i);
  }
  std::ranges::stable_sort(order);
  if (order.size() > kShownPairs) order.resize(kShownPairs);
  if (order.empty()) return {};
  std::string text = "\npairs whose outputs are farthest apart, of the examples:\n";
  for (auto const& [gap, i] : order) {
    std::vector<std::int32_t> row;
    for (std::size_t a = 0; a < width; ++a)
      row.push_back(number_of<std::int32_t>(path, i, lines[i][1 + a]));
    auto const decision = [&, line = i](std::size_t column) {
      return decision_words(domain, number_of<std::int32_t>(path, line, lines[line][column]));
    };
    std::string own;
    std::string other;
    for (std::size_t c = 0; c < compared.size(); ++c) {
      auto const a = static_cast<std::size_t>(compared[c]);
      Attribute const& attribute = domain.attributes[a];
      auto const value = number_of<std::int32_t>(path, i, lines[i][1 + width + c]);
      if (c >= tested && value == row[a]) continue;  // relaxed, and the same
      char const* const comma = own.empty() ? "" : ", ";
      std::string const name = escaped(attribute.name);
      own += fmt::format("{}{} {}", comma, name, value_words(attribute, row[a]));
      other += fmt::format("{}{} {}", comma, name, value_words(attribute, value));
    }
    text += fmt::format("- {}\n    {}: decision {};  {}: decision {};  outputs {:.4g} apart\n",
                        row_words(domain, row, compared), own, decision(labels), other,
                        decision(labels + 1), -gap);
  }
  return text;
}

}  // namespace

std::string verified_cells_text(std::string const& dir, RecordedRun const& recorded,
                                Domain const& domain) {
  std::vector<std::string> names;
  for (auto const& attribute : recorded.config.protected_attributes)
    names.push_back(attribute.name);
  std::vector<int> compared = attribute_indices(domain, names);
  std::size_t const tested = compared.size();
  Json const query =
      Json::parse(read_file(dir + "/manifest.json", std::size_t{1} << 26)).at("verify");
  if (Json const* const relaxed = query.find("relaxed")) {
    for (auto const& [name, by] : relaxed->items()) compared.push_back(domain.find(name));
  }
  return places_text(dir + "/cells.csv", domain) +
         pairs_text(dir + "/counterexamples.csv", domain, compared, tested);
}

}  // namespace fairlane
