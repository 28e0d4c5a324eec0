// A comparison as files.
#pragma once

#include <span>
#include <string>

#include "base/formats/json.h"
#include "engine/compare/compare.h"
#include "engine/pictures/compare_chart.h"

namespace fairlane {

/// One thing that is measured of every trial.
/// of     its value: infinite for evaluations of an IDI, or until the first, where there is none
/// timed  differs between equal comparisons
struct Measure {
  char const* name;
  double (*of)(Comparison const& comparison, Trial const& trial);
  bool needs_totals = false;
  bool timed = false;
};

/// All measures, in the order of the files.
std::span<Measure const> measures();

/// A value for compare.json: null where it is infinite, whole numbers without a fraction.
Json number_or_null(double value);

/// What a difference between two methods is called significant at.
inline constexpr double kSignificance = 0.05;

/// The repeats without which no difference can be significant, however large it is: the p-values of
/// so few are too coarse for as many tests. 0 where the repeats are enough, or nothing is tested.
std::int64_t missing_repeats(Comparison const& comparison);
/// The least p_holm that a method can have with these repeats, however large the difference.
double least_p_holm(Comparison const& comparison);
/// What a chart's caption says of repeats that are too few; empty where they are not.
std::string repeats_note(Comparison const& comparison);

/// compare.json: for every method and measure mean, sd (of a sample), min and max over the repeats,
/// and against the reference p (Mann-Whitney), p_holm (corrected for all methods tested by the
/// measure) and a12; and every trial; the curves of both (see curve_report.h); `too_few_repeats`
/// where missing_repeats() says so.
std::string compare_json(Comparison const& comparison);
/// compare.csv, a row per method and seed.
std::string trials_csv(Comparison const& comparison);
/// summary.csv, a row per method. Empty cells: no IDI in some trial, or nothing to be tested
/// against.
std::string compare_summary_csv(Comparison const& comparison);
/// What compare.svg shows: groups and IDIs per 1000 model evaluations of every trial.
CompareChart compare_chart(Comparison const& comparison);

}  // namespace fairlane
