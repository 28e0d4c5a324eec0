#include "engine/sweep/cluster_jobs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/formats/strict_yaml.h"
#include "base/text.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

ClusterJob some_job() {
  return {.program = "/opt/fairlane/bin/fairlane",
          .plan = "/data/plans/census.yaml",
          .out = "/data/out/census",
          .folder = "/data",
          .elements = 4,
          .gpus = true,
          .run_words = {"--allow-exec", "--set", "local.num=10"},
          .slurm_options = {"--partition=gpu", "--time=24:00:00", "--mem=16G"}};
}

void expect_usage_error(ClusterJob const& job, std::string const& part) {
  for (auto const script : {slurm_array_script, slurm_merge_script}) {
    try {
      script(job);
      FAIL() << "no error with " << part;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(SlurmScripts, AreThese) {
  EXPECT_EQ(slurm_merge_script(some_job()),
            R"(#!/bin/bash
# Written by fairlane sweep submit: for when the array has ended.
#SBATCH --job-name=fairlane-merge
#SBATCH --ntasks=1
#SBATCH --chdir=/data
#SBATCH --output=/data/out/census/slurm/merge.log
#SBATCH --partition=gpu
#SBATCH --time=24:00:00

exec /opt/fairlane/bin/fairlane sweep merge /data/plans/census.yaml --out /data/out/census
)");
  EXPECT_EQ(slurm_array_script(some_job()),
            R"(#!/bin/bash
# Written by fairlane sweep submit: an element works on the cells of one shard.
#SBATCH --job-name=fairlane-sweep
#SBATCH --array=1-4
#SBATCH --ntasks=1
#SBATCH --gres=gpu:1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
#SBATCH --chdir=/data
#SBATCH --output=/data/out/census/slurm/element-%a.log
#SBATCH --partition=gpu
#SBATCH --time=24:00:00
#SBATCH --mem=16G

echo "element $SLURM_ARRAY_TASK_ID of 4 on $SLURMD_NODENAME, restart ${SLURM_RESTART_COUNT:-0}"
# Slurm asks this script to stop by TERM, and perhaps fairlane, too, which takes a second TERM for
# haste and ends without saving. HUP asks for the same, and is no second one.
child=
stopping=false
stop() {
  stopping=true
  signalled=true
  if [ -n "$child" ]; then kill -HUP "$child" 2>/dev/null; fi
}
trap stop TERM
)"
            "/opt/fairlane/bin/fairlane sweep run /data/plans/census.yaml --out /data/out/census "
            "--shard \"$SLURM_ARRAY_TASK_ID/4\" --threads \"${SLURM_CPUS_ON_NODE:-1}\" "
            "--allow-exec --set local.num=10 &"
            R"(
child=$!
if $stopping; then kill -HUP "$child"; fi
while :; do
  signalled=false
  wait "$child"
  status=$?
  $signalled || break
done
# Asked before fairlane listened: there was nothing to save.
if $stopping && [ "$status" -eq 129 ]; then status=75; fi
if [ "$status" -ne 75 ]; then exit "$status"; fi

# Stopped with the state saved, from which the same command goes on. What was cancelled stays so:
# Slurm calls it COMPLETING while this script runs, and would queue it again.
element=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
if scontrol show job "$element" | grep -Eq 'JobState=(CANCELLED|COMPLETING)'; then exit 75; fi
echo "element $SLURM_ARRAY_TASK_ID is queued again"
scontrol requeue "$element" || exit 75
)");
}

TEST(SlurmScripts, AskForCores) {
  ClusterJob job = some_job();
  job.threads = 8;
  job.gpus = false;
  std::string const text = slurm_array_script(job);
  EXPECT_NE(text.find("#SBATCH --cpus-per-task=8\n"), std::string::npos);
  EXPECT_NE(text.find(" --threads 8 "), std::string::npos);
  EXPECT_EQ(text.find("--gres"), std::string::npos);
}

TEST(SlurmScripts, QuoteForSbatch) {
  ClusterJob job = some_job();
  job.out = "/data/50% of \"it\"";
  job.folder = "/data/#1";
  job.slurm_options = {"--comment=a \\ b"};
  std::string const text = slurm_array_script(job);
  for (char const* line : {"#SBATCH \"--output=/data/50%% of \\\"it\\\"/slurm/element-%a.log\"\n",
                           "#SBATCH \"--chdir=/data/#1\"\n", "#SBATCH \"--comment=a \\\\ b\"\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(SlurmScripts, RefuseWhatSlurmCannotRead) {
  ClusterJob job = some_job();
  job.out = "/data/two\nlines";
  expect_usage_error(job,
                     "output directory '/data/two\\nlines': Slurm takes no control characters");
  job = some_job();
  job.out = "/data/back\\slash";
  expect_usage_error(job, "takes no backslash in the path of a log");
  for (char const* option : {"gpu", "-p gpu", "--", "--a=b\n#SBATCH --c"}) {
    job = some_job();
    job.slurm_options = {option};
    expect_usage_error(job, "Slurm's option '" + escaped(option));
  }
}

/// The script of an array's second element, run by bash with a stand-in for fairlane and for
/// scontrol.
class ArrayScript : public testing::Test {
 protected:
  ArrayScript() {
    fs::create_directories(folder_.file("bin"));
    write_program("bin/scontrol", "echo \"$*\" >>" + shell_word(folder_.file("asked")) +
                                      "\nif [ \"$1\" = show ]; then echo \"JobState=" +
                                      "${STATE:-RUNNING} Reason=None\"; fi\n");
    job_.program = folder_.file("it's a $(false) \"fairlane\"");
    job_.plan = folder_.file("a plan\nof $HOME's.yaml");
    job_.run_words = {"", "*", "`id`", "a\\b"};
  }

  void write_program(std::string const& name, std::string const& text) const {
    fs::permissions(folder_.write(name, "#!/bin/bash\n" + text), fs::perms::owner_all);
  }

  std::string element(std::string const& state = "RUNNING") const {
    std::string const script = folder_.write("array.sh", slurm_array_script(job_));
    return "PATH=" + shell_word(folder_.file("bin")) + ":$PATH STATE=" + state +
           " SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2 SLURMD_NODENAME=node SLURM_CPUS_ON_NODE=3" +
           " exec bash " + shell_word(script);
  }

  /// How the element ends where fairlane is this script.
  std::string end_with(std::string const& fairlane, std::string const& state = "RUNNING") const {
    fs::remove(folder_.file("asked"));
    write_program("it's a $(false) \"fairlane\"", fairlane);
    ChildProcess process("test", {"bash", "-c", element(state)}, "");
    return process.end(kPatience).value_or("never") + process.last_errors();
  }

  std::string asked() const { return slurp(folder_.file("asked")); }

  TemporaryFolder folder_;
  ClusterJob job_ = some_job();
};

TEST_F(ArrayScript, RunsItsShard) {
  std::string const words = shell_word(folder_.file("words"));
  EXPECT_EQ(end_with("printf '[%s]' \"$@\" >" + words),
            "exited with status 0; its stderr is empty");
  EXPECT_EQ(slurp(folder_.file("words")), "[sweep][run][" + job_.plan +
                                              "][--out][/data/out/census][--shard][2/4][--threads]"
                                              "[3][][*][`id`][a\\b]");
  EXPECT_EQ(asked(), "");
}

TEST_F(ArrayScript, PassesExitCodesOn) {
  for (int const code : {0, 3, 65, 70, 76, 130, 137}) {
    EXPECT_EQ(end_with("exit " + std::to_string(code)),
              "exited with status " + std::to_string(code) + "; its stderr is empty");
    EXPECT_EQ(asked(), "");
  }
}

TEST_F(ArrayScript, QueuesAgainWhatWasStopped) {
  EXPECT_EQ(end_with("exit 75"), "exited with status 0; its stderr is empty");
  EXPECT_EQ(asked(), "show job 7_2\nrequeue 7_2\n");
  for (char const* state : {"CANCELLED", "COMPLETING"}) {
    EXPECT_EQ(end_with("exit 75", state), "exited with status 75; its stderr is empty");
    EXPECT_EQ(asked(), "show job 7_2\n");
  }
}

TEST_F(ArrayScript, AsksFairlaneToStopAndWaits) {
  // fairlane takes its time, and Slurm asks twice.
  EXPECT_EQ(end_with("trap 'stopped=true' HUP\n"
                     "kill -TERM $PPID; sleep 0.2; kill -TERM $PPID\n"
                     "until ${stopped:-false}; do sleep 0.01; done\nsleep 0.2\nexit 75\n"),
            "exited with status 0; its stderr is empty");
  EXPECT_EQ(asked(), "show job 7_2\nrequeue 7_2\n");
  // fairlane has not begun to listen; the shell may say how it ended.
  EXPECT_TRUE(end_with("kill -TERM $PPID; sleep 60").starts_with("exited with status 0; "));
  EXPECT_EQ(asked(), "show job 7_2\nrequeue 7_2\n");
  // It may be done before it looks.
  EXPECT_EQ(end_with("trap '' HUP\nkill -TERM $PPID; sleep 0.1; exit 3"),
            "exited with status 3; its stderr is empty");
  EXPECT_EQ(asked(), "");
}

TEST_F(ArrayScript, ScriptsAreShell) {
  for (std::string const& text : {slurm_array_script(job_), slurm_merge_script(job_)}) {
    ChildProcess process("test", {"bash", "-n", folder_.write("script.sh", text)}, "");
    EXPECT_EQ(process.end(kPatience), "exited with status 0") << process.last_errors();
  }
}

/// A node by the names and numbers that lead to it.
YamlNode const& at(YamlNode const& root, std::vector<std::string> const& path) {
  YamlNode const* node = &root;
  for (std::string const& step : path) {
    node = node->kind == YamlNode::Kind::kSequence ? &node->items.at(std::stoul(step))
                                                   : node->find(step);
    if (node == nullptr) throw std::runtime_error("no " + step);
  }
  return *node;
}

YamlNode manifest(ClusterJob const& job, std::string const& image) {
  YamlLimits limits;
  limits.depth = 16;
  return parse_strict_yaml(kubernetes_manifest(job, image), "job.yaml", limits);
}

TEST(KubernetesManifest, SaysWhatIsToRun) {
  ClusterJob job = some_job();
  job.threads = 6;
  YamlNode const root = manifest(job, "registry.example/fairlane:1.0");
  EXPECT_EQ(at(root, {"kind"}).scalar, "Job");
  YamlNode const& spec = at(root, {"spec"});
  EXPECT_EQ(at(spec, {"completionMode"}).scalar, "Indexed");
  EXPECT_EQ(at(spec, {"completions"}).integer(), 4);
  EXPECT_EQ(at(spec, {"parallelism"}).integer(), 4);
  YamlNode const& rules = at(spec, {"podFailurePolicy", "rules"});
  EXPECT_EQ(at(rules, {"0", "action"}).scalar, "Ignore");
  EXPECT_EQ(at(rules, {"0", "onExitCodes", "values", "0"}).integer(), 75);
  EXPECT_EQ(at(rules, {"1", "action"}).scalar, "Ignore");
  EXPECT_EQ(at(rules, {"1", "onPodConditions", "0", "type"}).scalar, "DisruptionTarget");
  EXPECT_EQ(at(rules, {"2", "action"}).scalar, "FailIndex");
  EXPECT_EQ(at(rules, {"2", "onExitCodes", "values", "0"}).integer(), 3);
  YamlNode const& pod = at(spec, {"template", "spec"});
  EXPECT_EQ(at(pod, {"restartPolicy"}).scalar, "Never");
  YamlNode const& container = at(pod, {"containers", "0"});
  EXPECT_EQ(at(container, {"name"}).scalar,
            at(rules, {"0", "onExitCodes", "containerName"}).scalar);
  EXPECT_EQ(at(container, {"image"}).scalar, "registry.example/fairlane:1.0");
  EXPECT_EQ(at(container, {"args", "0"}).scalar,
            "exec fairlane sweep run /data/plans/census.yaml --out /data/out/census --shard "
            "\"$$((JOB_COMPLETION_INDEX + 1))/4\" --threads 6 --allow-exec --set local.num=10");
  EXPECT_EQ(at(container, {"resources", "limits", "nvidia.com/gpu"}).integer(), 1);
  EXPECT_EQ(at(container, {"resources", "requests", "cpu"}).integer(), 6);
  EXPECT_EQ(at(container, {"volumeMounts", "0", "mountPath"}).scalar, "/data");
  job.gpus = false;
  YamlNode const without = manifest(job, "fairlane");
  EXPECT_EQ(at(without, {"spec", "template", "spec", "containers", "0", "resources", "limits"})
                .find("nvidia.com/gpu"),
            nullptr);
}

TEST(KubernetesManifest, TakesAnyPath) {
  ClusterJob job = some_job();
  job.plan = "/it's $(HOME): #1 \"plan\"\t$$.yaml";
  YamlNode const root = manifest(job, "no");
  YamlNode const& container = at(root, {"spec", "template", "spec", "containers", "0"});
  EXPECT_EQ(at(container, {"image"}).scalar, "no");
  EXPECT_TRUE(at(container, {"image"}).quoted);
  EXPECT_EQ(at(container, {"volumeMounts", "0", "mountPath"}).scalar, "/data");
  // What Kubernetes makes of it: $$ is $, and nothing else is replaced.
  std::string const text = at(container, {"args", "0"}).scalar;
  std::string command;
  for (std::size_t i = 0; i < text.size(); ++i) {
    command += text[i];
    if (text[i] != '$') continue;
    ASSERT_EQ(text.at(i + 1), '$') << text;
    ++i;
  }
  EXPECT_EQ(command.find("exec fairlane sweep run " + shell_word(job.plan) + " --out "), 0U);
  EXPECT_NE(command.find("--shard \"$((JOB_COMPLETION_INDEX + 1))/4\""), std::string::npos);
}

}  // namespace
}  // namespace fairlane
