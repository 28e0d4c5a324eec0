// What a person can get wrong on the command line and in a configuration.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/apps/bad_input.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

Words const kRun = run_words();

std::string config_with(std::string const& line) { return slurp("config.yaml") + line + "\n"; }

// One mistake in two lines or three; a formatter would make them ten.
// clang-format off
BadInput const kCommandLine[] = {
    {"NoCommand", nothing, {}, ExitCode::kUsage, {"no command"}},
    {"MisspeltCommand", nothing, {"rnu", "config.yaml"}, ExitCode::kUsage,
     {"'rnu'", "did you mean 'run'?"}},
    {"CommandOfALaterVersion", nothing, {"verify", "config.yaml"}, ExitCode::kUsage,
     {"'verify'", "does not have it yet"}},
    {"OptionBeforeTheCommand", nothing, {"--jsn", "run"}, ExitCode::kUsage, {"--jsn"}},
    {"NoConfig", nothing, {"run"}, ExitCode::kUsage, {"CONFIG"}},
    {"MisspeltOption", nothing, {"run", "config.yaml", "--thread", "2"}, ExitCode::kUsage,
     {"'--thread'", "did you mean '--threads'?"}},
    {"MisspeltOptionInsteadOfTheConfig", nothing, {"run", "--overwite"}, ExitCode::kUsage,
     {"'--overwite'", "did you mean '--overwrite'?"}},
    {"OneArgumentTooMany", nothing, {"run", "config.yaml", "other.yaml"}, ExitCode::kUsage,
     {"'other.yaml'"}},
    {"OptionWithoutValue", nothing, {"run", "config.yaml", "--seed"}, ExitCode::kUsage, {"--seed"}},
    {"OptionTwice", nothing, {"run", "config.yaml", "--seed", "1", "--seed", "2"}, ExitCode::kUsage,
     {"--seed"}},
    {"ThreadsNoNumber", nothing, {"run", "config.yaml", "--threads", "many"}, ExitCode::kUsage,
     {"--threads", "'many'"}},
    {"ThreadsZero", nothing, {"run", "config.yaml", "--threads", "0"}, ExitCode::kUsage,
     {"--threads", "'0'"}},
    {"BatchNegative", nothing, {"run", "config.yaml", "--batch", "-3"}, ExitCode::kUsage,
     {"--batch", "'-3'"}},
    {"FailAboveOne", nothing, {"run", "config.yaml", "--fail-above", "2"}, ExitCode::kUsage,
     {"--fail-above", "'2'"}},
    {"UnknownLevel", nothing, {"run", "config.yaml", "--log-level", "debgu"}, ExitCode::kUsage,
     {"--log-level", "did you mean 'debug'?"}},
    {"UnknownBackend", nothing, {"run", "config.yaml", "--backend", "cpo"}, ExitCode::kUsage,
     {"--backend", "did you mean 'cpu'?"}},
    {"NoSuchDevice", nothing, {"run", "config.yaml", "--backend", "cuda:1000"},
     ExitCode::kUnavailable, {"cuda:1000"}},
    {"DeviceNoNumber", nothing, {"run", "config.yaml", "--backend", "cuda:first"}, ExitCode::kUsage,
     {"--backend", "'first'"}},
    {"SetWithoutValue", nothing, with("global.num"), ExitCode::kUsage, {"--set", "'global.num'"}},
    {"DemoRowsZero", nothing, {"demo", "--rows", "0"}, ExitCode::kUsage, {"--rows"}},
    {"DomainOfAModel", nothing, {"inspect", "model.safetensors", "domain.yaml"}, ExitCode::kUsage,
     {"'domain.yaml'"}},
};

BadInput const kMissingFiles[] = {
    {"NoSuchConfig", nothing, {"run", "nowhere.yaml"}, ExitCode::kNoInput, {"nowhere.yaml"}},
    {"ConfigIsADirectory", [] { fs::create_directory("folder"); }, {"run", "folder"},
     ExitCode::kNoInput, {"folder", "directory"}},
    {"NoSuchModel", [] { use_model("nowhere.h5"); }, kRun, ExitCode::kNoInput, {"nowhere.h5"}},
    {"ModelIsADirectory", [] { fs::create_directory("folder"); use_model("folder"); }, kRun,
     ExitCode::kNoInput, {"folder", "directory"}},
    {"NoSuchData", nothing, with("data=nowhere.csv"), ExitCode::kNoInput, {"nowhere.csv"}},
    {"NoSuchDomain", nothing, with("domain=nowhere.yaml"), ExitCode::kNoInput, {"nowhere.yaml"}},
    {"NoSuchSeeds", nothing, with("global.seeds=nowhere.csv"), ExitCode::kNoInput, {"nowhere.csv"}},
    {"NothingToInspect", nothing, {"inspect", "nowhere.h5"}, ExitCode::kNoInput, {"nowhere.h5"}},
    {"NoResultsToInspect", [] { fs::create_directory("folder"); }, {"inspect", "folder"},
     ExitCode::kNoInput, {"folder", "manifest.json"}},
    {"NothingToCheck", nothing, {"check", "nowhere"}, ExitCode::kNoInput, {"nowhere"}},
    {"InitWithoutModel", nothing, {"init", "nowhere.h5", "data.csv"}, ExitCode::kNoInput,
     {"nowhere.h5"}},
    {"InitWithoutData", nothing, {"init", "model.safetensors", "nowhere.csv"}, ExitCode::kNoInput,
     {"nowhere.csv"}},
};

BadInput const kConfigs[] = {
    {"ConfigEmpty", [] { write_file("config.yaml", ""); }, kRun, ExitCode::kConfig,
     {"config.yaml:1:1", "empty"}},
    {"ConfigIsAList", [] { write_file("config.yaml", "- model\n"); }, kRun, ExitCode::kConfig,
     {"config.yaml:1:1", "a list"}},
    {"UnknownKey", [] { write_file("config.yaml", config_with("metod: adf")); }, kRun,
     ExitCode::kConfig, {"config.yaml:10:1", "'metod'", "did you mean 'method'?"}},
    {"UnknownNestedKey", [] { edit_file("config.yaml", "clusters", "cluster"); }, kRun,
     ExitCode::kConfig, {"config.yaml:7:19", "'cluster'", "did you mean 'clusters'?"}},
    {"DuplicateKey", [] { write_file("config.yaml", config_with("seed: 2")); }, kRun,
     ExitCode::kConfig, {"config.yaml:10:1", "'seed'", "twice"}},
    {"Anchor", [] { edit_file("config.yaml", "seed: 1", "seed: &s 1"); }, kRun, ExitCode::kConfig,
     {"config.yaml:6:", "anchor"}},
    {"Alias", [] { edit_file("config.yaml", "seed: 1", "seed: *s"); }, kRun, ExitCode::kConfig,
     {"config.yaml:6:", "anchor"}},
    {"Tag", [] { edit_file("config.yaml", "seed: 1", "seed: !!int 1"); }, kRun, ExitCode::kConfig,
     {"config.yaml:6:", "tag"}},
    {"DeepNesting",
     [] { write_file("config.yaml", config_with("budget: " + std::string(100000, '['))); }, kRun,
     ExitCode::kConfig, {"config.yaml:10:", "deep"}},
    {"SecondDocument", [] { write_file("config.yaml", config_with("---\nseed: 2")); }, kRun,
     ExitCode::kConfig, {"config.yaml:1", "second document"}},
    {"Tabs", [] { write_file("config.yaml", config_with("budget:\n\tseeds: 1")); }, kRun,
     ExitCode::kConfig, {"config.yaml:11:"}},
    {"NotUtf8", [] { edit_file("config.yaml", "eidig", "eid\xFFg"); }, kRun, ExitCode::kConfig,
     {"config.yaml:5:", "UTF-8"}},
    {"ControlCharacter", [] { edit_file("config.yaml", "eidig", "eid\x01g"); }, kRun,
     ExitCode::kConfig, {"config.yaml:5:", "control"}},
    {"SectionIsANumber", [] { edit_file("config.yaml", "{num: 20}", "20"); }, kRun,
     ExitCode::kConfig, {"config.yaml:8:8", "local", "'20'"}},
    {"NumberInQuotes", [] { edit_file("config.yaml", "num: 10", "num: \"10\""); }, kRun,
     ExitCode::kConfig, {"config.yaml:7:15", "global.num", "without quotes"}},
    {"NoModel", [] { edit_file("config.yaml", "model: model.safetensors\n", ""); }, kRun,
     ExitCode::kConfig, {"config.yaml", "'model'"}},
    {"NoProtected", [] { edit_file("config.yaml", "protected: [sex]\n", ""); }, kRun,
     ExitCode::kConfig, {"config.yaml", "'protected'"}},
    {"NoOutput", [] { edit_file("config.yaml", "output: {dir: out}\n", ""); }, kRun,
     ExitCode::kConfig, {"config.yaml", "'output.dir'"}},
    {"NumZero", nothing, with("global.num=0"), ExitCode::kConfig, {"--set global.num", "'0'"}},
    {"NumTooLarge", nothing, with("global.num=4294967296"), ExitCode::kConfig,
     {"--set global.num", "4294967295"}},
    {"NumNotWhole", nothing, with("global.num=1.5"), ExitCode::kConfig, {"--set global.num", "'1.5'"}},
    {"NumIsAList", nothing, with("global.num=[1]"), ExitCode::kConfig, {"--set global.num", "a list"}},
    {"NumIsNothing", nothing, with("global.num="), ExitCode::kConfig, {"--set global.num", "nothing"}},
    {"ClustersZero", nothing, with("global.clusters=0"), ExitCode::kConfig, {"--set global.clusters"}},
    {"ClustersTooMany", nothing, with("global.clusters=10001"), ExitCode::kConfig,
     {"--set global.clusters", "10000"}},
    {"IterationsTooMany", nothing, with("global.max_iter=1000001"), ExitCode::kConfig,
     {"--set global.max_iter", "1000000"}},
    {"StepHalf", nothing, with("global.step=0.5"), ExitCode::kConfig,
     {"--set global.step", "'0.5'", "integers"}},
    {"StepNegative", nothing, with("local.step=-1"), ExitCode::kConfig, {"--set local.step", "'-1'"}},
    {"DecayAboveOne", nothing, with("global.decay=1.5"), ExitCode::kConfig, {"--set global.decay"}},
    {"UnknownSeeding", nothing, with("global.seeding=round_robin"), ExitCode::kConfig,
     {"--set global.seeding", "did you mean 'round-robin'?"}},
    {"LocalNumNegative", nothing, with("local.num=-1"), ExitCode::kConfig, {"--set local.num", "'-1'"}},
    {"LocalNumTooLarge", nothing, with("local.num=2147483648"), ExitCode::kConfig,
     {"--set local.num", "2147483647"}},
    {"UpdateInterval", nothing, with("local.update_interval=soon"), ExitCode::kConfig,
     {"--set local.update_interval", "inf"}},
    {"EpsilonZero", nothing, with("local.epsilon=0"), ExitCode::kConfig, {"--set local.epsilon"}},
    {"PerturbationInfinite", nothing, with("gradient.perturbation_size=.inf"), ExitCode::kConfig,
     {"--set gradient.perturbation_size"}},
    {"ThresholdOne", nothing, with("threshold=1"), ExitCode::kConfig, {"--set threshold", "'1'"}},
    {"ThresholdNotANumber", nothing, with("threshold=.nan"), ExitCode::kConfig, {"--set threshold"}},
    {"SeedNegative", nothing, {"run", "config.yaml", "--seed", "-1"}, ExitCode::kConfig, {"--seed"}},
    {"SeedTooLarge", nothing, with("seed=18446744073709551616"), ExitCode::kConfig,
     {"--set seed", "18446744073709551615"}},
    {"UnknownMethod", nothing, with("method=eidgi"), ExitCode::kConfig,
     {"--set method", "did you mean 'eidig'?"}},
    {"MethodOfALaterVersion", nothing, with("method=sg"), ExitCode::kUnavailable,
     {"--set method", "'sg'", "not in this version"}},
    {"UnknownFormat", nothing, with("output.format=cvs"), ExitCode::kConfig,
     {"--set output.format", "did you mean 'csv'?"}},
    {"FormatNotBuilt", nothing, with("output.format=parquet"), ExitCode::kUnavailable,
     {"--set output.format", "Arrow"}},
    {"TraceIsAWord", nothing, with("output.trace=maybe"), ExitCode::kConfig,
     {"--set output.trace", "true or false"}},
    {"UnknownPolicy", nothing, with("out_of_domain=dorp"), ExitCode::kConfig,
     {"--set out_of_domain", "did you mean 'drop'?"}},
    {"BudgetZero", nothing, with("budget.seeds=0"), ExitCode::kConfig, {"--set budget.seeds"}},
    {"BudgetNegative", nothing, with("budget.seconds=-1"), ExitCode::kConfig, {"--set budget.seconds"}},
    {"SetUnknownKey", nothing, with("golbal.num=1"), ExitCode::kConfig,
     {"--set golbal.num", "did you mean 'global.num'?"}},
    {"SetMalformed", nothing, with("protected=[age"), ExitCode::kConfig, {"--set protected"}},
    {"SetAlias", nothing, with("seed=*x"), ExitCode::kConfig, {"--set seed", "anchor"}},
    {"ProtectedUnknown", nothing, with("protected=[sexx]"), ExitCode::kConfig,
     {"--set protected", "'sexx'", "did you mean 'sex'?"}},
    {"ProtectedUnknownInTheFile", [] { edit_file("config.yaml", "[sex]", "[sexx]"); }, kRun,
     ExitCode::kConfig, {"config.yaml:4:", "'sexx'", "did you mean 'sex'?"}},
    {"ProtectedEmpty", nothing, with("protected=[]"), ExitCode::kConfig, {"--set protected", "empty"}},
    {"ProtectedTwice", nothing, with("protected=[sex, sex]"), ExitCode::kConfig,
     {"--set protected", "'sex'", "twice"}},
    {"ProtectedEverything", nothing, with("protected=[age, income, sex]"), ExitCode::kConfig,
     {"--set protected", "all 3"}},
    {"ProtectedOneValue", nothing, with("protected={sex: [1]}"), ExitCode::kConfig,
     {"--set protected", "'sex'", "at least two"}},
    {"ProtectedValueOutside", nothing, with("protected={sex: [0, 2]}"), ExitCode::kConfig,
     {"--set protected", "'sex'", "0..1"}},
    {"ProtectedValueInWords", nothing, with("protected={sex: [female, male]}"), ExitCode::kConfig,
     {"--set protected", "'female'", "codes"}},
    {"RowsNeededAndNoData", [] { edit_file("config.yaml", "data: data.csv\n", ""); },
     with("global.seeding=round-robin"), ExitCode::kConfig, {"config.yaml", "data"}},
};
// clang-format on

class BadConfigTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadConfigTest, IsOneLineThatNamesThePlace) { expect_one_line(GetParam()); }

INSTANTIATE_TEST_SUITE_P(CommandLine, BadConfigTest, testing::ValuesIn(kCommandLine), name_of);
INSTANTIATE_TEST_SUITE_P(MissingFiles, BadConfigTest, testing::ValuesIn(kMissingFiles), name_of);
INSTANTIATE_TEST_SUITE_P(Configs, BadConfigTest, testing::ValuesIn(kConfigs), name_of);

}  // namespace
}  // namespace fairlane
