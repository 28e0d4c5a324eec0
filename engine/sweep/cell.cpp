#include "engine/sweep/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/config/config_json.h"
#include "engine/search/method.h"
#include "engine/search/workload.h"
#include "models/data/domain_yaml.h"
#include "models/model.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kMostAttributes = 16;  // of which `all` makes sets
constexpr double kMostCells = 1e7;           // about 8 GB of memory
constexpr double kEstimateSamples = 1e6;     // about what the default error takes

/// Each cell gets a directory of its own, whether its configuration names one or not.
Override const kPlaceholder = {"sweep", "output.dir", "cell", false};

/// Files that many cells share, each read once.
class Inputs {
 public:
  std::string const& digest(std::string const& path) {
    auto [at, is_new] = digests_.try_emplace(path);
    if (is_new) at->second = sha256_file(path);
    return at->second;
  }
  Domain const& domain(std::string const& path) {
    auto at = domains_.find(path);
    if (at == domains_.end()) at = domains_.emplace(path, read_domain_yaml(path)).first;
    return at->second;
  }
  RunConfig const& config(PlanSubject const& subject) {
    auto at = configs_.find(subject.config);
    if (at == configs_.end())
      at = configs_.emplace(subject.config, read_run_config(subject.config, {kPlaceholder})).first;
    return at->second;
  }

 private:
  std::unordered_map<std::string, std::string> digests_;
  std::unordered_map<std::string, Domain> domains_;
  std::unordered_map<std::string, RunConfig> configs_;
};

/// What a configuration says that is not so anyhow: a key that is new in a version adds nothing.
Json own_settings(RunConfig const& config) {
  static Json const kDefaults = recorded_config({});
  Json own = recorded_config(config);
  for (auto const& [name, value] : kDefaults.items()) {
    if (own.at(name) == value) {
      own.erase(name);
    } else if (value.is_object()) {
      for (auto const& [key, inner] : value.items()) {
        if (own.at(name).at(key) == inner) own[name].erase(key);
      }
    }
  }
  return own;
}

std::string cell_id(SweepCommand const& command_row, RunConfig config,
                    std::vector<std::string> const& options, Inputs& inputs) {
  Json files = Json::object();
  auto const add = [&](char const* name, std::string const& path) {
    files[name] = path.empty() ? Json() : Json(inputs.digest(path));
  };
  add("model", model_file(config.model));
  add("data", config.data);
  add("domain", config.domain);
  add("seeds", config.global.seeds);
  Json const command = is_command(config.model) ? Json(config.model) : Json();
  config.model = config.data = config.domain = config.global.seeds = config.output.dir = "";
  Json identity;
  identity["command"] = command_row.name;
  identity["options"] = options;
  identity["config"] = own_settings(config);
  identity["files"] = std::move(files);
  identity["program"] = command;
  return sha256(identity.dump()).substr(0, kIdDigits);
}

/// Sets of `size` names, in the order of the names.
void add_sets(std::vector<std::string> const& names, std::size_t size, std::string const& place,
              std::vector<PlanProtected>& sets) {
  std::vector<bool> chosen(names.size(), false);
  if (size > names.size()) return;
  std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size), true);
  do {
    PlanProtected set{ProtectedSets::kListed, "", "", place};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!chosen[i]) continue;
      set.value += (set.value.empty() ? "" : ", ") + Json(names[i]).dump();
      set.name += (set.name.empty() ? "" : "+") + names[i];
    }
    set.value = "[" + set.value + "]";
    sets.push_back(std::move(set));
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
}

/// The sets that an axis stands for: those of the attributes that the domain flags as protected.
std::vector<PlanProtected> resolved_sets(std::vector<PlanProtected> const& axis,
                                         RunConfig const& config, Inputs& inputs) {
  std::vector<PlanProtected> sets;
  for (PlanProtected const& entry : axis) {
    if (entry.sets == ProtectedSets::kListed || entry.sets == ProtectedSets::kAsConfigured) {
      sets.push_back(entry);
      continue;
    }
    std::vector<std::string> names;
    for (Attribute const& attribute : inputs.domain(config.domain).attributes) {
      if (attribute.is_protected) names.push_back(attribute.name);
    }
    if (names.empty() || names.size() > kMostAttributes) {
      throw Error(
          ExitCode::kConfig,
          fmt::format("{}: flags {} attributes as protected, expected 1..{} for all-singles, "
                      "all-pairs and all; list the sets in the plan",
                      escaped(config.domain, config.domain.size()), names.size(), kMostAttributes));
    }
    bool const is_all = entry.sets == ProtectedSets::kAll;
    std::size_t const least = entry.sets == ProtectedSets::kPairs ? 2 : 1;
    for (std::size_t size = least; size <= (is_all ? names.size() : least); ++size)
      add_sets(names, size, entry.place, sets);
  }
  if (axis.empty()) sets.emplace_back();
  return sets;
}

/// Throws Error(kConfig) where a set names what the domain lacks.
void check_set(PlanProtected const& set, RunConfig const& config, Domain const& domain) {
  if (set.sets != ProtectedSets::kListed) return;  // the configuration's own
  for (ProtectedAttribute const& selected : config.protected_attributes) {
    if (domain.find(selected.name) >= 0) continue;
    std::vector<std::string> names = {"all-singles", "all-pairs", "all"};
    for (Attribute const& attribute : domain.attributes) names.push_back(attribute.name);
    throw Error(ExitCode::kConfig,
                fmt::format("{}: protected lists {}, expected attributes of {}{}", set.place,
                            in_quotes(selected.name), escaped(config.domain, config.domain.size()),
                            did_you_mean(selected.name, names)));
  }
}

std::string configured_set(RunConfig const& config) {
  std::string name;
  for (ProtectedAttribute const& attribute : config.protected_attributes)
    name += (name.empty() ? "" : "+") + attribute.name;
  return name;
}

/// What a cell does at most, by its domain.
Workload expected_work(SweepCommand const& command, RunConfig const& config, Inputs& inputs) {
  Domain const& domain = inputs.domain(config.domain);
  double variants = 1.0;
  double groups = 1.0;
  for (Attribute const& attribute : domain.attributes) {
    bool const bounded = attribute.low.has_value() && attribute.high.has_value();
    auto codes = bounded ? static_cast<double>(attribute.code_count()) : 2.0;
    bool is_protected = false;
    for (ProtectedAttribute const& selected : config.protected_attributes) {
      if (selected.name != attribute.name) continue;
      is_protected = true;
      if (!selected.values.empty()) codes = static_cast<double>(selected.values.size());
    }
    (is_protected ? variants : groups) *= codes;
  }
  std::string_view const name = command.name;
  Workload work;
  if (name == "enumerate") work.evaluations = groups * variants;
  if (name == "estimate") work.evaluations = kEstimateSamples * variants;
  if (name == "compare") {
    work.evaluations = static_cast<double>(config.budget.evaluations.value_or(0)) *
                       static_cast<double>(methods().size());
  }
  if (!command.takes_method) return work;
  return search_workload(config, find_method(config.method), static_cast<std::int64_t>(variants),
                         domain.size(), 0);
}

/// Makes the cells of a plan.
class Expansion {
 public:
  explicit Expansion(SweepPlan const& plan) : plan_(plan) { name_subjects(); }

  SweepCells cells() && {
    for (PlanMatrix const& matrix : plan_.matrices) {
      for (PlanSubject const& subject : matrix.subjects) expand(matrix, subject);
    }
    return std::move(all_);
  }

 private:
  /// A file's name alone, where no other one of its kind has it; otherwise its path from the plan.
  void name_subjects() {
    std::set<std::string> configs;
    std::set<std::string> models;
    for (PlanMatrix const& matrix : plan_.matrices) {
      for (PlanSubject const& subject : matrix.subjects) {
        configs.insert(subject.config);
        if (!subject.model.empty()) models.insert(subject.model);
      }
    }
    config_names_ = short_names(configs);
    model_names_ = short_names(models);
  }
  std::map<std::string, std::string> short_names(std::set<std::string> const& paths) const {
    std::map<std::string, int> by_stem;
    for (std::string const& path : paths) ++by_stem[stem(path)];
    std::map<std::string, std::string> names;
    for (std::string const& path : paths) {
      names[path] = by_stem[stem(path)] == 1
                        ? stem(path)
                        : fs::path(path).lexically_proximate(plan_.folder).string();
    }
    return names;
  }
  static std::string stem(std::string const& path) {
    return is_command(path) ? path : fs::path(path).stem().string();
  }

  void expand(PlanMatrix const& matrix, PlanSubject const& subject) {
    std::vector<Override> changes = matrix.changes;
    if (!subject.model.empty())
      changes.push_back({plan_.source, "model", Json(subject.model).dump(), true, plan_.folder});
    RunConfig const base = overridden(inputs_.config(subject), changes);
    auto const sets = resolved_sets(matrix.protected_sets, base, inputs_);
    static std::vector<PlanCommand> const kRun = {{find_sweep_command("run"), {}}};
    auto const& commands = matrix.commands.empty() ? kRun : matrix.commands;
    count(matrix, sets.size(), commands);
    for (PlanProtected const& set : sets) {
      for (PlanSettings const& settings : with_none(matrix.settings)) {
        for (PlanCommand const& command : commands) {
          auto const methods = command.command->takes_method ? with_none(matrix.methods)
                                                             : std::vector<std::string>{""};
          for (std::string const& method : methods) {
            for (auto const seed : seeds_of(matrix, command))
              add(matrix, subject, base, changes, set, settings, command, method, seed);
          }
        }
      }
    }
  }

  /// Counts what a subject is about to add. Throws Error(kConfig) where it is too much.
  void count(PlanMatrix const& matrix, std::size_t sets, std::vector<PlanCommand> const& commands) {
    auto const factor = [](auto const& axis) {
      return static_cast<double>(std::max<std::size_t>(axis.size(), 1));
    };
    for (PlanCommand const& command : commands) {
      listed_ += static_cast<double>(sets) * factor(matrix.settings) *
                 (command.command->takes_method ? factor(matrix.methods) : 1.0) *
                 (command.command->takes_seed ? factor(matrix.seeds) : 1.0);
    }
    if (listed_ <= kMostCells) return;
    throw Error(ExitCode::kConfig,
                fmt::format("{}: lists {:.0f} cells or more, expected at most {:.0f}; make "
                            "several plans of it",
                            escaped(plan_.source, plan_.source.size()), listed_, kMostCells));
  }

  /// The axis, or the one value that leaves all as it is.
  template <class T>
  static std::vector<T> with_none(std::vector<T> const& axis) {
    return axis.empty() ? std::vector<T>(1) : axis;
  }
  static std::vector<std::optional<std::uint64_t>> seeds_of(PlanMatrix const& matrix,
                                                            PlanCommand const& command) {
    if (!command.command->takes_seed || matrix.seeds.empty()) return {std::nullopt};
    return {matrix.seeds.begin(), matrix.seeds.end()};
  }

  void add(PlanMatrix const& matrix, PlanSubject const& subject, RunConfig const& base,
           std::vector<Override> const& changes, PlanProtected const& set,
           PlanSettings const& settings, PlanCommand const& command, std::string const& method,
           std::optional<std::uint64_t> seed) {
    std::vector<Override> own = settings.changes;
    if (set.sets == ProtectedSets::kListed)
      own.push_back({set.place, "protected", set.value, true, plan_.folder});
    if (!method.empty()) own.push_back({plan_.source, "method", method, true, plan_.folder});
    if (seed) own.push_back({plan_.source, "seed", std::to_string(*seed), true, plan_.folder});

    SweepCell cell;
    cell.config = subject.config;
    cell.subjects = {config_names_.at(subject.config)};
    if (!subject.model.empty()) cell.subjects.front() += "/" + model_names_.at(subject.model);
    cell.command = command.command;
    cell.settings = settings.name;
    RunConfig const config = overridden(base, own);
    check_set(set, config, inputs_.domain(config.domain));
    cell.set = set.sets == ProtectedSets::kListed ? set.name : configured_set(config);
    if (command.command->takes_method) cell.method = config.method;
    if (command.command->takes_seed) cell.seed = config.seed;
    std::vector<std::string> options = command.options;
    if (command.command->lists_methods && !matrix.methods.empty()) {
      options.push_back("--methods");
      options.push_back(fmt::format("{}", fmt::join(matrix.methods, ",")));
    }
    cell.words = {command.command->name, subject.config};
    std::vector<Override> all = changes;
    all.insert(all.end(), own.begin(), own.end());
    for (Override const& change : all)
      cell.words.insert(cell.words.end(), {"--set", change.key + "=" + change.value});
    cell.words.insert(cell.words.end(), options.begin(), options.end());
    cell.id = cell_id(*cell.command, config, options, inputs_);
    cell.work = expected_work(*cell.command, config, inputs_);
    auto const [at, is_new] = known_.try_emplace(cell.id, all_.cells.size());
    if (is_new) {
      all_.cells.push_back(std::move(cell));
      return;
    }
    ++all_.repeated;
    auto& names = all_.cells[at->second].subjects;
    if (std::find(names.begin(), names.end(), cell.subject()) == names.end())
      names.push_back(cell.subject());
  }

  SweepPlan const& plan_;
  Inputs inputs_;
  std::map<std::string, std::string> config_names_;
  std::map<std::string, std::string> model_names_;
  std::unordered_map<std::string, std::size_t> known_;  // id -> index of the cell
  double listed_ = 0.0;  // cells, those that are listed again among them
  SweepCells all_;
};

}  // namespace

std::string SweepCell::text() const {
  std::string text = fmt::format("{} {}", command->name, fmt::join(subjects, " = "));
  if (!set.empty()) text += " " + set;
  if (!method.empty()) text += " " + method;
  if (seed) text += fmt::format(" seed {}", *seed);
  if (!settings.empty()) text += fmt::format(" ({})", settings);
  return text;
}

RunConfig cell_config(SweepPlan const& plan, SweepCell const& cell) {
  std::vector<Override> changes = {kPlaceholder};
  for (std::size_t i = 0; i + 1 < cell.words.size(); ++i) {
    if (cell.words[i] != "--set") continue;
    changes.push_back(parse_set(cell.words[i + 1]));
    changes.back().base = plan.folder;
  }
  return read_run_config(cell.config, changes);
}

SweepCells sweep_cells(SweepPlan const& plan) { return Expansion(plan).cells(); }

std::vector<std::size_t> shard_of(SweepCells const& cells, std::int64_t index, std::int64_t count) {
  std::vector<std::size_t> order(cells.cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return cells.cells[a].id < cells.cells[b].id; });
  std::vector<std::size_t> own;
  for (auto i = static_cast<std::size_t>(index - 1); i < order.size();
       i += static_cast<std::size_t>(count))
    own.push_back(order[i]);
  std::sort(own.begin(), own.end());
  return own;
}

std::size_t find_cell(SweepCells const& cells, std::string const& id) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    if (!id.empty() && cells.cells[i].id.starts_with(id)) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  throw usage_error(
      fmt::format("--cell is {}, with which {} of the plan's {} cells begin, expected one; "
                  "`fairlane sweep plan` lists them",
                  in_quotes(id), found.size(), cells.cells.size()));
}

}  // namespace fairlane
