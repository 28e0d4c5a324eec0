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
constexpr std::array kReasons = {"seeds", "iterations", "evaluations", "instances", "seconds"};
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

char const* name_of(Surrogate surrogate) {
  return surrogate == Surrogate::kCached ? "cached" : "per-instance";
}

char const* name_of(Neighbours neighbours) {
  return neighbours == Neighbours::kLocal ? "local" : "marginal";
}

char const* name_of(ToggleSolver solver) {
  return solver == ToggleSolver::kLowest ? "lowest" : "sticky";
}

char const* name_of(QueueOrder order) {
  switch (order) {
    case QueueOrder::kLeaf:
      return "leaf";
    case QueueOrder::kConfidence:
      return "confidence";
    case QueueOrder::kProgram:
      return "program";
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
  if (is_command(config.model)) {
    json["model"] = config.model;
    json["model_folder"] =
        relative_path(config.model_folder.empty() ? std::string(".") : config.model_folder, dir);
  } else {
    json["model"] = relative_path(config.model, dir);
  }
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
  json["aequitas"] = {{"acceptance", name_of(config.aequitas.acceptance)},
                      {"lanes", config.aequitas.lanes}};
  auto const& sg = config.sg;
  json["sg"] = {{"t1", sg.t1},
                {"t2", or_null(sg.t2)},
                {"samples", sg.samples},
                {"frontier", sg.frontier},
                {"surrogate", name_of(sg.surrogate)},
                {"neighbours", name_of(sg.neighbours)},
                {"solver", name_of(sg.solver)},
                {"order", name_of(sg.order)}};
  auto const& budget = config.budget;
  json["budget"] = {{"seeds", or_null(budget.seeds)},
                    {"iterations", or_null(budget.iterations)},
                    {"evaluations", or_null(budget.evaluations)},
                    {"instances", or_null(budget.instances)},
                    {"seconds", or_null(budget.seconds)}};
  json["output"] = {{"dir", "."},
                    {"format", name_of(config.output.format)},
                    {"trace", config.output.trace},
                    {"path_coverage", config.output.path_coverage}};
  return json;
}

RunConfig config_of(nlohmann::json const& json, std::string const& dir) {
  RunConfig config;
  config.source = dir + "/manifest.json";
  config.model = json.at("model").get<std::string>();
  if (is_command(config.model)) {
    config.model_folder = resolved_path(json.at("model_folder"), dir);
  } else {
    config.model = resolved_path(json.at("model"), dir);
  }
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
  if (json.contains("aequitas")) {  // manifests of earlier versions have none
    auto const& aequitas = json.at("aequitas");
    config.aequitas.acceptance =
        value_named({Acceptance::kMetropolis, Acceptance::kAlways, Acceptance::kReset},
                    aequitas.at("acceptance").get<std::string>());
    config.aequitas.lanes = aequitas.at("lanes").get<std::int64_t>();
  }
  if (json.contains("sg")) {
    auto const& sg = json.at("sg");
    config.sg.t1 = sg.at("t1").get<double>();
    config.sg.t2 = optional_of<double>(sg.at("t2"));
    config.sg.samples = sg.at("samples").get<int>();
    config.sg.frontier = sg.at("frontier").get<int>();
    config.sg.surrogate = value_named({Surrogate::kPerInstance, Surrogate::kCached},
                                      sg.at("surrogate").get<std::string>());
    config.sg.neighbours = value_named({Neighbours::kMarginal, Neighbours::kLocal},
                                       sg.at("neighbours").get<std::string>());
    config.sg.solver = value_named({ToggleSolver::kSticky, ToggleSolver::kLowest},
                                   sg.at("solver").get<std::string>());
    config.sg.order =
        value_named({QueueOrder::kLeaf, QueueOrder::kConfidence, QueueOrder::kProgram},
                    sg.value("order", "program"));  // the only one of earlier versions
  }
  auto const& budget = json.at("budget");
  config.budget.seeds = optional_of<std::int64_t>(budget.at("seeds"));
  config.budget.iterations = optional_of<std::int64_t>(budget.at("iterations"));
  if (budget.contains("evaluations"))  // there since it is known
    config.budget.evaluations = optional_of<std::int64_t>(budget.at("evaluations"));
  config.budget.instances = optional_of<std::int64_t>(budget.at("instances"));
  config.budget.seconds = optional_of<double>(budget.at("seconds"));
  auto const& output = json.at("output");
  config.output.dir = dir;
  config.output.format = value_named({OutputFormat::kCsv, OutputFormat::kNpy, OutputFormat::kNone},
                                     output.at("format").get<std::string>());
  config.output.trace = output.at("trace").get<bool>();
  config.output.path_coverage = output.value("path_coverage", false);
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
  add("model", model_file(config.model));
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
