// fairlane audit: from a model and a table to a verdict.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "apps/files.h"
#include "apps/init/column_list.h"
#include "apps/init/init_proposal.h"
#include "apps/progress.h"
#include "apps/text/audit_text.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/audit/audit.h"
#include "engine/report/policy_words.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestAudit = 1e7;
constexpr std::size_t kLongestFile = std::size_t{1} << 26;

struct AuditArguments {
  ConfigOptions config;  // whose path is the model, where a table follows
  ConsoleOptions console;
  std::string table;
  std::string label;
  std::vector<std::string> drop;
  std::vector<std::string> protected_names;
  std::string favourable;
  std::string time;
  std::string fail_above;
  bool overwrite = false;
};

/// "rows:0.05", or the number alone, which is of the rows. Throws Error(kUsage).
AuditPolicy parse_policy(std::string const& text) {
  AuditPolicy policy;
  std::size_t const colon = text.find(':');
  if (colon != std::string::npos) {
    std::string const name = text.substr(0, colon);
    Word<AuditShare> const* const word = find_word<AuditShare>(name);
    if (word == nullptr) {
      std::vector<std::string> names;
      for (auto const& one : kEnumWords<AuditShare>) names.emplace_back(one.name);
      throw usage_error(fmt::format("--fail-above is of {}, expected one of {}{}", in_quotes(name),
                                    fmt::join(names, ", "), did_you_mean(name, names)));
    }
    policy.share = word->value;
  }
  policy.above = parse_number("--fail-above",
                              colon == std::string::npos ? text : text.substr(colon + 1), 0.0, 1.0);
  return policy;
}

/// The options that make an audit another one, as a person types them again.
std::string command_of(AuditArguments const& arguments) {
  std::string command = "fairlane audit " + shell_word(arguments.config.path);
  if (!arguments.table.empty()) command += " " + shell_word(arguments.table);
  auto const add = [&](char const* flag, std::string const& value) {
    if (!value.empty()) command += fmt::format(" {} {}", flag, shell_word(value));
  };
  add("--label", arguments.label);
  add("--drop", column_list(arguments.drop));
  add("--protected", column_list(arguments.protected_names));
  add("--favourable", arguments.favourable);
  add("--time", arguments.time);
  add("--fail-above", arguments.fail_above);
  add("--seed", arguments.config.seed);
  for (std::string const& change : arguments.config.set) add("--set", change);
  if (arguments.config.model.allow_exec) command += " --allow-exec";
  add("--out", arguments.config.out);
  return command;
}

/// The options that change the configuration, but for what is protected: " --seed 7".
std::string changes_of(AuditArguments const& arguments) {
  std::string changes;
  if (!arguments.config.seed.empty()) changes += " --seed " + shell_word(arguments.config.seed);
  for (std::string const& change : arguments.config.set) {
    bool const is_selection = parse_set(change).key == "protected";
    if (!is_selection) changes += " --set " + shell_word(change);
  }
  return changes;
}

/// Refuses to write over a file that a person may have changed.
void keep_changed(NewFile const& file, std::string const& config) {
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(file.path, ec))) return;
  if (fs::is_regular_file(file.path, ec) && read_file(file.path, kLongestFile) == file.text) return;
  throw Error(
      ExitCode::kOutput,
      fmt::format("{}: exists already and says something else; `fairlane audit {}` takes it "
                  "as it is, --overwrite replaces it",
                  escaped(file.path, file.path.size()),
                  escaped(shell_word(config), config.size() + 2)));
}

/// Files that were not there before, and are removed again unless kept.
class WrittenFiles {
 public:
  explicit WrittenFiles(std::vector<NewFile> const& files) {
    std::error_code ec;
    for (NewFile const& file : files) {
      folders_.create_for(file.path);
      if (!fs::exists(fs::symlink_status(file.path, ec))) written_.push_back(file.path);
    }
    write_files(files);
  }
  ~WrittenFiles() {
    std::error_code ec;
    for (std::string const& path : written_) fs::remove(path, ec);
  }
  WrittenFiles(WrittenFiles const&) = delete;
  WrittenFiles& operator=(WrittenFiles const&) = delete;
  void keep() {
    folders_.keep();
    written_.clear();
  }

 private:
  NewFolders folders_;  // removed after the files in them
  std::vector<std::string> written_;
};

/// Writes the configuration of a model and a table beside the results.
std::unique_ptr<WrittenFiles> propose(AuditArguments const& arguments, Console const& console,
                                      AuditOptions& options) {
  std::string const config = arguments.config.out + ".yaml";
  std::string const domain = arguments.config.out + ".domain.yaml";
  InitProposal const proposal = propose_files({{arguments.config.path, arguments.table, domain},
                                               config,
                                               {arguments.label, arguments.drop, false},
                                               arguments.protected_names,
                                               arguments.config.model.options()});
  // The domain file, and the configuration of all that are tested together.
  std::vector<NewFile> const files(proposal.files.begin(), proposal.files.begin() + 2);
  if (!arguments.overwrite) {
    for (NewFile const& file : files) keep_changed(file, config);
  }
  auto written = std::make_unique<WrittenFiles>(files);
  for (InitNote const& note : proposal.notes) {
    options.assumed.push_back(note.text);
    console.tell(note.text, note.is_warning);
  }
  options.config_name = config;
  return written;
}

void check(AuditArguments const& arguments) {
  bool const is_config = is_yaml(arguments.config.path);
  if (arguments.table.empty() && !is_config) {
    throw usage_error(
        fmt::format("TABLE is missing, expected the table behind MODEL ({}), or a configuration "
                    "(.yaml) alone",
                    in_quotes(arguments.config.path)));
  }
  if (!is_config) return;
  if (!arguments.table.empty()) {
    throw usage_error(fmt::format("{} is a configuration, which names its table: leave {} out",
                                  in_quotes(arguments.config.path), in_quotes(arguments.table)));
  }
  for (auto const& [flag, is_given] :
       {std::pair("--label", !arguments.label.empty()),
        std::pair("--drop", !arguments.drop.empty()),
        std::pair("--protected", !arguments.protected_names.empty())}) {
    if (is_given) {
      throw usage_error(fmt::format(
          "{}: the configuration says that, expected to be left out; --set changes it", flag));
    }
  }
}

ExitCode judge(Json const& audit, Console const& console) {
  Json const& sets = audit.at("sets");
  Json const& rows = sets[sets.size() - 1].at("rows");
  if (rows.at("undefined").get<std::int64_t>() == rows.at("count").get<std::int64_t>()) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: some output is undefined (not a finite number) for every person "
                            "of the table, so that nothing is known",
                            escaped(audit.at("model").get<std::string>())));
  }
  Json const& policy = audit.at("policy");
  if (policy.is_null()) return ExitCode::kOk;
  std::string const name = fmt::format("--fail-above {}:{}", policy.at("share").get<std::string>(),
                                       policy.at("above").get<double>());
  Json const& met = policy.at("met");
  if (met.is_null()) {
    throw Error(ExitCode::kIntegrity,
                name +
                    ": undecided, since a share was not examined or is not known well enough; "
                    "--time gives more, but outputs that are no finite numbers leave it open");
  }
  if (!met.get<bool>()) return ExitCode::kOk;
  console.warn(name + ": " + report::exceeded_words(audit));
  return ExitCode::kPolicy;
}

ExitCode run_audit(AuditArguments arguments) {
  Console const console(arguments.console);
  check(arguments);
  arguments.drop = parse_columns("--drop", arguments.drop);
  arguments.protected_names = parse_columns("--protected", arguments.protected_names);
  AuditOptions options;
  options.command = command_of(arguments);
  options.changes = changes_of(arguments);
  options.execution = arguments.config.execution();
  options.favourable = arguments.favourable;
  options.overwrite = arguments.overwrite;
  if (!arguments.time.empty())
    options.seconds = parse_number("--time", arguments.time, 0.0, kLongestAudit);
  if (!arguments.fail_above.empty()) options.policy = parse_policy(arguments.fail_above);
  std::string const named = arguments.table.empty() ? arguments.config.path : arguments.table;
  if (arguments.config.out.empty())
    arguments.config.out = fs::path(named).stem().string() + "-audit";
  while (arguments.config.out.size() > 1 && arguments.config.out.ends_with('/'))
    arguments.config.out.pop_back();
  std::string const last = fs::path(arguments.config.out).filename().string();
  if (last == "." || last == "..")
    throw usage_error(fmt::format("--out is {}, expected a directory by its name",
                                  in_quotes(arguments.config.out)));
  WorkFrame frame(console);
  options.config_name = arguments.config.path;
  std::unique_ptr<WrittenFiles> written;
  if (!arguments.table.empty()) {
    written = propose(arguments, console, options);
    arguments.config.path = options.config_name;
  }
  RunConfig const config = arguments.config.config();
  frame.lead(options, audit_progress_text);
  std::string const text = audit(config, options);
  if (written) written->keep();
  frame.clear();
  if (arguments.console.json) {
    print(text);
  } else {
    print(audit_text(text, config.output.dir));
    print(results_place(config.output.dir));
  }
  return judge(Json::parse(text), console);
}

}  // namespace

Action add_audit(Arguments& app) {
  auto const arguments = std::make_shared<AuditArguments>();
  arguments->config.add_to(
      app, true, "directory for the results (default: the table's or configuration's name, -audit)",
      {"MODEL", "the model: a file (network, trees) or exec:COMMAND; or a configuration alone"});
  app.add_option("TABLE", arguments->table,
                 "the table (.csv) of people, which the model decides about")
      ->type_name("");
  app.add_option("--protected", arguments->protected_names,
                 "protected attributes (default: recognised by name)")
      ->type_name("A,B")
      ->one_at_a_time();
  app.add_option("--label", arguments->label, "the label column (default: the last one)")
      ->type_name("NAME");
  app.add_option("--drop", arguments->drop, "columns that are no inputs of the model")
      ->type_name("A,B")
      ->one_at_a_time();
  app.add_option("--favourable", arguments->favourable,
                 "the better decision: a class or its word (default: the greatest class)")
      ->type_name("CLASS");
  app.add_option("--time", arguments->time,
                 "shared out among samples, counts and searches (default: 60); the rows are all "
                 "evaluated, whatever that takes")
      ->type_name("SECONDS");
  app.add_option("--fail-above", arguments->fail_above,
                 "exit with 1 where the share of a protected set is above: "
                 "rows:0.05, plausible:0.05 or domain:0.05; with 76 where that is undecided")
      ->type_name("SHARE");
  app.add_flag("--overwrite", arguments->overwrite,
               "replace the results of another audit, and a configuration that was changed");
  arguments->console.add_to(app);
  return [arguments] { return run_audit(*arguments); };
}

}  // namespace fairlane
