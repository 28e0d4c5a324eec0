#include "apps/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/text.h"
#include "engine/config/config_keys.h"

namespace fairlane {
struct Arguments::Parser {
  class CliArgument final : public Argument {
   public:
    explicit CliArgument(CLI::Option& option) : option_(option) {}
    Argument* type_name(std::string const& name) override {
      option_.type_name(name);
      return this;
    }
    Argument* required(bool value) override {
      option_.required(value);
      return this;
    }
    Argument* one_at_a_time() override {
      option_.allow_extra_args(false);
      return this;
    }
    Argument* delimiter(char character) override {
      option_.delimiter(character);
      return this;
    }

   private:
    CLI::Option& option_;
  };

  Parser(std::string const& name, std::string const& description)
      : command(name), app(description, fmt::format("fairlane {}", name)) {
    app.allow_extras();
  }

  /// For an option that is a key of the configuration, where the command sets those.
  std::string set_hint(std::string const& flag) const {
    bool const is_key = flag.starts_with("--") && find_key(flag.substr(2)) != nullptr;
    if (!is_key || app.get_option_no_throw("--set") == nullptr) return "";
    return fmt::format("; a key of the configuration is set by --set {}=VALUE", flag.substr(2));
  }

  /// Refuses arguments that the command does not know.
  void check_extras() const {
    for (std::string const& extra : app.remaining()) {
      if (extra == "--") continue;
      if (extra.size() < 2 || extra[0] != '-') {
        throw usage_error(fmt::format("{}: unexpected argument {}", command, in_quotes(extra)));
      }
      std::vector<std::string> flags;
      for (CLI::Option const* option : app.get_options()) {
        for (std::string const& name : option->get_lnames()) flags.push_back("--" + name);
      }
      std::string const flag = extra.substr(0, extra.find('='));
      std::string suggestion = set_hint(flag);
      if (suggestion.empty()) suggestion = did_you_mean(flag, flags);
      if (suggestion.empty()) suggestion = fmt::format("; see 'fairlane {} --help'", command);
      throw usage_error(
          fmt::format("{}: unknown option {}{}", command, in_quotes(flag), suggestion));
    }
  }

  /// Refuses empty values, as a script's unset variable gives them: they would read as if the
  /// option had not been given at all. Refuses an option in the place of a value, too.
  void check_values() const {
    for (CLI::Option const* option : app.get_options()) {
      for (std::string const& value : option->results()) {
        bool const is_option = value.starts_with("--") && app.get_option_no_throw(value) != nullptr;
        if (!value.empty() && !is_option) continue;
        std::string const expected = option->get_positional() ? "" : option->get_type_name();
        throw usage_error(fmt::format("{}: {} is {}{}{}", command, option->get_name(),
                                      is_option ? "followed by " + value : "empty",
                                      expected.empty() ? "" : ", expected ", expected));
      }
    }
  }

  /// Says of an option that ends the line, or is followed by another one, what it lacks.
  /// message  the parser's, which begins with the option's name
  void check_missing_value(std::string const& message) const {
    for (CLI::Option const* option : app.get_options()) {
      if (!message.starts_with(option->get_name() + ":")) continue;
      throw usage_error(fmt::format(
          "{}: {} has no value, expected {}; see 'fairlane {} --help'", command, option->get_name(),
          option->get_type_name().empty() ? "one" : option->get_type_name(), command));
    }
  }

  /// Refuses a second value where one is meant.
  void check_counts() const {
    for (CLI::Option const* option : app.get_options()) {
      if (option->get_expected_max() != 1 || option->count() < 2) continue;
      throw usage_error(fmt::format("{}: {} is given {} times, expected once", command,
                                    option->get_name(), option->count()));
    }
  }

  std::string command;
  CLI::App app;
  std::deque<CliArgument> arguments;
};

Arguments::Arguments(std::string const& command, std::string const& description)
    : parser_(std::make_unique<Parser>(command, description)) {}
Arguments::~Arguments() = default;

Argument* Arguments::add_option(std::string const& name, std::string& to, std::string const& help) {
  return &parser_->arguments.emplace_back(*parser_->app.add_option(name, to, help));
}

Argument* Arguments::add_option(std::string const& name, std::vector<std::string>& to,
                                std::string const& help) {
  return &parser_->arguments.emplace_back(*parser_->app.add_option(name, to, help));
}

void Arguments::add_flag(std::string const& name, bool& to, std::string const& help) {
  parser_->app.add_flag(name, to, help);
}

bool Arguments::parse(std::vector<std::string> words) {
  std::string const& command = parser_->command;
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    parser_->app.parse(words);
  } catch (CLI::CallForHelp const&) {
    return false;
  } catch (CLI::RequiredError const& error) {
    parser_->check_extras();  // a misspelt flag is the likelier cause
    throw usage_error(
        fmt::format("{}: {}; see 'fairlane {} --help'", command, error.what(), command));
  } catch (CLI::ArgumentMismatch const& error) {
    parser_->check_counts();
    parser_->check_missing_value(error.what());
    throw usage_error(fmt::format("{}: {}", command, error.what()));
  } catch (CLI::ParseError const& error) {
    parser_->check_counts();
    throw usage_error(fmt::format("{}: {}", command, error.what()));
  }
  parser_->check_values();
  parser_->check_extras();
  return true;
}

std::string Arguments::help() const {
  constexpr std::size_t kWidth = 100;
  constexpr std::size_t kIndent = 30;  // where CLI11 begins what an argument means
  std::string const text = parser_->app.help();
  std::string wrapped;
  for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
    to = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, to - from);
    while (line.size() > kWidth) {
      std::size_t const blank = line.rfind(' ', kWidth);
      if (blank == std::string::npos || blank <= kIndent) break;
      wrapped += line.substr(0, blank) + "\n";
      line = std::string(kIndent, ' ') + line.substr(blank + 1);
    }
    wrapped += line + "\n";
  }
  return wrapped;
}

std::vector<ArgumentSummary> Arguments::summaries() const {
  std::vector<ArgumentSummary> result;
  for (CLI::Option const* option : parser_->app.get_options()) {
    ArgumentSummary& summary = result.emplace_back();
    summary.positional = option->get_positional();
    for (std::string const& name : option->get_lnames()) summary.names.push_back("--" + name);
    for (std::string const& name : option->get_snames()) summary.names.push_back("-" + name);
    if (summary.positional) summary.names.push_back(option->get_name(true));
    bool const takes_value = option->get_items_expected_max() > 0;
    if (takes_value && !summary.positional) summary.value = option->get_type_name();
    summary.help = option->get_description();
    summary.required = option->get_required();
  }
  return result;
}

}  // namespace fairlane
