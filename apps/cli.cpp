#include "apps/cli.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <span>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"
#include "base/text.h"

#ifndef FAIRLANE_VERSION
#error "FAIRLANE_VERSION comes from CMakeLists.txt"
#endif

namespace fairlane {
namespace {

constexpr Command kCommands[] = {
    {"audit", "say from a model and a table whom it treats unequally, how much, and where",
     add_audit},
    {"run", "search a model for discrimination as a configuration says", add_run},
    {"init",
     "write a domain file and a configuration for a model and a table, or a domain file for a raw "
     "table",
     add_init},
    {"prepare", "encode a raw table as a domain file says, and decode tables and results",
     add_prepare},
    {"config", "print the reference of the configuration, or its schema", add_config},
    {"inspect", "show a model, a table with its domain, or the results of a command", add_inspect},
    {"enumerate", "count every individual discriminatory instance of a domain", add_enumerate},
    {"estimate", "estimate the share of discrimination by sampling", add_estimate},
    {"verify", "prove cells of a domain fair, or show an example of unfair treatment", add_verify},
    {"train", "train a classifier on a table", add_train},
    {"retrain", "make a model fairer, and say what that gained and cost", add_retrain},
    {"compare", "compare methods with one equal budget over several seeds", add_compare},
    {"sweep", "run many models, attributes, methods and seeds as one plan says", add_sweep},
    {"report", "put the results of commands on one page for people", add_report},
    {"check", "evaluate every reported pair of a run again, independently", add_check},
    {"demo", "search a small census with known discrimination in it", add_demo},
    {"devices", "show what this machine can compute with", add_devices},
    {"bench", "measure this machine", add_bench},
    {"completion", "print the completion of the command line for a shell", add_completion},
    {"manual", "print the manual page", add_manual},
};

std::string general_help() {
  std::string text =
      "Fairlane looks for people whose decision changes when nothing but a protected attribute "
      "(age, race, gender) does.\n\nusage: fairlane COMMAND ...\n\n";
  for (Command const& command : kCommands) {
    text += fmt::format("  {:<10} {}\n", command.name, command.description);
  }
  return text +
         "\nfairlane COMMAND --help shows its arguments, fairlane --version the version.\n"
         "New here? Try: fairlane demo\n";
}

Command const& find_command(std::string const& name) {
  std::vector<std::string> names;
  for (Command const& command : kCommands) {
    if (name == command.name) return command;
    names.emplace_back(command.name);
  }
  throw usage_error(fmt::format("unknown command {}, expected one of {}{}", in_quotes(name),
                                fmt::join(names, ", "), did_you_mean(name, names)));
}

ExitCode run_command(Command const& command, std::vector<std::string> const& words) {
  Arguments arguments(command.name, command.description);
  Action const action = command.add(arguments);
  if (!arguments.parse(words)) {
    print(arguments.help());
    return ExitCode::kOk;
  }
  return action();
}

int report(ExitCode code, std::string const& what) {
  tell_error(what);
  return static_cast<int>(code);
}

}  // namespace

std::span<Command const> commands() { return kCommands; }

ExitCode run_words(std::vector<std::string> const& arguments) {
  if (arguments.empty()) {
    throw usage_error("no command; see 'fairlane --help', or try 'fairlane demo'");
  }
  std::string const& first = arguments.front();
  if (first == "--help" || first == "-h") {
    print(general_help());
    return ExitCode::kOk;
  }
  if (first == "--version") {
    print("fairlane " FAIRLANE_VERSION "\n");
    return ExitCode::kOk;
  }
  if (first.size() > 1 && first[0] == '-') {
    throw usage_error(fmt::format("unknown option {}{}; options follow the command",
                                  in_quotes(first), did_you_mean(first, {"--help", "--version"})));
  }
  return run_command(find_command(first), {arguments.begin() + 1, arguments.end()});
}

int fairlane_main(int argc, char** argv) {
  try {
    std::span<char*> const words(argv, static_cast<std::size_t>(argc));
    std::vector<std::string> const arguments(words.begin() + (argc > 0 ? 1 : 0), words.end());
    ExitCode const code = run_words(arguments);
    flush_stdout();
    return static_cast<int>(code);
  } catch (Error const& error) {
    return report(error.code(), error.what());
  } catch (std::bad_alloc const&) {
    std::fputs("fairlane: error: out of memory\n", stderr);  // nothing that allocates
    return static_cast<int>(ExitCode::kMemory);
  } catch (std::exception const& error) {
    return report(ExitCode::kBug, fmt::format("this is a bug, please report it: {}", error.what()));
  }
}

}  // namespace fairlane
