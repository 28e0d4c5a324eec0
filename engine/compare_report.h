// A comparison as files.
#pragma once

#include <span>
#include <string>

#include "engine/compare.h"

namespace fairlane {

/// One thing that is measured of every trial.
/// of     its value: infinite for the evaluations of an IDI where there is none
/// timed  differs between equal comparisons
struct Measure {
  char const* name;
  double (*of)(Comparison const& comparison, Trial const& trial);
  bool needs_totals = false;
  bool timed = false;
};

/// All measures, in the order of the files.
std::span<Measure const> measures();

/// compare.json: for every method and measure mean, sd (of a sample), min and max over the repeats, and against the
/// reference p (Mann-Whitney), p_holm (corrected for all methods tested by the measure) and a12; and every trial.
std::string compare_json(Comparison const& comparison);
/// compare.csv, a row per method and seed.
std::string trials_csv(Comparison const& comparison);
/// summary.csv, a row per method. Empty cells: no IDI in some trial, or nothing to be tested against.
std::string compare_summary_csv(Comparison const& comparison);
/// compare.svg: groups and IDIs per 1000 model evaluations, every trial with mean and standard deviation.
std::string compare_svg(Comparison const& comparison);

}  // namespace fairlane
