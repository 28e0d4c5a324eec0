#include "engine/verify/box_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr int kPatience = 4;  // steps without progress before the search starts anew

/// A number below `size` for a box's draw.
std::int32_t draw_below(std::uint64_t id, std::uint32_t draw, std::int32_t size) {
  auto const words =
      philox<ScalarPack>(static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(Phase::kSample),
                         draw, 0, id >> 32);
  return static_cast<std::int32_t>(words.w[0] % static_cast<std::uint32_t>(size));
}

}  // namespace

BoxSearch::BoxSearch(BoxDomain const& domain, BoundNetwork const& network,
                     BoxKernels const& kernels, RowDescriber& rows, double threshold)
    : domain_(domain),
      network_(network.get()),
      kernels_(kernels),
      rows_(rows),
      threshold_(threshold),
      memory_(network.get(), kernels.lanes),
      lanes_(static_cast<std::size_t>(kernels.lanes)),
      inputs_(static_cast<std::size_t>(network.get().inputs)) {}

void BoxSearch::begin(std::span<Task const> tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Lane& lane = lanes_[i];
    lane = {};
    for (AxisRange const& range : tasks[i].box)
      lane.entries.push_back(range.first + (range.last - range.first) / 2);
    lane.best = std::numeric_limits<double>::infinity();
  }
}

void BoxSearch::restart(Lane& lane, Task const& task) {
  for (std::size_t a = 0; a < task.box.size(); ++a) {
    lane.entries[a] = task.box[a].first + draw_below(task.id, lane.draws++, task.box[a].size());
  }
  lane.best = std::numeric_limits<double>::infinity();
  lane.since = 0;
}

void BoxSearch::place(int lane, int variant) {
  auto const& entries = lanes_[static_cast<std::size_t>(lane)].entries;
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    auto const values = domain_.values(a, entries[a]);
    for (std::size_t k = 0; k < values.size(); ++k)
      inputs_[static_cast<std::size_t>(domain_.axis_inputs(a)[k])].low = values[k];
  }
  int const only[] = {variant};
  domain_.enclose_variants(only, inputs_.data());
  for (int k = 0; k < network_.inputs; ++k)
    memory_.at(memory_.get().low, k, lane) = inputs_[static_cast<std::size_t>(k)].low;
}

void BoxSearch::evaluate(std::span<Task const> tasks) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    lanes_[i].outputs.resize(tasks[i].variants.size());
    most = std::max(most, tasks[i].variants.size());
  }
  for (std::size_t v = 0; v < most; ++v) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      auto const& variants = tasks[i].variants;
      place(static_cast<int>(i), variants[std::min(v, variants.size() - 1)]);
    }
    kernels_.probe(network_, memory_.get(), false);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (v < lanes_[i].outputs.size())
        lanes_[i].outputs[v] = memory_.at(memory_.get().least, 0, static_cast<int>(i));
    }
  }
}

void BoxSearch::evaluate_rows(std::span<std::int32_t const> entries,
                              std::span<int const> variants) {
  std::size_t const width = domain_.attributes();
  auto const outputs = static_cast<std::size_t>(network_.outputs);
  row_.resize(width * variants.size());
  logits_.resize(outputs * variants.size());
  labels_.resize(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i)
    domain_.row(entries, variants[i], &row_[i * width]);
  rows_.logits(row_.data(), variants.size(), logits_.data());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    float const* const z = &logits_[i * outputs];
    bool finite = true;
    for (std::size_t o = 0; o < outputs; ++o) finite = finite && std::isfinite(z[o]);
    bool const one = outputs == 1 ? static_cast<double>(z[0]) > threshold_ : z[1] > z[0];
    labels_[i] = !finite ? -1 : one ? 1 : 0;
  }
}

void BoxSearch::move(std::span<Task const> tasks) {
  // Slopes at the variant that is nearest to the threshold.
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& outputs = lanes_[i].outputs;
    std::size_t nearest = 0;
    for (std::size_t v = 1; v < outputs.size(); ++v) {
      if (std::abs(outputs[v] - threshold_) < std::abs(outputs[nearest] - threshold_)) nearest = v;
    }
    place(static_cast<int>(i), tasks[i].variants[nearest]);
    auto const [low, high] = std::minmax_element(outputs.begin(), outputs.end());
    lanes_[i].middle = (*low + *high) / 2.0 - threshold_;
  }
  kernels_.probe(network_, memory_.get(), true);
  for (std::size_t i = 0; i < tasks.size(); ++i) step_lane(static_cast<int>(i), tasks[i]);
}

void BoxSearch::step_lane(int number, Task const& task) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  if (!(std::abs(lane.middle) < lane.best)) {
    if (++lane.since >= kPatience) return restart(lane, task);
  } else {
    lane.best = std::abs(lane.middle);
    lane.since = 0;
  }
  // The entry of one axis whose predicted middle is nearest to zero.
  double least = std::numeric_limits<double>::infinity();
  std::size_t axis = 0;
  std::int32_t entry = -1;
  double const* const slopes = memory_.get().below;
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    AxisRange const& range = task.box[a];
    if (range.size() < 2) continue;
    std::int32_t const here = lane.entries[a];
    auto const from = domain_.values(a, here);
    auto const& inputs = domain_.axis_inputs(a);
    auto const predicted = [&](std::int32_t e) {
      auto const to = domain_.values(a, e);
      double rise = 0.0;
      for (std::size_t k = 0; k < to.size(); ++k)
        rise += slopes[inputs[k] * kernels_.lanes + number] * (to[k] - from[k]);
      return std::abs(lane.middle + rise);
    };
    auto const consider = [&](std::int32_t e) {
      e = std::clamp(e, range.first, range.last);
      if (e == here) return;
      double const distance = predicted(e);
      if (distance < least) {
        least = distance;
        axis = a;
        entry = e;
      }
    };
    if (!domain_.ordered(a)) {
      for (std::int32_t e = range.first; e <= range.last; ++e) consider(e);
      continue;
    }
    std::int32_t const beside = here < range.last ? here + 1 : here - 1;
    double const rise = slopes[inputs[0] * kernels_.lanes + number] *
                        (domain_.values(a, beside)[0] - from[0]) * (beside - here);
    double const steps = rise == 0.0 ? 0.0 : -lane.middle / rise;
    double const reach = range.last - range.first;
    auto const whole = static_cast<std::int32_t>(std::floor(std::clamp(steps, -reach, reach)));
    consider(here + whole);
    consider(here + whole + 1);
  }
  // Where nothing gets nearer, another place is worth more than the same one again.
  if (entry < 0 || (least >= std::abs(lane.middle) && lane.since > 0)) return restart(lane, task);
  lane.entries[axis] = entry;
}

}  // namespace fairlane
