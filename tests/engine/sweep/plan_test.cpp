#include "engine/sweep/plan.h"

#include <gtest/gtest.h>

#include "engine/sweep/cell.h"
#include "tests/engine/sweep/planned.h"

namespace fairlane {
namespace {

using Texts = std::vector<std::string>;

class PlanOfSweep : public testing::Test {
 protected:
  void SetUp() override { write_small_run(); }
  WorkingFolder folder_;
};

TEST_F(PlanOfSweep, MultipliesItsAxes) {
  auto const plan = planned(
      "subjects: [config.yaml]\n"
      "protected: [age, [age, sex]]\n"
      "commands: [run, enumerate]\n"
      "methods: [eidig, adf]\n"
      "seeds: [3, 4]\n");
  EXPECT_EQ(texts(sweep_cells(plan)),
            (Texts{"run config age eidig seed 3", "run config age eidig seed 4",
                   "run config age adf seed 3", "run config age adf seed 4", "enumerate config age",
                   "run config age+sex eidig seed 3", "run config age+sex eidig seed 4",
                   "run config age+sex adf seed 3", "run config age+sex adf seed 4",
                   "enumerate config age+sex"}));
}

TEST_F(PlanOfSweep, LeavesOutAxesToTheConfiguration) {
  auto const cells = sweep_cells(planned("subjects: config.yaml"));
  EXPECT_EQ(texts(cells), Texts{"run config sex eidig seed 1"});
  EXPECT_EQ(cells.cells[0].words.front(), "run");
}

TEST_F(PlanOfSweep, MakesSetsOfTheProtectedAttributes) {
  auto const sets = [&](std::string const& axis) {
    Texts names;
    for (SweepCell const& cell :
         sweep_cells(planned("subjects: [config.yaml]\nprotected: " + axis)).cells)
      names.push_back(cell.set);
    return names;
  };
  EXPECT_EQ(sets("all-singles"), (Texts{"age", "sex"}));
  EXPECT_EQ(sets("all-pairs"), (Texts{"age+sex"}));
  EXPECT_EQ(sets("all"), (Texts{"age", "sex", "age+sex"}));
  EXPECT_EQ(sets("[all-pairs, {age: [0, 4]}]"), (Texts{"age+sex", "age=0,4"}));
}

TEST_F(PlanOfSweep, ListsMatricesThatShareWhatTheyLack) {
  auto const plan = planned(
      "subjects: [config.yaml]\n"
      "seeds: [5]\n"
      "cells:\n"
      "  - {methods: [maft], protected: [age]}\n"
      "  - {commands: [verify]}\n"
      "  - {methods: [maft], protected: [age], seeds: [5, 6]}\n");
  auto const cells = sweep_cells(plan);
  EXPECT_EQ(texts(cells), (Texts{"run config age maft seed 5", "verify config sex",
                                 "run config age maft seed 6"}));
  EXPECT_EQ(cells.repeated, 1);
}

TEST_F(PlanOfSweep, TakesModelsInTheConfigurationsPlace) {
  std::filesystem::create_directory("networks");
  for (char const* name : {"networks/b.safetensors", "networks/a.safetensors"})
    write_safetensors(small_network(), name);
  auto const cells =
      sweep_cells(planned("subjects: [{config: config.yaml, models: [networks/*.safetensors]}]"));
  // Equal bytes are equal work.
  EXPECT_EQ(texts(cells), Texts{"run config/a = config/b sex eidig seed 1"});
  EXPECT_EQ(cells.repeated, 1);
}

TEST_F(PlanOfSweep, PatternsAreThePlansAlone) {
  // Marks of patterns in the folder's name, and in a file's.
  std::filesystem::create_directory("all [1] *");
  for (char const* name :
       {"config.yaml", "data.csv", "domain.yaml", "model.safetensors", "[c].yaml"}) {
    std::string const from = std::string(name) == "[c].yaml" ? "config.yaml" : name;
    std::filesystem::copy(from, std::filesystem::path("all [1] *") / name);
  }
  auto const named = [](std::string const& pattern) {
    write_file("all [1] */plan.yaml", "subjects: ['" + pattern + "']\noutput: {dir: swept}\n");
    return texts(sweep_cells(read_sweep_plan("all [1] */plan.yaml")));
  };
  EXPECT_EQ(named("conf*.yaml"), Texts{"run config sex eidig seed 1"});
  EXPECT_EQ(named("[c].yaml"), Texts{"run [c] sex eidig seed 1"});
}

TEST_F(PlanOfSweep, NamesSettings) {
  auto const cells = sweep_cells(
      planned("subjects: [config.yaml]\n"
              "settings: [{name: short, local.num: 5}, {local.num: 50, global.max_iter: 3}]"));
  EXPECT_EQ(cells.cells[0].settings, "short");
  EXPECT_EQ(cells.cells[1].settings, "local.num=50, global.max_iter=3");
  EXPECT_EQ(cell_config(planned("subjects: [config.yaml]"), cells.cells[1]).global.max_iter, 3);
}

TEST_F(PlanOfSweep, AnIdIsOfWhatIsDone) {
  std::string const text = "subjects: [config.yaml]\nprotected: [age]\nseeds: [1, 2]\n";
  auto const before = ids(sweep_cells(planned(text)));
  // Another spelling, another place of the same bytes, and more cells.
  edit_file("config.yaml", "seed: 1\n", "seed: 77\n");
  std::filesystem::copy("data.csv", "copy.csv");
  edit_file("config.yaml", "data.csv", "copy.csv");
  auto const same = ids(sweep_cells(planned(text + "methods: [eidig, adf]\n")));
  ASSERT_EQ(same.size(), 4U);
  EXPECT_EQ((Texts{same[0], same[1]}), before);
  // Other bytes are other work.
  edit_file("copy.csv", "age,income", "age, income");
  auto const other = ids(sweep_cells(planned(text)));
  EXPECT_NE(other[0], before[0]);
  EXPECT_NE(ids(sweep_cells(planned(text + "set: {local.num: 21}\n")))[0], other[0]);
}

TEST_F(PlanOfSweep, ShardsShareAllCells) {
  auto const cells = sweep_cells(
      planned("subjects: [config.yaml]\nmethods: [eidig, adf]\nseeds: {first: 1, count: 9}"));
  std::vector<bool> taken(cells.cells.size(), false);
  for (std::int64_t k = 1; k <= 4; ++k) {
    auto const part = shard_of(cells, k, 4);
    EXPECT_GE(part.size(), 4U);
    for (std::size_t const index : part) {
      EXPECT_FALSE(taken[index]);
      taken[index] = true;
    }
  }
  EXPECT_EQ(std::count(taken.begin(), taken.end(), true), 18);
  EXPECT_EQ(find_cell(cells, cells.cells[7].id), 7U);
  EXPECT_THROW(find_cell(cells, ""), Error);
  EXPECT_THROW(find_cell(cells, "nobody"), Error);
}

struct Refused {
  char const* text;
  ExitCode code;
  char const* said;
};
TEST_F(PlanOfSweep, RefusesWhatIsWrong) {
  for (Refused const& wrong : {
           Refused{"subjects: []", ExitCode::kConfig, "plan.yaml:1:11: subjects is an empty list"},
           Refused{"subject: [config.yaml]", ExitCode::kConfig, "did you mean 'subjects'"},
           Refused{"methods: [eidig]", ExitCode::kConfig, "has no \"subjects\""},
           Refused{"subjects: [missing.yaml]", ExitCode::kNoInput, "missing.yaml"},
           Refused{"subjects: [nets/*.yaml]", ExitCode::kNoInput, "no file matches"},
           Refused{"subjects: [config.yaml]\nmethods: [egidi]", ExitCode::kConfig,
                   "plan.yaml:2:11"},
           Refused{"subjects: [config.yaml]\ncommands: [runn]", ExitCode::kConfig,
                   "did you mean 'run'"},
           Refused{"subjects: [config.yaml]\nset: {local.nmu: 3}", ExitCode::kConfig,
                   "plan.yaml:2:7"},
           Refused{"subjects: [config.yaml]\nset: {output.dir: x}", ExitCode::kConfig,
                   "a directory of its own"},
           Refused{"subjects: [config.yaml]\nprotected: [[height]]\nseeds: [-1]", ExitCode::kConfig,
                   "seeds is '-1'"},
           Refused{"subjects: [config.yaml]\ncommands: [{command: run, options: [--out, x]}]",
                   ExitCode::kConfig, "'--out'"},
           Refused{"subjects: [config.yaml]\ncommands: [{command: run, options: [--help]}]",
                   ExitCode::kConfig, "'--help'"},
           Refused{"subjects: [config.yaml]\ncells: []", ExitCode::kConfig,
                   "cells is an empty list"},
           Refused{"subjects: [config.yaml]\nseeds: [18446744073709551615]", ExitCode::kConfig,
                   "expected an integer 0..9223372036854775807"},
           Refused{"subjects: [config.yaml]\nprotected: [age, aeg]", ExitCode::kConfig,
                   "plan.yaml:2:18: protected lists 'aeg'"},
           Refused{"subjects: [config.yaml]\nprotected: [[age, age]]", ExitCode::kConfig,
                   "plan.yaml:2:13: protected lists 'age' twice"},
           Refused{"subjects: [config.yaml]\nprotected: all-singels", ExitCode::kConfig,
                   "did you mean 'all-singles'?"},
           Refused{"subjects: [config.yaml]\nmethods: [eidig, adf]\nprotected: all\n"
                   "settings: [{local.num: 1}, {local.num: 2}]\n"
                   "seeds: {first: 1, count: 1000000}",
                   ExitCode::kConfig, "lists 12000000 cells or more, expected at most 10000000"},
       }) {
    try {
      sweep_cells(planned(wrong.text));
      FAIL() << wrong.text;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), wrong.code) << error.what();
      EXPECT_TRUE(contains(error.what(), wrong.said)) << error.what();
    }
  }
}

}  // namespace
}  // namespace fairlane
