#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/report.h"
#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestManifest = std::size_t{1} << 26;
constexpr std::array kReasons = {"seeds", "iterations", "instances", "seconds"};
constexpr char const* kNever = "inf";

fs::path absolute_of(std::string const& path) { return fs::weakly_canonical(fs::absolute(path)); }

// A path as seen from the output directory, so that both can be moved together; null when there is
// none.
Json relative_path(std::string const& path, std::string const& dir) {
  if (path.empty()) return nullptr;
  auto const relative = absolute_of(path).lexically_relative(absolute_of(dir.empty() ? "." : dir));
  return (relative.empty() ? absolute_of(path) : relative).generic_string();
}

std::string resolved_path(nlohmann::json const& path, std::string const& dir) {
  if (path.is_null()) return {};
  return (fs::path(dir) / path.get<std::string>()).lexically_normal().string();
}

template <class T>
Json or_null(std::optional<T> const& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::optional<T> optional_of(nlohmann::json const& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<T>();
}

char const* name_of(OutOfDomain policy) {
  switch (policy) {
    case OutOfDomain::kError:
      return "error";
    case OutOfDomain::kDrop:
      return "drop";
    case OutOfDomain::kClip:
      return "clip";
  }
  return "";
}

char const* name_of(OutputFormat format) {
  switch (format) {
    case OutputFormat::kCsv:
      return "csv";
    case OutputFormat::kNpy:
      return "npy";
    case OutputFormat::kNone:
      return "none";
  }
  return "";
}

// The value whose name it is. Throws std::out_of_range.
template <class T>
T value_named(std::initializer_list<T> values, std::string const& name) {
  for (T const value : values) {
    if (name == name_of(value)) return value;
  }
  throw std::out_of_range(fmt::format("unknown value {}", in_quotes(name)));
}

Json config_json(RunConfig const& config, TestSubject const& subject) {
  std::string const& dir = config.output.dir;
  Json selection = Json::array();
  for (std::size_t i = 0; i < subject.selected().size(); ++i) {
    auto const attribute = static_cast<std::size_t>(subject.selected()[i]);
    selection.push_back(
        {{"name", subject.domain().attributes[attribute].name}, {"values", subject.values()[i]}});
  }
  Json json;
  json["model"] =
      is_command(config.model) ? Json(config.model) : relative_path(config.model, dir);
  json["data"] = relative_path(config.data, dir);
  json["domain"] = relative_path(config.domain, dir);
  json["protected"] = std::move(selection);
  json["out_of_domain"] = name_of(config.out_of_domain);
  json["threshold"] = config.threshold;
  json["method"] = config.method;
  json["seed"] = config.seed;
  auto const& global = config.global;
  json["global"] = {{"num", global.num},
                    {"clusters", global.clusters},
                    {"max_iter", global.max_iter},
                    {"step", global.step},
                    {"decay", global.decay},
                    {"seeding", global.seeding.empty() ? Json(nullptr) : Json(global.seeding)},
                    {"seeds", relative_path(global.seeds, dir)}};
  auto const& local = config.local;
  json["local"] = {
      {"num", local.num},
      {"step", local.step},
      {"update_interval",
       local.update_interval == kNeverUpdate ? Json(kNever) : Json(local.update_interval)},
      {"epsilon", local.epsilon}};
  json["gradient"] = {{"perturbation_size", config.perturbation_size}};
  auto const& budget = config.budget;
  json["budget"] = {{"seeds", or_null(budget.seeds)},
                    {"iterations", or_null(budget.iterations)},
                    {"instances", or_null(budget.instances)},
                    {"seconds", or_null(budget.seconds)}};
  json["output"] = {
      {"dir", "."}, {"format", name_of(config.output.format)}, {"trace", config.output.trace}};
  return json;
}

RunConfig config_of(nlohmann::json const& json, std::string const& dir) {
  RunConfig config;
  config.source = dir + "/manifest.json";
  config.model = json.at("model").get<std::string>();
  if (!is_command(config.model)) config.model = resolved_path(json.at("model"), dir);
  config.data = resolved_path(json.at("data"), dir);
  config.domain = resolved_path(json.at("domain"), dir);
  for (auto const& entry : json.at("protected")) {
    config.protected_attributes.push_back(
        {entry.at("name").get<std::string>(), entry.at("values").get<std::vector<std::int32_t>>()});
  }
  config.out_of_domain = value_named({OutOfDomain::kError, OutOfDomain::kDrop, OutOfDomain::kClip},
                                     json.at("out_of_domain").get<std::string>());
  config.threshold = json.at("threshold").get<double>();
  config.method = json.at("method").get<std::string>();
  config.seed = json.at("seed").get<std::uint64_t>();
  auto const& global = json.at("global");
  config.global.num = global.at("num").get<std::int64_t>();
  config.global.clusters = global.at("clusters").get<int>();
  config.global.max_iter = global.at("max_iter").get<int>();
  config.global.step = global.at("step").get<double>();
  config.global.decay = global.at("decay").get<double>();
  config.global.seeding = optional_of<std::string>(global.at("seeding")).value_or("");
  config.global.seeds = resolved_path(global.at("seeds"), dir);
  auto const& local = json.at("local");
  config.local.num = local.at("num").get<std::int64_t>();
  config.local.step = local.at("step").get<double>();
  auto const& interval = local.at("update_interval");
  config.local.update_interval = interval == kNever ? kNeverUpdate : interval.get<std::uint32_t>();
  config.local.epsilon = local.at("epsilon").get<double>();
  config.perturbation_size = json.at("gradient").at("perturbation_size").get<double>();
  auto const& budget = json.at("budget");
  config.budget.seeds = optional_of<std::int64_t>(budget.at("seeds"));
  config.budget.iterations = optional_of<std::int64_t>(budget.at("iterations"));
  config.budget.instances = optional_of<std::int64_t>(budget.at("instances"));
  config.budget.seconds = optional_of<double>(budget.at("seconds"));
  auto const& output = json.at("output");
  config.output.dir = dir;
  config.output.format = value_named({OutputFormat::kCsv, OutputFormat::kNpy, OutputFormat::kNone},
                                     output.at("format").get<std::string>());
  config.output.trace = output.at("trace").get<bool>();
  return config;
}

Cut cut_of(nlohmann::json const& json) {
  Cut cut;
  cut.finder = json.at("finder").get<std::uint64_t>();
  cut.global_seeds = json.at("global_seeds").get<std::int64_t>();
  cut.local_seeds = json.at("local_seeds").get<std::int64_t>();
  auto const reason = json.at("reason").get<std::string>();
  for (char const* known : kReasons) {
    if (reason == known) cut.reason = known;
  }
  return cut;
}

}  // namespace

std::string manifest_json(RunConfig const& config, TestSubject const& subject, Cut const& cut,
                          std::vector<std::pair<std::string, std::string>> const& sections) {
  Json json;
  json["fairlane"] = FAIRLANE_VERSION;
  json["config"] = config_json(config, subject);
  Json inputs;
  auto const add = [&](char const* name, std::string const& path) {
    inputs[name] = path.empty() ? Json(nullptr) : Json({{"sha256", sha256_file(path)}});
  };
  add("model", is_command(config.model) ? std::string() : config.model);
  add("data", config.data);
  add("domain", config.domain);
  add("seeds", config.global.seeds);
  json["inputs"] = std::move(inputs);
  json["arithmetic"] = name_of(config.arithmetic);
  if (subject.model().scorer()) json["scores"] = name_of(subject.model().scores());
  // The other budgets end at the same place whenever the run is repeated.
  if (std::strcmp(cut.reason, "seconds") == 0) {
    json["cut"] = {{"reason", cut.reason},
                   {"finder", cut.finder},
                   {"global_seeds", cut.global_seeds},
                   {"local_seeds", cut.local_seeds}};
  }
  for (auto const& [name, text] : sections) json[name] = Json::parse(text);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RecordedRun read_manifest(std::string const& dir) {
  std::string const path = dir + "/manifest.json";
  std::string const text = read_file(path, kLongestManifest);
  try {
    auto const json = nlohmann::json::parse(text);
    RecordedRun run;
    run.config = config_of(json.at("config"), dir);
    run.config.arithmetic = value_named({Arithmetic::kExact, Arithmetic::kFast},
                                        json.at("arithmetic").get<std::string>());
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
    throw Error(ExitCode::kIntegrity, fmt::format("{}: is not a manifest of this program: {}",
                                                  escaped(path, 4096), escaped(e.what())));
  }
}

}  // namespace fairlane
