// The values of attributes as places, and the best condition on one for rows of which so many are
// affected.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/data/domain.h"

namespace fairlane {

/// A set of places.
using Places = std::uint64_t;
inline constexpr int kPlaces = 64;
inline constexpr int kOtherPlace = kPlaces - 1;  // of values too rare to be named; in no set
inline constexpr int kMostPlaces = kPlaces - 1;
/// Values up to which all sets of them are tried.
inline constexpr int kEverySubset = 6;
/// Values that a condition lists at most, so that it can be read.
inline constexpr int kMostListed = 5;

constexpr Places place_bit(int place) { return Places{1} << place; }
constexpr bool has_place(Places places, int place) { return (places >> place & 1U) != 0; }

/// Rows, and the affected ones among them.
struct Tally {
  std::int64_t rows = 0;
  std::int64_t affected = 0;

  void add(Tally const& more) {
    rows += more.rows;
    affected += more.affected;
  }
};
/// By place.
using PlaceTallies = std::array<Tally, kPlaces>;

/// An attribute's values as places.
/// used       places that are named
/// low, high  [used] codes of a place; equal unless so many were put together
/// place      [rows]
struct PlaceColumn {
  int attribute = 0;
  bool ordered = false;
  int used = 0;
  std::vector<std::int32_t> low;
  std::vector<std::int32_t> high;
  std::vector<std::uint8_t> place;

  /// A place that is one value, which a condition may name.
  bool is_value(int p) const {
    return low[static_cast<std::size_t>(p)] == high[static_cast<std::size_t>(p)];
  }
  Places up_to(int p) const { return place_bit(p) | (place_bit(p) - 1); }
  Places from(int p) const { return (place_bit(used) - 1) & ~(place_bit(p) - 1); }
};

/// rows  [count][attributes] codes
PlaceColumn place_column(Domain const& domain, std::size_t attribute,
                         std::span<std::int32_t const> rows, std::size_t count);

/// How good it is to hold for some of all rows: see Rule::quality. Not all or none are affected.
struct RuleScale {
  Tally all;

  double base() const { return static_cast<double>(all.affected) / static_cast<double>(all.rows); }
  double quality(Tally const& some) const {
    if (some.rows == 0) return 0.0;
    auto const rows = static_cast<double>(some.rows);
    return (static_cast<double>(some.affected) - base() * rows) /
           std::sqrt(rows * base() * (1.0 - base()));
  }
};

struct PlaceChoice {
  double quality = 0.0;
  Places places = 0;
};

/// The best condition on a column for rows with such tallies; none of a quality above 0: no places.
PlaceChoice best_places(PlaceColumn const& column, PlaceTallies const& tallies,
                        RuleScale const& scale);

/// Conditions on a column to be tried as the first of two.
/// complete  all that there are
struct FirstPlaces {
  std::vector<Places> places;
  bool complete = true;
};

FirstPlaces first_places(PlaceColumn const& column, PlaceTallies const& tallies);

/// How many conditions there are on a column, about.
double condition_count(PlaceColumn const& column);

/// Natural logarithm of the most probable that so many rows, drawn from all, have so many affected
/// ones or more; 0 where they have no more than expected.
/// Source: Hoeffding, Journal of the American Statistical Association 58, 1963.
double log_chance(Tally const& some, RuleScale const& scale);

/// Whether at least and at most mean something: numbers, bins, and words whose first numbers do not
/// fall, such as 18-29, 30-44, 45 and over.
bool is_ordered(Attribute const& attribute);

}  // namespace fairlane
