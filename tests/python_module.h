// Modules that a test needs in the interpreter that it starts.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace fairlane {

inline bool has_module(std::string const& name) {
  return std::system(
             (std::string(FAIRLANE_PYTHON) + " -c 'import " + name + "' 2>/dev/null").c_str()) == 0;
}

}  // namespace fairlane

/// Skips the test where the interpreter has no such module.
#define FL_NEED_MODULE(name)         \
  if (!::fairlane::has_module(name)) \
  GTEST_SKIP() << name << " is not installed for " << FAIRLANE_PYTHON
