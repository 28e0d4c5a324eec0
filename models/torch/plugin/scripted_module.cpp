#include "models/torch/plugin/scripted_module.h"

#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fairlane {

namespace {

// Rows of every product: how a matrix product adds up depends on how many rows it has and on its
// threads, and equal rows must get equal scores. A batch is cut into tiles of this size, the last
// one padded, each run by one thread.
constexpr std::int64_t kTile = 2048;

/// The operation that gives the result of `module.forward`, looked for behind changes of shape and
/// type.
std::string find_last_operation(torch::jit::Module const& module) {
  auto const graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  auto const* value = graph->outputs().at(0);
  static char const* const kShapes[] = {
      "aten::squeeze", "aten::squeeze_", "aten::unsqueeze",  "aten::flatten", "aten::view",
      "aten::reshape", "aten::to",       "aten::contiguous", "aten::select",  "aten::slice",
      "aten::detach",  "aten::float",    "aten::transpose"};
  while (true) {
    std::string const name = value->node()->kind().toQualString();
    bool const passes = std::any_of(std::begin(kShapes), std::end(kShapes),
                                    [&](char const* shape) { return name == shape; });
    if (!passes || value->node()->inputs().empty()) return name;
    value = value->node()->inputs().at(0);
  }
}

}  // namespace

ScriptedModule::ScriptedModule(char const* path, std::int32_t inputs, torch::Device device)
    : module_(torch::jit::load(path, device)), device_(device), inputs_(inputs) {
  module_.eval();
  last_operation_ = find_last_operation(module_);
  torch::InferenceMode const inference;
  outputs_ = static_cast<std::int32_t>(forward(torch::zeros({kTile, inputs_})).size(1));
}

torch::Tensor ScriptedModule::forward(torch::Tensor const& rows) {
  torch::IValue const result = module_.forward({rows.to(device_)});
  if (!result.isTensor())
    throw std::runtime_error("forward gives " + result.tagKind() + ", expected a tensor");
  torch::Tensor scores = result.toTensor();
  if (scores.dim() == 1) scores = scores.unsqueeze(1);
  if (scores.dim() != 2 || scores.size(0) != kTile || scores.size(1) < 1 ||
      (outputs_ != 0 && scores.size(1) != outputs_)) {
    std::string shape;
    for (auto const size : result.toTensor().sizes())
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    throw std::runtime_error("forward gives scores of shape [" + shape + "] for " +
                             std::to_string(kTile) + " rows, expected [n] or [n, outputs]");
  }
  return scores.to(torch::kCPU, torch::kFloat32).contiguous();
}

void ScriptedModule::score(float const* rows, std::int64_t count, std::int32_t threads,
                           float* scores) {
  std::int64_t const tiles = (count + kTile - 1) / kTile;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto const work = [&] {
    torch::InferenceMode const inference;
    try {
      for (std::int64_t tile = next++; tile < tiles; tile = next++) {
        std::int64_t const first = tile * kTile;
        std::int64_t const some = std::min(kTile, count - first);
        torch::Tensor const padded = torch::zeros({kTile, inputs_});
        std::copy_n(rows + first * inputs_, some * inputs_, padded.data_ptr<float>());
        torch::Tensor const result = forward(padded);
        std::copy_n(result.data_ptr<float>(), some * outputs_, scores + first * outputs_);
      }
    } catch (...) {
      std::lock_guard const lock(mutex);
      failure = std::current_exception();
      next = tiles;
    }
  };
  if (tiles == 0) return;
  auto const workers = std::clamp<std::int64_t>(device_.is_cuda() ? 1 : threads, 1, tiles);
  std::vector<std::thread> others;
  for (std::int64_t i = 1; i < workers; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace fairlane
