#include "models/train/forest.h"

#include "base/error.h"
#include "models/torch/loader.h"

namespace fairlane {
namespace {

void require_forest(TorchStatus problem) { require_torch(problem, "OpenCV cannot classify"); }

}  // namespace

bool has_forest() { return torch_plugin().fit_forest != nullptr; }

RandomForest::RandomForest(std::span<float const> inputs, std::span<std::int32_t const> labels,
                           int classes, std::uint64_t seed)
    : plugin_(&torch_plugin()),
      columns_(static_cast<int>(inputs.size() / labels.size())),
      classes_(classes),
      forest_(nullptr, plugin_->free_forest) {
  if (plugin_->fit_forest == nullptr) {
    throw Error(ExitCode::kUnavailable,
                "this LibTorch plug-in was built without OpenCV's random forest; install "
                "libopencv-ml-dev and build again");
  }
  TorchForest* forest = nullptr;
  require_forest(plugin_->fit_forest(inputs.data(), labels.data(),
                                     static_cast<std::int64_t>(labels.size()), columns_, classes_,
                                     seed, &forest));
  forest_.reset(forest);
}

std::vector<float> RandomForest::vote(std::span<float const> inputs) const {
  std::size_t const count = inputs.size() / static_cast<std::size_t>(columns_);
  std::vector<float> shares(count * static_cast<std::size_t>(classes_));
  require_forest(plugin_->forest_votes(forest_.get(), inputs.data(),
                                       static_cast<std::int64_t>(count), shares.data()));
  return shares;
}

}  // namespace fairlane
