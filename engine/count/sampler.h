// Uniform samples of a subject's region, counted in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/config/run_config.h"
#include "engine/count/binomial_interval.h"
#include "engine/count/group_counts.h"
#include "engine/count/region.h"

namespace fairlane {

/// What was looked for among samples, and how many of these there are.
struct SampledHits {
  Hits hits;
  std::int64_t of = 0;
};

/// What samples of one subject say.
/// sampled         inputs that were drawn, each with its group
/// inputs          of them, those that exist: all, unless constraints exclude some
/// hits            IDIs among them
/// layout          of the counters
/// is_constrained  whether constraints exclude inputs
struct Samples {
  std::int64_t sampled = 0;
  std::int64_t inputs = 0;
  std::int64_t hits = 0;
  GroupCounts counts;
  CountLayout layout;
  bool is_constrained = false;

  FeasibleCounts feasible() const { return {counts, layout, is_constrained}; }
  /// A sampled input in a group that discriminates, or may, can itself be an IDI, unless all that
  /// has no output does not exist.
  SampledHits input_hits() const;
  SampledHits group_hits() const;
  void add(Samples const& more);
};

/// One subject's region, sampled in batches that depend on nothing but the seed and their number.
class Sampler {
 public:
  /// Of a region with rows, the data's rows within it are taken, in random order; otherwise about
  /// so many samples. Throws Error.
  Sampler(RunConfig const& config, Execution const& execution, Region const& region,
          double samples);
  Sampler(Sampler const&) = delete;
  Sampler& operator=(Sampler const&) = delete;

  TestSubject const& subject() const { return subject_; }
  Backend& backend() { return *backend_; }
  /// With `auto` decided.
  Execution const& execution() const { return execution_; }
  /// Groups of the region, each of which a sample is likely to be with the same probability.
  double groups() const;
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }

  /// Inputs from `begin` on, before `end`, as many as are taken before it pauses; more may follow
  /// from there. Throws Error.
  /// pauses  asked before every batch, by any thread
  /// take    what a batch adds, one at a time
  using Pauses = std::function<bool()>;
  using Take = std::function<void(Samples const&)>;
  Samples draw(std::int64_t begin, std::int64_t end, Pauses const& pauses, Take const& take);

 private:
  ValueList drawn(std::int64_t begin, std::int64_t count) const;
  ValueList listed(std::int64_t begin, std::int64_t count) const;
  Samples take_batch(std::int64_t begin, std::int64_t count);
  /// Counts the groups of a list.
  /// sample  writes the input, [attributes], that was drawn with a group; empty: whoever calls this
  ///         knows which inputs are IDIs, and all exist
  using Sample = std::function<void(WalkPlan const&, std::int64_t group, std::int32_t* row)>;
  Samples evaluate(ValueList list, Sample const& sample);
  Samples evaluate_drawn(std::int64_t begin, std::int64_t count);
  Samples evaluate_rows(std::int64_t begin, std::int64_t count);
  /// IDIs among rows [..][attributes].
  std::int64_t count_hits(std::vector<std::int32_t> const& rows);

  TestSubject const subject_;
  Execution execution_;
  std::unique_ptr<Backend> backend_;
  bool takes_rows_;
  std::vector<ValueList> lists_;    // of what is sampled
  std::vector<std::int64_t> rows_;  // of the data, where these are evaluated instead
  int threads_;
  ThreadPool pool_;
  std::uint64_t seed_;
};

}  // namespace fairlane
