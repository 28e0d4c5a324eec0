// Writes TorchScript files without LibTorch.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/checkout.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// A TorchScript file whose forward(self, x) is `body`; its path.
inline std::string write_module(TemporaryFolder const& folder, std::string const& body) {
  std::string const text = folder.write("body", body);
  std::string path = folder.file("module.pt");
  std::string const command = test_python() + " '" + source_dir() +
                              "/tests/models/torch/write_module.py' '" + path + "' < '" + text +
                              "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return path;
}

}  // namespace fairlane
