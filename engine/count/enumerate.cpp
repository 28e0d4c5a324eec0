#include "engine/count/enumerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/count/enumeration_report.h"
#include "engine/count/walk_search.h"
#include "engine/record/findings.h"
#include "engine/record/output_dir.h"
#include "engine/results/instances.h"
#include "engine/results/instances_reader.h"
#include "engine/results/manifest.h"
#include "engine/results/results_page.h"
#include "engine/results/table_models.h"

namespace fairlane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char const* kCounts = "counts.json";
constexpr std::size_t kLongestCounts = std::size_t{1} << 30;

/// What of the manifest is enumerate's own.
std::string options_of_shard(EnumerateOptions const& options, Shard const& shard) {
  Json json = recorded_region(options.region);
  json["shard"] = {shard.index, shard.count};
  json["instances"] = options.instances.all ? Json("all") : Json(options.instances.sample);
  return json.dump();
}

/// One enumeration on its way.
class Enumeration {
 public:
  Enumeration(RunConfig const& config, EnumerateOptions const& options)
      : config_(config),
        options_(options),
        subject_(unlimited(config, "enumerate"), options.execution.model),
        out_(make_output()),
        lists_(region_lists(subject_, options.region)),
        execution_(weighed(options.execution, subject_, workload())),
        backend_(make_backend(subject_, execution_, config.seed, {}, options.notice)),
        walker_(backend_->make_walker(lists_)),
        counts_(walker_->plan()),
        findings_(*backend_, walker_->plan(), options.instances, config.seed, keeping()) {
    if (out_ != nullptr && findings_.wanted())
      models_ = table_models(config, subject_, thread_count(options.execution), options.stop);
  }

  std::string run();

 private:
  std::string manifest(Shard const& shard) const {
    return manifest_json(config_, subject_, Cut{},
                         {{"enumerate", options_of_shard(options_, shard)}});
  }
  /// What the first rank has found goes to disk where it must, and what others find to it.
  WalkFindings::Keeping keeping() const {
    if (!is_first()) return {};
    return {out_->partial("spill"), memory_limit(options_.execution) / kRecordShares,
            thread_count(options_.execution)};
  }
  bool is_first() const { return options_.ranks == nullptr || options_.ranks->is_first(); }
  /// Of the first rank, once all know that they count the same.
  std::unique_ptr<OutputDir> make_output() const {
    std::string const text = manifest(options_.shard);
    if (options_.ranks != nullptr) require_same(*options_.ranks, text, "inputs");
    if (!is_first()) return nullptr;
    return std::make_unique<OutputDir>(config_.output.dir, text, options_.overwrite);
  }
  void tell(std::string const& line) const {
    if (options_.notice) options_.notice(line);
  }
  /// Of this shard; boxes that are skipped make it less.
  Workload workload() const;
  /// Groups before part i of the shards.
  std::int64_t boundary(std::int64_t i) const {
    std::int64_t const unit = walker_->plan().unit();
    std::int64_t const units = walker_->plan().groups() / unit;
    std::int64_t const count = options_.shard.count;
    return (units / count * i + std::min(i, units % count)) * unit;
  }
  void merge();
  void add_shard(std::string const& dir, std::vector<bool>& present);
  void add_instances(std::string const& dir);
  void write_findings(EnumerationReport& report);
  void write_counts();

  RunConfig const& config_;
  EnumerateOptions const& options_;
  TestSubject const subject_;
  std::unique_ptr<OutputDir> out_;  // null on other ranks than the first
  std::vector<ValueList> lists_;    // of what is walked
  Execution execution_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Walker> walker_;
  GroupCounts counts_;
  WalkFindings findings_;
  TableModels models_;  // of the table as the manifest has it
};

Workload Enumeration::workload() const {
  constexpr double kAtOnce = 1e6;  // of a device's walker, about
  if (!options_.merge.empty()) return {};
  double groups = 1.0 / static_cast<double>(options_.shard.count);
  for (auto const& list : lists_) groups *= static_cast<double>(list.size());
  return walk_workload(groups, subject_.variants(), kAtOnce);
}

std::string Enumeration::run() {
  Stopwatch const start;
  if (!is_first()) {
    help_walk(*walker_, subject_.view(), *backend_, thread_count(options_.execution), options_,
              findings_);
    return {};
  }
  if (options_.merge.empty()) {
    for (auto const& notice : subject_.notices()) tell(notice);
    tell(backend_line(*backend_, execution_));
    walk_groups(
        *walker_, subject_.view(), *backend_, boundary(options_.shard.index - 1),
        boundary(options_.shard.index), thread_count(options_.execution), options_,
        {out_->state_path(), manifest(options_.shard), out_->path(), options_.execution.checkpoint},
        counts_, findings_);
  } else {
    merge();
  }
  EnumerationReport report{subject_, walker_->plan(), counts_, options_.shard.count == 1};
  report.walk_seconds = start.seconds();
  Stopwatch const write_start;
  findings_.finish();
  if (findings_.wanted()) write_findings(report);
  if (options_.shard.count > 1) write_counts();
  out_->write("values.csv", values_csv(report));
  if (walker_->plan().get().counts_pairs) out_->write("pairs.csv", pairs_csv(report));
  report.write_seconds = write_start.seconds();
  report.total_seconds = start.seconds();
  std::string summary = enumeration_summary_json(report);
  out_->write("summary.json", summary);
  write_results_page(config_, options_.execution, *out_);
  out_->finish();
  return summary;
}

void Enumeration::write_findings(EnumerationReport& report) {
  auto const& subject = backend_->subject();
  Findings found(subject, {out_->partial("spill"), memory_limit(options_.execution) / kRecordShares,
                           thread_count(options_.execution)});
  auto const words = static_cast<std::size_t>(subject.keys().words);
  std::vector<std::uint64_t> group;
  std::vector<std::uint32_t> variant;
  std::vector<std::int32_t> row(static_cast<std::size_t>(subject.get().columns));
  findings_.for_each([&](std::span<WalkInstance const> instances) {
    std::size_t const n = instances.size();
    group.resize(n * words);
    variant.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      WalkInstance const& instance = instances[i];
      if (i > 0 && instance.group == instances[i - 1].group) {
        std::copy_n(&group[(i - 1) * words], words, &group[i * words]);
      } else {
        walker_->plan().row(instance.group, row.data());
        subject.group_key(row.data(), &group[i * words]);
      }
      variant[i] = static_cast<std::uint32_t>(instance.variant);
    }
    std::vector<std::uint64_t> const finder(n, kFoundByWalk);
    std::vector<std::uint8_t> const state(n, kVisitHit);
    found.add_distinct(
        {n, static_cast<int>(words), group.data(), variant.data(), finder.data(), state.data()},
        std::numeric_limits<std::uint64_t>::max());
  });
  found.finish(std::numeric_limits<std::uint64_t>::max());
  report.found = found.counts();
  report.signature = write_instances(config_, subject_, found, *backend_, models_, *out_).signature;
}

void Enumeration::write_counts() {
  Json json;
  json["groups"] = counts_.groups;
  json["counters"] = counts_.counters;
  json["lists"] = counts_.list_groups;
  out_->write(kCounts, json.dump() + "\n");
}

void Enumeration::merge() {
  auto const count = static_cast<std::int64_t>(options_.merge.size());
  std::vector<bool> present(static_cast<std::size_t>(count), false);
  for (auto const& dir : options_.merge) add_shard(dir, present);
}

void Enumeration::add_shard(std::string const& dir, std::vector<bool>& present) {
  auto const count = static_cast<std::int64_t>(present.size());
  // Relative paths in a manifest depend on where it lies, so the expected text is made for that
  // place.
  RunConfig shard_config = config_;
  shard_config.output.dir = dir;
  std::string const text = read_file(dir + "/manifest.json", kLongestCounts);
  std::int64_t index = 0;
  for (std::int64_t i = 1; i <= count && index == 0; ++i) {
    if (text == manifest_json(shard_config, subject_, Cut{},
                              {{"enumerate", options_of_shard(options_, {i, count})}}))
      index = i;
  }
  if (index == 0) {
    try {
      Json::parse(text).items();
    } catch (JsonError const& e) {
      throw Error(ExitCode::kData,
                  fmt::format("{}/manifest.json: is not a manifest of this program: {}",
                              escaped(dir), escaped(e.what())));
    }
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}/manifest.json: is not that of a shard K/{} of this "
                            "enumeration; "
                            "merge all shards of one --shard k/N, with the same configuration and "
                            "flags",
                            escaped(dir), count));
  }
  if (present[static_cast<std::size_t>(index - 1)]) {
    throw Error(ExitCode::kUsage,
                fmt::format("--merge: {} holds shard {}/{}, which another directory holds too",
                            escaped(dir), index, count));
  }
  present[static_cast<std::size_t>(index - 1)] = true;
  std::string const path = dir + "/" + kCounts;
  std::string const counts_text = read_file(path, kLongestCounts);
  GroupCounts part(walker_->plan());
  try {
    auto const json = Json::parse(counts_text);
    part.groups = json.at("groups").get<std::int64_t>();
    auto counters = json.at("counters").get<std::vector<std::uint64_t>>();
    auto lists = json.at("lists").get<std::vector<std::vector<std::uint64_t>>>();
    bool same = counters.size() == part.counters.size() && lists.size() == part.list_groups.size();
    for (std::size_t l = 0; same && l < lists.size(); ++l)
      same = lists[l].size() == part.list_groups[l].size();
    if (!same)
      throw Error(ExitCode::kIntegrity, "its arrays have other sizes than this enumeration's");
    part.counters = std::move(counters);
    part.list_groups = std::move(lists);
  } catch (std::exception const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: holds no counts of this enumeration: {}",
                                             escaped(path), escaped(e.what())));
  }
  counts_.add(part);
  if (findings_.wanted()) add_instances(dir);
}

void Enumeration::add_instances(std::string const& dir) {
  auto const& packed = backend_->subject();
  InstanceFile file(dir, config_.output.format, InstanceColumns(subject_, config_.output));
  InstanceBlock block;
  while (file.next(block)) {
    file.parse(
        block,
        [&](std::int64_t, InstanceRecord const& record) {
          std::int64_t const group = walker_->plan().group_of(record.row);
          int const variant = packed.variant_of(record.row);
          if (group < 0 || variant < 0) {
            throw Error(ExitCode::kIntegrity,
                        fmt::format("{}: an instance lies outside what is counted", escaped(dir)));
          }
          findings_.add_written(group, variant);
        },
        [&](std::int64_t number, char const* what) {
          throw Error(ExitCode::kIntegrity, fmt::format("{}: {}", file.place(number), what));
        });
  }
  file.require_listed_rows();
}

}  // namespace

std::string enumerate(RunConfig const& config, EnumerateOptions const& options) {
  if (options.instances.any()) require_format(config);
  return Enumeration(config, options).run();
}

}  // namespace fairlane
