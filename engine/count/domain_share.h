// The share of a domain that is discriminatory, as a run shows it beside what its search found.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/formats/json.h"
#include "engine/results/summary.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// Groups that are sampled where nobody asks for more.
inline constexpr std::int64_t kDomainSamples = 10'000;

/// execution     whose threads and model options are used; the samples are evaluated on the CPU
/// samples       so many groups; otherwise as many as are quickly evaluated, kDomainSamples at
///               most, and none of a model that is a program
/// seconds       with samples: take them in looks, each four times the one before, as long as the
///               next is likely to end within so many seconds
/// stop          set by a signal: what is known by then is the result, or that it was interrupted
/// decide_above  go on sampling, up to 64 times as many, until the interval does not hold this
///               share
struct DomainShareOptions {
  Execution execution;
  std::optional<std::int64_t> samples;
  std::optional<double> decide_above;
  std::optional<double> seconds;
  std::atomic<bool> const* stop = nullptr;
};

/// Counts all groups where there are no more than would be sampled, otherwise estimates the share
/// of inputs that are IDIs, with a confidence of 95 %. A function of the configuration and the
/// options alone, and with seconds that do not suffice, of the number that was drawn. Throws Error.
DomainShare measure_domain_share(RunConfig const& config, TestSubject const& subject,
                                 DomainShareOptions const& options);

/// Options that evaluate on the CPU; a scorer stays as it is loaded.
Execution on_cpu(Execution execution, TestSubject const& subject);
/// A configuration without what ends a command, into a folder of its own.
RunConfig in_folder(RunConfig config, std::string const& folder);

/// Counts all groups, into a folder that is thrown away, without budgets. Returns summary.json.
/// Throws Error.
Json count_domain(RunConfig const& config, Execution const& execution, std::string const& folder,
                  std::atomic<bool> const* stop);
/// The share that an enumeration's summary.json states.
DomainShare enumerated_share(Json const& summary);

/// Seconds that a walk over all groups takes on the CPU, at the pace of some milliseconds of it; an
/// enumeration that skips what is proven to be fair may take far fewer. None for a domain that is
/// too large, for a network of which no part is quickly walked, and for any other model, which is
/// not asked just to know that. Throws Error.
std::optional<double> walk_seconds(RunConfig const& config, TestSubject const& subject,
                                   Execution const& execution);

}  // namespace fairlane
