// A sweep handed to a cluster: the files in its output directory, and sbatch.
#pragma once

#include <string>

#include "engine/sweep/cluster_jobs.h"

namespace fairlane {

/// Where the scripts of a sweep lie.
struct SlurmScripts {
  std::string array;
  std::string merge;
};

/// Writes the two scripts to slurm/ in the output directory, which is made where there is none.
/// Throws as slurm_array_script(), Error(kOutput) where a file cannot be created, Error(kDisk).
SlurmScripts write_slurm_scripts(ClusterJob const& job);

/// Writes the manifest to kubernetes/job.yaml in the output directory, and returns its path.
/// Throws Error(kOutput), Error(kDisk).
std::string write_kubernetes_manifest(ClusterJob const& job, std::string const& image);

/// What Slurm calls the two jobs.
struct SlurmJobs {
  std::string array;
  std::string merge;
};

/// Hands both scripts to sbatch; the merge waits for the array's end, whatever its elements' exit
/// codes. Throws Error(kUnavailable) where there is no sbatch, or it refuses.
SlurmJobs submit_slurm(SlurmScripts const& scripts);

}  // namespace fairlane
