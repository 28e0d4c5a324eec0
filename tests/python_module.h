// The interpreter of models that are Python programs, and the modules that it has.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/checkout.h"

namespace fairlane {

/// Begins a command. FAIRLANE_MODEL_PYTHON may name another interpreter, which has more libraries.
inline std::string model_python() {
  char const* const other = std::getenv("FAIRLANE_MODEL_PYTHON");
  return std::string(other != nullptr ? other : test_python()) + " -B ";
}

inline bool has_module(std::string const& name) {
  return std::system((model_python() + " -c 'import " + name + "' 2>/dev/null").c_str()) == 0;
}

}  // namespace fairlane

/// Skips the test where the interpreter has no such module.
#define FL_NEED_MODULE(name)         \
  if (!::fairlane::has_module(name)) \
  GTEST_SKIP() << name << " is not installed for " << ::fairlane::model_python()
