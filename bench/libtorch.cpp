// The same search by LibTorch, through its plug-in: the baseline.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "bench/contender.h"
#include "engine/check/double_evaluator.h"
#include "models/torch/layers.h"
#include "models/torch/loader.h"

namespace fairlane {

namespace {

/// A member is marginal when its logit lies within so many error bounds of the decision. The bound
/// holds for a float32 evaluation in our order; LibTorch adds in another one, rounds products, and
/// splits the first layer.
constexpr double kMarginalBounds = 4.0;

void require(TorchStatus status) { require_torch(status, "LibTorch"); }

TorchGradient torch_gradient(GradientKind kind) {
  if (kind == GradientKind::kLoss) return kTorchLoss;
  return kind == GradientKind::kProbability ? kTorchProbability : kTorchProbabilityDifference;
}

/// Whether float32 may decide a row either way, depending on the order of its sums.
bool is_marginal(DoubleEvaluator& evaluator, std::int32_t const* row, double threshold) {
  evaluator.evaluate(row);
  auto const& z = evaluator.logits();
  auto const& bound = evaluator.bound();
  if (z.size() == 1) return std::abs(z[0] - threshold) <= kMarginalBounds * bound[0];
  auto const top = static_cast<std::size_t>(std::max_element(z.begin(), z.end()) - z.begin());
  for (std::size_t c = 0; c < z.size(); ++c) {
    if (c != top && z[top] - z[c] <= kMarginalBounds * (bound[top] + bound[c])) return true;
  }
  return false;
}

class LibTorch : public Contender {
 public:
  LibTorch(BenchSearch const& search, int threads)
      : search_(search),
        plugin_(torch_plugin()),
        threads_(threads),
        backend_(make_backend(search.subject, on_cpu(), search.config.seed, [](Visits const&) {})) {
    load();
    plan();
    run();
    check();
  }

  double search(SearchBench* bench) override {
    double const seconds = run();
    if (bench == nullptr) return seconds;
    bench->backend = name();
    bench->threads = threads_;
    bench->libtorch = true;
    bench->iterations = counts_.tests + counts_.local_steps;
    bench->local_steps = counts_.local_steps;
    bench->unique_instances = counts_.unique_instances;
    bench->unique_groups = counts_.unique_groups;
    bench->marginal_instances = marginal_;
    return seconds;
  }

 private:
  static Execution on_cpu() {
    Execution execution;
    execution.backend = "cpu";
    execution.threads = 1;
    return execution;
  }

  std::string name() const {
    std::string const where = threads_ == 0   ? "cuda"
                              : threads_ == 1 ? "1 thread"
                                              : std::to_string(threads_) + " threads";
    return "libtorch (" + where + ")";
  }

  void load() {
    SubjectView const& view = search_.subject.view();
    for (auto const& attribute : search_.subject.domain().attributes) {
      if (attribute.encoding.kind == EncodingKind::kIdentity && attribute.values.empty() &&
          !attribute.immutable)
        continue;
      throw Error(ExitCode::kUnavailable,
                  fmt::format("libtorch: attribute {} has an encoding, a list of values or is "
                              "immutable, which the baseline does not know; use --libtorch off",
                              in_quotes(attribute.name)));
    }
    std::vector<TorchLayer> const layers = torch_layers(view.network);
    auto const& packed = backend_->subject();
    int const variants = packed.get().variants;
    std::vector<std::int32_t> values;
    for (int v = 0; v < variants; ++v) {
      for (int s = 0; s < packed.get().selected; ++s) values.push_back(packed.variant_value(v, s));
    }
    TorchSubject subject{};
    subject.layers = static_cast<std::int32_t>(layers.size());
    subject.layer = layers.data();
    subject.attributes = static_cast<std::int32_t>(view.low.size());
    subject.low = view.low.data();
    subject.high = view.high.data();
    subject.selected_count = static_cast<std::int32_t>(view.selected.size());
    subject.selected = view.selected.data();
    subject.variants = variants;
    subject.variant_value = values.data();
    subject.threshold = view.threshold;
    TorchLoaded* loaded = nullptr;
    require(plugin_.load(&subject, threads_ == 0 ? "cuda" : "cpu", &loaded));
    loaded_ = {loaded, plugin_.unload};
  }

  void plan() {
    RunConfig const& config = search_.config;
    MethodSpec const& method = search_.method;
    auto const width = static_cast<std::size_t>(search_.subject.domain().size());
    plan_.seeds = search_.seeds.count();
    rows_.resize(static_cast<std::size_t>(plan_.seeds) * width);
    search_.seeds.rows(0, plan_.seeds, rows_.data());
    for (std::size_t at = 0; at < rows_.size(); at += width)
      variants_.push_back(backend_->subject().variant_of(rows_.data() + at));
    plan_.threads = std::max(1, threads_);
    plan_.seed = config.seed;
    plan_.row = rows_.data();
    plan_.variant = variants_.data();
    plan_.gradient = torch_gradient(method.gradient);
    plan_.difference = static_cast<float>(config.perturbation_size);
    plan_.max_iter = config.global.max_iter;
    plan_.global_step = static_cast<float>(config.global.step * method.sign);
    plan_.decay = method.uses_decay ? static_cast<float>(config.global.decay) : 0.0F;
    plan_.local_steps = config.local.num;
    plan_.local_step = static_cast<float>(config.local.step);
    bool const never = config.local.update_interval == kNeverUpdate;
    plan_.never_renew = never && !method.local_renews_always ? 1 : 0;
    plan_.interval = method.local_renews_always ? 0 : config.local.update_interval;
    plan_.epsilon = static_cast<float>(config.local.epsilon);
  }

  double run() {
    auto const start = std::chrono::steady_clock::now();
    require(plugin_.search(loaded_.get(), &plan_, &counts_));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  /// Evaluates every instance of the last search with our own backend.
  void check() {
    constexpr std::int64_t kRows = 4096;  // at a time
    auto const width = static_cast<std::size_t>(search_.subject.domain().size());
    std::vector<std::int32_t> rows(kRows * width);
    std::vector<Description> descriptions(kRows);
    DoubleEvaluator evaluator(search_.subject.model().network("LibTorch"),
                              &search_.subject.domain());
    for (std::int64_t first = 0; first < counts_.unique_instances; first += kRows) {
      std::int64_t const count = std::min(kRows, counts_.unique_instances - first);
      require(plugin_.instances(loaded_.get(), first, count, rows.data()));
      backend_->describe(rows.data(), static_cast<std::size_t>(count), descriptions.data());
      for (std::int64_t i = 0; i < count; ++i) {
        auto const at = static_cast<std::size_t>(i);
        if (descriptions[at].pair_variant < 0) judge(evaluator, rows.data() + at * width);
      }
    }
  }

  /// An instance that is none to us: marginal, or false.
  void judge(DoubleEvaluator& evaluator, std::int32_t const* row) {
    SubjectView const& view = search_.subject.view();
    auto const& packed = backend_->subject();
    std::vector<std::int32_t> member(row, row + view.low.size());
    for (int v = 0; v < packed.get().variants; ++v) {
      for (std::size_t s = 0; s < view.selected.size(); ++s) {
        member[static_cast<std::size_t>(view.selected[s])] =
            packed.variant_value(v, static_cast<int>(s));
      }
      if (is_marginal(evaluator, member.data(), static_cast<double>(view.threshold))) {
        ++marginal_;
        return;
      }
    }
    std::string text;
    for (std::size_t a = 0; a < view.low.size(); ++a)
      text += (a == 0 ? "" : ",") + std::to_string(row[a]);
    throw Error(ExitCode::kIntegrity,
                "bench: " + name() + " reports " + text + ", whose similar set has one label");
  }

  BenchSearch const& search_;
  TorchPlugin const& plugin_;
  int threads_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<TorchLoaded, void (*)(TorchLoaded*)> loaded_{nullptr, nullptr};
  TorchSearch plan_{};
  TorchCounts counts_{};
  std::vector<std::int32_t> rows_;
  std::vector<std::int32_t> variants_;
  std::int64_t marginal_ = 0;
};

}  // namespace

std::string libtorch_problem(BenchSearch const& search) {
  if (search.subject.model().scorer()) return "the LibTorch baseline searches networks only";
  if (search.method.kind != SearchKind::kGradient || search.method.test != Test::kPartner) {
    return std::string("the LibTorch baseline searches with eidig, adf and maft, not with ") +
           search.method.name;
  }
  auto const& budget = search.config.budget;
  if (budget.iterations || budget.instances || budget.seconds)
    return "the LibTorch baseline knows no budget but budget.seeds";
  return "";
}

std::unique_ptr<Contender> make_libtorch(BenchSearch const& search, int threads) {
  return std::make_unique<LibTorch>(search, threads);
}

}  // namespace fairlane
