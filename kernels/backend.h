// A device with one loaded subject, as the engine sees it: a record of visited inputs, something
// that evaluates rows, and a maker of blocks of lanes, of walkers and of batches of boxes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/arithmetic.h"
#include "kernels/boxes/box_batch.h"
#include "kernels/core/k_means.h"
#include "kernels/lane_block.h"
#include "kernels/layout/plan.h"
#include "kernels/row_describer.h"
#include "kernels/visits.h"
#include "kernels/walker.h"

namespace fairlane {

/// A device with one loaded subject. Blocks may be used by several threads at once, one thread per
/// block.
class Backend : public VisitRecord, public RowDescriber {
 public:
  /// Name for people, such as "cpu (avx512, 2 threads)".
  virtual std::string name() const = 0;
  virtual PackedSubject const& subject() const = 0;
  /// What it computes with, which is exact where nothing faster was asked for or is there.
  virtual Arithmetic arithmetic() const = 0;
  /// Blocks worth running at once, and lanes in each, for `lanes` lanes in all.
  virtual int concurrency() const = 0;
  virtual int block_lanes(std::int64_t lanes) const = 0;
  /// Whether blocks run on their callers' threads, not on devices that these wait for.
  virtual bool on_host() const = 0;
  /// A block of that capacity, or of less where memory is short.
  virtual std::unique_ptr<LaneBlock> make_block(int capacity, Phase phase) = 0;
  /// Lays a walk over all combinations of the lists (WalkPlan) out for this device. Throws
  /// Error(kUnavailable | kMemory).
  virtual std::unique_ptr<Walker> make_walker(std::vector<ValueList> lists) = 0;
  /// Memory for boxes of inputs, and what bounds them; several may be used at once. network: of
  /// this subject, outlives it. Throws Error(kUnavailable | kMemory).
  virtual std::unique_ptr<BoxBatch> make_box_batch(BoundNetwork const& network) = 0;
  /// Cluster of each row; see kernels/k_means.h. Not while a block runs.
  virtual std::vector<std::int32_t> k_means(RowTable const& rows, int clusters,
                                            std::uint64_t seed) = 0;
};

/// Options of the CPU backend.
/// threads       worker threads
/// lanes         lanes per block, 0 = chosen from the network's cost
/// isa           "portable", "avx2", "avx512", "neon", empty = best
/// seed          the run's seed
/// memory_limit  bytes for the record of visited inputs
/// overflow      takes visits that did not fit; called from any thread, one at a time
struct CpuOptions {
  int threads = 1;
  int lanes = 0;
  std::string isa;
  std::uint64_t seed = 0;
  std::uint64_t memory_limit = 1ULL << 30;
  VisitSink overflow;
};

/// Loads a subject on the CPU. Throws Error(kUnavailable | kMemory).
std::unique_ptr<Backend> make_cpu_backend(SubjectView const& subject, CpuOptions const& options);

/// Loads a subject whose scores a scorer gives; see SubjectView. Its isa is not used. Throws
/// Error(kUnavailable | kMemory).
std::unique_ptr<Backend> make_scorer_backend(SubjectView const& subject, CpuOptions const& options);

/// Instruction sets that this build and processor have, best first.
std::vector<std::string> cpu_instruction_sets();

/// Options of a backend on devices.
/// devices       their numbers
/// lanes         lanes per block, 0 = chosen from the network and the device
/// seed          the run's seed
/// memory_limit  bytes of each device for its record, 0 = chosen from what is free
/// overflow      takes visits that did not fit; called from any thread, one at a time
/// notice        takes lines for people, such as that the batch was made smaller
/// route         "fused" or "wide", empty = the better one; for tests and comparisons
/// workspace     bytes of the wide route's memory for activations, 0 = chosen
/// arithmetic    fast: the wide route's products come from the device's library
/// threads       of the host, for what it does itself
struct DeviceOptions {
  std::vector<int> devices = {0};
  std::int64_t lanes = 0;
  std::uint64_t seed = 0;
  std::uint64_t memory_limit = 0;
  VisitSink overflow;
  std::function<void(std::string const&)> notice;
  std::string route;
  std::uint64_t workspace = 0;
  Arithmetic arithmetic = Arithmetic::kExact;
  int threads = 1;
};

/// Loads a subject on a GPU. Throws Error(kUnavailable | kMemory | kStopped).
std::unique_ptr<Backend> make_cuda_backend(SubjectView const& subject,
                                           DeviceOptions const& options);

}  // namespace fairlane
