#include "apps/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/method.h"
#include "models/text.h"

namespace fairlane {
namespace {

using Place = ConfigPlace;

constexpr std::int64_t kMaxGlobalSeeds = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMaxLocalSteps = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxClusters = 10'000;
constexpr std::int64_t kMaxIterations = 1'000'000;
constexpr std::int64_t kMaxSamples = 100'000;
constexpr std::int64_t kMaxFrontier = 65'536;
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();
// Steps and differences are float32 in the lanes.
constexpr double kLeastFloat = std::numeric_limits<float>::min();
constexpr double kMostFloat = std::numeric_limits<float>::max();

std::string text_of(Place const& at, YamlNode const& node, std::string const& what) {
  if (node.kind != YamlNode::Kind::kScalar || node.scalar.empty()) at.expected(node, what);
  return node.scalar;
}

std::string path_of(Place const& at, YamlNode const& node) {
  std::string const text = text_of(at, node, "a path");
  if (text.find('\0') != std::string::npos) at.expected(node, "a path without NUL characters");
  return (at.base / text).lexically_normal().string();
}

std::int64_t integer_of(Place const& at, YamlNode const& node, std::int64_t low,
                        std::int64_t high) {
  auto const value = node.integer();
  if (!value || *value < low || *value > high) {
    at.expected(node, high == kMaxCount ? fmt::format("an integer of at least {}", low)
                                        : fmt::format("an integer {}..{}", low, high));
  }
  return *value;
}

double number_of(Place const& at, YamlNode const& node, double low, double high,
                 std::string const& what) {
  auto const value = node.number();
  if (!value || *value < low || *value > high) at.expected(node, what);
  return *value;
}

std::string choice_of(Place const& at, YamlNode const& node,
                      std::vector<std::string> const& names) {
  std::string const name = text_of(at, node, one_of(names));
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    at.fail(node, fmt::format("{} is {}, expected {}{}", at.key, in_quotes(name), one_of(names),
                              did_you_mean(name, names)));
  }
  return name;
}

double step_of(Place const& at, YamlNode const& node) {
  std::string const expected = fmt::format("a whole number of codes 1..{}", kMaxCode);
  double const step = number_of(at, node, 0.0, static_cast<double>(kMaxCode), expected);
  if (step < 1.0 || step != std::floor(step)) {
    at.expected(node, expected + "; attributes hold integers, so there are no parts of a step");
  }
  return step;
}

double float_above_zero(Place const& at, YamlNode const& node) {
  return number_of(at, node, kLeastFloat, kMostFloat,
                   fmt::format("a number above 0 that float32 can hold ({:.3g}..{:.3g})",
                               kLeastFloat, kMostFloat));
}

template <class T, class Read>
std::optional<T> optional_of(YamlNode const& node, Read const& read) {
  if (node.kind == YamlNode::Kind::kNull) return std::nullopt;
  return read();
}

/// A path, or a command, which is left as it is and runs where a path would begin.
void read_model(Place const& at, YamlNode const& node, RunConfig& config) {
  std::string const text = text_of(at, node, "a path");
  config.model = is_command(text) ? text : path_of(at, node);
  config.model_folder = at.base.string();
}

void read_method(Place const& at, YamlNode const& node, RunConfig& config) {
  std::vector<std::string> names;
  for (MethodSpec const& method : methods()) names.emplace_back(method.name);
  config.method = choice_of(at, node, names);
}

void read_seed(Place const& at, YamlNode const& node, RunConfig& config) {
  std::string_view const digits = node.scalar;
  bool const plain = node.kind == YamlNode::Kind::kScalar && !node.quoted;
  std::uint64_t value = 0;
  auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (!plain || ec != std::errc() || end != digits.data() + digits.size()) {
    at.expected(node, fmt::format("an integer 0..{}", std::numeric_limits<std::uint64_t>::max()));
  }
  config.seed = value;
}

void read_threshold(Place const& at, YamlNode const& node, RunConfig& config) {
  std::string const expected = "a number between 0 and 1, both excluded";
  config.threshold = number_of(at, node, 0.0, 1.0, expected);
  if (config.threshold <= 0.0 || config.threshold >= 1.0) at.expected(node, expected);
}

void read_arithmetic(Place const& at, YamlNode const& node, RunConfig& config) {
  std::string const name = choice_of(at, node, {"exact", "fast"});
  config.arithmetic = name == "fast" ? Arithmetic::kFast : Arithmetic::kExact;
}

void read_out_of_domain(Place const& at, YamlNode const& node, RunConfig& config) {
  std::string const name = choice_of(at, node, {"error", "drop", "clip"});
  config.out_of_domain = name == "drop"   ? OutOfDomain::kDrop
                         : name == "clip" ? OutOfDomain::kClip
                                          : OutOfDomain::kError;
}

void read_format(Place const& at, YamlNode const& node, RunConfig& config) {
  if (node.kind == YamlNode::Kind::kScalar && node.scalar == "parquet") {
    at.fail(node,
            "output.format is 'parquet', but this build has no Arrow; expected csv, npy or none",
            ExitCode::kUnavailable);
  }
  std::string const name = choice_of(at, node, {"csv", "npy", "none"});
  config.output.format = name == "npy"    ? OutputFormat::kNpy
                         : name == "none" ? OutputFormat::kNone
                                          : OutputFormat::kCsv;
}

void read_acceptance(Place const& at, YamlNode const& node, RunConfig& config) {
  std::vector<std::string> names;
  constexpr std::array kAll = {Acceptance::kMetropolis, Acceptance::kAlways, Acceptance::kReset};
  for (Acceptance const acceptance : kAll) names.emplace_back(name_of(acceptance));
  auto const name = choice_of(at, node, names);
  config.aequitas.acceptance =
      kAll[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
}

template <bool OutputConfig::*kMember>
void read_output_switch(Place const& at, YamlNode const& node, RunConfig& config) {
  auto const value = node.boolean();
  if (!value) at.expected(node, "true or false");
  config.output.*kMember = *value;
}

double share_of(Place const& at, YamlNode const& node) {
  return number_of(at, node, 0.0, 1.0, "a number 0..1");
}

void read_sg_t2(Place const& at, YamlNode const& node, RunConfig& config) {
  config.sg.t2 = optional_of<double>(node, [&] { return share_of(at, node); });
}

void read_sg_surrogate(Place const& at, YamlNode const& node, RunConfig& config) {
  bool const cached = choice_of(at, node, {"per-instance", "cached"}) == "cached";
  config.sg.surrogate = cached ? Surrogate::kCached : Surrogate::kPerInstance;
}

void read_sg_neighbours(Place const& at, YamlNode const& node, RunConfig& config) {
  bool const local = choice_of(at, node, {"marginal", "local"}) == "local";
  config.sg.neighbours = local ? Neighbours::kLocal : Neighbours::kMarginal;
}

void read_sg_solver(Place const& at, YamlNode const& node, RunConfig& config) {
  bool const lowest = choice_of(at, node, {"sticky", "lowest"}) == "lowest";
  config.sg.solver = lowest ? ToggleSolver::kLowest : ToggleSolver::kSticky;
}

void read_sg_order(Place const& at, YamlNode const& node, RunConfig& config) {
  std::string const order = choice_of(at, node, {"leaf", "confidence", "program"});
  config.sg.order = order == "leaf"         ? QueueOrder::kLeaf
                    : order == "confidence" ? QueueOrder::kConfidence
                                            : QueueOrder::kProgram;
}

void read_update_interval(Place const& at, YamlNode const& node, RunConfig& config) {
  if (node.kind == YamlNode::Kind::kScalar && (node.scalar == "inf" || node.scalar == ".inf")) {
    config.local.update_interval = kNeverUpdate;
    return;
  }
  auto const value = node.integer();
  if (!value || *value < 0 || *value > kMaxLocalSteps) {
    at.expected(node, fmt::format("an integer 0..{} or \"inf\"", kMaxLocalSteps));
  }
  config.local.update_interval = static_cast<std::uint32_t>(*value);
}

/// The codes of `race: [0, 4]`; nothing means all of them.
std::vector<std::int32_t> compared_values(Place const& at, YamlNode const& node,
                                          std::string const& what) {
  std::vector<std::int32_t> values;
  if (node.kind == YamlNode::Kind::kNull) return values;
  if (node.kind != YamlNode::Kind::kSequence) {
    at.fail(node, fmt::format("{} is {}, expected the list of codes to compare, such as [0, 4]",
                              what, node.shown()));
  }
  for (YamlNode const& item : node.items) {
    auto const value = item.integer();
    if (!value || *value < -kMaxCode || *value > kMaxCode) {
      at.fail(item, fmt::format("{} lists {}, expected integer codes", what, item.shown()));
    }
    auto const code = static_cast<std::int32_t>(*value);
    if (std::find(values.begin(), values.end(), code) != values.end()) {
      at.fail(item, fmt::format("{} lists {} twice", what, code));
    }
    values.push_back(code);
  }
  if (values.size() < 2) {
    at.fail(node, fmt::format("{} lists {} codes, expected at least two to compare", what,
                              values.size()));
  }
  std::sort(values.begin(), values.end());
  return values;
}

class ProtectedReader {
 public:
  ProtectedReader(Place const& at, RunConfig& config) : at_(at), config_(config) {}

  void read(YamlNode const& node) {
    config_.protected_attributes.clear();
    if (node.kind == YamlNode::Kind::kSequence) {
      for (YamlNode const& item : node.items) entry(item);
    } else {
      entry(node);
    }
    if (config_.protected_attributes.empty()) {
      at_.fail(node, "protected is an empty list, expected one attribute or several");
    }
  }

 private:
  void entry(YamlNode const& node) {
    if (node.kind == YamlNode::Kind::kMap) {
      for (std::size_t i = 0; i < node.keys.size(); ++i) {
        std::string const what = fmt::format("protected: {}", in_quotes(node.keys[i].scalar));
        add(node.keys[i], compared_values(at_, node.items[i], what));
      }
      return;
    }
    text_of(at_, node, "attribute names, such as [age, race] or {race: [0, 4]}");
    add(node, {});
  }

  void add(YamlNode const& name, std::vector<std::int32_t> values) {
    for (ProtectedAttribute const& before : config_.protected_attributes) {
      if (before.name == name.scalar) {
        at_.fail(name, fmt::format("protected lists {} twice", in_quotes(name.scalar)));
      }
    }
    config_.positions["protected." + name.scalar] = at_.position(name);
    config_.protected_attributes.push_back({name.scalar, std::move(values)});
  }

  Place const& at_;
  RunConfig& config_;
};

void read_protected(Place const& at, YamlNode const& node, RunConfig& config) {
  ProtectedReader(at, config).read(node);
}

template <std::optional<std::int64_t> BudgetConfig::*kMember>
void read_budget(Place const& at, YamlNode const& node, RunConfig& config) {
  config.budget.*kMember =
      optional_of<std::int64_t>(node, [&] { return integer_of(at, node, 1, kMaxCount); });
}

void read_budget_seconds(Place const& at, YamlNode const& node, RunConfig& config) {
  config.budget.seconds = optional_of<double>(node, [&] { return float_above_zero(at, node); });
}

void read_seeds(Place const& at, YamlNode const& node, RunConfig& config) {
  config.global.seeds = node.kind == YamlNode::Kind::kNull ? std::string() : path_of(at, node);
}

void read_data(Place const& at, YamlNode const& node, RunConfig& config) {
  config.data = node.kind == YamlNode::Kind::kNull ? std::string() : path_of(at, node);
}

constexpr ConfigField kFields[] = {
    {"model", read_model},
    {"data", read_data},
    {"domain", [](Place const& at, YamlNode const& n, RunConfig& c) { c.domain = path_of(at, n); }},
    {"protected", read_protected},
    {"out_of_domain", read_out_of_domain},
    {"threshold", read_threshold},
    {"method", read_method},
    {"seed", read_seed},
    {"arithmetic", read_arithmetic},
    {"global.num", [](Place const& at, YamlNode const& n,
                      RunConfig& c) { c.global.num = integer_of(at, n, 1, kMaxGlobalSeeds); }},
    {"global.clusters",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.global.clusters = static_cast<int>(integer_of(at, n, 1, kMaxClusters));
     }},
    {"global.max_iter",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.global.max_iter = static_cast<int>(integer_of(at, n, 1, kMaxIterations));
     }},
    {"global.step",
     [](Place const& at, YamlNode const& n, RunConfig& c) { c.global.step = step_of(at, n); }},
    {"global.decay",
     [](Place const& at, YamlNode const& n, RunConfig& c) { c.global.decay = share_of(at, n); }},
    {"global.seeding",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.global.seeding = choice_of(at, n, {"round-robin", "all", "uniform"});
     }},
    {"global.seeds", read_seeds},
    {"local.num", [](Place const& at, YamlNode const& n,
                     RunConfig& c) { c.local.num = integer_of(at, n, 0, kMaxLocalSteps); }},
    {"local.step",
     [](Place const& at, YamlNode const& n, RunConfig& c) { c.local.step = step_of(at, n); }},
    {"local.update_interval", read_update_interval},
    {"local.epsilon", [](Place const& at, YamlNode const& n,
                         RunConfig& c) { c.local.epsilon = float_above_zero(at, n); }},
    {"gradient.perturbation_size",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.perturbation_size = float_above_zero(at, n);
     }},
    {"aequitas.acceptance", read_acceptance},
    {"aequitas.lanes",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.aequitas.lanes = integer_of(at, n, 1, kMaxGlobalSeeds);
     }},
    {"sg.t1", [](Place const& at, YamlNode const& n, RunConfig& c) { c.sg.t1 = share_of(at, n); }},
    {"sg.t2", read_sg_t2},
    {"sg.samples",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.sg.samples = static_cast<int>(integer_of(at, n, 1, kMaxSamples));
     }},
    {"sg.frontier",
     [](Place const& at, YamlNode const& n, RunConfig& c) {
       c.sg.frontier = static_cast<int>(integer_of(at, n, 1, kMaxFrontier));
     }},
    {"sg.surrogate", read_sg_surrogate},
    {"sg.neighbours", read_sg_neighbours},
    {"sg.solver", read_sg_solver},
    {"sg.order", read_sg_order},
    {"budget.seeds", read_budget<&BudgetConfig::seeds>},
    {"budget.iterations", read_budget<&BudgetConfig::iterations>},
    {"budget.evaluations", read_budget<&BudgetConfig::evaluations>},
    {"budget.instances", read_budget<&BudgetConfig::instances>},
    {"budget.seconds", read_budget_seconds},
    {"output.dir",
     [](Place const& at, YamlNode const& n, RunConfig& c) { c.output.dir = path_of(at, n); }},
    {"output.format", read_format},
    {"output.trace", read_output_switch<&OutputConfig::trace>},
    {"output.path_coverage", read_output_switch<&OutputConfig::path_coverage>},
};

}  // namespace

void ConfigPlace::fail(YamlNode const& node, std::string const& what, ExitCode code) const {
  throw Error(code, fmt::format("{}: {}", position(node), what));
}

void ConfigPlace::expected(YamlNode const& node, std::string const& what) const {
  bool const could_be_number = node.quoted && !node.scalar.empty();
  fail(node, fmt::format("{} is {}, expected {}{}", key, node.shown(), what,
                         could_be_number ? " (without quotes)" : ""));
}

std::string ConfigPlace::position(YamlNode const& node) const {
  std::string const where = escaped(source, 4096);
  return is_flag ? where : fmt::format("{}:{}:{}", where, node.line, node.column);
}

std::span<ConfigField const> config_fields() { return kFields; }

std::string one_of(std::vector<std::string> const& names) {
  return fmt::format("one of {}", fmt::join(names, ", "));
}

}  // namespace fairlane
