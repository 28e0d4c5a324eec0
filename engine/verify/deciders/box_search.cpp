#include "engine/verify/deciders/box_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/verify/deciders/box_draws.h"

namespace fairlane {
namespace {

constexpr int kPatience = 4;  // steps without progress before the search starts anew

}  // namespace

BoxSearch::BoxSearch(BoxDomain const& domain, BoundNetwork const& network, Backend& backend,
                     VerifyQuery const& query)
    : domain_(domain),
      existence_(domain),
      networks_(network),
      groups_(domain, backend, query, network.get().outputs),
      query_(query),
      batch_(backend.make_box_batch(network)),
      memory_(batch_->memory()),
      lanes_(static_cast<std::size_t>(memory_.lanes())),
      inputs_(static_cast<std::size_t>(network.get().inputs)) {}

void BoxSearch::search(std::span<Task const> tasks, int classes,
                       std::span<std::optional<UnfairPair>> found) {
  classes_ = classes;
  begin(tasks);
  int steps = 0;
  for (Task const& task : tasks) steps = std::max(steps, task.steps);
  for (int step = 0; step < steps; ++step) {
    evaluate(tasks);
    bool all = true;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (!found[i]) found[i] = pair_at(i, tasks[i]);
      all = all && (found[i] || step + 1 >= tasks[i].steps);
    }
    if (all) return;
    move(tasks);
  }
}

void BoxSearch::begin(std::span<Task const> tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Lane& lane = lanes_[i];
    lane = {};
    for (AxisRange const& range : tasks[i].box)
      lane.entries.push_back(range.first + (range.last - range.first) / 2);
    lane.rises.assign(lane.entries.size(), true);
    lane.best = std::numeric_limits<double>::infinity();
    if (tasks[i].middle) {
      keep_limits(lane, tasks[i]);
    } else {
      restart(lane, tasks[i]);
    }
  }
}

void BoxSearch::restart(Lane& lane, Task const& task) {
  for (std::size_t a = 0; a < task.box.size(); ++a) {
    lane.entries[a] = task.box[a].first + draw_below(task.id, lane.draws++, task.box[a].size());
  }
  lane.best = std::numeric_limits<double>::infinity();
  lane.since = 0;
  keep_limits(lane, task);
}

void BoxSearch::keep_limits(Lane& lane, Task const& task) const {
  existence_.settle(task.box, task.variants, lane.entries);
  if (!domain_.limited()) return;
  // One axis after the other gets the entry that is beyond the least, the nearest of those.
  std::int64_t beyond = domain_.excess(lane.entries);
  for (std::size_t a = 0; a < task.box.size() && beyond > 0; ++a) {
    std::int32_t const here = lane.entries[a];
    std::int32_t best = here;
    for (std::int32_t e = task.box[a].first; e <= task.box[a].last; ++e) {
      lane.entries[a] = e;
      std::int64_t const excess = domain_.excess(lane.entries);
      if (excess > beyond || (excess == beyond && std::abs(e - here) >= std::abs(best - here)))
        continue;
      beyond = excess;
      best = e;
    }
    lane.entries[a] = best;
  }
}

void BoxSearch::place(int lane, std::span<std::int32_t const> entries, int variant) {
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    auto const values = domain_.values(a, entries[a]);
    for (std::size_t k = 0; k < values.size(); ++k)
      inputs_[static_cast<std::size_t>(domain_.axis_inputs(a)[k])].low = values[k];
  }
  int const only[] = {variant};
  domain_.enclose_variants(only, inputs_.data());
  for (int k = 0; k < networks_.get().inputs; ++k)
    memory_.at(memory_.get().low, k, lane) = inputs_[static_cast<std::size_t>(k)].low;
}

std::vector<std::int32_t> BoxSearch::beside(Lane const& lane, bool greatest) const {
  std::vector<std::int32_t> entries = lane.entries;
  for (std::size_t a = 0; a < entries.size(); ++a) {
    AxisRange const near = domain_.near(a, entries[a]);
    entries[a] = lane.rises[a] == greatest ? near.last : near.first;
  }
  return entries;
}

void BoxSearch::evaluate(std::span<Task const> tasks) {
  std::size_t const kinds = domain_.relaxed() ? 3 : 1;  // the group, and two that are beside it
  std::size_t most = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    lanes_[i].outputs.resize(kinds * tasks[i].variants.size());
    lanes_[i].exists.clear();
    most = std::max(most, tasks[i].variants.size());
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    for (std::size_t i = 0; i < tasks.size() && existence_.constrained(); ++i) {
      Lane& lane = lanes_[i];
      auto const entries = kind == 0 ? lane.entries : beside(lane, kind == 1);
      for (int const v : tasks[i].variants)
        lane.exists.push_back(existence_.exists(entries, v) ? 1 : 0);
    }
    for (std::size_t v = 0; v < most; ++v) {
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        auto const& variants = tasks[i].variants;
        Lane const& lane = lanes_[i];
        place(static_cast<int>(i), kind == 0 ? lane.entries : beside(lane, kind == 1),
              variants[std::min(v, variants.size() - 1)]);
      }
      batch_->probe(classes_, static_cast<int>(tasks.size()), false);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        std::size_t const count = tasks[i].variants.size();
        if (v < count) {
          lanes_[i].outputs[kind * count + v] =
              memory_.at(memory_.get().least, 0, static_cast<int>(i));
        }
      }
    }
  }
}

std::optional<UnfairPair> BoxSearch::pair_at(std::size_t i, Task const& task) {
  Lane const& lane = lanes_[i];
  bool above = false;
  bool below = false;
  for (std::size_t k = 0; k < lane.outputs.size(); ++k) {
    if (lane.counts(k)) (lane.outputs[k] > query_.threshold ? above : below) = true;
  }
  if (!above || !below || domain_.excess(lane.entries) > 0) return std::nullopt;
  if (!domain_.relaxed()) {
    auto found = groups_.certain_pair(lane.entries, task.variants);
    // An example that float32 alone has is worth less than another one nearby.
    return found && holds_in_double(lane, task, found->pair) ? found : std::nullopt;
  }
  groups_.take_own(lane.entries, task.variants);
  for (bool const greatest : {true, false}) {
    auto const other = beside(lane, greatest);
    if (domain_.excess(other) > 0) continue;
    if (auto found = groups_.compare(lane.entries, other, task.variants)) return found;
  }
  return std::nullopt;
}

bool BoxSearch::holds_in_double(Lane const& lane, Task const& task, VariantPair const& pair) const {
  if (networks_.pairs().size() > 1) return true;
  auto const output = [&](int variant) {
    return lane.outputs[static_cast<std::size_t>(std::ranges::find(task.variants, variant) -
                                                 task.variants.begin())];
  };
  return output(pair.upper) > query_.threshold && output(pair.lower) <= query_.threshold;
}

void BoxSearch::move(std::span<Task const> tasks) {
  // Slopes at the variant that is nearest to the threshold.
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::vector<double> outputs = lanes_[i].outputs;
    std::size_t nearest = 0;
    for (std::size_t v = 1; v < outputs.size(); ++v) {
      double const distance = std::abs(outputs[v] - query_.threshold);
      bool const first = lanes_[i].counts(v) && !lanes_[i].counts(nearest);
      bool const comes_in_question = lanes_[i].counts(v) || !lanes_[i].counts(nearest);
      bool const nearer = distance < std::abs(outputs[nearest] - query_.threshold);
      if (first || (comes_in_question && nearer)) nearest = v;
    }
    // Nobody's output moves nothing.
    for (std::size_t v = 0; v < outputs.size(); ++v) {
      if (!lanes_[i].counts(v)) outputs[v] = outputs[nearest];
    }
    auto const& variants = tasks[i].variants;
    place(static_cast<int>(i), lanes_[i].entries, variants[nearest % variants.size()]);
    auto const [low, high] = std::minmax_element(outputs.begin(), outputs.end());
    lanes_[i].middle = (*low + *high) / 2.0 - query_.threshold;
  }
  batch_->probe(classes_, static_cast<int>(tasks.size()), true);
  for (std::size_t i = 0; i < tasks.size(); ++i) step_lane(static_cast<int>(i), tasks[i]);
}

void BoxSearch::find_rises(int number) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    AxisRange const near = domain_.near(a, lane.entries[a]);
    auto const first = domain_.values(a, near.first);
    auto const last = domain_.values(a, near.last);
    double rise = 0.0;
    for (std::size_t k = 0; k < first.size(); ++k)
      rise += slope_of(domain_.axis_inputs(a)[k], number) * (last[k] - first[k]);
    lane.rises[a] = rise >= 0.0;
  }
}

void BoxSearch::step_lane(int number, Task const& task) {
  Lane& lane = lanes_[static_cast<std::size_t>(number)];
  if (!(std::abs(lane.middle) < lane.best)) {
    if (++lane.since >= kPatience) return restart(lane, task);
  } else {
    lane.best = std::abs(lane.middle);
    lane.since = 0;
  }
  if (domain_.relaxed()) find_rises(number);
  // The entry of one axis whose predicted middle is nearest to zero.
  double least = std::numeric_limits<double>::infinity();
  std::size_t axis = 0;
  std::int32_t entry = -1;
  auto const is_kept = [&](std::size_t a, std::int32_t e) {
    if (!domain_.limited() && !existence_.constrained()) return true;
    std::int32_t const here = std::exchange(lane.entries[a], e);
    bool const kept =
        domain_.excess(lane.entries) == 0 &&
        (!existence_.constrained() || existence_.has_pair(lane.entries, task.variants));
    lane.entries[a] = here;
    return kept;
  };
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
        rise += slope_of(inputs[k], number) * (to[k] - from[k]);
      return std::abs(lane.middle + rise);
    };
    auto const consider = [&](std::int32_t e) {
      e = std::clamp(e, range.first, range.last);
      if (e == here || !is_kept(a, e)) return;
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
    double const rise =
        slope_of(inputs[0], number) * (domain_.values(a, beside)[0] - from[0]) * (beside - here);
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
