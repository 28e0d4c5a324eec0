// What `auto` makes of a job: a GPU where it pays for its start.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace fairlane {

/// What a job asks of a backend at most, as far as that is known before it starts.
/// lane_steps   tests and steps of lanes, or groups that are walked
/// evaluations  of the model in all of them, gradients counted as such
/// rounds       that follow each other: a device answers one before the next
/// seconds      that end it (budget.seconds)
struct Workload {
  double lane_steps = 0.0;
  double evaluations = 0.0;
  double rounds = 0.0;
  std::optional<double> seconds;

  Workload& operator+=(Workload const& more);
};

/// Seconds that work takes one core of a CPU at most, by what was measured of one.
/// multiply_adds  of one evaluation
double core_seconds(Workload const& work, double multiply_adds);

/// Work that no machine is too large for.
inline constexpr Workload kEndlessWork{1e18, 1e18, 0.0, std::nullopt};

/// The first GPU that can be used, or -1 and why there is none.
struct FoundDevice {
  int index = -1;
  std::string problem;
};
using FindDevice = std::function<FoundDevice()>;

/// The number of a GPU, or -1 for the CPU; and why, for people.
struct BackendChoice {
  int device = -1;
  std::string reason;
};

/// Weighs what a job takes on the CPU against what it takes on a GPU with its start. The choice
/// changes no result.
/// multiply_adds  of one evaluation; none of a model that is no network, whose time goes into
///                itself: it gets a GPU's lanes only where they are asked for
/// threads        of the CPU
/// find           is called only where a GPU would pay, since looking for one takes time by itself
BackendChoice choose_backend(Workload const& work, std::optional<double> multiply_adds, int threads,
                             FindDevice const& find);

}  // namespace fairlane
