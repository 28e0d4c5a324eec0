// The tables in which papers compare methods and verifiers, from a sweep's cells.
#pragma once

#include <string>

namespace fairlane {

struct SweepOverview;

/// Method by benchmark: a row for each subject, protected set, settings and method, means over the
/// seeds. Speed is of the search, and the only column that differs between equal sweeps.
/// Source: Zhang, Zhang, Zhang, ISSTA 2021 (EIDIG), tables 2 to 5; Wang et al., ICSE 2024 (MAFT).
std::string methods_csv(SweepOverview const& overview);

/// A row for each cell of verify: partitions, those decided, sat, unsat and unknown.
/// Source: Biswas and Rajan, ICSE 2023 (Fairify), table II.
std::string verify_csv(SweepOverview const& overview);

/// Both for people, in Markdown: one line per benchmark, methods side by side.
std::string tables_markdown(SweepOverview const& overview);

}  // namespace fairlane
