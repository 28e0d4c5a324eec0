#include "models/train/voter.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "models/torch/loader.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestVoterReason = 400;

void require_voter(TorchStatus problem) {
  if (problem == nullptr) return;
  throw Error(ExitCode::kUnavailable,
              fmt::format("OpenCV cannot classify: {}", escaped(problem, kLongestVoterReason)));
}

TorchVoterKind torch_kind(VoterKind kind) {
  switch (kind) {
    case VoterKind::kForest:
      return kTorchForest;
    case VoterKind::kNeighbours:
      return kTorchNeighbours;
  }
  throw Error(ExitCode::kBug, "a kind of voter without a name in the plug-in");
}

}  // namespace

bool has_voters() { return torch_plugin().fit_voter != nullptr; }

FittedVoter::FittedVoter(VoterKind kind, std::span<float const> inputs,
                         std::span<std::int32_t const> labels, int classes, std::uint64_t seed)
    : plugin_(torch_plugin()),
      columns_(static_cast<int>(inputs.size() / labels.size())),
      classes_(classes),
      voter_(nullptr, plugin_.free_voter) {
  if (plugin_.fit_voter == nullptr) {
    throw Error(ExitCode::kUnavailable,
                "this LibTorch plug-in was built without OpenCV's classifiers; install "
                "libopencv-ml-dev and build again");
  }
  TorchVoter* voter = nullptr;
  require_voter(plugin_.fit_voter(torch_kind(kind), inputs.data(), labels.data(),
                                  static_cast<std::int64_t>(labels.size()), columns_, classes_,
                                  seed, &voter));
  voter_.reset(voter);
}

std::vector<float> FittedVoter::vote(std::span<float const> inputs) const {
  std::size_t const count = inputs.size() / static_cast<std::size_t>(columns_);
  std::vector<float> shares(count * static_cast<std::size_t>(classes_));
  require_voter(
      plugin_.vote(voter_.get(), inputs.data(), static_cast<std::int64_t>(count), shares.data()));
  return shares;
}

}  // namespace fairlane
