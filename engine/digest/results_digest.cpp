#include "engine/digest/results_digest.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/config/config_json.h"
#include "engine/digest/cells.h"
#include "engine/digest/findings.h"
#include "engine/digest/told_domain.h"
#include "engine/record/output_dir.h"
#include "engine/results/instance_files.h"
#include "engine/results/manifest.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace digest {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestJson = std::size_t{1} << 30;

/// The file that has a command's figures.
struct CommandFile {
  char const* command;
  char const* file;
};
constexpr CommandFile kCommandFiles[] = {
    {"run", "summary.json"},     {"enumerate", "summary.json"}, {"estimate", "estimate.json"},
    {"compare", "compare.json"}, {"verify", "summary.json"},    {"retrain", "summary.json"},
    {"audit", "audit.json"}};

std::string named(std::string const& path) { return escaped(path, path.size()); }

bool is_there(std::string const& path) {
  std::error_code ec;
  return fs::exists(path, ec) || ec;  // whoever opens it says what is wrong
}

Json read_object(std::string const& path) {
  try {
    Json json = Json::parse(read_file(path, kLongestJson));
    json.items();  // refuses what is no object
    return json;
  } catch (JsonError const& e) {
    throw no_result(path, e);
  }
}

/// The domain of the results, with its bounds; none where nothing tells it. why: what is amiss
std::optional<Domain> domain_of(ResultsPlace const& place, Json const& manifest,
                                RunConfig const& config, std::string& why) {
  std::optional<Domain> const told = told_domain(place.files);
  std::string const& path = config.domain;
  std::string const shown = escaped(fs::path(path).filename().string());
  try {
    Json const& recorded = manifest.at("inputs").at("domain");
    if (recorded.is_null()) return told;
    if (sha256_file(path) == recorded.at("sha256").get<std::string>()) {
      Domain domain = read_domain_yaml(path);
      if (told) take_bounds(domain, *told);
      return domain;
    }
    why = fmt::format("the domain file {} has changed since", shown);
  } catch (Error const&) {
    why = fmt::format("the domain file {} cannot be read any more", shown);
  }
  return told;
}

Json decision_of(Domain const& domain) {
  Json classes = Json::array();
  for (LabelName const& one : domain.labels)
    classes.push_back({{"class", one.label}, {"word", one.text}});
  return {{"label", domain.label}, {"favourable", nullptr}, {"classes", classes}};
}

/// Of each protected attribute the words of its codes, where it has any.
Json words_of_protected(RunConfig const& config, Domain const& domain) {
  constexpr std::int64_t kMostWords = 1000;
  Json all = Json::array();
  for (ProtectedAttribute const& one : config.protected_attributes) {
    int const at = domain.find(one.name);
    if (at < 0) continue;
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(at)];
    if (!attribute.low || !attribute.high || attribute.code_count() > kMostWords) continue;
    Json words = Json::object();
    for (std::int64_t i = 0; i < attribute.code_count(); ++i) {
      std::int32_t const code = attribute.code_at(i);
      words.add_member(std::to_string(code), attribute.word(code));
    }
    all.push_back({{"attribute", one.name}, {"words", std::move(words)}});
  }
  return all;
}

void add_sweep(Json& digest, ResultsPlace const& place) {
  if (!is_there(place.files + "/sweep.json")) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: is of a sweep that has made no tables yet; `fairlane sweep merge "
                            "PLAN` makes them",
                            named(place.dir)));
  }
  digest["command"] = "sweep";
  digest["finished"] = true;
  digest["manifest"] = read_object(place.files + "/plan.json");
  Json& summary = digest["summary"];
  summary = read_object(place.files + "/sweep.json");
  summary.erase("timing");
  summary.at("cells").begin();  // refuses what is no sweep
}

/// What the rows of a directory say, beside its figures.
void add_rows(Json& digest, ResultsPlace const& place, RunConfig const& config) {
  std::string why;
  std::optional<Domain> const domain = domain_of(place, digest.at("manifest"), config, why);
  digest["words"] = why;
  if (!domain) return;
  digest["decision"] = decision_of(*domain);
  Json names = Json::array();
  for (Attribute const& attribute : domain->attributes) names.push_back(attribute.name);
  digest["attributes"] = std::move(names);
  digest["value_words"] = words_of_protected(config, *domain);
  std::string const& command = digest.at("command").get<std::string>();
  if (command == "run" || command == "enumerate") {
    if (lists_instances(digest.at("manifest"))) require_instance_index(place.files);
    if (is_there(place.files + "/" + kInstanceIndex))
      digest["findings"] = digest_findings(place, config, *domain);
    if (is_there(place.files + "/values.csv"))
      digest["values"] = digest_values(place.files + "/values.csv", *domain);
    if (is_there(place.files + "/global.csv"))
      digest["seeds"] = digest_trace(place.files + "/global.csv");
  }
  if (command == "verify") digest["cells"] = digest_cells(place, *domain);
}

}  // namespace
}  // namespace digest

Json results_digest(ResultsPlace const& place, std::string const& name) {
  using namespace digest;
  Json digest = {{"name", name}};
  digest["decision"] = {{"label", ""}, {"favourable", nullptr}, {"classes", Json::array()}};
  digest["words"] = "";
  digest["attributes"] = Json::array();
  if (is_there(place.files + "/plan.json") && is_there(place.files + "/journal")) {
    add_sweep(digest, place);
    return digest;
  }
  std::string const path = place.files + "/manifest.json";
  if (!is_there(path)) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: has no manifest.json, expected the output directory of a command",
                            named(place.dir)));
  }
  digest["manifest"] = read_object(path);
  Json const& manifest = digest.at("manifest");
  std::string const command = recorded_command(manifest);
  digest["command"] = command;
  digest["finished"] = place.files != place.dir || is_there(place.files + "/DONE");
  for (CommandFile const& one : kCommandFiles) {
    if (command != one.command) continue;
    std::string const file = place.files + "/" + one.file;
    digest["summary"] = read_object(file);
    if (command == "audit") return digest;
    digest["summary"].erase("timing");  // so that equal results have equal pages
    try {
      add_rows(digest, place, restored_config(digest.at("manifest").at("config"), place.dir));
    } catch (Error const&) {
      throw;
    } catch (std::exception const& e) {
      throw Error(ExitCode::kData, fmt::format("{}: is not a manifest of this program: {}",
                                               named(path), escaped(e.what())));
    }
    return digest;
  }
  throw Error(ExitCode::kData, fmt::format("{}: is of `fairlane {}`, of which there is no report",
                                           named(place.dir), command));
}

Error no_result(std::string const& where, JsonError const& why) {
  return Error(ExitCode::kData, fmt::format("{}: is no result of this program: {}",
                                            escaped(where, where.size()), escaped(why.what())));
}

}  // namespace fairlane
