// How much a search asks of a backend, before it starts.
#pragma once

#include "engine/search/method.h"
#include "engine/subject/backend_choice.h"

namespace fairlane {

/// What a method's search does at most, within the budgets of seeds, iterations and evaluations:
/// every seed is taken to find an IDI. When budget.instances ends a run nobody knows before.
/// variants    protected combinations
/// attributes  of the domain
/// rows        from which seeds are taken, at most; 0: seeds are drawn
Workload search_workload(RunConfig const& config, MethodSpec const& method, std::int64_t variants,
                         int attributes, std::int64_t rows);
/// The same for a subject.
Workload search_workload(RunConfig const& config, MethodSpec const& method,
                         TestSubject const& subject);

}  // namespace fairlane
