// Who takes part in a comparison of whole searches; private to bench/search.cpp and
// bench/libtorch.cpp.
#pragma once

#include <memory>
#include <string>

#include "bench/bench.h"
#include "engine/search/method.h"
#include "engine/search/seeds.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// A search as configured, with what it needs loaded.
struct BenchSearch {
  BenchSearch(RunConfig const& run, ModelOptions const& model)
      : config(run),
        method(find_method(run.method)),
        subject(run, model),
        seeds(run, method, subject) {
    require_usable(method, subject);
  }

  RunConfig const& config;
  MethodSpec const& method;
  TestSubject subject;
  SeedSource seeds;
};

/// One row of the comparison.
class Contender {
 public:
  virtual ~Contender() = default;
  /// Searches once and returns the seconds. Where `bench` is given, says in it who this is and what
  /// was found.
  virtual double search(SearchBench* bench) = 0;
};

/// Why LibTorch cannot do this search, one line; empty where it can.
std::string libtorch_problem(BenchSearch const& search);

/// LibTorch on `threads` threads, or on a GPU (0). Searches once before it is measured, and
/// evaluates what that found with our own backend. Throws Error(kUnavailable), and
/// Error(kIntegrity) where a finding does not hold.
std::unique_ptr<Contender> make_libtorch(BenchSearch const& search, int threads);

}  // namespace fairlane
