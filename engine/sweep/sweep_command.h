// The commands that a sweep has cells of.
#pragma once

#include <span>
#include <string>

namespace fairlane {

/// What a command's cells are told apart by, and where their result is.
struct SweepCommand {
  char const* name;
  char const* result;  // the file of its figures
  bool takes_method;   // the axis of methods multiplies its cells
  bool lists_methods;  // --methods takes them all
  bool takes_seed;     // the axis of seeds multiplies its cells
};

/// All of them, in the order of the documentation.
std::span<SweepCommand const> sweep_commands();
/// The command of this name; null when there is none.
SweepCommand const* find_sweep_command(std::string const& name);

}  // namespace fairlane
