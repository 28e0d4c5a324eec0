#include "engine/sweep/cluster_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {

namespace {

namespace fs = std::filesystem;

// Seconds before the end of its time at which an element is asked to stop; saving takes a few.
constexpr int kStopSeconds = 120;
constexpr int kPodRetries = 3;  // of an element that fails for no reason of its own

/// Refuses what would end a line of the script, or read as something else than itself.
void check_line(std::string const& what, std::string const& text) {
  bool const plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
  });
  if (plain) return;
  throw usage_error(fmt::format("{} {}: Slurm takes no control characters", what, in_quotes(text)));
}

/// A line for sbatch, which takes quotes and backslashes away, but no backslash before a blank.
std::string sbatch_line(std::string const& option) {
  if (option.find_first_of(" \"'\\#") == std::string::npos) return "#SBATCH " + option + "\n";
  std::string quoted = "\"";
  for (char const c : option) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return "#SBATCH " + quoted + "\"\n";
}

/// A path of a log, in which Slurm replaces %a and the like.
std::string log_path(ClusterJob const& job, std::string const& name) {
  std::string path;
  for (char const c : job.out) path += c == '%' ? std::string("%%") : std::string(1, c);
  return path + "/slurm/" + name;
}

void check_slurm(ClusterJob const& job) {
  check_line("directory", job.folder);
  check_line("output directory", job.out);
  if (job.out.find('\\') != std::string::npos) {
    throw usage_error(fmt::format(
        "output directory {}: Slurm takes no backslash in the path of a log", in_quotes(job.out)));
  }
  for (std::string const& option : job.slurm_options) {
    check_line("Slurm's option", option);
    if (option.size() > 2 && option.starts_with("--")) continue;
    throw usage_error(fmt::format("Slurm's option {}: expected one word such as --partition=gpu",
                                  in_quotes(option)));
  }
}

/// Whether an option of the array would be wrong or greedy for the merge.
bool is_for_elements(std::string const& option) {
  std::string const name = option.substr(0, option.find('='));
  for (char const* prefix : {"--gpu", "--cpus-per-", "--mem-per-", "--ntasks", "--threads-per-"}) {
    if (name.starts_with(prefix)) return true;
  }
  static constexpr std::string_view kNames[] = {"--array", "--exclusive", "--gres",   "--mem",
                                                "--nodes", "--output",    "--signal", "--job-name"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string shell_words(std::vector<std::string> const& words) {
  std::string text;
  for (std::string const& word : words) text += " " + shell_word(word);
  return text;
}

/// The command of an element. shard, threads: as a shell reads them
std::string shard_command(ClusterJob const& job, std::string const& program,
                          std::string const& shard, std::string const& threads) {
  return fmt::format("{} sweep run {} --out {} --shard \"{}/{}\" --threads {}{}",
                     shell_word(program), shell_word(job.plan), shell_word(job.out), shard,
                     job.elements, threads, shell_words(job.run_words));
}

constexpr std::string_view kTrap =
    R"(# Slurm asks this script to stop by TERM, and perhaps fairlane, too, which takes a second TERM for
# haste and ends without saving. HUP asks for the same, and is no second one.
child=
stopping=false
stop() {
  stopping=true
  signalled=true
  if [ -n "$child" ]; then kill -HUP "$child" 2>/dev/null; fi
}
trap stop TERM
)";

constexpr std::string_view kWaiting =
    R"(child=$!
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
)";

/// The deepest folder that holds both, for a volume; "/data" where that is the root.
std::string common_folder(fs::path const& a, fs::path const& b) {
  fs::path common;
  auto in_b = b.begin();
  for (auto in_a = a.begin(); in_a != a.end() && in_b != b.end() && *in_a == *in_b; ++in_a, ++in_b)
    common /= *in_a;
  return common.has_relative_path() ? common.string() : "/data";
}

/// Text in which Kubernetes is to replace no $(NAME).
std::string unexpanded(std::string const& text) {
  std::string doubled;
  for (char const c : text) doubled += c == '$' ? std::string("$$") : std::string(1, c);
  return doubled;
}

}  // namespace

std::string slurm_array_script(ClusterJob const& job) {
  check_slurm(job);
  std::string text =
      "#!/bin/bash\n# Written by fairlane sweep submit: an element works on the cells of one "
      "shard.\n";
  text += sbatch_line("--job-name=fairlane-sweep");
  text += sbatch_line(fmt::format("--array=1-{}", job.elements));
  text += sbatch_line("--ntasks=1");
  if (job.threads > 0) text += sbatch_line(fmt::format("--cpus-per-task={}", job.threads));
  if (job.gpus) text += sbatch_line("--gres=gpu:1");
  text += sbatch_line("--requeue");
  text += sbatch_line("--open-mode=append");
  text += sbatch_line(fmt::format("--signal=B:TERM@{}", kStopSeconds));
  text += sbatch_line("--chdir=" + job.folder);
  text += sbatch_line("--output=" + log_path(job, "element-%a.log"));
  for (std::string const& option : job.slurm_options) text += sbatch_line(option);
  text += fmt::format(
      "\necho \"element $SLURM_ARRAY_TASK_ID of {} on $SLURMD_NODENAME, "
      "restart ${{SLURM_RESTART_COUNT:-0}}\"\n",
      job.elements);
  text += kTrap;
  std::string const threads =
      job.threads > 0 ? std::to_string(job.threads) : "\"${SLURM_CPUS_ON_NODE:-1}\"";
  text += shard_command(job, job.program, "$SLURM_ARRAY_TASK_ID", threads) + " &\n";
  text += kWaiting;
  return text;
}

std::string slurm_merge_script(ClusterJob const& job) {
  check_slurm(job);
  std::string text =
      "#!/bin/bash\n# Written by fairlane sweep submit: for when the array has ended.\n";
  text += sbatch_line("--job-name=fairlane-merge");
  text += sbatch_line("--ntasks=1");
  text += sbatch_line("--chdir=" + job.folder);
  text += sbatch_line("--output=" + log_path(job, "merge.log"));
  for (std::string const& option : job.slurm_options) {
    if (!is_for_elements(option)) text += sbatch_line(option);
  }
  text += fmt::format("\nexec {} sweep merge {} --out {}\n", shell_word(job.program),
                      shell_word(job.plan), shell_word(job.out));
  return text;
}

std::string kubernetes_manifest(ClusterJob const& job, std::string const& image) {
  std::int64_t const threads = std::max<std::int64_t>(job.threads, 1);
  std::string const command =
      "exec " +
      shard_command(job, "fairlane", "$((JOB_COMPLETION_INDEX + 1))", std::to_string(threads));
  std::string const folder = common_folder(fs::path(job.plan).parent_path(), job.out);
  std::string const gpu = job.gpus ? "\n              nvidia.com/gpu: 1" : "";
  return fmt::format(
      R"(# Written by fairlane sweep submit, for Kubernetes 1.29 or later: a pod works on the cells of
# one shard. EDIT marks what differs from cluster to cluster. When the job has ended, wherever the
# volume is mounted: fairlane sweep merge with the same plan and --out.
apiVersion: batch/v1
kind: Job
metadata:
  name: fairlane-sweep  # EDIT where two sweeps run at once
spec:
  completionMode: Indexed
  completions: {elements}
  parallelism: {elements}  # EDIT: how many pods at once
  backoffLimitPerIndex: {retries}
  podReplacementPolicy: Failed  # a pod takes over a shard when the one before it has ended
  podFailurePolicy:
    rules:
      # Stopped with the state saved: another pod goes on, however often.
      - action: Ignore
        onExitCodes:
          containerName: fairlane
          operator: In
          values: [75]
      # A node that is drained or lost, a pod that makes room for another: likewise.
      - action: Ignore
        onPodConditions: [{{type: DisruptionTarget, status: "True"}}]
      # Some cells failed, or something is wrong with what was asked for: once more changes nothing.
      - action: FailIndex
        onExitCodes:
          containerName: fairlane
          operator: In
          values: [3, 64, 65, 66, 69, 73, 76, 78]
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: {grace}  # to save the state in
      containers:
        - name: fairlane
          image: {image}
          command: ["/bin/sh", "-c"]
          args:
            - {command}
          resources:
            requests:
              cpu: {threads}
              memory: 2Gi  # EDIT
            limits:
              memory: 2Gi  # EDIT{gpu}
          volumeMounts:
            - name: data
              mountPath: {folder}  # holds the plan, all that it names, and the output directory
      volumes:
        - name: data
          persistentVolumeClaim:
            claimName: fairlane-data  # EDIT: a volume that many nodes may write (ReadWriteMany)
)",
      fmt::arg("elements", job.elements), fmt::arg("retries", kPodRetries),
      fmt::arg("grace", kStopSeconds), fmt::arg("image", yaml_text(image)),
      fmt::arg("command", yaml_text(unexpanded(command))), fmt::arg("threads", threads),
      fmt::arg("gpu", gpu), fmt::arg("folder", yaml_text(folder)));
}

}  // namespace fairlane
