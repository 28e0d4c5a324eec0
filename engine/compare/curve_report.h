// The curves of a comparison as files.
#pragma once

#include <cstddef>
#include <string>

#include "base/formats/json.h"
#include "engine/compare/compare.h"
#include "engine/pictures/curve_chart.h"

namespace fairlane {

/// A trial's curve for compare.json: `evaluations`, `unique_groups`, `unique_instances` and, where
/// the totals are known, `recall_groups` and `recall_instances`, a list of all points each.
Json curve_json(Comparison const& comparison, Trial const& trial);
/// The same of a method: means over the repeats, point by point.
Json mean_curve_json(Comparison const& comparison, std::size_t method);
/// curves.csv, a row per method, seed and point.
std::string curves_csv(Comparison const& comparison);
/// What curves.svg shows: groups and IDIs by model evaluations.
CurveChart curve_chart(Comparison const& comparison);

}  // namespace fairlane
