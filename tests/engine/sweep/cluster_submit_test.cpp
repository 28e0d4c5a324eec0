#include "engine/sweep/cluster_submit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

/// Has a stand-in for sbatch before the others on PATH.
class ClusterSubmit : public testing::Test {
 protected:
  ClusterSubmit() : path_(std::getenv("PATH")) {
    fs::create_directories(folder_.file("bin"));
    setenv("PATH", (folder_.file("bin") + ":" + path_).c_str(), 1);
    job_.program = "/opt/fairlane";
    job_.plan = folder_.file("plan.yaml");
    job_.out = folder_.file("an out");
    job_.folder = folder_.file("");
  }
  ~ClusterSubmit() override { setenv("PATH", path_.c_str(), 1); }

  /// answer: what sbatch does with a script, in shell
  void answer(std::string const& answer) const {
    std::string const text = "#!/bin/bash\necho \"$* ${OMP_NUM_THREADS-none}\" >>" +
                             folder_.file("asked") +
                             "\nif [ \"$1\" = --version ]; then echo slurm 22.05.8; exit; fi\n";
    fs::permissions(folder_.write("bin/sbatch", text + answer), fs::perms::owner_all);
  }

  void expect_unavailable(std::string const& message) const {
    try {
      submit_slurm(write_slurm_scripts(job_));
      FAIL() << "no error with " << message;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kUnavailable);
      EXPECT_EQ(std::string(error.what()), message);
    }
  }

  TemporaryFolder folder_;
  std::string path_;
  ClusterJob job_;
};

TEST_F(ClusterSubmit, WritesAndSubmits) {
  unsetenv("OMP_NUM_THREADS");
  answer("case \"$*\" in *merge.sh) echo '13;cluster';; *) echo 12;; esac");
  SlurmScripts const scripts = write_slurm_scripts(job_);
  EXPECT_EQ(slurp(scripts.array), slurm_array_script(job_));
  EXPECT_EQ(slurp(scripts.merge), slurm_merge_script(job_));
  SlurmJobs const jobs = submit_slurm(scripts);
  EXPECT_EQ(jobs.array, "12");
  EXPECT_EQ(jobs.merge, "13");
  std::string const place = job_.out + "/slurm/";
  EXPECT_EQ(slurp(folder_.file("asked")),
            "--version 1\n--parsable " + place +
                "array.sh none\n--parsable --dependency=afterany:12 " + place + "merge.sh none\n");
}

TEST_F(ClusterSubmit, SaysWhyItWasNotSubmitted) {
  answer("echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
  expect_unavailable(
      "sbatch: exited with status 1; its stderr ends with 'sbatch: error: invalid partition "
      "specified: gpu'");
  answer("echo Hello");
  expect_unavailable("sbatch: answered 'Hello\\n', expected the number of a job");
  answer("case \"$*\" in *merge.sh) exit 1;; *) echo 12;; esac");
  expect_unavailable(
      "sbatch: exited with status 1; its stderr is empty; the array is submitted as job 12, its "
      "merge is not");
  setenv("PATH", folder_.file("none").c_str(), 1);
  expect_unavailable(
      "sbatch: cannot start 'sbatch': No such file or directory; is it installed, and on PATH?; "
      "--dry-run writes the scripts alone");
}

TEST_F(ClusterSubmit, WritesAManifest) {
  std::string const path = write_kubernetes_manifest(job_, "fairlane:1.0");
  EXPECT_EQ(path, job_.out + "/kubernetes/job.yaml");
  EXPECT_EQ(slurp(path), kubernetes_manifest(job_, "fairlane:1.0"));
}

TEST_F(ClusterSubmit, NeedsItsFolder) {
  job_.out = folder_.write("file", "");
  try {
    write_slurm_scripts(job_);
    FAIL() << "a file was taken for a folder";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kOutput);
  }
}

}  // namespace
}  // namespace fairlane
