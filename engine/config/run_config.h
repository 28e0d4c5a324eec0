// The configuration of a run as plain values, and the words of its choices; config_keys.cpp says
// what each key means.
#pragma once

#ifdef __CUDACC__
#error "nvcc compiles kernels only: no header of models, engine or apps"
#endif

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/words.h"
#include "kernels/arithmetic.h"
#include "kernels/core/adaptive_steps.h"
#include "models/data/dataset.h"
#include "models/model.h"
#include "models/train/network_trainer.h"

namespace fairlane {

/// One attribute under test; `values` empty compares all its values.
struct ProtectedAttribute {
  std::string name;
  std::vector<std::int32_t> values;
};

template <>
inline constexpr std::array kEnumWords<Arithmetic> = std::to_array<Word<Arithmetic>>(
    {{Arithmetic::kExact, "exact", "the same bits on every machine"},
     {Arithmetic::kFast, "fast",
      "a GPU multiplies the matrices of wide networks by cuBLAS, which may miss findings"}});

template <>
inline constexpr std::array kEnumWords<OutOfDomain> = std::to_array<Word<OutOfDomain>>(
    {{OutOfDomain::kError, "error", "the run ends with a list of them"},
     {OutOfDomain::kDrop, "drop", "they are left out"},
     {OutOfDomain::kClip, "clip", "they are moved to the nearest bounds"}});

enum class OutputFormat { kCsv, kNpy, kParquet, kNone };
template <>
inline constexpr std::array kEnumWords<OutputFormat> = std::to_array<Word<OutputFormat>>(
    {{OutputFormat::kCsv, "csv", "`instances.csv`"},
     {OutputFormat::kNpy, "npy", "`instances.npy`, an array of NumPy with a field for each column"},
     {OutputFormat::kParquet, "parquet", "`instances.parquet`, by Apache Arrow"},
     {OutputFormat::kNone, "none", "counts alone"}});

/// Each has the columns of those before it.
enum class OutputColumns { kInputs, kLabels, kAll };
template <>
inline constexpr std::array kEnumWords<OutputColumns> = std::to_array<Word<OutputColumns>>(
    {{OutputColumns::kInputs, "inputs", "the attributes"},
     {OutputColumns::kLabels, "labels",
      "the pair and both labels too: no input is evaluated again where the search has kept them"},
     {OutputColumns::kAll, "all", "scores and who found an instance too"}});

/// update_interval of "inf": weights are never renewed.
inline constexpr std::uint32_t kNeverUpdate = std::numeric_limits<std::uint32_t>::max();

struct GlobalConfig {
  std::int64_t num = 1000;
  int clusters = 4;
  int max_iter = 10;
  double step = 1.0;
  double decay = 0.5;
  std::string seeding;  // round-robin, all, uniform; empty: what suits the method
  std::string seeds;    // empty: none
};

struct LocalConfig {
  std::int64_t num = 1000;
  double step = 1.0;
  std::uint32_t update_interval = 5;
  double epsilon = 1.0e-6;
};

template <>
inline constexpr std::array kEnumWords<Acceptance> = std::to_array<Word<Acceptance>>(
    {{Acceptance::kMetropolis, "metropolis",
      "the authors' program: always, but from an IDI with probability 1/e"},
     {Acceptance::kAlways, "always", "the paper's algorithm"},
     {Acceptance::kReset, "reset", "MAFT's port: never, the search goes back to its origin"}});

struct AequitasConfig {
  Acceptance acceptance = Acceptance::kMetropolis;
  std::int64_t lanes = 64;
};

/// How symbolic generation (sg) explains a model around an input.
enum class Surrogate { kPerInstance, kCached };
template <>
inline constexpr std::array kEnumWords<Surrogate> = std::to_array<Word<Surrogate>>(
    {{Surrogate::kPerInstance, "per-instance", "a decision tree for every tested input"},
     {Surrogate::kCached, "cached", "one tree for all: fewer evaluations, mostly fewer IDIs"}});

/// From where the rows come that a surrogate is fitted to.
enum class Neighbours { kMarginal, kLocal };
template <>
inline constexpr std::array kEnumWords<Neighbours> = std::to_array<Word<Neighbours>>(
    {{Neighbours::kMarginal, "marginal",
      "every column from the table's, whatever the input, as in the authors' program"},
     {Neighbours::kLocal, "local", "half of the columns are the input's own"}});

/// Which values satisfy the predicates of a path.
enum class ToggleSolver { kSticky, kLowest };
template <>
inline constexpr std::array kEnumWords<ToggleSolver> = std::to_array<Word<ToggleSolver>>(
    {{ToggleSolver::kSticky, "sticky", "those nearest to the input's, as in the paper"},
     {ToggleSolver::kLowest, "lowest", "the lowest ones"}});

/// What comes first in the queue, where the kinds of tests (directed, seeds, undirected) do not
/// decide.
enum class QueueOrder { kLeaf, kConfidence, kProgram };
template <>
inline constexpr std::array kEnumWords<QueueOrder> = std::to_array<Word<QueueOrder>>(
    {{QueueOrder::kLeaf, "leaf",
      "directed, the toggled predicate nearest to its path's leaf; ties: what came first"},
     {QueueOrder::kConfidence, "confidence",
      "directed, the path with the least average confidence; ties: what came first"},
     {QueueOrder::kProgram, "program",
      "the same; ties: the least row, and seeds among them, as in the authors' program"}});

struct SymbolicConfig {
  double t1 = 0.3;
  std::optional<double> t2;
  int samples = 5000;
  int frontier = 1;
  Surrogate surrogate = Surrogate::kPerInstance;
  ToggleSolver solver = ToggleSolver::kSticky;
  Neighbours neighbours = Neighbours::kMarginal;
  QueueOrder order = QueueOrder::kLeaf;
};

/// Individuals of a full population of expga.
inline constexpr std::int64_t kExpgaPopulation = 100;

/// rank  of the first protected attribute in an explanation, exclusive; absent: by the number of
///       attributes
struct ExpgaConfig {
  std::optional<int> rank;
  int samples = 5000;
  std::int64_t populations = 1;
};

/// How plausible an input must be beside the rows of `data`.
/// at_least  findings are inputs than which so many per cent of these rows are stranger; 0: any
/// weight    a local step that adds d nats to an input's surprise is taken with probability
///           exp(-weight * d); 0: any is
struct PlausibilityConfig {
  double at_least = 0.0;
  double weight = 0.0;

  /// Whether a search needs to know the table's surprises.
  bool steers() const { return at_least > 0.0 || weight > 0.0; }
};

/// Limits on a run; absent = none. They end it behind a seed, but seconds wherever it then is.
struct BudgetConfig {
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> iterations;
  std::optional<std::int64_t> evaluations;
  std::optional<std::int64_t> instances;
  std::optional<double> seconds;
};

/// How votes decide the label of a row.
enum class Vote { kHard, kSoft };
template <>
inline constexpr std::array kEnumWords<Vote> = std::to_array<Word<Vote>>(
    {{Vote::kHard, "hard", "the class that most voters decide; the lowest of equal ones"},
     {Vote::kSoft, "soft", "the class with the greatest sum of the voters' probabilities"}});

/// shard_rows  instances in a file, none: all in one
/// zstd        compresses Parquet files
/// vote        also writes which label voters give to a finding; absent: none is asked
/// words       also writes instances.words.csv
/// plausibility  also writes instances.plausibility.csv
struct OutputConfig {
  std::string dir;
  OutputFormat format = OutputFormat::kCsv;
  OutputColumns columns = OutputColumns::kAll;
  std::optional<std::int64_t> shard_rows;
  bool zstd = false;
  std::optional<Vote> vote;
  bool words = false;
  bool plausibility = false;
  bool trace = false;
  bool path_coverage = false;
  bool report = true;  // report.html
};

template <>
inline constexpr std::array kEnumWords<Activation> = std::to_array<Word<Activation>>(
    {{Activation::kRelu, "relu", "max(x, 0)"},
     {Activation::kLeakyRelu, "leaky_relu", "x, or 0.01 x below 0"},
     {Activation::kElu, "elu", "x, or exp(x) - 1 below 0"},
     {Activation::kTanh, "tanh", "the hyperbolic tangent"},
     {Activation::kSigmoid, "sigmoid", "1 / (1 + exp(-x))"},
     {Activation::kSilu, "silu", "x sigmoid(x)"},
     {Activation::kGelu, "gelu", "x times the normal distribution at x"}});

template <>
inline constexpr std::array kEnumWords<Optimizer> =
    std::to_array<Word<Optimizer>>({{Optimizer::kSgd, "sgd", "gradients, with momentum"},
                                    {Optimizer::kAdam, "adam", "Kingma and Ba, ICLR 2015"},
                                    {Optimizer::kNadam, "nadam", "Dozat, ICLR Workshop 2016"}});

/// How much a row of each class weighs in training.
enum class ClassWeights { kNone, kBalanced };
template <>
inline constexpr std::array kEnumWords<ClassWeights> = std::to_array<Word<ClassWeights>>(
    {{ClassWeights::kNone, "none", "every row the same"},
     {ClassWeights::kBalanced, "balanced", "every class the same, however many rows it has"}});

/// layers         hidden units; empty: those of the model, or kDefaultLayers
/// patience       epochs without a smaller loss on the validation rows; absent: no end before the
///                last one
/// validation     share of the rows that say when to stop, and which epoch was best
/// test           share of the rows that are held out
/// standardise    learn from inputs less their means over their deviations, which the first
///                layer then takes in
/// consistency    weight of what makes similar sets agree: of the mean squared difference between
///                the probabilities of a row and of another member of its similar set
/// random_pairs   share of these whose row is no row of the table but a random input of the domain
struct TrainConfig {
  std::vector<int> layers;
  Activation activation = Activation::kRelu;
  Descent descent;
  int batch = 128;
  int epochs = 30;
  std::optional<int> patience = 5;
  double validation = 0.1;
  double test = 0.2;
  ClassWeights class_weights = ClassWeights::kNone;
  bool standardise = true;
  double consistency = 0.0;
  double random_pairs = 0.5;
};

/// Which of the found instances are added first.
enum class Picking { kRandom, kGroups, kClusters, kSeverity };
template <>
inline constexpr std::array kEnumWords<Picking> = std::to_array<Word<Picking>>(
    {{Picking::kRandom, "random", "any, each as likely as any other"},
     {Picking::kGroups, "groups", "random ones, of a similar set that has none yet before others"},
     {Picking::kClusters, "clusters",
      "random ones, as many of each of `global.clusters` clusters of the IDIs that were found"},
     {Picking::kSeverity, "severity", "those with the largest difference in output"}});

/// Which members of an instance's similar set are added with it.
enum class AddedMembers { kInstance, kPair, kAll };
template <>
inline constexpr std::array kEnumWords<AddedMembers> = std::to_array<Word<AddedMembers>>(
    {{AddedMembers::kInstance, "instance", "none, as in the papers"},
     {AddedMembers::kPair, "pair", "the one with another label that it was reported with"},
     {AddedMembers::kAll, "all", "all of them"}});

/// How much what was found weighs.
enum class FoundWeights { kEven, kSeverity };
template <>
inline constexpr std::array kEnumWords<FoundWeights> = std::to_array<Word<FoundWeights>>(
    {{FoundWeights::kEven, "even", "each IDI the same: an added row as much as one of the table"},
     {FoundWeights::kSeverity, "severity",
      "in proportion to the difference in output from its pair, the same on average; of "
      "`consistency`, how often it is drawn"}});

/// recipe            name of a row of engine/retrain/recipe.cpp
/// share             of the found IDIs that are added, by a first candidate
/// candidates        models that are trained in a round; absent: the recipe's own number
/// rounds            of search and training; each but the first searches the best model so far
/// target            share of IDIs at which no further candidate is trained; absent: none
/// accuracy_lost     that is accepted at most, on the validation rows
/// f1_lost           likewise
/// check_evaluations of the model, for what `margin` finds before and after
/// count_seconds     up to which the domain is counted instead of sampled
struct RetrainConfig {
  std::string recipe = "consistency";
  std::string instances;  // a directory of results; empty: searched for as the configuration says
  double share = 0.05;
  Picking picking = Picking::kRandom;
  AddedMembers members = AddedMembers::kInstance;
  FoundWeights weights = FoundWeights::kEven;
  Vote vote = Vote::kHard;
  std::optional<int> candidates;
  int rounds = 1;
  std::optional<double> target;
  double accuracy_lost = 0.01;
  double f1_lost = 0.1;
  std::int64_t check_evaluations = 200'000;
  double count_seconds = 60.0;

  /// Whether scores of what was found decide anything.
  bool needs_scores() const {
    return picking == Picking::kSeverity || weights == FoundWeights::kSeverity;
  }
};

/// Paths are resolved (relative to the YAML file, or to the working directory for command-line
/// values).
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
  ExpgaConfig expga;
  PlausibilityConfig plausibility;
  BudgetConfig budget;
  TrainConfig train;
  RetrainConfig retrain;
  OutputConfig output;
  std::map<std::string, std::string> positions;  // key -> file:line:column, for messages
};

/// How to execute; not part of the manifest.
struct Execution {
  std::string backend = "auto";  // auto, cpu, cpu:avx2 ..., cuda, cuda:N, cuda:N,M, cuda:all
  std::string backend_reason;    // for people: why `auto` became that; empty where it was asked for
  int threads = 0;               // 0: all cores
  int batch = 0;                 // lanes per block, 0: chosen
  std::string route;             // of a GPU, for measuring: fused, wide; empty: chosen
  double checkpoint = 300.0;     // seconds at least between two saved states, 0: only when stopped
  std::uint64_t memory = 0;      // bytes for the record of visited inputs, 0: half of the machine's
  int sharers = 1;               // processes that share that half
  ModelOptions model;            // how models that are no networks are run
  /// Makes report.html of the finished `files` of an output directory `dir`; empty: nobody does.
  std::function<std::string(std::string const& files, std::string const& dir)> page;
};

}  // namespace fairlane
