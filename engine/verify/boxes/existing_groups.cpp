#include "engine/verify/boxes/existing_groups.h"

#include <algorithm>

namespace fairlane {

namespace {

constexpr std::size_t kMostCuts = 32;      // of an axis that are tried
constexpr double kMostDoubt = 1.0 / 16.0;  // of members, up to which bounds are worth more

}  // namespace

ExistingGroups::ExistingGroups(BoxDomain const& domain, std::vector<int> variants)
    : domain_(domain), variants_(std::move(variants)), free_(domain.axes(), 1) {
  if (variants_.empty()) return;
  rules_ = existence_rules(domain);
  if (rules_.empty() || !find_tied()) return;
  using Entries = std::span<std::int32_t const>;
  for (Tied const& tied : tied_)
    of_tied_.push_back(sums_of(tied, [&](Entries entries) { return tied.allows(entries, 0); }));
  of_any_ = sums_of(to_variants_, [&](Entries entries) {
    return std::ranges::any_of(variants_, [&](int v) { return to_variants_.allows(entries, v); });
  });
  for (int const v : variants_) {
    Sums& sums = of_one_[alike_[static_cast<std::size_t>(v)]];
    if (!sums.empty()) continue;
    sums = sums_of(to_variants_, [&](Entries entries) { return to_variants_.allows(entries, v); });
  }
}

void ExistingGroups::Tied::add_axis(std::size_t axis, std::int32_t entries) {
  axes.push_back(axis);
  std::vector<std::int32_t>& start = starts.emplace_back(1, 0);
  for (ExistenceRule const* rule : rules)
    rule->each_start(axis, {0, entries - 1}, [&](std::int32_t e) { start.push_back(e); });
  std::ranges::sort(start);
  start.erase(std::unique(start.begin(), start.end()), start.end());
  strides.push_back(sums);
  sums *= start.size() + 1;
  start.push_back(entries);
}

bool ExistingGroups::Tied::allows(std::span<std::int32_t const> entries, int variant) const {
  return std::ranges::all_of(rules, [&](ExistenceRule const* rule) {
    std::int64_t sum = rule->constant + rule->added_by(variant);
    for (std::size_t i = 0; i < axes.size(); ++i) sum += rule->added(axes[i], entries[i]);
    return rule->allows(sum);
  });
}

bool ExistingGroups::find_tied() {
  std::vector<std::vector<std::int64_t>> added;  // of variants that differ
  for (int v = 0; v < domain_.variants(); ++v) {
    std::vector<std::int64_t> by;
    for (ExistenceRule const& rule : rules_) by.push_back(rule.added_by(v));
    auto const at = static_cast<std::size_t>(std::ranges::find(added, by) - added.begin());
    if (at == added.size() && std::ranges::count(variants_, v) > 0) added.push_back(std::move(by));
    alike_.push_back(at);
  }
  of_one_.resize(added.size());
  RuleSet all;
  for (ExistenceRule const& rule : rules_) all.push_back(&rule);
  for (RuleSet const& set : tied_rules(all)) {
    Tied tied;
    tied.rules = set;
    bool const with_variants = std::ranges::any_of(set, &ExistenceRule::speaks_of_variants);
    auto const most = static_cast<std::size_t>(kMostSums) / (with_variants ? 1 + added.size() : 1);
    for (std::size_t a = 0; a < domain_.axes(); ++a) {
      if (std::ranges::none_of(set, [a](auto const* rule) { return rule->speaks_of(a); })) continue;
      free_[a] = 0;
      tied.add_axis(a, static_cast<std::int32_t>(domain_.axis(a).size()));
      if (tied.sums <= most) continue;
      for (std::size_t const one : tied.axes)
        too_many_.insert(too_many_.end(), domain_.axis(one).attributes.begin(),
                         domain_.axis(one).attributes.end());
      return false;
    }
    if (with_variants) {
      to_variants_ = std::move(tied);
    } else {
      tied_.push_back(std::move(tied));
    }
  }
  return true;
}

template <class Counts>
ExistingGroups::Sums ExistingGroups::sums_of(Tied const& tied, Counts const& counts) const {
  Sums sums(tied.sums);
  GroupBox all;
  for (auto const& starts : tied.starts)
    all.push_back({0, static_cast<std::int32_t>(starts.size()) - 2});
  std::vector<std::int32_t> entries(tied.axes.size());
  each_point(all, [&](std::vector<std::int32_t> const& runs) {
    std::size_t at = 0;
    double product = 1.0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      auto const run = static_cast<std::size_t>(runs[i]);
      entries[i] = tied.starts[i][run];
      product *= tied.starts[i][run + 1] - entries[i];
      at += (run + 1) * tied.strides[i];
    }
    sums[at] = counts(entries) ? product : 0.0;
    return true;
  });
  for (std::size_t i = 0; i < tied.axes.size(); ++i) {
    std::size_t const stride = tied.strides[i];
    for (std::size_t at = stride; at < sums.size(); ++at) {
      if (at / stride % tied.starts[i].size() != 0) sums[at] += sums[at - stride];
    }
  }
  return sums;
}

double ExistingGroups::sum_from(Tied const& tied, Sums const& sums, std::span<AxisRange const> box,
                                std::size_t i, std::size_t at) {
  if (i == tied.axes.size()) return sums[at];
  auto const below = [&](std::int32_t entry) {
    std::size_t const run = tied.run_of(i, entry);
    std::int32_t const start = tied.starts[i][run];
    std::size_t const here = at + run * tied.strides[i];
    double const whole = sum_from(tied, sums, box, i + 1, here);
    if (entry == start) return whole;
    // Every entry of a run has as many: what is divided is a whole number of times as much.
    double const next = sum_from(tied, sums, box, i + 1, here + tied.strides[i]);
    return whole + (next - whole) / (tied.starts[i][run + 1] - start) * (entry - start);
  };
  AxisRange const& range = box[tied.axes[i]];
  return below(range.last + 1) - below(range.first);
}

double ExistingGroups::rest(std::span<AxisRange const> box) const {
  double product = 1.0;
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (free_[a] != 0) product *= box[a].size();
  }
  for (std::size_t i = 0; i < tied_.size(); ++i) product *= sum(tied_[i], of_tied_[i], box);
  return product;
}

double ExistingGroups::count(std::span<AxisRange const> box) const {
  if (rules_.empty()) return domain_.groups(box);
  return of_any_.empty() ? 0.0 : rest(box) * sum(to_variants_, of_any_, box);
}

double ExistingGroups::count_one(std::span<AxisRange const> box, int variant) const {
  if (rules_.empty()) return domain_.groups(box);
  return of_any_.empty() ? 0.0 : rest(box) * one_of_tied(box, variant);
}

double ExistingGroups::count_both(std::span<AxisRange const> box, int one, int other) const {
  if (rules_.empty()) return domain_.groups(box);
  if (of_any_.empty()) return 0.0;
  // Who has one or the other has some: both are what the two have beyond that.
  double const both =
      one_of_tied(box, one) + one_of_tied(box, other) - sum(to_variants_, of_any_, box);
  return rest(box) * std::max(both, 0.0);
}

double ExistingGroups::one_of_tied(std::span<AxisRange const> box, int variant) const {
  return sum(to_variants_, of_one_[alike_[static_cast<std::size_t>(variant)]], box);
}

double ExistingGroups::doubt(std::span<AxisRange const> box, double any) const {
  double doubt = 0.0;
  for (Sums const& sums : of_one_) {
    double const there = sum(to_variants_, sums, box);
    doubt += std::min(there, any - there);
  }
  return doubt;
}

std::optional<BoxCut> ExistingGroups::clearing_cut(std::span<AxisRange const> box) const {
  if (of_any_.empty()) return std::nullopt;
  double const any = sum(to_variants_, of_any_, box);
  double const members = any * static_cast<double>(of_one_.size());
  if (doubt(box, any) <= kMostDoubt * members) return std::nullopt;
  std::optional<BoxCut> best;
  double least = members;
  GroupBox part(box.begin(), box.end());
  auto const doubt_of_part = [&] { return doubt(part, sum(to_variants_, of_any_, part)); };
  Tied const& tied = to_variants_;
  for (std::size_t i = 0; i < tied.axes.size(); ++i) {
    std::size_t const a = tied.axes[i];
    AxisRange const range = box[a];
    std::size_t const first = tied.run_of(i, range.first);
    std::size_t const last = tied.run_of(i, range.last);
    std::size_t const step = (last - first) / kMostCuts + 1;
    for (std::size_t run = first + step; run <= last; run += step) {
      std::int32_t const entry = tied.starts[i][run] - 1;
      part[a] = {range.first, entry};
      double left = doubt_of_part();
      part[a] = {entry + 1, range.last};
      left += doubt_of_part();
      if (left >= least) continue;
      least = left;
      best = BoxCut{a, entry};
    }
    part[a] = range;
  }
  return best;
}

}  // namespace fairlane
