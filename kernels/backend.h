// What the engine asks of a device: a few coarse verbs per round over blocks of lanes, and one table of visited inputs.
//
// A block holds lanes [0, size). Lanes are independent: a lane's path depends on its row, its seed number and the run's
// seed alone, never on the block, the thread or the device. Rows cross this interface in the dataset's order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/k_means.h"
#include "kernels/core/philox.h"
#include "kernels/core/visit_flags.h"
#include "kernels/plan.h"
#include "kernels/walk_plan.h"

namespace fairlane {

/// How networks are evaluated. Findings are exact either way: fast ones are evaluated again.
enum class Arithmetic : std::uint8_t {
  kExact,  // the numerical contract: the same bits everywhere
  kFast,   // where a device has a faster way, sums in another order: other, perhaps fewer findings
};
inline char const* name_of(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kFast ? "fast" : "exact";
}

/// When and by whom an input was first visited, ordered by (phase, seed, iteration).
struct Finder {
  static constexpr int kIterationBits = 31;

  static constexpr std::uint64_t pack(Phase phase, std::uint32_t seed, std::uint32_t iteration) {
    return (static_cast<std::uint64_t>(phase) << 63) |
           (static_cast<std::uint64_t>(seed) << kIterationBits) | iteration;
  }
  static constexpr Phase phase(std::uint64_t finder) {
    return (finder >> 63) != 0 ? Phase::kLocal : Phase::kGlobal;
  }
  static constexpr std::uint32_t seed(std::uint64_t finder) {
    return static_cast<std::uint32_t>((finder >> kIterationBits) & 0xFFFFFFFFU);
  }
  static constexpr std::uint32_t iteration(std::uint64_t finder) {
    return static_cast<std::uint32_t>(finder & ((1ULL << kIterationBits) - 1));
  }
};

/// Finder of an instance that no search found, but a walk over all: before any search's.
inline constexpr std::uint64_t kFoundByWalk = Finder::pack(Phase::kGlobal, 0, 0);

/// Visited inputs in bulk.
/// group    [count][words] key of the non-protected values (KeyLayout)
/// variant  [count] protected combination
/// finder   [count] packed Finder, the least of all visits that this backend recorded in one place
/// state    [count] kVisitHit, kVisitUndefined
struct Visits {
  std::size_t count = 0;
  int words = 1;
  std::uint64_t const* group = nullptr;
  std::uint32_t const* variant = nullptr;
  std::uint64_t const* finder = nullptr;
  std::uint8_t const* state = nullptr;
};
inline constexpr std::uint8_t kVisitHit = 1;        // an IDI
inline constexpr std::uint8_t kVisitUndefined = 2;  // its own output is not finite

/// State of a visit from a record's flags, which may have other bits beside.
FL_HD std::uint8_t visit_state(std::uint64_t flags) {
  return static_cast<std::uint8_t>(((flags & kHitFlag) != 0 ? kVisitHit : 0) |
                                   ((flags & kUndefinedFlag) != 0 ? kVisitUndefined : 0));
}

using VisitSink = std::function<void(Visits const&)>;

/// A global step. sign -1 walks against the gradient; see MethodSpec in engine/method.h for the methods' values.
struct GlobalStep {
  GradientSpec gradient;
  float decay = 0.5F;
  std::int32_t step = 1;
  std::int32_t sign = -1;
};

/// A local step.
struct LocalStep {
  GradientSpec gradient;
  std::int32_t step = 1;
  std::uint32_t update_interval =
      5;  // successes in a row before partner and weights are renewed; 0 = before every step
  bool never_update = false;  // "inf": the first weights for ever
  float epsilon = 1.0e-6F;
};

/// Lanes that advance together. One thread uses a block at a time.
class LaneBlock {
 public:
  virtual ~LaneBlock() = default;
  virtual int capacity() const = 0;
  virtual int size() const = 0;

  /// Appends lanes. seed [n], rows [n][attributes]. Iteration, momentum and streak start at zero.
  virtual void place(std::span<std::uint32_t const> seed, std::int32_t const* rows) = 0;
  /// Drops the lanes with keep [size] == 0; the others close up in unspecified order.
  virtual void retain(std::span<std::uint8_t const> keep) = 0;

  /// Counts one more iteration for every lane, evaluates its similar set in full and records the visit.
  /// Afterwards hit(), label() and the partners hold.
  virtual void test() = 0;
  /// Gradients at every lane and its partner, momentum and sign step.
  virtual void advance(GlobalStep const& step) = 0;

  /// Makes the lanes' rows the origins of a local search: partner by largest output difference, first weights.
  virtual void begin_local(LocalStep const& step) = 0;
  /// One local round: renews partners and weights where due, draws, steps, tests, records, and returns misses.
  virtual void step_local(LocalStep const& step) = 0;

  /// The same verbs for the margin method (kernels/core/margin.h): a Newton step towards the nearest member's decision
  /// boundary, and local moves that keep one member on either side of it. reach: least range of a global move.
  virtual void test_margin() = 0;
  virtual void advance_margin(std::int32_t reach) = 0;
  virtual void begin_margin() = 0;
  virtual void step_margin(std::int32_t step) = 0;

  /// Evaluates inputs that need labels only (random search); counts an iteration and records.
  virtual void test_labels() = 0;

  virtual std::uint32_t seed(int lane) const = 0;
  virtual std::uint32_t iteration(int lane) const = 0;
  /// Renewals of gradients since begin_local or begin_margin.
  virtual std::uint32_t renewals(int lane) const = 0;
  virtual bool hit(int lane) const = 0;
  /// row [attributes] in dataset order.
  virtual void row(int lane, std::int32_t* row) const = 0;
};

/// What a finished instance's row says besides its attributes.
struct Description {
  std::int32_t label = 0;
  std::int32_t pair_label = 0;
  std::int32_t pair_variant = -1;  // -1: not an IDI
  float score = 0.0F;
  float pair_score = 0.0F;
  float severity = 0.0F;
};

/// Counts the groups of a walk, a range of heads at a time. Any thread, several at once.
class Walker {
 public:
  virtual ~Walker() = default;
  virtual WalkPlan const& plan() const = 0;
  /// Heads worth asking for at once: a multiple of kHeadsPerWord.
  virtual std::int64_t chunk() const = 0;
  /// Counts heads [first, first + count).
  /// mixed     [plan().get().groups][head_words(count)] bits of the heads whose group is discriminatory, out
  /// counters  [plan().counters().size()] added to
  virtual void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
                     std::uint64_t* counters) = 0;
};
inline constexpr int kHeadsPerWord = 64;
inline std::int64_t head_words(std::int64_t heads) {
  return (heads + kHeadsPerWord - 1) / kHeadsPerWord;
}

/// A device with one loaded subject. Blocks may be used by several threads at once, one thread per block.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Name for people, such as "cpu (avx512, 2 threads)".
  virtual std::string name() const = 0;
  virtual PackedSubject const& subject() const = 0;
  /// What it computes with, which is exact where nothing faster was asked for or is there.
  virtual Arithmetic arithmetic() const = 0;
  /// Blocks worth running at once, and lanes in each, for `lanes` lanes in all.
  virtual int concurrency() const = 0;
  virtual int block_lanes(std::int64_t lanes) const = 0;
  /// A block of that capacity, or of less where memory is short.
  virtual std::unique_ptr<LaneBlock> make_block(int capacity, Phase phase) = 0;

  /// Distinct inputs recorded so far (approximate while blocks run) and memory of the record in bytes.
  virtual std::uint64_t visited() const = 0;
  /// IDIs among them.
  virtual std::uint64_t instances() const = 0;
  virtual std::uint64_t table_bytes() const = 0;
  /// Whether visits went to the overflow sink: the table then misses some.
  virtual bool overflowed() const = 0;
  /// Hands out everything recorded; inputs may occur twice when the table overflowed its memory limit.
  virtual void collect(VisitSink const& sink) = 0;
  /// Makes room for about that many inputs in all, between phases.
  virtual void reserve(double inputs) = 0;

  /// Lays a walk over all combinations of the lists (WalkPlan) out for this device. Throws Error(kUnavailable | kMemory).
  virtual std::unique_ptr<Walker> make_walker(std::vector<ValueList> lists) = 0;

  /// Evaluates rows [count][attributes] with their similar sets. Any thread.
  virtual void describe(std::int32_t const* rows, std::size_t count, Description* out) = 0;
  /// Logits, or what else the scores are, [count][outputs] of rows. Any thread.
  virtual void logits(std::int32_t const* rows, std::size_t count, float* out) = 0;

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

/// Loads a subject whose scores a scorer gives; see SubjectView. Its isa is not used. Throws Error(kUnavailable | kMemory).
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

/// A GPU of this machine, for people.
/// architecture  compute capability, major * 10 + minor
/// memory        bytes, and free_memory of them at the moment
/// clock_ghz     highest clock of the multiprocessors
/// driver        newest CUDA version that the driver supports, such as "13.0"
/// problem       why this build cannot use it; empty when it can
struct DeviceSummary {
  std::string name;
  int index = 0;
  int architecture = 0;
  int multiprocessors = 0;
  double clock_ghz = 0.0;
  std::uint64_t memory = 0;
  std::uint64_t free_memory = 0;
  std::string driver;
  std::string problem;
};

/// Whether this build has the CUDA backend, its GPUs up to the `usable`-th that it can use (none without a driver; never
/// throws for that; looking at a GPU takes some of its memory), and why there is no usable one: one line, empty where there
/// is.
bool cuda_built();
std::vector<DeviceSummary> cuda_devices(std::size_t usable = SIZE_MAX);
std::string cuda_problem();

/// Loads a subject on a GPU. Throws Error(kUnavailable | kMemory | kStopped).
std::unique_ptr<Backend> make_cuda_backend(SubjectView const& subject,
                                           DeviceOptions const& options);

}  // namespace fairlane
