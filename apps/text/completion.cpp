#include "apps/text/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engine/search/method.h"

namespace fairlane {
namespace {

constexpr char const* kGeneral = "--help --version";

/// What the value of an argument may be.
enum class Value { kNone, kAny, kFile, kFolder, kWords };

struct Completion {
  Value value = Value::kAny;
  std::string words;  // of kWords, with blanks between
};

/// `text` with `escape` before each character of `special`.
std::string with_escapes(std::string const& text, std::string const& special, char escape) {
  std::string result;
  for (char const c : text) {
    if (special.find(c) != std::string::npos) result += escape;
    result += c;
  }
  return result;
}

std::string method_names() {
  std::string names;
  for (MethodSpec const& method : methods())
    names += (names.empty() ? "" : " ") + std::string(method.name);
  return names;
}

/// Of flags by what stands for their value, of positional arguments by their name.
Completion completion_of(ArgumentSummary const& argument) {
  std::string const& name = argument.names.front();
  std::string const& kind = argument.positional ? name : argument.value;
  if (kind.empty()) return {Value::kNone, ""};
  if (name == "--log-level") return {Value::kWords, "trace debug info warn error off"};
  if (name == "--backend") return {Value::kWords, "auto cpu cuda"};
  if (name == "--isa") return {Value::kWords, "avx512 avx2 neon portable"};
  if (name == "--libtorch") return {Value::kWords, "auto on off"};
  if (name == "--instances") return {Value::kWords, "none all"};
  if (name == "--methods") return {Value::kWords, method_names()};
  if (kind == "SHELL")
    return {Value::kWords, fmt::format("{}", fmt::join(completion_shells(), " "))};
  if (kind.starts_with("DIR")) return {Value::kFolder, ""};
  bool const file = argument.positional || kind == "FILE";
  return {file ? Value::kFile : Value::kAny, ""};
}

std::string command_names(std::vector<CommandSummary> const& commands) {
  std::string names;
  for (auto const& command : commands) names += command.name + " ";
  return names;
}

/// The completion of the first positional argument; of no value where there is none.
Completion positional_of(CommandSummary const& command) {
  for (auto const& argument : command.arguments)
    if (argument.positional) return completion_of(argument);
  return {Value::kNone, ""};
}

std::string bash_reply(Completion const& completion) {
  switch (completion.value) {
    case Value::kFile:
      return "_fairlane_reply -f";
    case Value::kFolder:
      return "_fairlane_reply -d";
    case Value::kWords:
      return fmt::format("_fairlane_reply -W '{}'", completion.words);
    case Value::kAny:
    case Value::kNone:
      break;
  }
  return ":";
}

std::string bash_script(std::vector<CommandSummary> const& commands) {
  std::string text =
      fmt::format(R"sh(# Completion of fairlane for bash, written by `fairlane completion bash`.
_fairlane_reply() {{
  local IFS=$'\n'
  case $1 in -f | -d) compopt -o filenames ;; *) IFS=$' \n' ;; esac
  COMPREPLY=($(compgen "$@" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}

_fairlane() {{
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _fairlane_reply -W '{}{}'
    return
  fi
  local command=${{COMP_WORDS[1]}} flag=${{COMP_WORDS[COMP_CWORD - 1]}}
  case $command:$flag in
)sh",
                  command_names(commands), kGeneral);
  std::string rest = "  case $command:${COMP_WORDS[COMP_CWORD]} in\n";
  for (auto const& command : commands) {
    std::string flags;
    for (auto const& argument : command.arguments) {
      if (argument.positional) continue;
      flags += fmt::format("{}{}", flags.empty() ? "" : " ", fmt::join(argument.names, " "));
      Completion const completion = completion_of(argument);
      if (completion.value == Value::kNone) continue;
      std::string labels;
      for (auto const& name : argument.names)
        labels += fmt::format("{}{}:{}", labels.empty() ? "" : " | ", command.name, name);
      text += fmt::format("    {}) {}; return ;;\n", labels, bash_reply(completion));
    }
    rest += fmt::format("    {}:-*) _fairlane_reply -W '{}' ;;\n", command.name, flags);
    rest += fmt::format("    {}:*) {} ;;\n", command.name, bash_reply(positional_of(command)));
  }
  return text + "  esac\n" + rest + "  esac\n}\ncomplete -F _fairlane fairlane\n";
}

std::string zsh_action(Completion const& completion) {
  switch (completion.value) {
    case Value::kFile:
      return "_files";
    case Value::kFolder:
      return "_files -/";
    case Value::kWords:
      return fmt::format("({})", completion.words);
    case Value::kAny:
    case Value::kNone:
      break;
  }
  return " ";
}

/// Inside '...' of zsh: a quote ends the string, is escaped and begins it again.
std::string zsh_text(std::string const& text) {
  std::string result;
  for (char const c : with_escapes(text, "[]:\\", '\\'))
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string zsh_argument(ArgumentSummary const& argument) {
  Completion const completion = completion_of(argument);
  std::string const action = zsh_action(completion);
  if (argument.positional)
    return fmt::format("        '{}:{}:{}'", argument.required ? "" : ":",
                       zsh_text(argument.names.front()), action);
  std::string lines;
  for (auto const& name : argument.names) {
    lines += fmt::format("{}        '*{}[{}]", lines.empty() ? "" : " \\\n", name,
                         zsh_text(argument.help));
    if (completion.value != Value::kNone)
      lines += fmt::format(":{}:{}", zsh_text(argument.value), action);
    lines += "'";
  }
  return lines;
}

std::string zsh_script(std::vector<CommandSummary> const& commands) {
  std::string names;
  std::string cases;
  for (auto const& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.description));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (auto const& argument : command.arguments) cases += " \\\n" + zsh_argument(argument);
    cases += "\n      ;;\n";
  }
  return fmt::format(R"sh(#compdef fairlane
# Completion of fairlane for zsh, written by `fairlane completion zsh`.
_fairlane() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _values option '--help[show the commands]' '--version[show the version]'
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_fairlane "$@"
)sh",
                     names, cases);
}

std::string fish_text(std::string const& text) { return with_escapes(text, "\\'", '\\'); }

std::string fish_values(Completion const& completion) {
  switch (completion.value) {
    case Value::kFile:
      return " -r -F";
    case Value::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Value::kWords:
      return fmt::format(" -x -a '{}'", completion.words);
    case Value::kAny:
      return " -x";
    case Value::kNone:
      break;
  }
  return "";
}

std::string fish_script(std::vector<CommandSummary> const& commands) {
  std::string text =
      "# Completion of fairlane for fish, written by `fairlane completion fish`.\n"
      "complete -c fairlane -f\n"
      "complete -c fairlane -n __fish_use_subcommand -l help -d 'show the commands'\n"
      "complete -c fairlane -n __fish_use_subcommand -l version -d 'show the version'\n";
  for (auto const& command : commands) {
    text += fmt::format("complete -c fairlane -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, fish_text(command.description));
    std::string const after =
        fmt::format("complete -c fairlane -n '__fish_seen_subcommand_from {}'", command.name);
    for (auto const& argument : command.arguments) {
      Completion const completion = completion_of(argument);
      if (argument.positional) {
        bool const files = completion.value == Value::kFile || completion.value == Value::kFolder;
        text += after + (files ? " -F\n" : fmt::format(" -a '{}'\n", completion.words));
        continue;
      }
      text += after;
      for (auto const& name : argument.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format("{} -d '{}'\n", fish_values(completion), fish_text(argument.help));
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> completion_shells() { return {"bash", "zsh", "fish"}; }

std::string completion_script(std::string const& shell,
                              std::vector<CommandSummary> const& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw usage_error(fmt::format("completion: unknown shell {}, expected one of {}{}",
                                in_quotes(shell), fmt::join(completion_shells(), ", "),
                                did_you_mean(shell, completion_shells())));
}

}  // namespace fairlane
