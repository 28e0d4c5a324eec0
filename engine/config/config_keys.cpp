#include "engine/config/config_keys.h"

#include <limits>
#include <stdexcept>

#include "engine/config/config_values.h"
#include "engine/config/protected_value.h"
#include "engine/retrain/recipe.h"
#include "engine/search/method.h"

namespace fairlane {
namespace {

using Config = RunConfig;

constexpr std::int64_t kMaxGlobalSeeds = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMaxLocalSteps = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxClusters = 10'000;
constexpr std::int64_t kMaxIterations = 1'000'000;
constexpr std::int64_t kMaxSamples = 100'000;
constexpr std::int64_t kMaxFrontier = 65'536;
constexpr std::int64_t kMaxPopulations = 1'000'000;
constexpr std::int64_t kMaxBatchRows = 1 << 20;
constexpr std::int64_t kMaxEpochs = 1'000'000;
constexpr std::int64_t kMaxCandidates = 100;
constexpr std::int64_t kMaxRounds = 100;
constexpr std::int64_t kMaxCheck = 1'000'000'000'000;
constexpr double kMaxCountSeconds = 1e6;
constexpr double kMaxPlausibilityWeight = 1e6;
constexpr double kMaxConsistency = 1e6;
constexpr double kLargestPart = 0.9;  // of the rows, so that some are left to learn from

NumberKind share() { return {0.0, 1.0, "a number 0..1"}; }

NumberKind inner_share() { return {0.0, 1.0, "a number between 0 and 1, both excluded", true}; }

NumberKind part() { return {0.0, kLargestPart, "a number 0..0.9"}; }

// Steps and differences are float32 in the lanes.
NumberKind positive_float() {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kMost = std::numeric_limits<float>::max();
  return {kLeast, kMost, "a number above 0 that float32 can hold (1.18e-38..3.4e+38)"};
}

OptionalKind<IntegerKind> limit() { return {IntegerKind{1}}; }

WordKind method_names() {
  WordKind kind;
  for (MethodSpec const& method : methods()) {
    kind.words.push_back({method.name, std::string(method.algorithm) + "; " + method.paper});
  }
  return kind;
}

WordKind recipe_names() {
  WordKind kind;
  for (Recipe const& recipe : recipes()) kind.words.push_back({recipe.name, recipe.help});
  return kind;
}

WordKind seedings() {
  return {{{"round-robin", "the table's clusters in turn"},
           {"all", "the table's rows in order"},
           {"uniform", "random inputs of the domain"}},
          true};
}

template <class Kind, class... Members>
std::shared_ptr<ConfigValue const> value(Kind kind, Members... members) {
  return std::make_shared<MemberValue<Kind, Members...>>(std::move(kind), members...);
}

std::vector<ConfigKey> all_keys() {
  return {
      {.name = "model",
       .value = std::make_shared<ModelValue>(),
       .help = "the model: a file, or exec:COMMAND",
       .required = "the path of a model"},
      {.name = "data",
       .value = value(PathKind{.optional = true}, &Config::data),
       .help = "the table, with a header row; null: none"},
      {.name = "domain",
       .value = value(PathKind{}, &Config::domain),
       .help = "ranges of the attributes",
       .required = "the path of a domain file"},
      {.name = "protected",
       .value = std::make_shared<ProtectedValue>(),
       .help = "one attribute, or several tested together; {race: [0, 4]} compares these codes "
               "alone",
       .required = "the attributes to test, such as [age, race]"},
      {.name = "out_of_domain",
       .value = value(EnumKind<OutOfDomain>{}, &Config::out_of_domain),
       .help = "rows outside the domain"},
      {.name = "threshold",
       .value = value(inner_share(), &Config::threshold),
       .help = "of a model with one output: above it 1 is decided"},
      {.name = "method",
       .value = value(method_names(), &Config::method),
       .help = "how the search goes"},
      {.name = "seed",
       .value = value(SeedKind{}, &Config::seed),
       .help = "another seed, another search",
       .flag = "--seed"},
      {.name = "arithmetic",
       .value = value(EnumKind<Arithmetic>{}, &Config::arithmetic),
       .help = "how networks are evaluated",
       .recorded = false},

      {.name = "global.num",
       .value = value(IntegerKind{1, kMaxGlobalSeeds}, &Config::global, &GlobalConfig::num),
       .help = "rows to start from; inputs to test, where a method draws them"},
      {.name = "global.clusters",
       .value = value(IntegerKind{1, kMaxClusters}, &Config::global, &GlobalConfig::clusters),
       .help = "clusters of the table, from which round-robin takes its rows"},
      {.name = "global.max_iter",
       .value = value(IntegerKind{1, kMaxIterations}, &Config::global, &GlobalConfig::max_iter),
       .help = "tests of one seed at most, until its first finding"},
      {.name = "global.step",
       .value = value(StepKind{}, &Config::global, &GlobalConfig::step),
       .help = "length of a step towards a first finding",
       .unit = "codes"},
      {.name = "global.decay",
       .value = value(share(), &Config::global, &GlobalConfig::decay),
       .help = "of the momentum (eidig, maft): what remains of the gradients before"},
      {.name = "global.seeding",
       .value = value(seedings(), &Config::global, &GlobalConfig::seeding),
       .help = "where seeds come from; unless given, uniform for themis, for AEQUITAS and without "
               "data, otherwise round-robin"},
      {.name = "global.seeds",
       .value = value(PathKind{.optional = true}, &Config::global, &GlobalConfig::seeds),
       .help = "a table whose first rows are the seeds; null: none"},

      {.name = "local.num",
       .value = value(IntegerKind{0, kMaxLocalSteps}, &Config::local, &LocalConfig::num),
       .help = "steps around each first finding; 0 leaves them out"},
      {.name = "local.step",
       .value = value(StepKind{}, &Config::local, &LocalConfig::step),
       .help = "length of a step around a finding",
       .unit = "codes"},
      {.name = "local.update_interval",
       .value = value(RenewalKind{}, &Config::local, &LocalConfig::update_interval),
       .help = "steps in a row without a miss, after which the odds of the attributes are renewed; "
               "\"inf\": never"},
      {.name = "local.epsilon",
       .value = value(positive_float(), &Config::local, &LocalConfig::epsilon),
       .help = "added to gradients, so that an attribute without one has finite odds"},

      {.name = "gradient.perturbation_size",
       .value = value(positive_float(), &Config::perturbation_size),
       .help = "h in MAFT's (p(x + h) - p(x)) / h",
       .unit = "codes"},

      {.name = "aequitas.acceptance",
       .value = value(EnumKind<Acceptance>{}, &Config::aequitas, &AequitasConfig::acceptance),
       .help = "whether a local search goes on from an input that is no IDI"},
      {.name = "aequitas.lanes",
       .value = value(IntegerKind{1, kMaxGlobalSeeds}, &Config::aequitas, &AequitasConfig::lanes),
       .help = "local searches that step together, on what all have learnt; 1: the published, "
               "sequential "
               "rule"},

      {.name = "sg.t1",
       .value = value(share(), &Config::sg, &SymbolicConfig::t1),
       .help = "least confidence of a predicate on an undirected path"},
      {.name = "sg.t2",
       .value = value(OptionalKind<NumberKind>{share()}, &Config::sg, &SymbolicConfig::t2),
       .help = "directed tests negate only predicates with less confidence; null: all"},
      {.name = "sg.samples",
       .value = value(IntegerKind{1, kMaxSamples}, &Config::sg, &SymbolicConfig::samples),
       .help = "rows that a surrogate tree is fitted to"},
      {.name = "sg.frontier",
       .value = value(IntegerKind{1, kMaxFrontier}, &Config::sg, &SymbolicConfig::frontier),
       .help = "inputs that are tested and explained at once; 1: the published sequence"},
      {.name = "sg.surrogate",
       .value = value(EnumKind<Surrogate>{}, &Config::sg, &SymbolicConfig::surrogate),
       .help = "what explains the model around an input"},
      {.name = "sg.neighbours",
       .value = value(EnumKind<Neighbours>{}, &Config::sg, &SymbolicConfig::neighbours),
       .help = "the rows that a surrogate tree is fitted to"},
      {.name = "sg.solver",
       .value = value(EnumKind<ToggleSolver>{}, &Config::sg, &SymbolicConfig::solver),
       .help = "the values that take a path with a negated predicate"},
      {.name = "sg.order",
       .value = value(EnumKind<QueueOrder>{}, &Config::sg, &SymbolicConfig::order),
       .help = "what is tested first",
       .before = "\"program\""},

      {.name = "expga.rank",
       .value =
           value(OptionalKind<IntegerKind>{IntegerKind{1}}, &Config::expga, &ExpgaConfig::rank),
       .help = "an input is a seed where a protected attribute is among so many of the greatest "
               "coefficients; null: 6 fewer than the attributes, but at least half of them"},
      {.name = "expga.samples",
       .value = value(IntegerKind{1, kMaxSamples}, &Config::expga, &ExpgaConfig::samples),
       .help = "rows that an explanation is fitted to"},
      {.name = "expga.populations",
       .value = value(IntegerKind{1, kMaxPopulations}, &Config::expga, &ExpgaConfig::populations),
       .help = "populations of up to 100 seeds that advance side by side; 1: as published"},

      {.name = "plausibility.at_least",
       .value = value(NumberKind{0.0, 100.0, "a number 0..100"}, &Config::plausibility,
                      &PlausibilityConfig::at_least),
       .help = "findings are only inputs than which at least so many per cent of the rows of "
               "`data` are stranger; 0: all inputs",
       .unit = "%"},
      {.name = "plausibility.weight",
       .value = value(NumberKind{0.0, kMaxPlausibilityWeight, "a number 0..1e6"},
                      &Config::plausibility, &PlausibilityConfig::weight),
       .help = "a local step of adf, eidig, maft and margin that makes an input rarer by d nats is "
               "taken with probability exp(-weight * d), else drawn anew; 0: always taken",
       .unit = "1/nat",
       .before = "0.0"},

      {.name = "budget.seeds",
       .value = value(limit(), &Config::budget, &BudgetConfig::seeds),
       .help = "stop after so many seeds"},
      {.name = "budget.iterations",
       .value = value(limit(), &Config::budget, &BudgetConfig::iterations),
       .help = "stop after so many tests and steps"},
      {.name = "budget.evaluations",
       .value = value(limit(), &Config::budget, &BudgetConfig::evaluations),
       .help = "stop after so many evaluations of the model, by the method's definition",
       .before = "null"},
      {.name = "budget.instances",
       .value = value(limit(), &Config::budget, &BudgetConfig::instances),
       .help = "stop after so many distinct IDIs"},
      {.name = "budget.seconds",
       .value = value(OptionalKind<NumberKind>{positive_float()}, &Config::budget,
                      &BudgetConfig::seconds),
       .help = "stop after so many seconds",
       .unit = "s"},

      {.name = "train.layers",
       .value = value(IntegersKind{{1, kMaxUnits}, kMaxLayers - 1}, &Config::train,
                      &TrainConfig::layers),
       .help = "units of the hidden layers; null: those of `model`, or [64, 32, 16, 8, 4]",
       .recorded = false},
      {.name = "train.activation",
       .value = value(EnumKind<Activation>{}, &Config::train, &TrainConfig::activation),
       .help = "of the hidden layers that `layers` lists",
       .recorded = false},
      {.name = "train.optimizer",
       .value =
           value(EnumKind<Optimizer>{}, &Config::train, &TrainConfig::descent, &Descent::optimizer),
       .help = "how weights follow gradients",
       .recorded = false},
      {.name = "train.learning_rate",
       .value =
           value(positive_float(), &Config::train, &TrainConfig::descent, &Descent::learning_rate),
       .help = "length of a step",
       .recorded = false},
      {.name = "train.momentum",
       .value = value(share(), &Config::train, &TrainConfig::descent, &Descent::momentum),
       .help = "of sgd: what remains of the steps before",
       .recorded = false},
      {.name = "train.weight_decay",
       .value = value(share(), &Config::train, &TrainConfig::descent, &Descent::weight_decay),
       .help = "times the weights, added to their gradients",
       .recorded = false},
      {.name = "train.batch",
       .value = value(IntegerKind{1, kMaxBatchRows}, &Config::train, &TrainConfig::batch),
       .help = "rows of one step",
       .recorded = false},
      {.name = "train.epochs",
       .value = value(IntegerKind{1, kMaxEpochs}, &Config::train, &TrainConfig::epochs),
       .help = "passes over the rows, at most",
       .recorded = false},
      {.name = "train.patience",
       .value = value(OptionalKind<IntegerKind>{{1, kMaxEpochs}}, &Config::train,
                      &TrainConfig::patience),
       .help =
           "epochs in a row without a smaller loss on the validation rows, after which training "
           "ends; null: all epochs",
       .recorded = false},
      {.name = "train.validation",
       .value = value(part(), &Config::train, &TrainConfig::validation),
       .help = "share of the rows by which the best epoch is chosen",
       .recorded = false},
      {.name = "train.test",
       .value = value(part(), &Config::train, &TrainConfig::test),
       .help = "share of the rows that are held out, and tell how good the model is",
       .recorded = false},
      {.name = "train.class_weights",
       .value = value(EnumKind<ClassWeights>{}, &Config::train, &TrainConfig::class_weights),
       .help = "how much rows weigh",
       .recorded = false},
      {.name = "train.standardise",
       .value = value(SwitchKind{}, &Config::train, &TrainConfig::standardise),
       .help = "learn from inputs less their means, over their deviations; the network that is "
               "written takes plain inputs all the same",
       .recorded = false},
      {.name = "train.consistency",
       .value = value(NumberKind{0.0, kMaxConsistency, "a number 0..1e6"}, &Config::train,
                      &TrainConfig::consistency),
       .help = "weight of the fairness term: of the mean squared difference between the "
               "probabilities of two members of a similar set; 0: none",
       .recorded = false},
      {.name = "train.random_pairs",
       .value = value(share(), &Config::train, &TrainConfig::random_pairs),
       .help =
           "share of the fairness term's similar sets that are random inputs of the domain; the "
           "others are rows of the table",
       .recorded = false},

      {.name = "retrain.recipe",
       .value = value(recipe_names(), &Config::retrain, &RetrainConfig::recipe),
       .help = "what makes the model fairer",
       .recorded = false},
      {.name = "retrain.instances",
       .value = value(PathKind{.optional = true}, &Config::retrain, &RetrainConfig::instances),
       .help = "results of `run` or `enumerate` on the same domain whose IDIs are added; null: "
               "those that the configured search finds",
       .recorded = false},
      {.name = "retrain.share",
       .value = value(share(), &Config::retrain, &RetrainConfig::share),
       .help = "of eidig and --export: the share of the found IDIs that is added",
       .recorded = false},
      {.name = "retrain.picking",
       .value = value(EnumKind<Picking>{}, &Config::retrain, &RetrainConfig::picking),
       .help = "which of the IDIs are added",
       .recorded = false},
      {.name = "retrain.members",
       .value = value(EnumKind<AddedMembers>{}, &Config::retrain, &RetrainConfig::members),
       .help = "which members of their similar sets are added with them, with the same label",
       .recorded = false},
      {.name = "retrain.weights",
       .value = value(EnumKind<FoundWeights>{}, &Config::retrain, &RetrainConfig::weights),
       .help = "how much they weigh in training",
       .recorded = false},
      {.name = "retrain.vote",
       .value = value(EnumKind<Vote>{}, &Config::retrain, &RetrainConfig::vote),
       .help = "how classifiers that do not see the protected attributes decide their labels",
       .recorded = false},
      {.name = "retrain.candidates",
       .value = value(OptionalKind<IntegerKind>{{1, kMaxCandidates}}, &Config::retrain,
                      &RetrainConfig::candidates),
       .help = "models that are trained in a round, of which the best is taken; null: as many as "
               "the recipe says",
       .recorded = false},
      {.name = "retrain.rounds",
       .value = value(IntegerKind{1, kMaxRounds}, &Config::retrain, &RetrainConfig::rounds),
       .help = "rounds at most: each but the first searches the best model so far and keeps what "
               "was added for it, until a round brings no better one",
       .recorded = false},
      {.name = "retrain.target",
       .value = value(OptionalKind<NumberKind>{share()}, &Config::retrain, &RetrainConfig::target),
       .help = "share of IDIs among all inputs at which no further model is trained; null: none",
       .recorded = false},
      {.name = "retrain.accuracy_lost",
       .value = value(share(), &Config::retrain, &RetrainConfig::accuracy_lost),
       .help = "accuracy on the validation rows that a fairer model may lose",
       .recorded = false},
      {.name = "retrain.f1_lost",
       .value = value(share(), &Config::retrain, &RetrainConfig::f1_lost),
       .help = "F1 on the validation rows that it may lose",
       .recorded = false},
      {.name = "retrain.check_evaluations",
       .value =
           value(IntegerKind{0, kMaxCheck}, &Config::retrain, &RetrainConfig::check_evaluations),
       .help = "model evaluations of the `margin` search that looks for IDIs in both models; 0: "
               "none",
       .recorded = false},
      {.name = "retrain.count_seconds",
       .value = value(NumberKind{0.0, kMaxCountSeconds, "a number 0..1e6"}, &Config::retrain,
                      &RetrainConfig::count_seconds),
       .help = "the domain is counted where that takes no longer, about, and sampled otherwise",
       .unit = "s",
       .recorded = false},

      {.name = "output.dir",
       .value = value(ResultsKind{}, &Config::output, &OutputConfig::dir),
       .help = "directory for the results",
       .required = "the directory for the results (or --out)",
       .flag = "--out"},
      {.name = "output.format",
       .value = value(EnumKind<OutputFormat>{}, &Config::output, &OutputConfig::format),
       .help = "how findings are written"},
      {.name = "output.columns",
       .value = value(EnumKind<OutputColumns>{}, &Config::output, &OutputConfig::columns),
       .help = "what is written of a finding",
       .before = "\"all\""},
      {.name = "output.shard_rows",
       .value = value(limit(), &Config::output, &OutputConfig::shard_rows),
       .help = "findings in a file, in files instances-00000 and so on; null: all in one",
       .before = "null"},
      {.name = "output.zstd",
       .value = value(SwitchKind{}, &Config::output, &OutputConfig::zstd),
       .help = "compress the files of `parquet`",
       .before = "false"},
      {.name = "output.vote",
       .value = value(OptionalKind<EnumKind<Vote>>{}, &Config::output, &OutputConfig::vote),
       .help = "also write the label that classifiers without the protected attributes vote for, "
               "and the share of the vote, decided as by `retrain.vote`; null: nobody votes",
       .before = "null"},
      {.name = "output.words",
       .value = value(SwitchKind{}, &Config::output, &OutputConfig::words),
       .help = "also write instances.words.csv: the findings in the domain's words",
       .before = "false"},
      {.name = "output.plausibility",
       .value = value(SwitchKind{}, &Config::output, &OutputConfig::plausibility),
       .help = "also write instances.plausibility.csv: how ordinary each finding is beside the "
               "rows of `data`",
       .before = "false"},
      {.name = "output.trace",
       .value = value(SwitchKind{}, &Config::output, &OutputConfig::trace),
       .help = "also write global.csv: what became of every seed"},
      {.name = "output.path_coverage",
       .value = value(SwitchKind{}, &Config::output, &OutputConfig::path_coverage),
       .help = "also count the paths of a reference tree that the tests take, as sg always does",
       .before = "false"},
      {.name = "output.report",
       .value = value(SwitchKind{}, &Config::output, &OutputConfig::report),
       .help = "also write report.html, the results as a page for people",
       .before = "true"},
  };
}

constexpr ConfigSection kSections[] = {
    {.name = "global", .help = "The global phase: from seeds to first findings."},
    {.name = "local", .help = "The local phase: steps around each first finding."},
    {.name = "gradient", .help = "Differences that stand for gradients."},
    {.name = "aequitas", .help = "The AEQUITAS methods alone.", .in_every_manifest = false},
    {.name = "sg", .help = "Symbolic generation alone.", .in_every_manifest = false},
    {.name = "expga", .help = "ExpGA alone.", .in_every_manifest = false},
    {.name = "plausibility",
     .help = "How plausible a finding must be beside the rows of `data`.",
     .in_every_manifest = false},
    {.name = "budget",
     .help = "Limits on a run, checked where a seed ends; null: none. It ends at the first one "
             "that it reaches."},
    {.name = "train", .help = "Training and retraining alone.", .in_every_manifest = false},
    {.name = "retrain", .help = "Retraining alone.", .in_every_manifest = false},
    {.name = "output", .help = "What is written."},
};

}  // namespace

std::string either_of(std::vector<Choice> const& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i].name;
  }
  return text;
}

std::span<ConfigKey const> config_keys() {
  static std::vector<ConfigKey> const keys = all_keys();
  return keys;
}

ConfigKey const* find_key(std::string_view name) {
  for (ConfigKey const& key : config_keys()) {
    if (name == key.name) return &key;
  }
  return nullptr;
}

std::span<ConfigSection const> config_sections() { return kSections; }

ConfigSection const& section_named(std::string_view name) {
  for (ConfigSection const& section : kSections) {
    if (name == section.name) return section;
  }
  throw std::out_of_range("no section " + std::string(name));
}

KeyName split_key(std::string_view name) {
  auto const dot = name.find('.');
  if (dot == std::string_view::npos) return {"", std::string(name)};
  return {std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

}  // namespace fairlane
