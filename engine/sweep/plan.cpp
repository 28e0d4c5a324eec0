// Keys of a plan: output: {dir, keep, report}, cells?: [matrix], and those of a matrix: subjects,
// protected, commands, methods, seeds, settings, set.
#include "engine/sweep/plan.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/formats/strict_yaml.h"
#include "base/text.h"
#include "engine/config/config_values.h"
#include "engine/search/method.h"

namespace fairlane {
namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t kMaxPlanBytes = std::size_t{1} << 24;
constexpr std::int64_t kMostSeeds = 1'000'000;

/// Axes and what is common to a matrix.
std::vector<std::string> const kMatrixKeys = {"subjects", "protected", "commands", "methods",
                                              "seeds",    "settings",  "set"};

/// Words of a command line that a sweep gives its cells by itself.
constexpr char const* kReserved[] = {
    "--out",  "--backend", "--threads",    "--batch",   "--seed",      "--set",
    "--json", "--quiet",   "-q",           "--mpi",     "--overwrite", "--memory",
    "--help", "-h",        "--checkpoint", "--methods", "--log-level", "--progress"};

constexpr char const* kPatternMarks = "*?[";

/// The paths in a folder that a pattern of the shell stands for, in order. Throws std::bad_alloc.
std::vector<std::string> matching(std::string const& folder, std::string const& path) {
  // The folder's own name is none of the plan's patterns.
  std::string plain;
  for (char const c : folder) {
    if (c == '\\' || std::string_view(kPatternMarks).find(c) != std::string_view::npos)
      plain += '\\';
    plain += c;
  }
  std::string const pattern = (std::filesystem::path(plain) / path).lexically_normal().string();
  glob_t found{};
  int const status = glob(pattern.c_str(), 0, nullptr, &found);
  std::unique_ptr<glob_t, decltype(&globfree)> const owner(&found, globfree);
  if (status == GLOB_NOSPACE) throw std::bad_alloc();
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  return paths;
}

class PlanReader {
 public:
  explicit PlanReader(std::string const& path)
      : source_(path), folder_(std::filesystem::path(absolute_path(path)).parent_path().string()) {}

  SweepPlan read(std::string const& out) {
    YamlNode root = parse_strict_yaml(read_file(source_, kMaxPlanBytes), source_);
    root.line = std::max(root.line, 1);
    root.column = std::max(root.column, 1);
    if (root.kind != Kind::kMap)
      fail(root, fmt::format("the file holds {}, expected a map of a sweep's axes", root.shown()));
    std::vector<std::string> known = kMatrixKeys;
    known.insert(known.end(), {"cells", "output"});
    check_yaml_keys(source_, root, known);

    SweepPlan plan;
    plan.source = source_;
    plan.folder = folder_;
    read_output(root, out, plan);
    PlanMatrix common;
    read_matrix(root, common);
    YamlNode const* const cells = root.find("cells");
    if (cells == nullptr) {
      plan.matrices.push_back(std::move(common));
    } else {
      if (cells->kind != Kind::kSequence || cells->items.empty())
        fail(*cells,
             fmt::format("cells is {}, expected a list of maps",
                         cells->kind == Kind::kSequence ? "an empty list" : cells->shown()));
      for (YamlNode const& item : cells->items) {
        if (item.kind != Kind::kMap)
          fail(item, fmt::format("cells lists {}, expected a map of axes", item.shown()));
        check_yaml_keys(source_, item, kMatrixKeys);
        PlanMatrix matrix = common;
        read_matrix(item, matrix);
        plan.matrices.push_back(std::move(matrix));
      }
    }
    for (PlanMatrix const& matrix : plan.matrices) {
      if (matrix.subjects.empty())
        fail(root, "has no \"subjects\", expected configurations, such as [census.yaml]");
    }
    return plan;
  }

 private:
  [[noreturn]] void fail(YamlNode const& node, std::string const& what) const {
    fail_yaml(source_, node, what);
  }
  std::string place(YamlNode const& node) const {
    return fmt::format("{}:{}:{}", source_, node.line, node.column);
  }
  std::string resolved(std::string const& path) const {
    return (std::filesystem::path(folder_) / path).lexically_normal().string();
  }

  void read_output(YamlNode const& root, std::string const& out, SweepPlan& plan) const {
    YamlNode const* const output = root.find("output");
    if (output != nullptr) {
      if (output->kind != Kind::kMap)
        fail(*output, fmt::format("output is {}, expected a map with dir, keep and report",
                                  output->shown()));
      check_yaml_keys(source_, *output, {"dir", "keep", "report"});
      if (YamlNode const* const dir = output->find("dir")) {
        plan.out = resolved(text(*dir, "output.dir", "a directory"));
      }
      if (YamlNode const* const keep = output->find("keep")) {
        std::string const word = text(*keep, "output.keep", "all or summary");
        auto const* const found = find_word<KeptResults>(word);
        if (found == nullptr)
          fail(*keep, fmt::format("output.keep is {}, expected all or summary", in_quotes(word)));
        plan.keep = found->value;
      }
      if (YamlNode const* const report = output->find("report")) {
        ConfigPlace const at = {source_, false, ExitCode::kConfig, folder_, "output.report"};
        plan.report = SwitchKind().read(at, *report);
      }
    }
    if (!out.empty()) plan.out = absolute_path(out).lexically_normal().string();
    while (plan.out.size() > 1 && plan.out.back() == '/') plan.out.pop_back();
    if (plan.out.empty())
      fail(root, "has no \"output.dir\", expected a directory for the sweep, or --out");
  }

  void read_matrix(YamlNode const& map, PlanMatrix& matrix) const {
    axis(map, "subjects", matrix.subjects,
         [this](YamlNode const& node, auto& to) { subject(node, to); });
    axis(map, "protected", matrix.protected_sets,
         [this](YamlNode const& node, auto& to) { to.push_back(protected_set(node)); });
    axis(map, "commands", matrix.commands,
         [this](YamlNode const& node, auto& to) { to.push_back(command(node)); });
    axis(map, "methods", matrix.methods, [this](YamlNode const& node, auto& to) {
      std::string const name = text(node, "methods", "names of methods");
      try {
        to.push_back(find_method(name).name);
      } catch (Error const& error) {
        fail(node, error.what());
      }
    });
    axis(map, "seeds", matrix.seeds, [this](YamlNode const& node, auto& to) { seeds(node, to); });
    axis(map, "settings", matrix.settings,
         [this](YamlNode const& node, auto& to) { to.push_back(settings(node)); });
    if (YamlNode const* const set = map.find("set")) {
      for (Override& change : changes(*set)) matrix.changes.push_back(std::move(change));
    }
  }

  /// Reads a list, or the one value that stands for a list of it, into `to`.
  template <class T, class Read>
  void axis(YamlNode const& map, char const* key, std::vector<T>& to, Read const& read) const {
    YamlNode const* const node = map.find(key);
    if (node == nullptr) return;
    to.clear();
    if (node->kind != Kind::kSequence) {
      read(*node, to);
    } else {
      for (YamlNode const& item : node->items) read(item, to);
    }
    if (to.empty())
      fail(*node, fmt::format("{} is an empty list, expected one entry or more", key));
  }

  std::string text(YamlNode const& node, char const* key, char const* expected) const {
    if (node.kind != Kind::kScalar || node.scalar.empty())
      fail(node, fmt::format("{} is {}, expected {}", key, node.shown(), expected));
    return node.scalar;
  }

  /// Files that a path or a pattern names. Throws Error(kNoInput) where there is none.
  std::vector<std::string> files(YamlNode const& node, char const* key) const {
    std::string const path = text(node, key, "a path");
    std::error_code ec;  // a file may be named like a pattern
    if (path.find_first_of(kPatternMarks) == std::string::npos ||
        std::filesystem::exists(resolved(path), ec)) {
      if (std::filesystem::exists(resolved(path), ec)) return {resolved(path)};
      throw Error(ExitCode::kNoInput, fmt::format("{}: {}: {}: no such file", place(node), key,
                                                  in_quotes(path, path.size())));
    }
    auto found = matching(folder_, path);
    if (found.empty())
      throw Error(ExitCode::kNoInput, fmt::format("{}: {}: no file matches {}", place(node), key,
                                                  in_quotes(path, path.size())));
    return found;
  }

  void subject(YamlNode const& node, std::vector<PlanSubject>& to) const {
    if (node.kind != Kind::kMap) {
      for (std::string& path : files(node, "subjects")) to.push_back({std::move(path), ""});
      return;
    }
    check_yaml_keys(source_, node, {"config", "models"});
    YamlNode const* const config = node.find("config");
    YamlNode const* const models = node.find("models");
    if (config == nullptr || models == nullptr)
      fail(node,
           "subjects: expected a map with config and models, such as {config: census.yaml, "
           "models: [networks/*.h5]}");
    auto const paths = files(*config, "subjects.config");
    if (paths.size() > 1)
      fail(*config, fmt::format("subjects.config matches {} files, expected one", paths.size()));
    std::string const& path = paths.front();
    auto const each = [&](YamlNode const& item) {
      if (item.kind == Kind::kScalar && item.scalar.starts_with("exec:")) {
        to.push_back({path, item.scalar});
        return;
      }
      for (std::string& model : files(item, "subjects.models"))
        to.push_back({path, std::move(model)});
    };
    if (models->kind != Kind::kSequence) return each(*models);
    for (YamlNode const& item : models->items) each(item);
  }

  PlanProtected protected_set(YamlNode const& node) const {
    if (node.kind == Kind::kScalar && !node.quoted) {
      if (node.scalar == "all-singles") return {ProtectedSets::kSingles, "", "", place(node)};
      if (node.scalar == "all-pairs") return {ProtectedSets::kPairs, "", "", place(node)};
      if (node.scalar == "all") return {ProtectedSets::kAll, "", "", place(node)};
    }
    if (node.kind == Kind::kNull || (node.kind == Kind::kScalar && node.scalar.empty()))
      fail(node,
           "protected lists nothing, expected all-singles, all-pairs, all, a name, or a "
           "list of names that are tested together");
    PlanProtected listed{ProtectedSets::kListed, node.flow_text(), "", place(node)};
    if (node.kind != Kind::kSequence) {
      listed.name = set_name(node);
    } else {
      for (YamlNode const& item : node.items)
        listed.name += (listed.name.empty() ? "" : "+") + set_name(item);
    }
    return listed;
  }

  /// "age", or "race=0,4" where values are chosen.
  static std::string set_name(YamlNode const& node) {
    if (node.kind != Kind::kMap) return node.scalar;
    std::string name;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      name += (i == 0 ? "" : "+") + node.keys[i].scalar;
      std::string values;
      for (YamlNode const& value : node.items[i].items)
        values += (values.empty() ? "" : ",") + value.scalar;
      if (!values.empty()) name += "=" + values;
    }
    return name;
  }

  PlanCommand command(YamlNode const& node) const {
    PlanCommand planned;
    YamlNode const* name = &node;
    if (node.kind == Kind::kMap) {
      check_yaml_keys(source_, node, {"command", "options"});
      name = node.find("command");
      if (name == nullptr) fail(node, "commands: expected a map with command and options");
      if (YamlNode const* const options = node.find("options")) {
        if (options->kind != Kind::kSequence)
          fail(*options, fmt::format("commands.options is {}, expected a list of words, such as "
                                     "[--cells, \"fairify:100\"]",
                                     options->shown()));
        for (YamlNode const& word : options->items) planned.options.push_back(option(word));
      }
    }
    std::string const word = text(*name, "commands", "names of commands");
    planned.command = find_sweep_command(word);
    if (planned.command == nullptr) {
      std::vector<std::string> names;
      for (SweepCommand const& one : sweep_commands()) names.emplace_back(one.name);
      fail(*name, fmt::format("commands lists {}, expected {}{}", in_quotes(word),
                              fmt::join(names, ", "), did_you_mean(word, names)));
    }
    return planned;
  }

  std::string option(YamlNode const& node) const {
    if (node.kind != Kind::kScalar)
      fail(node, fmt::format("commands.options lists {}, expected words", node.shown()));
    std::string const name = node.scalar.substr(0, node.scalar.find('='));
    if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
      fail(node, fmt::format("commands.options lists {}, which a sweep gives by itself: expected "
                             "the plan's axes, set, or an option of `fairlane sweep run`",
                             in_quotes(name)));
    }
    return node.scalar;
  }

  void seeds(YamlNode const& node, std::vector<std::uint64_t>& to) const {
    auto const whole = [&](YamlNode const& at, char const* key, std::int64_t low) {
      auto const value = at.integer();
      if (!value || *value < low)
        fail(at, fmt::format("{} is {}, expected an integer {}..{} (without quotes)", key,
                             at.shown(), low, std::numeric_limits<std::int64_t>::max()));
      return *value;
    };
    if (node.kind != Kind::kMap) {
      to.push_back(static_cast<std::uint64_t>(whole(node, "seeds", 0)));
      return;
    }
    check_yaml_keys(source_, node, {"first", "count"});
    YamlNode const* const first = node.find("first");
    YamlNode const* const count = node.find("count");
    if (first == nullptr || count == nullptr)
      fail(node, "seeds: expected a list, or a map such as {first: 1, count: 10}");
    auto const begin = static_cast<std::uint64_t>(whole(*first, "seeds.first", 0));
    std::int64_t const many = whole(*count, "seeds.count", 1);
    auto const room = std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(begin);
    std::int64_t const most = room < kMostSeeds ? room + 1 : kMostSeeds;
    if (many > most)
      fail(*count, fmt::format("seeds.count is {}, expected at most {}", many, most));
    for (std::int64_t i = 0; i < many; ++i) to.push_back(begin + static_cast<std::uint64_t>(i));
  }

  PlanSettings settings(YamlNode const& node) const {
    if (node.kind != Kind::kMap)
      fail(node, fmt::format("settings lists {}, expected maps of keys, such as "
                             "{{name: short, local.num: 100}}",
                             node.shown()));
    PlanSettings planned;
    YamlNode rest = node;
    for (std::size_t i = 0; i < rest.keys.size(); ++i) {
      if (rest.keys[i].scalar != "name") continue;
      planned.name = text(rest.items[i], "settings.name", "a name");
      rest.keys.erase(rest.keys.begin() + static_cast<std::ptrdiff_t>(i));
      rest.items.erase(rest.items.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    planned.changes = changes(rest);
    if (!planned.name.empty()) return planned;
    for (Override const& change : planned.changes) {
      planned.name += (planned.name.empty() ? "" : ", ") + change.key + "=" + change.value;
    }
    return planned;
  }

  /// Keys of a configuration and their values: {global.num: 100}.
  std::vector<Override> changes(YamlNode const& node) const {
    if (node.kind != Kind::kMap)
      fail(node, fmt::format("set is {}, expected a map of keys, such as {{global.num: 100}}",
                             node.shown()));
    std::vector<Override> found;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      std::string const& key = node.keys[i].scalar;
      if (key == "output.dir" || key == "output") {
        fail(node.keys[i],
             "a sweep gives each cell a directory of its own: expected keys of a "
             "configuration but output.dir");
      }
      found.push_back({place(node.keys[i]), key, node.items[i].flow_text(), true, folder_});
    }
    return found;
  }

  std::string source_;
  std::string folder_;
};

}  // namespace

SweepPlan read_sweep_plan(std::string const& path, std::string const& out) {
  open_input(path);  // says what else the path is
  return PlanReader(path).read(out);
}

}  // namespace fairlane
