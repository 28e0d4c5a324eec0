#include "models/torch/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "models/improbable.h"
#include "models/torch/loader.h"

namespace fairlane {

namespace {

constexpr std::string_view kZip = "PK\x03\x04";
constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestReason = 400;

/// What can be said about a file before LibTorch sees it.
void require_archive(std::string const& path, std::string const& source) {
  std::string start(kZip.size(), '\0');
  start.resize(std::fread(start.data(), 1, start.size(), open_input(path).get()));
  if (start != kZip) {
    throw Error(ExitCode::kData,
                fmt::format("{}: {}, expected TorchScript, as torch.jit.save writes it", source,
                            start.empty() ? "is empty" : "is no zip archive"));
  }
}

/// A reason of LibTorch's, without its request to report it.
std::string shown(std::string_view problem) {
  return escaped(problem.substr(0, problem.find("  (Could this error")), kLongestReason);
}

class TorchScorer final : public Scorer {
 public:
  TorchScorer(std::string const& path, int inputs, TorchScorerOptions const& options)
      : source_(escaped(path, kLongestPath)), inputs_(inputs), threads_(options.threads) {
    require_archive(path, source_);
    TorchPlugin const& plugin = torch_plugin();
    score_ = plugin.score;
    if (threads_ <= 0) threads_ = machine_threads();
    char const* const device = plugin.cuda_devices > 0 ? "cuda" : "cpu";
    TorchModule* module = nullptr;
    if (TorchStatus const problem =
            plugin.load_module(path.c_str(), inputs, device, &module, &facts_);
        problem != nullptr) {
      throw Error(ExitCode::kData,
                  fmt::format("{}: cannot be used as TorchScript for rows of {} inputs: {}",
                              source_, inputs, shown(problem)));
    }
    module_ = {module, plugin.unload_module};
    kind_ = options.kind.value_or(facts_.probabilities != 0 ? ScoreKind::kProbabilities
                                                            : ScoreKind::kLogits);
    name_ = fmt::format("TorchScript {} ({}{}; {}, {})",
                        escaped(std::filesystem::path(path).filename().string()),
                        kind_ == ScoreKind::kProbabilities ? "probabilities" : "logits",
                        options.kind ? "" : fmt::format(": ends in {}", facts_.last_operation),
                        plugin.name, device);
  }

  std::string name() const override { return name_; }
  int inputs() const override { return inputs_; }
  int outputs() const override { return facts_.outputs; }
  ScoreKind kind() const override { return kind_; }

  void score(float const* rows, std::size_t count, float* scores) override {
    auto const stopped = [&](std::string const& what) {
      return Error(ExitCode::kStopped, fmt::format("{}: {}", source_, what));
    };
    if (TorchStatus const problem =
            score_(module_.get(), rows, static_cast<std::int64_t>(count), threads_, scores);
        problem != nullptr) {
      throw stopped(shown(problem));
    }
    if (kind_ != ScoreKind::kProbabilities) return;
    if (auto const problem = improbable(rows, inputs_, scores, facts_.outputs, count);
        !problem.empty()) {
      throw stopped("gives " + problem + "; are its scores logits?");
    }
  }

 private:
  std::string source_;
  int inputs_;
  int threads_;
  TorchStatus (*score_)(TorchModule*, float const*, std::int64_t, std::int32_t, float*) = nullptr;
  TorchModuleFacts facts_{};
  std::unique_ptr<TorchModule, void (*)(TorchModule*)> module_{nullptr, nullptr};
  ScoreKind kind_ = ScoreKind::kLogits;
  std::string name_;
};

}  // namespace

std::shared_ptr<Scorer> make_torch_scorer(std::string const& path, int inputs,
                                          TorchScorerOptions const& options) {
  return std::make_shared<TorchScorer>(path, inputs, options);
}

}  // namespace fairlane
