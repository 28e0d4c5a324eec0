// A sweep's state for a cluster's monitoring: a text file that Prometheus' node exporter collects.
#pragma once

#include <string>

#include "engine/sweep/sweep_report.h"

namespace fairlane {

/// In the text format of Prometheus and OpenMetrics; docs/commands/sweep.md lists the names.
/// name          the sweep's, as a label
/// seconds_left  0: not known
/// Source: OpenMetrics 1.0.
std::string sweep_metrics(SweepOverview const& overview, std::string const& name,
                          double seconds_left);

}  // namespace fairlane
