#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/threads/thread_pool.h"
#include "bench/bench.h"
#include "kernels/cpu/cpu_block.h"

namespace fairlane {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A network with weights from Philox, scaled so that activations keep their size.
struct RandomNetwork {
  explicit RandomNetwork(std::vector<int> const& widths) {
    std::uint32_t number = 0;
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      auto const inputs = static_cast<std::size_t>(widths[l]);
      auto const outputs = static_cast<std::size_t>(widths[l + 1]);
      double const scale = std::sqrt(6.0 / static_cast<double>(inputs));
      auto const draw = [&] {
        auto const words =
            philox<ScalarPack>(number++, static_cast<std::uint32_t>(Phase::kData), 0U, 0U, 1U);
        return static_cast<float>(scale * (2.0 * unit_float<ScalarPack>(words.w[0]) - 1.0));
      };
      weights.emplace_back(inputs * outputs);
      for (auto& w : weights.back()) w = draw();
      biases.emplace_back(outputs);
      for (auto& b : biases.back()) b = 0.1F * draw();
    }
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      bool const last = l + 2 == widths.size();
      layers.push_back({widths[l], widths[l + 1], last ? Activation::kSigmoid : Activation::kRelu,
                        0.0F, weights[l], biases[l]});
    }
  }

  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> biases;
  std::vector<LayerView> layers;
};

/// Runs work until about `seconds` have passed; returns calls per second.
template <class Work>
double rate(double seconds, Work&& work) {
  std::int64_t calls = 0;
  auto const start = Clock::now();
  double elapsed = 0.0;
  while (elapsed < seconds) {
    constexpr int kBetweenLooks = 8;
    for (int i = 0; i < kBetweenLooks; ++i) work();
    calls += kBetweenLooks;
    elapsed = seconds_since(start);
  }
  return static_cast<double>(calls) / elapsed;
}

}  // namespace

double peak_gflops(std::string const& isa, double seconds, int threads) {
  auto const& kernels = select_kernels(isa.c_str());
  std::vector<double> gflops(static_cast<std::size_t>(threads));
  ThreadPool().run(threads, [&](int worker) {
    constexpr std::int64_t kRounds = 4096;
    constexpr double kFlopsPerFma = 2.0;
    std::vector<float> sink(kPadLanes, 0.0F);
    std::int64_t done = 0;
    double const calls = rate(seconds, [&] {
      sink[0] = 0.999F;
      sink[1] = 0.001F;
      done = kernels.multiply_adds(kRounds, sink.data());
    });
    gflops[static_cast<std::size_t>(worker)] =
        calls * static_cast<double>(done) * kFlopsPerFma * 1e-9;
  });
  return std::accumulate(gflops.begin(), gflops.end(), 0.0);
}

ForwardResult bench_forward(std::vector<int> const& widths, int variants, std::string const& isa,
                            int repetitions) {
  RandomNetwork const network(widths);
  int const attributes = widths.front();
  constexpr std::int32_t kValues = 8;
  std::vector<std::int32_t> const low(static_cast<std::size_t>(attributes), 0);
  std::vector<std::int32_t> const high(static_cast<std::size_t>(attributes),
                                       std::max(kValues, variants) - 1);
  std::vector<std::uint8_t> flagged(static_cast<std::size_t>(attributes), 0);
  flagged.back() = 1;
  std::vector<std::int32_t> const selected = {attributes - 1};
  std::vector<std::int32_t> values(static_cast<std::size_t>(variants));
  for (int v = 0; v < variants; ++v) values[static_cast<std::size_t>(v)] = v;
  std::vector<std::span<std::int32_t const>> const value_spans = {values};
  SubjectView const view{network.layers, low, high, flagged, selected, value_spans, 0.0F};

  constexpr int kLanes = 512;
  LaneArray<std::int32_t> x(attributes, kLanes);
  for (int a = 0; a < attributes; ++a) {
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      auto const words = philox<ScalarPack>(i, static_cast<std::uint32_t>(Phase::kData),
                                            static_cast<std::uint32_t>(a), 1U, 1U);
      x(a, i) = static_cast<std::int32_t>(below<ScalarPack>(words.w[0], kValues));
    }
  }
  int const outputs = widths.back();
  LaneArray<float> logits(outputs, kLanes);
  LaneArray<float> reference(outputs, kLanes);
  LaneArray<float> gradient(attributes, kLanes);
  LaneArray<std::uint32_t> packed(1, kLanes);
  LaneArray<std::int32_t> flags(1, kLanes);

  auto const& kernels = select_kernels(isa.c_str());
  auto const& portable = select_kernels("portable");
  PackedSubject const subject(view, kernels.tile_outputs);
  PackedSubject const portable_subject(view, portable.tile_outputs);
  ScratchMemory const scratch(subject.get(), kernels.tile_lanes);
  ScratchMemory const portable_scratch(portable_subject.get(), portable.tile_lanes);
  auto const forward = [&] {
    kernels.logits(subject.get(), x.data(), kLanes, kLanes, scratch.get(), logits.data(), kLanes);
  };
  forward();
  portable.logits(portable_subject.get(), x.data(), kLanes, kLanes, portable_scratch.get(),
                  reference.data(), kLanes);
  for (int c = 0; c < outputs; ++c) {
    if (std::memcmp(logits.row(c), reference.row(c), kLanes * sizeof(float)) != 0) {
      throw Error(ExitCode::kBug, std::string("bench: logits of ") + kernels.isa +
                                      " differ from the portable ones");
    }
  }

  ForwardResult result;
  for (int w : widths) result.network += (result.network.empty() ? "" : "-") + std::to_string(w);
  result.isa = kernels.isa;
  result.variants = variants;
  auto const macs = static_cast<double>(subject.forward_macs());
  double const group_macs =
      macs * variants - static_cast<double>(subject.shared_macs()) * (variants - 1);
  constexpr double kSliceSeconds = 0.02;
  std::vector<double> rows;
  std::vector<double> groups;
  std::vector<double> peaks;
  std::vector<double> share;
  std::vector<double> group_share;
  std::vector<double> gradient_share;
  for (int r = 0; r < repetitions; ++r) {
    peaks.push_back(peak_gflops(isa, kSliceSeconds));
    rows.push_back(kLanes * rate(kSliceSeconds, forward));
    groups.push_back(kLanes * rate(kSliceSeconds, [&] {
                       kernels.classify(subject.get(), x.data(), kLanes, kLanes, scratch.get(),
                                        packed.data(), flags.data());
                     }));
    double const gradients =
        kLanes * rate(kSliceSeconds, [&] {
          kernels.gradients(subject.get(), {GradientKind::kProbability, 1.0F}, x.data(), kLanes,
                            kLanes, scratch.get(), gradient.data(), kLanes);
        });
    double const peak = peaks.back() * 1e9;
    share.push_back(rows.back() * macs * 2.0 / peak);
    group_share.push_back(groups.back() * group_macs * 2.0 / peak);
    gradient_share.push_back(gradients * macs * 2.0 * 2.0 /
                             peak);  // a backward pass has as many operations
  }
  result.rows_per_second = median(rows);
  result.gflops = result.rows_per_second * macs * 2.0 * 1e-9;
  result.peak_gflops = median(peaks);
  result.share_of_peak = median(share);
  result.groups_per_second = median(groups);
  result.groups_share_of_peak = median(group_share);
  result.gradient_share_of_peak = median(gradient_share);
  return result;
}

}  // namespace fairlane
