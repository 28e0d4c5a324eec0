// The configuration of a run as plain values; apps/config_yaml.cpp reads it, DESIGN section 3 names the keys.
#pragma once

#ifdef __CUDACC__
#error "nvcc compiles kernels only: no header of models, engine or apps"
#endif

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "models/dataset.h"
#include "models/model.h"

namespace fairlane {

/// One attribute under test; `values` empty compares all its values.
struct ProtectedAttribute {
  std::string name;
  std::vector<std::int32_t> values;
};

enum class OutputFormat { kCsv, kNpy, kNone };

/// update_interval of "inf": weights are never renewed.
inline constexpr std::uint32_t kNeverUpdate = std::numeric_limits<std::uint32_t>::max();

struct GlobalConfig {
  std::int64_t num = 1000;
  int clusters = 4;
  int max_iter = 10;
  double step = 1.0;
  double decay = 0.5;
  std::string
      seeding;  // "", round-robin, all, uniform; "" = round-robin with data, uniform for themis
  std::string seeds;  // CSV of seed rows, replaces clustering
};

struct LocalConfig {
  std::int64_t num = 1000;
  double step = 1.0;
  std::uint32_t update_interval = 5;
  double epsilon = 1.0e-6;
};

/// acceptance  of local steps to inputs that are no IDIs
/// lanes       origins that step together, on what the steps before have taught; 1: the published, sequential rule
struct AequitasConfig {
  Acceptance acceptance = Acceptance::kMetropolis;
  std::int64_t lanes = 64;
};

/// How symbolic generation (sg) explains a model around an input, and moves on from there.
enum class Surrogate {
  kPerInstance,  // a decision tree for every tested input
  kCached,       // one for all
};
enum class Neighbours {
  kMarginal,  // every column from the table's marginal, whatever the input: what the authors' program does
  kLocal,  // the input's own value in half of the columns
};
enum class ToggleSolver {
  kSticky,  // values nearest to the input's
  kLowest,  // the lowest values
};

/// What comes first in the queue, where the kinds of tests (directed, seeds, undirected) do not decide.
enum class QueueOrder {
  kLeaf,  // directed: the toggled predicate that is nearest to its path's leaf; ties: what came first
  kConfidence,  // directed: the path with the least average confidence; ties: what came first
  kProgram,     // the same; ties: the least row, and seeds among them, as in the authors' program
};

struct SymbolicConfig {
  double t1 = 0.3;           // least confidence of a predicate on an undirected path
  std::optional<double> t2;  // directed: negate only predicates with less confidence; absent: all
  int samples = 5000;        // rows that a surrogate is fitted to
  int frontier = 1;  // inputs that are tested and explained at once; 1: the published sequence
  Surrogate surrogate = Surrogate::kPerInstance;
  ToggleSolver solver = ToggleSolver::kSticky;
  Neighbours neighbours = Neighbours::kMarginal;
  QueueOrder order = QueueOrder::kLeaf;
};

/// Limits on a run; absent = none. Checked at seed boundaries in canonical order.
struct BudgetConfig {
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> iterations;
  std::optional<std::int64_t> evaluations;  // of the model, by the method's definition
  std::optional<std::int64_t> instances;
  std::optional<double> seconds;
};

struct OutputConfig {
  std::string dir;
  OutputFormat format = OutputFormat::kCsv;
  bool trace = false;
  bool path_coverage = false;  // of a reference tree (engine/path_coverage.h); sg always reports it
};

/// Paths are resolved (relative to the YAML file, or to the working directory for command-line values).
struct RunConfig {
  std::string source;  // the YAML file, for messages
  std::string model;
  std::string
      model_folder;  // in which a model that is a command runs; empty: the working directory
  std::string data;  // empty: none
  std::string domain;
  std::vector<ProtectedAttribute> protected_attributes;
  OutOfDomain out_of_domain = OutOfDomain::kError;
  double threshold = 0.5;
  std::string method = "eidig";
  std::uint64_t seed = 42;
  Arithmetic arithmetic = Arithmetic::kExact;
  GlobalConfig global;
  LocalConfig local;
  double perturbation_size = 1.0;
  AequitasConfig aequitas;
  SymbolicConfig sg;
  BudgetConfig budget;
  OutputConfig output;
  std::map<std::string, std::string> positions;  // key -> file:line:column, for messages
};

/// How to execute; not part of the manifest.
struct Execution {
  std::string backend = "auto";  // auto, cpu, cpu:avx2 ..., cuda, cuda:N, cuda:N,M, cuda:all
  int threads = 0;               // 0: all cores
  int batch = 0;                 // lanes per block, 0: chosen
  std::string route;             // of a GPU, for measuring: fused, wide; empty: chosen
  double checkpoint = 300.0;     // seconds at least between two saved states, 0: only when stopped
  std::uint64_t memory = 0;      // bytes for the record of visited inputs, 0: half of the machine's
  ModelOptions model;            // how models that are no networks are run
};

}  // namespace fairlane
