// A sweep on a cluster: what Slurm and Kubernetes are told about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fairlane {

/// A sweep whose shards are worked on by the elements of an array, a shard each.
/// program  path of `fairlane`, the same on all nodes
/// plan     path of the plan
/// out      output directory of the sweep
/// folder   working directory, which relative paths in run_words begin at
/// All four are absolute.
struct ClusterJob {
  std::string program;
  std::string plan;
  std::string out;
  std::string folder;
  std::int64_t elements = 1;
  std::int64_t threads = 0;                // of an element; 0: as many as it is given
  bool gpus = false;                       // one for each element
  std::vector<std::string> run_words;      // for `sweep run`, such as --allow-exec
  std::vector<std::string> slurm_options;  // as a person gives them, such as --partition=gpu
};

/// The batch script of the array. An element that stops with its state saved is queued again,
/// unless a person has cancelled it; every other exit code is the element's.
/// Throws Error(kUsage) where a path or an option cannot stand in a script of Slurm.
std::string slurm_array_script(ClusterJob const& job);

/// The batch script that merges what the elements have left, for a job that depends on the array.
/// It takes those options that do not ask for more than one core. Throws as slurm_array_script().
std::string slurm_merge_script(ClusterJob const& job);

/// An Indexed Job with a pod for each element, to be edited where it says EDIT.
/// image  of a container with `fairlane` on its PATH
std::string kubernetes_manifest(ClusterJob const& job, std::string const& image);

}  // namespace fairlane
