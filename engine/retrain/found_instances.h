// The IDIs of a results directory as retraining takes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/learning/similar_pairs.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// pairs     the instances, and the member of its similar set that each was reported with
/// severity  [instances] difference of their scores; 0 where scores were not written
struct FoundInstances {
  KnownPairs pairs;
  std::vector<float> severity;

  std::size_t count() const { return severity.size(); }
};

/// Reads the instances of a finished directory of `run` or `enumerate`.
/// subject  whose domain they are of
/// config   that decides which columns are needed, and how much each weighs
/// Throws Error(kNoInput | kData) where they are of another domain or protected selection, or
/// where they, or their columns that are needed, were not written.
FoundInstances read_instances(std::string const& dir, TestSubject const& subject,
                              RetrainConfig const& config);

/// Numbers of the instances in the order in which they are added.
/// config: picking, clusters, seed
std::vector<std::uint32_t> pick(FoundInstances const& found, TestSubject const& subject,
                                RunConfig const& config, int threads);

/// Rows of the members of an instance's similar set that are added: [members][attributes].
std::vector<std::int32_t> added_members(FoundInstances const& found, std::uint32_t number,
                                        TestSubject const& subject, AddedMembers members);

}  // namespace fairlane
