// Everything a person can get wrong: exit code, one line, and the place it names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <ostream>

#include "kernels/core/error.h"
#include "tests/apps/command_line.h"
#include "tests/models/h5_writer.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// One mistake: what is spoilt in the folder of write_small_run(), and the command that meets it.
struct BadInput {
  char const* name;
  void (*prepare)();
  Words command;
  ExitCode code;
  Words parts;  // of the message
};

void PrintTo(BadInput const& bad, std::ostream* out) { *out << bad.name; }

void nothing() {}

Words const kRun = {"run", "config.yaml"};

/// run with `--set` of one value.
Words with(std::string const& set) { return {"run", "config.yaml", "--set", set}; }

std::string config_with(std::string const& line) { return slurp("config.yaml") + line + "\n"; }

std::string keras_json(std::string const& activation) {
  return R"({"class_name":"Sequential","config":{"name":"s","layers":[)"
         R"({"class_name":"Dense","config":{"name":"dense","units":1,"use_bias":true,"activation":")" +
         activation + R"(","batch_input_shape":[null,3]}}]}})";
}

void write_keras(std::string const& path, double weight, std::string const& activation) {
  H5Writer file(path);
  file.text("/", "model_config", keras_json(activation), TextKind::kFixed);
  file.floats("/model_weights/dense/dense/kernel:0", {3, 1}, {weight, 1.0, 1.0});
  file.floats("/model_weights/dense/dense/bias:0", {1}, {0.0});
  file.list("/model_weights", "layer_names", {"dense"}, TextKind::kFixed);
  file.list("/model_weights/dense", "weight_names", {"dense/kernel:0", "dense/bias:0"},
            TextKind::kFixed);
}

void use_model(std::string const& path) { edit_file("config.yaml", "model.safetensors", path); }

void spoil_last_weight(float value) {
  std::string bytes = slurp("model.safetensors");
  std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  write_file("model.safetensors", bytes);
}

BadInput const kCommandLine[] = {
    {"NoCommand", nothing, {}, ExitCode::kUsage, {"no command"}},
    {"MisspeltCommand",
     nothing,
     {"rnu", "config.yaml"},
     ExitCode::kUsage,
     {"'rnu'", "did you mean 'run'?"}},
    {"CommandOfALaterVersion",
     nothing,
     {"verify", "config.yaml"},
     ExitCode::kUsage,
     {"'verify'", "does not have it yet"}},
    {"OptionBeforeTheCommand", nothing, {"--jsn", "run"}, ExitCode::kUsage, {"--jsn"}},
    {"NoConfig", nothing, {"run"}, ExitCode::kUsage, {"CONFIG"}},
    {"MisspeltOption",
     nothing,
     {"run", "config.yaml", "--thread", "2"},
     ExitCode::kUsage,
     {"'--thread'", "did you mean '--threads'?"}},
    {"MisspeltOptionInsteadOfTheConfig",
     nothing,
     {"run", "--overwite"},
     ExitCode::kUsage,
     {"'--overwite'", "did you mean '--overwrite'?"}},
    {"OneArgumentTooMany",
     nothing,
     {"run", "config.yaml", "other.yaml"},
     ExitCode::kUsage,
     {"'other.yaml'"}},
    {"OptionWithoutValue", nothing, {"run", "config.yaml", "--seed"}, ExitCode::kUsage, {"--seed"}},
    {"OptionTwice",
     nothing,
     {"run", "config.yaml", "--seed", "1", "--seed", "2"},
     ExitCode::kUsage,
     {"--seed"}},
    {"ThreadsNoNumber",
     nothing,
     {"run", "config.yaml", "--threads", "many"},
     ExitCode::kUsage,
     {"--threads", "'many'"}},
    {"ThreadsZero",
     nothing,
     {"run", "config.yaml", "--threads", "0"},
     ExitCode::kUsage,
     {"--threads", "'0'"}},
    {"BatchNegative",
     nothing,
     {"run", "config.yaml", "--batch", "-3"},
     ExitCode::kUsage,
     {"--batch", "'-3'"}},
    {"FailAboveOne",
     nothing,
     {"run", "config.yaml", "--fail-above", "2"},
     ExitCode::kUsage,
     {"--fail-above", "'2'"}},
    {"UnknownLevel",
     nothing,
     {"run", "config.yaml", "--log-level", "debgu"},
     ExitCode::kUsage,
     {"--log-level", "did you mean 'debug'?"}},
    {"UnknownBackend",
     nothing,
     {"run", "config.yaml", "--backend", "cpo"},
     ExitCode::kUsage,
     {"--backend", "did you mean 'cpu'?"}},
    {"BackendNotBuilt",
     nothing,
     {"run", "config.yaml", "--backend", "cuda"},
     ExitCode::kUnavailable,
     {"--backend", "no CUDA backend"}},
    {"DeviceNotBuilt",
     nothing,
     {"run", "config.yaml", "--backend", "cuda:1"},
     ExitCode::kUnavailable,
     {"--backend", "no CUDA backend"}},
    {"DeviceNoNumber",
     nothing,
     {"run", "config.yaml", "--backend", "cuda:first"},
     ExitCode::kUsage,
     {"--backend", "'first'"}},
    {"SetWithoutValue", nothing, with("global.num"), ExitCode::kUsage, {"--set", "'global.num'"}},
    {"DemoRowsZero", nothing, {"demo", "--rows", "0"}, ExitCode::kUsage, {"--rows"}},
    {"DomainOfAModel",
     nothing,
     {"inspect", "model.safetensors", "domain.yaml"},
     ExitCode::kUsage,
     {"'domain.yaml'"}},
};

BadInput const kMissingFiles[] = {
    {"NoSuchConfig", nothing, {"run", "nowhere.yaml"}, ExitCode::kNoInput, {"nowhere.yaml"}},
    {"ConfigIsADirectory",
     [] { fs::create_directory("folder"); },
     {"run", "folder"},
     ExitCode::kNoInput,
     {"folder", "directory"}},
    {"NoSuchModel", [] { use_model("nowhere.h5"); }, kRun, ExitCode::kNoInput, {"nowhere.h5"}},
    {"ModelIsADirectory",
     [] {
       fs::create_directory("folder");
       use_model("folder");
     },
     kRun,
     ExitCode::kNoInput,
     {"folder", "directory"}},
    {"NoSuchData", nothing, with("data=nowhere.csv"), ExitCode::kNoInput, {"nowhere.csv"}},
    {"NoSuchDomain", nothing, with("domain=nowhere.yaml"), ExitCode::kNoInput, {"nowhere.yaml"}},
    {"NoSuchSeeds", nothing, with("global.seeds=nowhere.csv"), ExitCode::kNoInput, {"nowhere.csv"}},
    {"NothingToInspect", nothing, {"inspect", "nowhere.h5"}, ExitCode::kNoInput, {"nowhere.h5"}},
    {"NoResultsToInspect",
     [] { fs::create_directory("folder"); },
     {"inspect", "folder"},
     ExitCode::kNoInput,
     {"folder", "manifest.json"}},
    {"NothingToCheck", nothing, {"check", "nowhere"}, ExitCode::kNoInput, {"nowhere"}},
    {"InitWithoutModel",
     nothing,
     {"init", "nowhere.h5", "data.csv"},
     ExitCode::kNoInput,
     {"nowhere.h5"}},
    {"InitWithoutData",
     nothing,
     {"init", "model.safetensors", "nowhere.csv"},
     ExitCode::kNoInput,
     {"nowhere.csv"}},
};

BadInput const kConfigs[] = {
    {"ConfigEmpty",
     [] { write_file("config.yaml", ""); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:1:1", "empty"}},
    {"ConfigIsAList",
     [] { write_file("config.yaml", "- model\n"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:1:1", "a list"}},
    {"UnknownKey",
     [] { write_file("config.yaml", config_with("metod: adf")); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:10:1", "'metod'", "did you mean 'method'?"}},
    {"UnknownNestedKey",
     [] { edit_file("config.yaml", "clusters", "cluster"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:7:19", "'cluster'", "did you mean 'clusters'?"}},
    {"DuplicateKey",
     [] { write_file("config.yaml", config_with("seed: 2")); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:10:1", "'seed'", "twice"}},
    {"Anchor",
     [] { edit_file("config.yaml", "seed: 1", "seed: &s 1"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:6:", "anchor"}},
    {"Alias",
     [] { edit_file("config.yaml", "seed: 1", "seed: *s"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:6:", "anchor"}},
    {"Tag",
     [] { edit_file("config.yaml", "seed: 1", "seed: !!int 1"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:6:", "tag"}},
    {"DeepNesting",
     [] { write_file("config.yaml", config_with("budget: " + std::string(100000, '['))); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:10:", "deep"}},
    {"SecondDocument",
     [] { write_file("config.yaml", config_with("---\nseed: 2")); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:1", "second document"}},
    {"Tabs",
     [] { write_file("config.yaml", config_with("budget:\n\tseeds: 1")); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:11:"}},
    {"NotUtf8",
     [] { edit_file("config.yaml", "eidig", "eid\xFFg"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:5:", "UTF-8"}},
    {"ControlCharacter",
     [] { edit_file("config.yaml", "eidig", "eid\x01g"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:5:", "control"}},
    {"SectionIsANumber",
     [] { edit_file("config.yaml", "{num: 20}", "20"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:8:8", "local", "'20'"}},
    {"NumberInQuotes",
     [] { edit_file("config.yaml", "num: 10", "num: \"10\""); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:7:15", "global.num", "without quotes"}},
    {"NoModel",
     [] { edit_file("config.yaml", "model: model.safetensors\n", ""); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml", "'model'"}},
    {"NoProtected",
     [] { edit_file("config.yaml", "protected: [sex]\n", ""); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml", "'protected'"}},
    {"NoOutput",
     [] { edit_file("config.yaml", "output: {dir: out}\n", ""); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml", "'output.dir'"}},
    {"NumZero", nothing, with("global.num=0"), ExitCode::kConfig, {"--set global.num", "'0'"}},
    {"NumTooLarge",
     nothing,
     with("global.num=4294967296"),
     ExitCode::kConfig,
     {"--set global.num", "4294967295"}},
    {"NumNotWhole",
     nothing,
     with("global.num=1.5"),
     ExitCode::kConfig,
     {"--set global.num", "'1.5'"}},
    {"NumIsAList",
     nothing,
     with("global.num=[1]"),
     ExitCode::kConfig,
     {"--set global.num", "a list"}},
    {"NumIsNothing",
     nothing,
     with("global.num="),
     ExitCode::kConfig,
     {"--set global.num", "nothing"}},
    {"ClustersZero",
     nothing,
     with("global.clusters=0"),
     ExitCode::kConfig,
     {"--set global.clusters"}},
    {"ClustersTooMany",
     nothing,
     with("global.clusters=10001"),
     ExitCode::kConfig,
     {"--set global.clusters", "10000"}},
    {"IterationsTooMany",
     nothing,
     with("global.max_iter=1000001"),
     ExitCode::kConfig,
     {"--set global.max_iter", "1000000"}},
    {"StepHalf",
     nothing,
     with("global.step=0.5"),
     ExitCode::kConfig,
     {"--set global.step", "'0.5'", "integers"}},
    {"StepNegative",
     nothing,
     with("local.step=-1"),
     ExitCode::kConfig,
     {"--set local.step", "'-1'"}},
    {"DecayAboveOne", nothing, with("global.decay=1.5"), ExitCode::kConfig, {"--set global.decay"}},
    {"UnknownSeeding",
     nothing,
     with("global.seeding=round_robin"),
     ExitCode::kConfig,
     {"--set global.seeding", "did you mean 'round-robin'?"}},
    {"LocalNumNegative",
     nothing,
     with("local.num=-1"),
     ExitCode::kConfig,
     {"--set local.num", "'-1'"}},
    {"LocalNumTooLarge",
     nothing,
     with("local.num=2147483648"),
     ExitCode::kConfig,
     {"--set local.num", "2147483647"}},
    {"UpdateInterval",
     nothing,
     with("local.update_interval=soon"),
     ExitCode::kConfig,
     {"--set local.update_interval", "inf"}},
    {"EpsilonZero", nothing, with("local.epsilon=0"), ExitCode::kConfig, {"--set local.epsilon"}},
    {"PerturbationInfinite",
     nothing,
     with("gradient.perturbation_size=.inf"),
     ExitCode::kConfig,
     {"--set gradient.perturbation_size"}},
    {"ThresholdOne", nothing, with("threshold=1"), ExitCode::kConfig, {"--set threshold", "'1'"}},
    {"ThresholdNotANumber",
     nothing,
     with("threshold=.nan"),
     ExitCode::kConfig,
     {"--set threshold"}},
    {"SeedNegative",
     nothing,
     {"run", "config.yaml", "--seed", "-1"},
     ExitCode::kConfig,
     {"--seed"}},
    {"SeedTooLarge",
     nothing,
     with("seed=18446744073709551616"),
     ExitCode::kConfig,
     {"--set seed", "18446744073709551615"}},
    {"UnknownMethod",
     nothing,
     with("method=eidgi"),
     ExitCode::kConfig,
     {"--set method", "did you mean 'eidig'?"}},
    {"MethodOfALaterVersion",
     nothing,
     with("method=sg"),
     ExitCode::kUnavailable,
     {"--set method", "'sg'", "not in this version"}},
    {"UnknownFormat",
     nothing,
     with("output.format=cvs"),
     ExitCode::kConfig,
     {"--set output.format", "did you mean 'csv'?"}},
    {"FormatNotBuilt",
     nothing,
     with("output.format=parquet"),
     ExitCode::kUnavailable,
     {"--set output.format", "Arrow"}},
    {"TraceIsAWord",
     nothing,
     with("output.trace=maybe"),
     ExitCode::kConfig,
     {"--set output.trace", "true or false"}},
    {"UnknownPolicy",
     nothing,
     with("out_of_domain=dorp"),
     ExitCode::kConfig,
     {"--set out_of_domain", "did you mean 'drop'?"}},
    {"BudgetZero", nothing, with("budget.seeds=0"), ExitCode::kConfig, {"--set budget.seeds"}},
    {"BudgetNegative",
     nothing,
     with("budget.seconds=-1"),
     ExitCode::kConfig,
     {"--set budget.seconds"}},
    {"SetUnknownKey",
     nothing,
     with("golbal.num=1"),
     ExitCode::kConfig,
     {"--set golbal.num", "did you mean 'global.num'?"}},
    {"SetMalformed", nothing, with("protected=[age"), ExitCode::kConfig, {"--set protected"}},
    {"SetAlias", nothing, with("seed=*x"), ExitCode::kConfig, {"--set seed", "anchor"}},
    {"ProtectedUnknown",
     nothing,
     with("protected=[sexx]"),
     ExitCode::kConfig,
     {"--set protected", "'sexx'", "did you mean 'sex'?"}},
    {"ProtectedUnknownInTheFile",
     [] { edit_file("config.yaml", "[sex]", "[sexx]"); },
     kRun,
     ExitCode::kConfig,
     {"config.yaml:4:", "'sexx'", "did you mean 'sex'?"}},
    {"ProtectedEmpty",
     nothing,
     with("protected=[]"),
     ExitCode::kConfig,
     {"--set protected", "empty"}},
    {"ProtectedTwice",
     nothing,
     with("protected=[sex, sex]"),
     ExitCode::kConfig,
     {"--set protected", "'sex'", "twice"}},
    {"ProtectedEverything",
     nothing,
     with("protected=[age, income, sex]"),
     ExitCode::kConfig,
     {"--set protected", "all 3"}},
    {"ProtectedOneValue",
     nothing,
     with("protected={sex: [1]}"),
     ExitCode::kConfig,
     {"--set protected", "'sex'", "at least two"}},
    {"ProtectedValueOutside",
     nothing,
     with("protected={sex: [0, 2]}"),
     ExitCode::kConfig,
     {"--set protected", "'sex'", "0..1"}},
    {"ProtectedValueInWords",
     nothing,
     with("protected={sex: [female, male]}"),
     ExitCode::kConfig,
     {"--set protected", "'female'", "codes"}},
    {"RowsNeededAndNoData",
     [] { edit_file("config.yaml", "data: data.csv\n", ""); },
     with("global.seeding=round-robin"),
     ExitCode::kConfig,
     {"data"}},
};

BadInput const kDomains[] = {
    {"DomainInverted",
     [] { edit_file("domain.yaml", "low: 0, high: 9}", "low: 9, high: 0}"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml:5:", "'income'", "low 9 > high 0"}},
    {"DomainUnknownKey",
     [] { edit_file("domain.yaml", "protected", "proteced"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml:4:", "did you mean 'protected'?"}},
    {"DomainAttributeTwice",
     [] { edit_file("domain.yaml", "name: income", "name: age"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml:5:", "'age'", "twice"}},
    {"DomainCategories",
     [] { edit_file("domain.yaml", "[female, male]", "[female, male, x]"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml:6:", "'sex'", "categories"}},
    {"DomainLabelIsAnAttribute",
     [] { edit_file("domain.yaml", "label: class", "label: sex"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml:6:", "'sex'", "label"}},
    {"DomainWithoutAttributes",
     [] { write_file("domain.yaml", "name: x\n"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml", "attributes"}},
    {"DomainCodeTooLarge",
     [] { edit_file("domain.yaml", "high: 9", "high: 16777217"); },
     kRun,
     ExitCode::kConfig,
     {"domain.yaml:4:", "'age'", "16777216"}},
};

BadInput const kTables[] = {
    {"TableEmpty",
     [] { write_file("data.csv", ""); },
     kRun,
     ExitCode::kData,
     {"data.csv:1:1", "empty"}},
    {"TableWithoutRows",
     [] { write_file("data.csv", "age,income,sex,class\n"); },
     kRun,
     ExitCode::kData,
     {"data.csv:", "no rows"}},
    {"TableWithoutHeader",
     [] { write_file("data.csv", "1,2,0\n3,4,1\n"); },
     kRun,
     ExitCode::kData,
     {"data.csv:1:", "'age'", "header"}},
    {"TableWithoutAColumn",
     [] { edit_file("data.csv", "income", "incme"); },
     kRun,
     ExitCode::kData,
     {"data.csv:1:", "'income'", "did you mean 'incme'?"}},
    {"TableColumnTwice",
     [] { edit_file("data.csv", "income", "age"); },
     kRun,
     ExitCode::kData,
     {"data.csv:1:5", "'age'", "twice"}},
    {"TableBadCell",
     [] { edit_file("data.csv", "\n1,7,", "\n1,seven,"); },
     kRun,
     ExitCode::kData,
     {"data.csv:3:3", "'income'", "'seven'"}},
    {"TableMisspeltCategory",
     [] { edit_file("data.csv", "\n1,7,1", "\n1,7,femal"); },
     kRun,
     ExitCode::kData,
     {"data.csv:3:5", "'sex'", "did you mean 'female'?"}},
    {"TableFraction",
     [] { edit_file("data.csv", "\n1,7,", "\n1,7.5,"); },
     kRun,
     ExitCode::kData,
     {"data.csv:3:3", "'7.5'", "integer"}},
    {"TableEmptyCell",
     [] { edit_file("data.csv", "\n1,7,", "\n1,,"); },
     kRun,
     ExitCode::kData,
     {"data.csv:3:3", "'income'"}},
    {"TableShortRow",
     [] { edit_file("data.csv", "\n1,7,1,1", "\n1,7,1"); },
     kRun,
     ExitCode::kData,
     {"data.csv:3:", "3 cells"}},
    {"TableOpenQuote",
     [] { edit_file("data.csv", "\n1,7,", "\n1,\"7,"); },
     kRun,
     ExitCode::kData,
     {"data.csv:3:3", "quote"}},
    {"TableSemicolons",
     [] { write_file("data.csv", "age;income;sex;class\n1;2;0;1\n"); },
     kRun,
     ExitCode::kData,
     {"data.csv:1:", "separator", "';'"}},
    {"TableUtf16",
     [] {
       write_file("data.csv", std::string("\xFF\xFE"
                                          "a\0g\0e\0",
                                          8));
     },
     kRun,
     ExitCode::kData,
     {"data.csv:1:", "UTF-16"}},
    {"TableOutsideTheDomain",
     [] { edit_file("data.csv", "\n1,7,", "\n1,70,"); },
     kRun,
     ExitCode::kData,
     {"data.csv", "line 3", "income = 70", "0..9"}},
    {"TableAllOutside",
     [] { write_file("data.csv", "age,income,sex\n1,70,0\n"); },
     with("out_of_domain=drop"),
     ExitCode::kData,
     {"data.csv", "all 1 rows"}},
    {"SeedsOutsideTheDomain",
     [] { write_file("seeds.csv", "age,income,sex\n1,2,0\n1,2,3\n"); },
     with("global.seeds=seeds.csv"),
     ExitCode::kData,
     {"seeds.csv", "line 3", "sex = 3"}},
};

BadInput const kModels[] = {
    {"ModelIsText",
     [] {
       write_file("model.h5", "hello, world\n");
       use_model("model.h5");
     },
     kRun,
     ExitCode::kData,
     {"model.h5"}},
    {"ModelIsEmpty",
     [] { write_file("model.safetensors", ""); },
     kRun,
     ExitCode::kData,
     {"model.safetensors", "empty"}},
    {"KerasTruncated",
     [] {
       write_keras("model.h5", 1.0, "sigmoid");
       write_file("model.h5", slurp("model.h5").substr(0, 700));
       use_model("model.h5");
     },
     kRun,
     ExitCode::kData,
     {"model.h5"}},
    {"KerasCorrupt",
     [] {
       write_keras("model.h5", 1.0, "sigmoid");
       std::string bytes = slurp("model.h5");
       std::fill(bytes.begin() + 40, bytes.begin() + 200, '\xA5');
       write_file("model.h5", bytes);
       use_model("model.h5");
     },
     kRun,
     ExitCode::kData,
     {"model.h5"}},
    {"KerasNaN",
     [] {
       write_keras("model.h5", std::numeric_limits<double>::quiet_NaN(), "sigmoid");
       use_model("model.h5");
     },
     kRun,
     ExitCode::kData,
     {"model.h5", "dense", "nan"}},
    {"KerasUnknownActivation",
     [] {
       write_keras("model.h5", 1.0, "swish");
       use_model("model.h5");
     },
     kRun,
     ExitCode::kData,
     {"model.h5", "swish"}},
    {"ModelTruncated",
     [] {
       std::string const bytes = slurp("model.safetensors");
       write_file("model.safetensors", bytes.substr(0, bytes.size() - 5));
     },
     kRun,
     ExitCode::kData,
     {"model.safetensors"}},
    {"ModelHeaderTooLong",
     [] {
       std::string bytes = slurp("model.safetensors");
       bytes[6] = '\x7F';
       write_file("model.safetensors", bytes);
     },
     kRun,
     ExitCode::kData,
     {"model.safetensors", "header"}},
    {"ModelNaN",
     [] { spoil_last_weight(std::numeric_limits<float>::quiet_NaN()); },
     kRun,
     ExitCode::kData,
     {"model.safetensors", "nan", "finite"}},
    {"ModelInfinite",
     [] { spoil_last_weight(std::numeric_limits<float>::infinity()); },
     kRun,
     ExitCode::kData,
     {"model.safetensors", "inf", "finite"}},
    {"ModelInputsAndDomainDiffer",
     [] {
       Network network = small_network();
       network.layers[0].inputs = 4;
       network.layers[0].weights.resize(8, 0.0F);
       write_safetensors(network, "model.safetensors");
     },
     kRun,
     ExitCode::kData,
     {"model.safetensors", "4 inputs", "3 attributes"}},
    {"InspectTextAsModel",
     [] { write_file("notes.txt", "hello, world\n"); },
     {"inspect", "notes.txt"},
     ExitCode::kData,
     {"notes.txt"}},
};

BadInput const kOutputs[] = {
    {"OutputIsAFile", [] { write_file("out", "x"); }, kRun, ExitCode::kOutput, {"out", "file"}},
    {"OutputHoldsOtherFiles",
     [] {
       fs::create_directory("out");
       write_file("out/thesis.tex", "x");
     },
     kRun,
     ExitCode::kOutput,
     {"out", "'thesis.tex'"}},
    {"OutputBelowAFile",
     nothing,
     {"run", "config.yaml", "--out", "data.csv/out"},
     ExitCode::kOutput,
     {"data.csv"}},
    {"OutputNowhere",
     nothing,
     {"run", "config.yaml", "--out", "/proc/nonexistent/out"},
     ExitCode::kOutput,
     {"/proc/nonexistent"}},
    {"OutputOfAnotherRun",
     [] {
       ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
     },
     {"run", "config.yaml", "--seed", "2"},
     ExitCode::kOutput,
     {"out", "another run"}},
    {"DemoFolderHoldsOtherFiles",
     nothing,
     {"demo", "--out", "."},
     ExitCode::kOutput,
     {"other files"}},
    {"DemoFolderIsAFile", nothing, {"demo", "--out", "data.csv"}, ExitCode::kOutput, {"data.csv"}},
    {"InitKeepsFiles",
     nothing,
     {"init", "model.safetensors", "data.csv", "--out", "config.yaml"},
     ExitCode::kOutput,
     {"config.yaml", "--force"}},
    {"InitNowhere",
     nothing,
     {"init", "model.safetensors", "data.csv", "--out", "/proc/nonexistent/c.yaml"},
     ExitCode::kOutput,
     {"/proc/nonexistent"}},
    {"CheckFindsAForgery",
     [] {
       ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
       std::string text = slurp("out/instances.csv");
       auto const row = text.find('\n') + 1;
       auto const comma = text.find(',', row) + 1;
       text[comma] = '9';  // nobody with that income is refused
       write_file("out/instances.csv", text);
     },
     {"check", "out"},
     ExitCode::kIntegrity,
     {"out"}},
    {"CheckNoticesAnotherModel",
     [] {
       ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
       spoil_last_weight(-4.25F);
     },
     {"check", "out"},
     ExitCode::kIntegrity,
     {"model.safetensors"}},
};

BadInput const kInit[] = {
    {"InitColumnsAndInputsDiffer",
     [] { write_file("t.csv", "a,b\n1,2\n"); },
     {"init", "model.safetensors", "t.csv"},
     ExitCode::kData,
     {"t.csv", "2 columns", "3 inputs"}},
    {"InitUnknownLabel",
     nothing,
     {"init", "model.safetensors", "data.csv", "--label", "clas"},
     ExitCode::kUsage,
     {"--label", "'clas'", "did you mean 'class'?"}},
    {"InitUnknownProtected",
     nothing,
     {"init", "model.safetensors", "data.csv", "--protected", "sxe"},
     ExitCode::kUsage,
     {"--protected", "'sxe'", "did you mean 'sex'?"}},
    {"InitNothingProtected",
     [] { write_file("t.csv", "a,b,c,d\n1,2,3,1\n2,3,4,0\n"); },
     {"init", "model.safetensors", "t.csv"},
     ExitCode::kUsage,
     {"t.csv", "--protected"}},
    {"InitTextLabel",
     [] { write_file("t.csv", "age,b,c,d\n1,2,3,yes\n2,3,4,no\n"); },
     {"init", "model.safetensors", "t.csv"},
     ExitCode::kData,
     {"t.csv", "'d'", "'yes'"}},
    {"InitFractions",
     [] { write_file("t.csv", "age,b,c,d\n1,2.5,3,1\n2,3,4,0\n"); },
     {"init", "model.safetensors", "t.csv"},
     ExitCode::kData,
     {"t.csv", "'b'", "encode"}},
    {"InitEmptyCells",
     [] { write_file("t.csv", "age,b,c,d\n1,x,3,1\n2,,4,0\n"); },
     {"init", "model.safetensors", "t.csv"},
     ExitCode::kData,
     {"t.csv", "'b'", "empty"}},
};

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsOneLineThatNamesThePlace) {
  BadInput const& bad = GetParam();
  WorkingFolder const folder;
  write_small_run();
  bad.prepare();
  if (HasFatalFailure()) return;
  Outcome const outcome = run_fairlane(bad.command);
  EXPECT_EQ(outcome.code, static_cast<int>(bad.code)) << outcome.err << outcome.out;
  EXPECT_EQ(outcome.err.rfind("fairlane: error: ", 0), 0U) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with('\n')) << outcome.err;
  // A check that fails has a result, too.
  if (bad.code != ExitCode::kIntegrity) EXPECT_EQ(outcome.out, "");
  for (std::string const& part : bad.parts) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\nin: " << outcome.err;
  }
}

std::string name_of(testing::TestParamInfo<BadInput> const& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(CommandLine, BadInputTest, testing::ValuesIn(kCommandLine), name_of);
INSTANTIATE_TEST_SUITE_P(MissingFiles, BadInputTest, testing::ValuesIn(kMissingFiles), name_of);
INSTANTIATE_TEST_SUITE_P(Configs, BadInputTest, testing::ValuesIn(kConfigs), name_of);
INSTANTIATE_TEST_SUITE_P(Domains, BadInputTest, testing::ValuesIn(kDomains), name_of);
INSTANTIATE_TEST_SUITE_P(Tables, BadInputTest, testing::ValuesIn(kTables), name_of);
INSTANTIATE_TEST_SUITE_P(Models, BadInputTest, testing::ValuesIn(kModels), name_of);
INSTANTIATE_TEST_SUITE_P(Outputs, BadInputTest, testing::ValuesIn(kOutputs), name_of);
INSTANTIATE_TEST_SUITE_P(Init, BadInputTest, testing::ValuesIn(kInit), name_of);

}  // namespace
}  // namespace fairlane
