// A TorchScript module as a function of rows.
#pragma once

#include <torch/script.h>

#include <cstdint>
#include <string>

namespace fairlane {

/// Loaded and ready to score.
class ScriptedModule {
 public:
  /// Throws c10::Error or std::exception where the file is none, or does not take rows of so many
  /// inputs.
  ScriptedModule(char const* path, std::int32_t inputs, torch::Device device);

  std::int32_t outputs() const { return outputs_; }
  /// The operation that gives the result, changes of shape aside.
  std::string const& last_operation() const { return last_operation_; }

  /// Scores rows by so many threads, each at its own part.
  void score(float const* rows, std::int64_t count, std::int32_t threads, float* scores);

 private:
  /// Runs the module on one tile, rows [kTile][inputs]; returns float32 [kTile][outputs] on the
  /// CPU.
  torch::Tensor forward(torch::Tensor const& rows);

  torch::jit::Module module_;
  torch::Device device_;
  std::int32_t inputs_;
  std::int32_t outputs_ = 0;
  std::string last_operation_;
};

}  // namespace fairlane
