// Expectations on errors: the exit code, one line, and the parts that a person needs.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace fairlane {

/// Runs `action` and expects an Error with this code whose message is one line and holds every
/// part.
inline void expect_error(ExitCode code, std::initializer_list<std::string> parts,
                         std::function<void()> const& action) {
  try {
    action();
    ADD_FAILURE() << "no error, expected one with '"
                  << (parts.size() == 0 ? std::string() : *parts.begin()) << "'";
  } catch (Error const& error) {
    std::string const message = error.what();
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << message;
    for (auto const& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << "\nin: " << message;
    for (char const c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
  }
}

}  // namespace fairlane
