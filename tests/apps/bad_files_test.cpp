// What can be wrong with domains, tables, networks and directories of results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "models/safetensors.h"
#include "tests/apps/bad_input.h"
#include "tests/models/keras/h5_writer.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

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

void spoil_last_weight(float value) {
  std::string bytes = slurp("model.safetensors");
  std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
  write_file("model.safetensors", bytes);
}

// One mistake in two lines or three; a formatter would make them ten.
// clang-format off
BadInput const kDomains[] = {
    {"DomainInverted", [] { edit_file("domain.yaml", "low: 0, high: 9}", "low: 9, high: 0}"); }, kRun,
     ExitCode::kConfig, {"domain.yaml:5:", "'income'", "low 9 > high 0"}},
    {"DomainUnknownKey", [] { edit_file("domain.yaml", "protected", "proteced"); }, kRun,
     ExitCode::kConfig, {"domain.yaml:4:", "did you mean 'protected'?"}},
    {"DomainAttributeTwice", [] { edit_file("domain.yaml", "name: income", "name: age"); }, kRun,
     ExitCode::kConfig, {"domain.yaml:5:", "'age'", "twice"}},
    {"DomainCategories", [] { edit_file("domain.yaml", "[female, male]", "[female, male, x]"); },
     kRun, ExitCode::kConfig, {"domain.yaml:6:", "'sex'", "categories"}},
    {"DomainLabelIsAnAttribute", [] { edit_file("domain.yaml", "label: class", "label: sex"); }, kRun,
     ExitCode::kConfig, {"domain.yaml:6:", "'sex'", "label"}},
    {"DomainWithoutAttributes", [] { write_file("domain.yaml", "name: x\n"); }, kRun,
     ExitCode::kConfig, {"domain.yaml", "attributes"}},
    {"DomainCodeTooLarge", [] { edit_file("domain.yaml", "high: 9", "high: 16777217"); }, kRun,
     ExitCode::kConfig, {"domain.yaml:4:", "'age'", "16777216"}},
};

BadInput const kTables[] = {
    {"TableEmpty", [] { write_file("data.csv", ""); }, kRun, ExitCode::kData,
     {"data.csv:1:1", "empty"}},
    {"TableWithoutRows", [] { write_file("data.csv", "age,income,sex,class\n"); }, kRun,
     ExitCode::kData, {"data.csv:", "no rows"}},
    {"TableWithoutHeader", [] { write_file("data.csv", "1,2,0\n3,4,1\n"); }, kRun,
     ExitCode::kData, {"data.csv:1:", "'age'", "header"}},
    {"TableWithoutAColumn", [] { edit_file("data.csv", "income", "incme"); }, kRun, ExitCode::kData,
     {"data.csv:1:", "'income'", "did you mean 'incme'?"}},
    {"TableColumnTwice", [] { edit_file("data.csv", "income", "age"); }, kRun, ExitCode::kData,
     {"data.csv:1:5", "'age'", "twice"}},
    {"TableWithoutItsLabel", [] { edit_file("domain.yaml", "label: class", "label: clas"); }, kRun,
     ExitCode::kData, {"data.csv:1:1", "no label column 'clas'", "domain.yaml", "did you mean 'class'?"}},
    {"TableWithoutALabelForItsWords",
     [] { edit_file("domain.yaml", "label: class", "labels: {no: 0, yes: 1}"); }, kRun, ExitCode::kData,
     {"data.csv:1:1", "no label column 'label'", "the columns of no attribute are 'class'"}},
    {"TableLineEndsOfOldMacs",
     [] { write_file("data.csv", "age,income,sex,class\r1,2,0,1\r2,2,0,1\r"); }, kRun, ExitCode::kData,
     {"data.csv:1:21", "CR alone", "LF"}},
    {"TableNumbersForAHeader", [] { write_file("data.csv", "1,2,2\n3,4,1\n"); }, kRun,
     ExitCode::kData, {"data.csv:1:5", "'2' occurs twice", "header row missing"}},
    {"TableBadCell", [] { edit_file("data.csv", "\n1,7,", "\n1,seven,"); }, kRun, ExitCode::kData,
     {"data.csv:3:3", "'income'", "'seven'"}},
    {"TableMisspeltCategory", [] { edit_file("data.csv", "\n1,7,1", "\n1,7,femal"); }, kRun,
     ExitCode::kData, {"data.csv:3:5", "'sex'", "did you mean 'female'?"}},
    {"TableFraction", [] { edit_file("data.csv", "\n1,7,", "\n1,7.5,"); }, kRun, ExitCode::kData,
     {"data.csv:3:3", "'7.5'", "integer"}},
    {"TableEmptyCell", [] { edit_file("data.csv", "\n1,7,", "\n1,,"); }, kRun, ExitCode::kData,
     {"data.csv:3:3", "'income'"}},
    {"TableShortRow", [] { edit_file("data.csv", "\n1,7,1,1", "\n1,7,1"); }, kRun, ExitCode::kData,
     {"data.csv:3:", "3 cells"}},
    {"TableOpenQuote", [] { edit_file("data.csv", "\n1,7,", "\n1,\"7,"); }, kRun, ExitCode::kData,
     {"data.csv:3:3", "quote"}},
    {"TableSemicolons", [] { write_file("data.csv", "age;income;sex;class\n1;2;0;1\n"); }, kRun,
     ExitCode::kData, {"data.csv:1:", "separator", "';'"}},
    {"TableUtf16", [] { write_file("data.csv", std::string("\xFF\xFE" "a\0g\0e\0", 8)); }, kRun,
     ExitCode::kData, {"data.csv:1:", "UTF-16"}},
    {"TableOutsideTheDomain", [] { edit_file("data.csv", "\n1,7,", "\n1,70,"); }, kRun,
     ExitCode::kData, {"data.csv", "line 3", "income = 70", "0..9"}},
    {"TableAllOutside",
     [] { write_file("data.csv", "age,income,sex\n1,70,0\n"); },
     with("out_of_domain=drop"), ExitCode::kData, {"data.csv", "all 1 rows"}},
    {"SeedsOutsideTheDomain",
     [] { write_file("seeds.csv", "age,income,sex\n1,2,0\n1,2,3\n"); },
     with("global.seeds=seeds.csv"), ExitCode::kData, {"seeds.csv", "line 3", "sex = 3"}},
};

BadInput const kModels[] = {
    {"ModelIsText", [] { write_file("model.h5", "hello, world\n"); use_model("model.h5"); }, kRun,
     ExitCode::kData, {"model.h5"}},
    {"ModelIsEmpty", [] { write_file("model.safetensors", ""); }, kRun, ExitCode::kData,
     {"model.safetensors", "empty"}},
    {"KerasTruncated",
     [] {
       write_keras("model.h5", 1.0, "sigmoid");
       write_file("model.h5", slurp("model.h5").substr(0, 700));
       use_model("model.h5");
     },
     kRun, ExitCode::kData, {"model.h5"}},
    {"KerasCorrupt",
     [] {
       write_keras("model.h5", 1.0, "sigmoid");
       std::string bytes = slurp("model.h5");
       std::fill(bytes.begin() + 40, bytes.begin() + 200, '\xA5');
       write_file("model.h5", bytes);
       use_model("model.h5");
     },
     kRun, ExitCode::kData, {"model.h5"}},
    {"KerasNaN",
     [] {
       write_keras("model.h5", std::numeric_limits<double>::quiet_NaN(), "sigmoid");
       use_model("model.h5");
     },
     kRun, ExitCode::kData, {"model.h5", "dense", "nan"}},
    {"KerasUnknownActivation",
     [] { write_keras("model.h5", 1.0, "mish"); use_model("model.h5"); }, kRun, ExitCode::kData,
     {"model.h5", "mish"}},
    {"ModelTruncated",
     [] {
       std::string const bytes = slurp("model.safetensors");
       write_file("model.safetensors", bytes.substr(0, bytes.size() - 5));
     },
     kRun, ExitCode::kData, {"model.safetensors"}},
    {"ModelHeaderTooLong",
     [] {
       std::string bytes = slurp("model.safetensors");
       bytes[6] = '\x7F';
       write_file("model.safetensors", bytes);
     },
     kRun, ExitCode::kData, {"model.safetensors", "header"}},
    {"ModelNaN", [] { spoil_last_weight(std::numeric_limits<float>::quiet_NaN()); }, kRun,
     ExitCode::kData, {"model.safetensors", "nan", "finite"}},
    {"ModelInfinite", [] { spoil_last_weight(std::numeric_limits<float>::infinity()); }, kRun,
     ExitCode::kData, {"model.safetensors", "inf", "finite"}},
    {"ModelInputsAndDomainDiffer",
     [] {
       Network network = small_network();
       network.layers[0].inputs = 4;
       network.layers[0].weights.resize(8, 0.0F);
       write_safetensors(network, "model.safetensors");
     },
     kRun, ExitCode::kData, {"model.safetensors", "4 inputs", "3 attributes", "`encoding`"}},
    {"InspectTextAsModel", [] { write_file("notes.txt", "hello, world\n"); }, {"inspect", "notes.txt"},
     ExitCode::kData, {"notes.txt"}},
};

BadInput const kOutputs[] = {
    {"OutputIsAFile", [] { write_file("out", "x"); }, kRun, ExitCode::kOutput, {"out", "file"}},
    {"OutputHoldsOtherFiles",
     [] { fs::create_directory("out"); write_file("out/thesis.tex", "x"); }, kRun, ExitCode::kOutput,
     {"out", "'thesis.tex'"}},
    {"OutputBelowAFile", nothing, {"run", "config.yaml", "--out", "data.csv/out"}, ExitCode::kOutput,
     {"data.csv"}},
    {"OutputNowhere", nothing, {"run", "config.yaml", "--out", "/proc/nonexistent/out"},
     ExitCode::kOutput, {"/proc/nonexistent"}},
    {"OutputOfAnotherRun",
     [] { ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0); },
     {"run", "config.yaml", "--seed", "2"}, ExitCode::kOutput, {"out", "another run"}},
    {"DemoFolderHoldsOtherFiles", nothing, {"demo", "--out", "."}, ExitCode::kOutput, {"other files"}},
    {"DemoFolderIsAFile", nothing, {"demo", "--out", "data.csv"}, ExitCode::kOutput, {"data.csv"}},
    {"InitKeepsFiles", nothing, {"init", "model.safetensors", "data.csv", "--out", "config.yaml"},
     ExitCode::kOutput, {"config.yaml", "--force"}},
    {"InitOverItsTable", nothing,
     {"init", "model.safetensors", "data.csv", "--out", "./data.csv", "--force"},
     ExitCode::kUsage, {"--out", "DATA itself"}},
    {"InitOverItsModel", nothing,
     {"init", "model.safetensors", "data.csv", "--out", "c.yaml", "--domain", "model.safetensors",
      "--force"},
     ExitCode::kUsage, {"--domain", "MODEL itself"}},
    {"InitEmptyProtected", nothing,
     {"init", "model.safetensors", "data.csv", "--out", "c.yaml", "--protected", ""},
     ExitCode::kUsage, {"--protected is empty, expected A,B"}},
    {"EmptyOut", nothing, {"run", "config.yaml", "--out", ""}, ExitCode::kUsage,
     {"--out is empty, expected DIR"}},
    {"EmptyPolicy", nothing, {"run", "config.yaml", "--fail-above", ""}, ExitCode::kUsage,
     {"--fail-above is empty"}},
    {"EmptyConfig", nothing, {"run", ""}, ExitCode::kUsage, {"CONFIG is empty"}},
    {"EmptyMethods", nothing, {"compare", "config.yaml", "--methods", ""}, ExitCode::kUsage,
     {"--methods is empty"}},
    {"OutTwice", nothing, {"run", "config.yaml", "--out", "a", "--out", "b"}, ExitCode::kUsage,
     {"--out is given 2 times, expected once"}},
    {"InitNowhere", nothing,
     {"init", "model.safetensors", "data.csv", "--out", "/proc/nonexistent/c.yaml"},
     ExitCode::kOutput, {"/proc/nonexistent"}},
    {"CheckFindsAForgery",
     [] {
       ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
       std::string text = slurp("out/instances.csv");
       auto const row = text.find('\n') + 1;
       auto const comma = text.find(',', row) + 1;
       text[comma] = '9';  // nobody with that income is refused
       write_file("out/instances.csv", text);
     },
     {"check", "out"}, ExitCode::kIntegrity, {"out"}},
    {"CheckWithoutInstances",
     [] { ASSERT_EQ(run_fairlane({"enumerate", "config.yaml"}).code, 0); }, {"check", "out"},
     ExitCode::kNoInput, {"out/instances.csv", "--instances"}},
    {"CheckNoticesAnotherModel",
     [] {
       ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
       spoil_last_weight(-4.25F);
     },
     {"check", "out"}, ExitCode::kIntegrity, {"model.safetensors"}},
};

BadInput const kInit[] = {
    {"InitColumnsAndInputsDiffer", [] { write_file("t.csv", "a,b\n1,2\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv", "2 columns", "3 inputs"}},
    {"InitUnknownLabel", nothing, {"init", "model.safetensors", "data.csv", "--label", "clas"},
     ExitCode::kUsage, {"--label", "'clas'", "did you mean 'class'?"}},
    {"InitUnknownProtected", nothing, {"init", "model.safetensors", "data.csv", "--protected", "sxe"},
     ExitCode::kUsage, {"--protected", "'sxe'", "did you mean 'sex'?"}},
    {"InitNothingProtected", [] { write_file("t.csv", "a,b,c,d\n1,2,3,1\n2,3,4,0\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kUsage, {"t.csv", "--protected"}},
    {"InitTextLabel", [] { write_file("t.csv", "age,b,c,d\n1,2,3,yes\n2,3,4,no\n3,4,5,maybe\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv", "'d'", "'yes'"}},
    {"InitFractions", [] { write_file("t.csv", "age,b,c,d\n1,2.5,3,1\n2,3,4,0\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv", "'b'", "encode"}},
    {"InitEmptyCells", [] { write_file("t.csv", "age,b,c,d\n1,x,3,1\n2,,4,0\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv", "'b'", "empty"}},
    {"InitTextFitsInNoWay", [] { write_file("t.csv", "age,c\n1,x\n2,y\n3,z\n4,v\n4,w\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData,
     {"t.csv", "3 inputs", "by hand"}},
    {"InitOneHotDoesNotFit",
     [] { write_file("t.csv", "c,class\n1,0\n2,1\n"); edit_file("t.csv", "1,0", "x,0"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv", "'c'", "numbers and text"}},
    {"InitOneHotWidths", [] { write_file("t.csv", "job,class\na,0\nb,1\nc,0\nd,0\ne,0\n"); },
     {"init", "model.safetensors", "t.csv", "--protected", "job"}, ExitCode::kData,
     {"job 5", "give 5 inputs one-hot, 4 without", "3 inputs"}},
    {"InitOneHotNamedLabel", [] { write_file("t.csv", "age,job,d\n1,a,0\n2,b,1\n3,c,1\n4,e,1\n5,f,0\n"); },
     {"init", "model.safetensors", "t.csv", "--label", "d"}, ExitCode::kData,
     {"3 columns with the label", "expected 4 columns", "job 5", "give 6 inputs one-hot, 5 without"}},
    {"InitOneHotTextLabel", [] { write_file("t.csv", "age,job,d\n1,a,yes\n2,b,no\n3,b,maybe\n"); },
     {"init", "model.safetensors", "t.csv", "--label", "d"}, ExitCode::kData, {"t.csv", "'d'", "'yes'"}},
    {"InitSemicolons", [] { write_file("t.csv", "age;job;class\n1;2;0\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv:1:1", "separator", "';'"}},
    {"InitWithoutNames", [] { write_file("t.csv", "\n1\n"); },
     {"init", "model.safetensors", "t.csv"}, ExitCode::kData, {"t.csv"}},
};
// clang-format on

class BadFilesTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadFilesTest, IsOneLineThatNamesThePlace) { expect_one_line(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Domains, BadFilesTest, testing::ValuesIn(kDomains), case_name);
INSTANTIATE_TEST_SUITE_P(Tables, BadFilesTest, testing::ValuesIn(kTables), case_name);
INSTANTIATE_TEST_SUITE_P(Models, BadFilesTest, testing::ValuesIn(kModels), case_name);
INSTANTIATE_TEST_SUITE_P(Outputs, BadFilesTest, testing::ValuesIn(kOutputs), case_name);
INSTANTIATE_TEST_SUITE_P(Init, BadFilesTest, testing::ValuesIn(kInit), case_name);

}  // namespace
}  // namespace fairlane
