// Ranks that mpirun has started, by the plug-in that has MPI.
#pragma once

#include <memory>

#include "engine/ranks/mpi_plugin_api.h"
#include "engine/ranks/ranks.h"

namespace fairlane {

/// The plug-in. Throws Error(kUnavailable) as load_plugin() does.
MpiPlugin const& mpi_plugin();

/// Whether the surroundings say that an MPI launcher has started this process.
bool started_by_mpi();

/// The link between the ranks of this process's MPI job; once in a process. Throws Error(kUsage)
/// where no launcher has started it, Error(kUnavailable) where the plug-in is absent or MPI fails.
std::unique_ptr<RankLink> make_mpi_link();

}  // namespace fairlane
