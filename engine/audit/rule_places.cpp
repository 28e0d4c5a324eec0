#include "engine/audit/rule_places.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

namespace fairlane {
namespace {

struct CodeCount {
  std::int32_t code = 0;
  std::int64_t rows = 0;
  int place = kOtherPlace;
};

/// Neighbours share places where there are too many for each its own.
void place_ordered(std::vector<CodeCount>& counts, std::int64_t rows, PlaceColumn& column) {
  bool const own = counts.size() <= kMostPlaces;
  std::int64_t const least = own ? 1 : (rows + kMostPlaces - 1) / kMostPlaces;
  std::int64_t in_place = 0;
  for (auto& count : counts) {
    if (in_place == 0) {
      column.low.push_back(count.code);
      column.high.push_back(count.code);
    }
    column.high.back() = count.code;
    count.place = static_cast<int>(column.low.size()) - 1;
    in_place += count.rows;
    if (in_place >= least) in_place = 0;
  }
}

/// The most frequent values have places, ascending.
void place_nominal(std::vector<CodeCount>& counts, PlaceColumn& column) {
  std::vector<CodeCount*> named;
  for (auto& count : counts) named.push_back(&count);
  std::stable_sort(named.begin(), named.end(),
                   [](auto const* a, auto const* b) { return a->rows > b->rows; });
  if (named.size() > kMostPlaces) named.resize(kMostPlaces);
  std::sort(named.begin(), named.end());
  for (auto* const count : named) {
    count->place = static_cast<int>(column.low.size());
    column.low.push_back(count->code);
    column.high.push_back(count->code);
  }
}

/// Places with rows by precision, highest first.
std::vector<int> by_precision(PlaceColumn const& column, PlaceTallies const& tallies) {
  std::vector<int> order;
  for (int p = 0; p < column.used; ++p) {
    if (tallies[static_cast<std::size_t>(p)].rows > 0) order.push_back(p);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    Tally const& x = tallies[static_cast<std::size_t>(a)];
    Tally const& y = tallies[static_cast<std::size_t>(b)];
    std::int64_t const left = x.affected * y.rows;
    std::int64_t const right = y.affected * x.rows;
    return left != right ? left > right : x.rows > y.rows;
  });
  return order;
}

/// Keeps of too many values those that add most.
Places listed(std::vector<int> order, PlaceTallies const& tallies, RuleScale const& scale) {
  double const base = static_cast<double>(scale.all.affected) / static_cast<double>(scale.all.rows);
  auto const gain = [&](int p) {
    Tally const& t = tallies[static_cast<std::size_t>(p)];
    return static_cast<double>(t.affected) - base * static_cast<double>(t.rows);
  };
  if (order.size() > kMostListed) {
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return gain(a) > gain(b); });
    order.resize(kMostListed);
  }
  Places places = 0;
  for (int const p : order) places |= place_bit(p);
  return places;
}

/// The first number in a word, if there is one.
bool first_number(std::string const& word, double& number) {
  auto const at = word.find_first_of("0123456789");
  if (at == std::string::npos) return false;
  number = std::strtod(word.c_str() + at, nullptr);
  return true;
}

}  // namespace

bool is_ordered(Attribute const& attribute) {
  if (!attribute.bins.empty()) return true;
  if (attribute.categories.empty()) return attribute.encoding.kind != EncodingKind::kOneHot;
  double last = 0.0;
  for (std::string const& word : attribute.categories) {
    double number = 0.0;
    if (!first_number(word, number) || number < last) return false;
    last = number;
  }
  return true;
}

PlaceColumn place_column(Domain const& domain, std::size_t attribute,
                         std::span<std::int32_t const> rows, std::size_t count) {
  auto const width = static_cast<std::size_t>(domain.size());
  std::vector<std::int32_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) codes[i] = rows[i * width + attribute];
  std::sort(codes.begin(), codes.end());
  std::vector<CodeCount> counts;
  for (std::int32_t const code : codes) {
    if (counts.empty() || counts.back().code != code) counts.push_back({code});
    ++counts.back().rows;
  }
  PlaceColumn column;
  column.attribute = static_cast<int>(attribute);
  column.ordered = is_ordered(domain.attributes[attribute]);
  if (column.ordered) {
    place_ordered(counts, static_cast<std::int64_t>(count), column);
  } else {
    place_nominal(counts, column);
  }
  column.used = static_cast<int>(column.low.size());
  column.place.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto const found = std::lower_bound(
        counts.begin(), counts.end(), rows[i * width + attribute],
        [](CodeCount const& entry, std::int32_t code) { return entry.code < code; });
    column.place[i] = static_cast<std::uint8_t>(found->place);
  }
  return column;
}

PlaceChoice best_places(PlaceColumn const& column, PlaceTallies const& tallies,
                        RuleScale const& scale) {
  PlaceChoice best;
  auto const tally = [&](int p) -> Tally const& { return tallies[static_cast<std::size_t>(p)]; };
  auto const consider = [&](Tally const& some, Places places) {
    double const quality = scale.quality(some);
    if (quality > best.quality) best = {quality, places};
  };
  for (int p = 0; p < column.used; ++p) {
    if (tally(p).rows > 0 && column.is_value(p)) consider(tally(p), place_bit(p));
  }
  if (column.ordered) {
    Tally sum;
    for (int p = 0; p < column.used; ++p) {
      sum.add(tally(p));
      if (tally(p).rows > 0) consider(sum, column.up_to(p));
    }
    sum = {};
    for (int p = column.used; p-- > 0;) {
      sum.add(tally(p));
      if (tally(p).rows > 0) consider(sum, column.from(p));
    }
    return best;
  }
  // A quality that is quasi-convex in both counts is best for a beginning of this order.
  std::vector<int> const order = by_precision(column, tallies);
  std::size_t longest = 0;
  double longest_quality = 0.0;
  Places places = 0;
  Tally sum;
  for (std::size_t i = 0; i < order.size(); ++i) {
    places |= place_bit(order[i]);
    sum.add(tally(order[i]));
    double const quality = scale.quality(sum);
    if (quality > longest_quality) {
      longest_quality = quality;
      longest = i + 1;
    }
    if (i < kMostListed) consider(sum, places);
  }
  if (longest <= kMostListed) return best;
  places =
      listed({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(longest)}, tallies, scale);
  sum = {};
  for (int p = 0; p < column.used; ++p) {
    if (has_place(places, p)) sum.add(tally(p));
  }
  consider(sum, places);
  return best;
}

FirstPlaces first_places(PlaceColumn const& column, PlaceTallies const& tallies) {
  FirstPlaces firsts;
  std::vector<int> const order = by_precision(column, tallies);
  if (column.ordered) {
    for (int const p : order) {
      if (column.is_value(p)) firsts.places.push_back(place_bit(p));
      firsts.places.push_back(column.up_to(p));
      firsts.places.push_back(column.from(p));
    }
  } else if (order.size() <= kEverySubset) {
    for (unsigned subset = 1; subset < 1U << order.size(); ++subset) {
      if (std::popcount(subset) > kMostListed) continue;
      Places places = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if ((subset >> i & 1U) != 0) places |= place_bit(order[i]);
      }
      firsts.places.push_back(places);
    }
  } else {
    firsts.complete = false;
    Places places = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      places |= place_bit(order[i]);
      if (i > 0) firsts.places.push_back(place_bit(order[i]));
      if (i < kMostListed) firsts.places.push_back(places);
    }
  }
  return firsts;
}

double condition_count(PlaceColumn const& column) {
  if (column.ordered) return 3.0 * column.used;  // is, at least and at most each
  double sum = 0.0;
  double sets = 1.0;  // of so many values
  for (int listed = 1; listed <= std::min(kMostListed, column.used); ++listed) {
    sets *= static_cast<double>(column.used - listed + 1) / listed;
    sum += sets;
  }
  return sum;
}

double log_chance(Tally const& some, RuleScale const& scale) {
  auto const rows = static_cast<double>(some.rows);
  double const share = static_cast<double>(some.affected) / rows;
  double const base = scale.base();
  if (share <= base) return 0.0;
  double const rest = share < 1.0 ? (1.0 - share) * std::log((1.0 - share) / (1.0 - base)) : 0.0;
  return -rows * (share * std::log(share / base) + rest);
}

}  // namespace fairlane
