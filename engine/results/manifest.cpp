#include "engine/results/manifest.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/config/config_json.h"
#include "engine/record/findings.h"
#include "engine/record/output_dir.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestManifest = std::size_t{1} << 26;
constexpr std::array kReasons = {"seeds", "iterations", "evaluations", "instances", "seconds"};
constexpr std::int64_t kMostFinders = std::int64_t{1} << 32;  // seeds, and so origins
constexpr std::int64_t kMostSteps = std::int64_t{1} << Finder::kIterationBits;

// The selection with all the values that it compares.
RunConfig resolved(RunConfig config, TestSubject const& subject) {
  config.protected_attributes.clear();
  for (std::size_t i = 0; i < subject.selected().size(); ++i) {
    auto const attribute = static_cast<std::size_t>(subject.selected()[i]);
    config.protected_attributes.push_back(
        {subject.domain().attributes[attribute].name, subject.values()[i]});
  }
  return config;
}

Cut cut_of(Json const& json) {
  Cut cut;
  cut.finder = json.at("finder").get<std::uint64_t>();
  cut.global_seeds = json.at("global_seeds").get<std::int64_t>();
  cut.local_seeds = json.at("local_seeds").get<std::int64_t>();
  auto const reason = json.at("reason").get<std::string>();
  for (char const* known : kReasons) {
    if (reason == known) cut.reason = known;
  }
  if (!json.contains("unfinished")) return cut;
  std::int64_t begin = 0;
  for (auto const& entry : json.at("unfinished")) {
    auto const numbers = entry.get<std::vector<std::int64_t>>();
    if (numbers.size() != 3)
      throw std::out_of_range(fmt::format("cut.unfinished: {}", entry.dump()));
    StepLimit const limit{numbers[0], numbers[1], numbers[2]};
    if (limit.first < begin || limit.count < 1 || limit.count > kMostFinders ||
        limit.first > kMostFinders || limit.steps < 0 || limit.steps > kMostSteps) {
      throw std::out_of_range(fmt::format("cut.unfinished: {}", entry.dump()));
    }
    begin = limit.first + limit.count;
    cut.unfinished.push_back(limit);
  }
  return cut;
}

}  // namespace

std::string manifest_json(RunConfig const& config, TestSubject const& subject, Cut const& cut,
                          std::vector<std::pair<std::string, std::string>> const& sections) {
  Json json;
  json["fairlane"] = FAIRLANE_VERSION;
  json["config"] = recorded_config(resolved(config, subject));
  Json inputs;
  auto const add = [&](char const* name, std::string const& path) {
    inputs[name] = path.empty() ? Json(nullptr) : Json({{"sha256", sha256_file(path)}});
  };
  add("model", model_file(config.model));
  add("data", config.data);
  add("domain", config.domain);
  add("seeds", config.global.seeds);
  json["inputs"] = std::move(inputs);
  find_key("arithmetic")->value->record(config, "arithmetic", json);
  if (subject.model().scorer()) json["scores"] = name_of(subject.model().scores());
  // The other budgets end at the same place whenever the run is repeated.
  if (std::strcmp(cut.reason, "seconds") == 0) {
    json["cut"] = {{"reason", cut.reason},
                   {"finder", cut.finder},
                   {"global_seeds", cut.global_seeds},
                   {"local_seeds", cut.local_seeds}};
    auto unfinished = Json::array();
    for (StepLimit const& limit : cut.unfinished)
      unfinished.push_back({limit.first, limit.count, limit.steps});
    if (!unfinished.empty()) json["cut"]["unfinished"] = std::move(unfinished);
  }
  for (auto const& [name, text] : sections) json[name] = Json::parse(text);
  return json.dump(2) + "\n";
}

bool lists_instances(Json const& manifest) {
  Json const* const output = manifest.at("config").find("output");
  // The key `columns` is as old as the list.
  if (output == nullptr || !output->contains("columns") || output->at("format") == "none")
    return false;
  std::string const command = recorded_command(manifest);
  if (command != "enumerate") return command == "run";
  Json const* const wanted = manifest.at("enumerate").find("instances");
  return wanted != nullptr && *wanted != 0;
}

RecordedRun read_manifest(std::string const& dir) {
  std::string const path = dir + "/manifest.json";
  std::string const text = read_file(path, kLongestManifest);
  try {
    auto const json = Json::parse(text);
    RecordedRun run;
    run.command = recorded_command(json);
    run.config = restored_config(json.at("config"), dir);
    run.lists_instances = lists_instances(json);
    find_key("arithmetic")->value->restore(json, "arithmetic", run.config);
    auto const& inputs = json.at("inputs");
    auto const digest = [&](char const* name) {
      auto const& input = inputs.at(name);
      return input.is_null() ? std::string() : input.at("sha256").get<std::string>();
    };
    run.model_sha256 = digest("model");
    run.data_sha256 = digest("data");
    run.domain_sha256 = digest("domain");
    run.seeds_sha256 = digest("seeds");
    if (json.contains("cut")) run.cut = cut_of(json.at("cut"));
    return run;
  } catch (std::exception const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is not a manifest of this program: {}",
                                             escaped(path, 4096), escaped(e.what())));
  }
}

}  // namespace fairlane
