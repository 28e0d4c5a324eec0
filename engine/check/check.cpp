#include "engine/check/check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/threads/ordered_pipeline.h"
#include "base/threads/thread_pool.h"
#include "engine/check/instance_checker.h"
#include "engine/results/changed_inputs.h"
#include "engine/results/manifest.h"
#include "engine/results/row_decoder.h"
#include "engine/results/summary.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestSummary = std::size_t{1} << 24;

std::string shown(std::string const& path) { return escaped(path, 4096); }

void add(CheckResult& total, CheckResult const& part) {
  total.instances += part.instances;
  total.confirmed += part.confirmed;
  total.marginal += part.marginal;
  total.undefined += part.undefined;
  total.failed += part.failed;
  auto const append = [](std::vector<std::string>& to, std::vector<std::string> const& from) {
    for (auto const& text : from) {
      if (to.size() < CheckResult::kListed) to.push_back(text);
    }
  };
  append(total.failures, part.failures);
  append(total.marginals, part.marginals);
}

/// What the files say, to compare the summary with.
struct Facts {
  std::int64_t instances = 0;
  std::int64_t groups = 0;
  std::string signature;
};

void check_summary(std::string const& dir, RunConfig const& config, TestSubject const& subject,
                   Facts const& facts, bool has_files, CheckResult& result) {
  std::string const path = dir + "/summary.json";
  std::string const text = read_file(path, kLongestSummary);
  auto const contradict = [&](std::string const& what) {
    ++result.contradictions;
    result.fail(fmt::format("{}: {}", shown(path), what));
  };
  auto const compare = [&](char const* name, auto const& stated, auto const& expected) {
    if (stated != expected)
      contradict(fmt::format("{} is {}, expected {}", name, stated, expected));
  };
  try {
    auto const json = Json::parse(text);
    auto const& counts = json.at("counts");
    auto const count = [&](char const* name) { return counts.at(name).get<std::int64_t>(); };
    // An enumeration counts everything, and may write a sample of it.
    bool const enumerated = json.contains("written");
    auto const& written = enumerated ? json.at("written") : counts;
    auto const ratio = [](std::int64_t part, std::int64_t whole) {
      return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    std::int64_t const instances = count("unique_instances");
    compare("method", json.at("method").get<std::string>(),
            enumerated ? kEnumerateMethod : config.method);
    compare("variants", json.at("variants").get<std::int64_t>(), subject.variants());
    compare("success_rate", json.at("success_rate").get<double>(),
            ratio(instances, count("unique_generated")));
    auto const undefined = json.at("undefined").get<std::int64_t>();
    result.run_undefined = undefined;
    result.run_inputs = count("unique_generated");
    compare("evaluations_per_instance", json.at("evaluations_per_instance").get<double>(),
            ratio(count("model_evaluations"), instances));
    if (has_files) {
      compare("unique_instances", written.at("unique_instances").get<std::int64_t>(),
              facts.instances);
      compare("unique_groups", written.at("unique_groups").get<std::int64_t>(), facts.groups);
      compare("signature", json.at("signature").get<std::string>(), facts.signature);
    }
    // A seed's population may hold several first findings.
    bool const searched = enumerated || (count("global_found") <= count("global_seeds") &&
                                         count("global_unique") <= instances);
    bool const plausible = searched && count("unique_groups") <= instances && undefined >= 0 &&
                           instances <= count("unique_generated") - undefined;
    if (!plausible) contradict("the counts contradict each other");
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is not a summary of this program: {}",
                                             shown(path), escaped(e.what())));
  }
}

}  // namespace

void check_finished(std::string const& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: {}", shown(dir),
                            errno == ENOENT ? "no such directory" : std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: is a file, expected the output directory of a run", shown(dir)));
  }
  if (stat((dir + "/DONE").c_str(), &info) != 0) {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: has no DONE: it is not the output of a finished run", shown(dir)));
  }
}

CheckResult check_directory(std::string const& dir, ModelOptions const& options) {
  check_finished(dir);
  RecordedRun const recorded = read_manifest(dir);
  if (recorded.command == "verify") {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: was written by `fairlane verify`, expected a command that reports "
                            "pairs; see `fairlane verify --check DIR`",
                            shown(dir)));
  }
  RunConfig const& config = recorded.config;
  for (ChangedInput const& input : changed_inputs(recorded)) {
    throw Error(ExitCode::kIntegrity, input.text() + "; the file has changed since the run");
  }
  TestSubject const subject(config, options);
  InstanceFile file(dir, config.output.format, InstanceColumns(subject, config.output));
  InstanceChecker const checker(subject, file);

  CheckResult result;
  result.asked_again = subject.model().scorer() != nullptr;
  Sha256 hash;
  std::vector<GroupHash> groups;
  std::vector<std::int32_t> last;
  auto const sink = [&](InstanceBatch& batch) {
    if (!batch.first.empty()) {
      if (!last.empty() &&
          !checker.in_order(last.data(), batch.first.data(), batch.first_number, result)) {
        if (batch.result.confirmed > 0) --batch.result.confirmed;
      }
      last = batch.last;
    }
    add(result, batch.result);
    hash.update(batch.records.data(), batch.records.size());
    groups.insert(groups.end(), batch.groups.begin(), batch.groups.end());
  };
  OrderedPipeline<InstanceBatch> pipeline(
      machine_threads(), [&](InstanceBatch& batch) { checker.check(batch); }, sink);
  while (file.next(pipeline.slot().block)) pipeline.submit();
  pipeline.drain();
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  Facts const facts{result.instances, static_cast<std::int64_t>(groups.size()), hash.finish()};
  bool const has_files = config.output.format != OutputFormat::kNone;
  check_summary(dir, config, subject, facts, has_files, result);
  for (InstanceFileFacts const& listed : file.files()) {
    std::string const path = dir + "/" + listed.name;
    if (listed.sha256.empty() || sha256_file(path) == listed.sha256) continue;
    ++result.contradictions;
    result.fail(fmt::format("{}: is not the file that {} lists: its SHA-256 differs", shown(path),
                            kInstanceIndex));
  }
  if (!has_files) {
    result.unchecked = "output.format is none, so that there are no pairs to evaluate again";
  } else if (result.run_undefined > 0 && result.run_undefined == result.run_inputs) {
    result.unchecked = "the output of every input is undefined: it is not a finite number";
  } else if (result.run_undefined > 0 && result.instances == 0) {
    result.unchecked = fmt::format(
        "there are no pairs, and {} of {} inputs have an undefined output: whether they are "
        "treated "
        "alike is unknown",
        result.run_undefined, result.run_inputs);
  }
  return result;
}

}  // namespace fairlane
