// The arguments of a command: declared once, from which parsing, --help, completion and the manual
// follow. CLI11, which parses them, stands behind arguments.cpp: its headers cost every file that
// sees them seconds.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace fairlane {

/// Where the values of one argument go, and how it is shown.
class Argument {
 public:
  virtual ~Argument() = default;
  /// What stands for its value in --help: "DIR"; empty for positional arguments.
  virtual Argument* type_name(std::string const& name) = 0;
  virtual Argument* required(bool value = true) = 0;
  /// One value each time it is given, instead of all that follow. For lists.
  virtual Argument* one_at_a_time() = 0;
  /// A value holds several, parted by this character. For lists.
  virtual Argument* delimiter(char character) = 0;
};

/// What is known of an argument.
/// names     as a person writes them: "--quiet", "-q"; of a positional argument its name alone
/// value     what stands for its value; empty for flags and positional arguments
struct ArgumentSummary {
  std::vector<std::string> names;
  std::string value;
  std::string help;
  bool positional = false;
  bool required = false;
};

/// Declares and parses the arguments of one command. What is bound to must outlive it.
class Arguments {
 public:
  Arguments(std::string const& command, std::string const& description);
  ~Arguments();
  Arguments(Arguments const&) = delete;
  Arguments& operator=(Arguments const&) = delete;

  /// name: "--out"; "CONFIG" for a positional argument.
  Argument* add_option(std::string const& name, std::string& to, std::string const& help);
  Argument* add_option(std::string const& name, std::vector<std::string>& to,
                       std::string const& help);
  /// name: "--quiet", or with a short form "--quiet,-q".
  void add_flag(std::string const& name, bool& to, std::string const& help);

  /// Sets what the words name. Returns false where they ask for help. Throws Error(kUsage): with
  /// the nearest name for one that is unknown, and where a value is empty.
  bool parse(std::vector<std::string> words);
  /// What --help prints.
  std::string help() const;
  /// All arguments in the order of their declaration, --help among them.
  std::vector<ArgumentSummary> summaries() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace fairlane
