#include "engine/subject/backend_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlane {
namespace {

// One core: bench/results (82 % of 95 G multiply-adds a second in a forward pass, with room for a
// processor without AVX-512; 12 M steps of EIDIG on census).
constexpr double kMultiplyAddsPerSecond = 6e10;
constexpr double kStepSeconds = 3e-8;  // of a lane-step beside its evaluations
// A GPU: bench/gpu_model, whose figures are predictions until one is measured.
constexpr double kCores = 150.0;        // that it is worth with all its lanes
constexpr double kRoundSeconds = 1e-4;  // a round whose stages are kernels, however few its lanes
constexpr double kStartSeconds = 0.5;   // a guess: driver, context, code and upload

/// 1234567 as "1.2e6", and what is less long by its first two figures.
std::string figure(double number) {
  constexpr double kPlain = 1e4;
  constexpr double kTwoFigures = 10.0;
  if (number < kTwoFigures) return fmt::format("{:.2g}", number);
  if (number < kPlain) return fmt::format("{:.0f}", number);
  auto exponent = static_cast<int>(std::floor(std::log10(number)));
  double mantissa = std::round(number / std::pow(10.0, exponent - 1)) / 10.0;
  if (mantissa >= 10.0) {
    mantissa /= 10.0;
    ++exponent;
  }
  return fmt::format("{:g}e{}", mantissa, exponent);
}

}  // namespace

Workload& Workload::operator+=(Workload const& more) {
  lane_steps += more.lane_steps;
  evaluations += more.evaluations;
  rounds += more.rounds;
  if (more.seconds) seconds = seconds.value_or(0.0) + *more.seconds;
  return *this;
}

double core_seconds(Workload const& work, double multiply_adds) {
  return work.lane_steps * kStepSeconds + work.evaluations * multiply_adds / kMultiplyAddsPerSecond;
}

BackendChoice choose_backend(Workload const& work, std::optional<double> multiply_adds, int threads,
                             FindDevice const& find) {
  if (!multiply_adds) return {-1, "a model that is no network runs on the CPU"};
  if (work.seconds && *work.seconds <= kStartSeconds) {
    return {-1, fmt::format("{} s are less than a GPU takes to start", figure(*work.seconds))};
  }
  double const core = core_seconds(work, *multiply_adds);
  double const cpu = core / std::max(threads, 1);
  double const gpu = kStartSeconds + work.rounds * kRoundSeconds + core / kCores;
  std::string const job = fmt::format("up to {} lane-steps, about {} s on the CPU",
                                      figure(work.lane_steps), figure(cpu));
  if (cpu <= kStartSeconds) return {-1, job + ", less than a GPU takes to start"};
  std::string const weighed = job + fmt::format(" and {} s on a GPU", figure(gpu));
  if (cpu <= gpu) return {-1, weighed};
  FoundDevice const found = find();
  if (found.index < 0) return {-1, "no GPU: " + found.problem};
  return {found.index, weighed};
}

}  // namespace fairlane
