// What fairlane and its LibTorch plug-in say to each other: plain C types and one function table,
// because the two may differ in compiler flags, C++ ABI and standard library. The plug-in shares no
// other code with the rest.
//
// Anything that changes here, or means something else, takes a new kTorchPluginVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlane {

inline constexpr std::uint32_t kTorchPluginVersion = 5;
inline constexpr char const* kTorchPluginFile = "fairlane_torch.so";
inline constexpr char const* kTorchPluginSymbol = "fairlane_torch_plugin";

/// Activations of hidden layers; the last layer gives logits.
enum TorchActivation : std::int32_t {
  kTorchLinear,
  kTorchRelu,
  kTorchLeakyRelu,
  kTorchElu,
  kTorchTanh,
  kTorchSigmoid,
  kTorchSilu,
  kTorchGelu,
  kTorchGeluTanh
};

/// Gradients of GradientKind that the lockstep search knows.
enum TorchGradient : std::int32_t {
  kTorchProbability,           // EIDIG
  kTorchLoss,                  // ADF
  kTorchProbabilityDifference  // MAFT
};

/// One dense layer.
/// weights  [inputs][outputs] row-major
/// bias     [outputs]
struct TorchLayer {
  std::int32_t inputs;
  std::int32_t outputs;
  std::int32_t activation;  // TorchActivation
  float alpha;              // as LayerView's
  float const* weights;
  float const* bias;
};

/// A subject, in the dataset's column order; its arrays need not outlive the call they are given
/// to.
/// layer          [layers]
/// low, high      [attributes] inclusive bounds
/// selected       [selected_count] attributes under test, ascending
/// variant_value  [variants][selected_count] their compared combinations in product order
/// threshold      one output: label 1 when logit > threshold; several: the largest
struct TorchSubject {
  std::int32_t layers;
  TorchLayer const* layer;
  std::int32_t attributes;
  std::int32_t const* low;
  std::int32_t const* high;
  std::int32_t selected_count;
  std::int32_t const* selected;
  std::int32_t variants;
  std::int32_t const* variant_value;
  float threshold;
};

/// A search of global and local phase.
/// row      [seeds][attributes]
/// variant  [seeds] protected combination of each row
struct TorchSearch {
  std::int32_t threads;  // of the CPU
  std::uint64_t seed;
  std::int64_t seeds;
  std::int32_t const* row;
  std::int32_t const* variant;
  std::int32_t gradient;     // TorchGradient
  float difference;          // h of kTorchProbabilityDifference
  std::int32_t max_iter;     // tests of a seed
  float global_step;         // along the gradient's sign; negative: against it
  float decay;               // of the momentum; 0: none
  std::int64_t local_steps;  // around each distinct global IDI
  float local_step;          // up or down
  std::int64_t interval;     // hits in a row before weights are renewed; 0: before every step
  std::int32_t never_renew;  // 1: the first weights for ever
  float epsilon;             // of the weights
};

/// What a search found. Its instances are kept until the next search of the same subject.
struct TorchCounts {
  std::int64_t global_found;      // seeds
  std::int64_t global_unique;     // distinct inputs among them
  std::int64_t tests;             // of the global phase
  std::int64_t local_steps;       // of all lanes
  std::int64_t unique_instances;  // distinct IDIs of both phases
  std::int64_t unique_groups;
};

/// A subject that the plug-in has loaded.
struct TorchLoaded;

/// What a TorchScript module is.
/// outputs         scores of a row
/// probabilities   1: its forward ends in a sigmoid or a softmax; 0: anything else
/// last_operation  for people, such as "aten::linear"; lives as long as the module
struct TorchModuleFacts {
  std::int32_t outputs;
  std::int32_t probabilities;
  char const* last_operation;
};

/// A TorchScript module that the plug-in has loaded.
struct TorchModule;

/// How weights follow gradients: as torch.optim's SGD, Adam and NAdam, with their other defaults.
enum TorchOptimizer : std::int32_t { kTorchSgd, kTorchAdam, kTorchNadam };

/// A network to be trained.
/// layer         [layers] with the weights to begin with; the last one gives logits
/// momentum      of kTorchSgd
/// weight_decay  times the weights, added to their gradients
struct TorchTraining {
  std::int32_t layers;
  TorchLayer const* layer;
  std::int32_t optimizer;  // TorchOptimizer
  double learning_rate;
  double momentum;
  double weight_decay;
};

/// Rows for one step. The loss is the weighted mean of the rows' cross-entropies, and pair_weight
/// times the mean squared difference of the pairs' probabilities.
/// inputs         [rows][inputs]
/// labels         [rows] classes
/// weights        [rows]
/// first, second  [pairs][inputs] whose outputs are to agree
struct TorchBatch {
  std::int64_t rows;
  float const* inputs;
  std::int32_t const* labels;
  float const* weights;
  std::int64_t pairs;
  float const* first;
  float const* second;
  float pair_weight;
};

/// A network that is being trained.
struct TorchTrainer;

/// How far a training has come.
/// values                       [weights and biases, layer by layer, as in TorchLayer]
/// first_moment, second_moment  [the same] of their gradients
struct TorchTrainerState {
  float* values;
  float* first_moment;
  float* second_moment;
  std::int64_t steps;
  double momentum_product;  // of kTorchNadam
};

/// A random forest that has been fitted.
struct TorchForest;

/// nullptr: done. Otherwise one line that says what failed, valid until the next call on the same
/// thread.
using TorchStatus = char const*;

/// The functions of the plug-in. None throws. `version` stays first in every version.
/// name          for people, such as "LibTorch 1.13.1 with OpenBLAS"
/// cuda_devices  GPUs that this LibTorch can use
struct TorchPlugin {
  std::uint32_t version;
  char const* name;
  std::int32_t cuda_devices;
  /// device: "cpu" or "cuda".
  TorchStatus (*load)(TorchSubject const* subject, char const* device, TorchLoaded** loaded);
  void (*unload)(TorchLoaded* loaded);
  TorchStatus (*search)(TorchLoaded* loaded, TorchSearch const* search, TorchCounts* counts);
  /// row [count][attributes]: distinct IDIs first, first + 1, ... of the last search, in the order
  /// of their keys.
  TorchStatus (*instances)(TorchLoaded const* loaded, std::int64_t first, std::int64_t count,
                           std::int32_t* row);
  /// Loads a TorchScript file, which runs code of the file, and tries it on rows of zeros.
  TorchStatus (*load_module)(char const* path, std::int32_t inputs, char const* device,
                             TorchModule** module, TorchModuleFacts* facts);
  void (*unload_module)(TorchModule* module);
  /// rows [count][inputs], scores [count][outputs]; threads: of the CPU. Equal rows get equal
  /// scores.
  TorchStatus (*score)(TorchModule* module, float const* rows, std::int64_t count,
                       std::int32_t threads, float* scores);
  /// Begins to train. Steps on a CPU use one thread and are a function of what they were given;
  /// trainers of several threads may step side by side.
  TorchStatus (*make_trainer)(TorchTraining const* training, char const* device,
                              TorchTrainer** trainer);
  void (*free_trainer)(TorchTrainer* trainer);
  /// One step; its loss, before it.
  TorchStatus (*train)(TorchTrainer* trainer, TorchBatch const* batch, float* loss);
  /// inputs [count][inputs], logits [count][outputs] of the network as it is.
  TorchStatus (*trainer_logits)(TorchTrainer* trainer, float const* inputs, std::int64_t count,
                                float* logits);
  /// values: weights and biases, layer by layer, as in TorchLayer.
  TorchStatus (*trained_values)(TorchTrainer const* trainer, float* values);
  /// Fills `state`, whose arrays have their sizes.
  TorchStatus (*trainer_state)(TorchTrainer const* trainer, TorchTrainerState* state);
  /// Goes on from there: further steps do what they would have done in that trainer.
  TorchStatus (*resume_trainer)(TorchTrainer* trainer, TorchTrainerState const* state);
  /// Fits a forest of two or more classes to inputs [rows][columns] and labels [rows]; a function of
  /// these and the seed. nullptr in a build without OpenCV.
  TorchStatus (*fit_forest)(float const* inputs, std::int32_t const* labels, std::int64_t rows,
                            std::int32_t columns, std::int32_t classes, std::uint64_t seed,
                            TorchForest** forest);
  void (*free_forest)(TorchForest* forest);
  /// shares [count][classes]: how many of the trees are for each class, adding up to 1.
  TorchStatus (*forest_votes)(TorchForest const* forest, float const* inputs, std::int64_t count,
                              float* shares);
};

/// The symbol that a plug-in exports: returns its table, which lives as long as the process.
using TorchPluginEntry = TorchPlugin const* (*)();

}  // namespace fairlane
