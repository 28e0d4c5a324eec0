#include "apps/text/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

namespace fairlane {
namespace {

/// An argument of at least so many commands is described once, for all of them.
constexpr std::int64_t kShared = 3;

struct ExitMeaning {
  ExitCode code;
  char const* meaning;
};
constexpr std::array kExitMeanings = {
    ExitMeaning{ExitCode::kOk, "done"},
    ExitMeaning{ExitCode::kPolicy, "the policy of --fail-above was met"},
    ExitMeaning{ExitCode::kPartly, "done in part"},
    ExitMeaning{ExitCode::kUsage, "the command line is wrong"},
    ExitMeaning{ExitCode::kData, "a model or a table is malformed"},
    ExitMeaning{ExitCode::kNoInput, "an input file is missing or cannot be read"},
    ExitMeaning{ExitCode::kUnavailable, "a device or a feature is not available here"},
    ExitMeaning{ExitCode::kBug, "an internal check failed: please report it"},
    ExitMeaning{ExitCode::kMemory, "out of memory"},
    ExitMeaning{ExitCode::kOutput, "the output directory cannot be used"},
    ExitMeaning{ExitCode::kDisk, "writing failed"},
    ExitMeaning{ExitCode::kStopped, "stopped with the state saved: the same command goes on"},
    ExitMeaning{ExitCode::kIntegrity, "a result does not hold, or nothing is known"},
    ExitMeaning{ExitCode::kConfig, "the configuration is wrong"},
    ExitMeaning{ExitCode::kInterrupted, "interrupted, with nothing saved"},
};

/// `text` as it is: no character of it is taken for a request or an escape.
std::string roff(std::string const& text) {
  std::string result;
  for (char const c : text) {
    bool const first = result.empty() || result.back() == '\n';
    if (first && (c == '.' || c == '\'')) result += "\\&";
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string argument_text(ArgumentSummary const& argument) {
  std::string head;
  if (argument.positional) {
    head = fmt::format("\\fI{}\\fR", roff(argument.names.front()));
  } else {
    for (auto const& name : argument.names)
      head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", roff(name));
    if (!argument.value.empty()) head += fmt::format(" \\fI{}\\fR", roff(argument.value));
  }
  return fmt::format(".TP\n{}\n{}\n", head, roff(argument.help));
}

bool same(ArgumentSummary const& a, ArgumentSummary const& b) {
  return a.names == b.names && a.value == b.value && a.help == b.help &&
         a.positional == b.positional;
}

bool is_shared(ArgumentSummary const& argument, std::vector<CommandSummary> const& commands) {
  auto const has = [&](CommandSummary const& command) {
    return std::any_of(command.arguments.begin(), command.arguments.end(),
                       [&](auto const& other) { return same(argument, other); });
  };
  return !argument.positional && std::count_if(commands.begin(), commands.end(), has) >= kShared;
}

std::string command_text(CommandSummary const& command,
                         std::vector<CommandSummary> const& commands) {
  std::string synopsis = fmt::format("\\fBfairlane {}\\fR [\\fIOPTION\\fR]...", command.name);
  std::string own;
  std::string shared;
  for (auto const& argument : command.arguments) {
    if (argument.positional) {
      std::string const name = fmt::format("\\fI{}\\fR", roff(argument.names.front()));
      synopsis += argument.required ? " " + name : " [" + name + "]";
    }
    if (is_shared(argument, commands)) {
      shared +=
          fmt::format("{}\\fB{}\\fR", shared.empty() ? "" : ", ", roff(argument.names.front()));
    } else {
      own += argument_text(argument);
    }
  }
  std::string text =
      fmt::format(".SS {}\n{}\n.PP\n{}.\n", command.name, synopsis, roff(command.description));
  text += own;
  if (!shared.empty()) text += fmt::format(".PP\nAlso {}; see below.\n", shared);
  return text;
}

}  // namespace

std::string manual_page(std::vector<CommandSummary> const& commands) {
  std::string text = ".TH FAIRLANE 1 \"\" \"fairlane " FAIRLANE_VERSION
                     "\" \"User Commands\"\n"
                     ".SH NAME\nfairlane \\- find people whose decision changes when nothing but a "
                     "protected attribute does\n"
                     ".SH SYNOPSIS\n\\fBfairlane\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... "
                     "[\\fIARGUMENT\\fR]...\n.br\n"
                     "\\fBfairlane\\fR \\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n"
                     ".SH DESCRIPTION\n"
                     "Fairlane tests the individual fairness of tabular classifiers: neural "
                     "networks, ensembles of trees, TorchScript modules and programs.\n"
                     "Results for people go to the standard output, everything else to the "
                     "standard error.\n.SH COMMANDS\n";
  std::vector<ArgumentSummary> shared;
  for (auto const& command : commands) {
    text += command_text(command, commands);
    for (auto const& argument : command.arguments) {
      bool const known = std::any_of(shared.begin(), shared.end(),
                                     [&](auto const& other) { return same(argument, other); });
      if (!known && is_shared(argument, commands)) shared.push_back(argument);
    }
  }
  text += ".SH OPTIONS OF SEVERAL COMMANDS\n";
  for (auto const& argument : shared) text += argument_text(argument);
  text += ".SH EXIT STATUS\n";
  for (auto const& [code, meaning] : kExitMeanings)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", static_cast<int>(code), roff(meaning));
  text += fmt::format(
      ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nno colours, whatever its value\n"
      ".TP\n\\fBFAIRLANE_PLUGIN_DIR\\fR\nfolder of the LibTorch plug\\-in, instead of the "
      "program's own\n"
      ".SH EXAMPLES\n.nf\n{}.fi\n",
      roff("fairlane demo\n"
           "fairlane init model.onnx people.csv\n"
           "fairlane run people.yaml\n"
           "fairlane check results/people\n"));
  return text;
}

}  // namespace fairlane
