#include "engine/count/kind_counter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/core/bits.h"
#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr std::size_t kMostLabels = std::size_t{1} << 16;  // of groups, before they are counted
constexpr double kRounding = 1e-5;     // more than a probability in float32 is off by
constexpr double kFloatUnits = 128.0;  // more than two scores in float32 are moved by, in units

}  // namespace

KindedWalk::KindedWalk(WalkPlan const& plan, WalkDomain const& domain, SubjectView const& view,
                       RowDescriber& rows)
    : plan_(plan), domain_(domain), rows_(rows), outputs_(view.outputs()), scores_(view.scores) {
  auto const* const scorer = dynamic_cast<TreeScorer const*>(view.scorer);
  if (scorer == nullptr || !domain.knows_who_exists() || !(scorer->trees().divisor > 0.0)) return;
  query_.threshold = outputs_ == 1 ? static_cast<double>(view.threshold) : 0.0;
  query_.compares = [](int one, int other) { return one != other; };
  units_ = std::make_unique<LeafUnits>(scorer->trees(), query_.threshold);
  if (!units_->usable()) return;
  query_.variants.emplace_back(static_cast<std::size_t>(domain.get().variants()));
  std::iota(query_.variants[0].begin(), query_.variants[0].end(), 0);
  trees_ = std::make_unique<BoxTrees>(domain.get(), scorer->trees());
}

KindCounter::KindCounter(KindedWalk const& walk)
    : walk_(walk),
      bounds_(walk.trees()),
      kinds_(walk.trees()),
      table_(walk.trees(), walk.units(), walk.query(), walk.rows()) {
  LeafUnits const& units = walk.units();
  TreeEnsemble const& trees = walk.trees().ensemble();
  bool const shares = walk.scores() == ScoreKind::kProbabilities;
  scale_ = 1.0 / trees.divisor;
  double off = 0.0;
  if (trees.sums == 2 && walk.outputs() == 1) {
    // Of two probabilities p(1) is half of their sum and difference; their sum is that of leaves.
    scale_ /= 2.0;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (std::size_t i = 0; i + 1 < trees.leaves.size(); i += 2) {
      least = std::min(least, trees.leaves[i] + trees.leaves[i + 1]);
      most = std::max(most, trees.leaves[i] + trees.leaves[i + 1]);
    }
    offset_ = trees.base[0] + trees.base[1] + trees.trees() * (least + most) / 2.0;
    off = trees.width == 2 ? trees.trees() * (most - least) / 2.0 : kSeverityBins;
  }
  // Twice what a score may be off by, as much as the difference of two; and by how much scores are
  // moved where labels do not change at the usual threshold.
  bool const several = units.sums() > 1;
  double const in_doubt =
      several ? units.lead() + kFloatUnits : units.one_above() - units.zero_up_to() + 2;
  double const doubt = scale_ * (in_doubt / units.per_unit() + 2.0 * off);
  double const moved = std::abs(trees.decision_threshold - trees.usual_threshold());
  double const steepest = shares ? 1.0 : several ? 0.5 : 0.25;  // of softmax, of a sigmoid
  bin_margin_ =
      kSeverityBins * (steepest * (doubt + (trees.sums == 1 ? 2.0 * moved : 0.0)) + kRounding);
}

bool KindCounter::count(std::span<AxisRange const> box, GroupCounts& counts,
                        GroupCounter::Take const& take) {
  auto const& variants = walk_.query().variants[0];
  bounds_.bound(box, variants);
  auto const layout = walk_.plan().counters();
  auto const add_positive = [&](int v, double members) {
    counts.counters[static_cast<std::size_t>(layout.positive(v))] +=
        static_cast<std::uint64_t>(members);
  };
  auto const all = static_cast<std::int64_t>(walk_.trees().domain().groups(box));
  std::uint64_t const labels =
      bounds_.labels(walk_.query().least_upper(), walk_.query().most_lower());
  if (bounds_.finite() && is_one_bit(labels)) {
    counts.groups += all;
    for (int v = 0; labels != 1 && v < layout.variants; ++v)
      add_positive(v, walk_.domain().existing().count_one(box, v));
    walk_.domain().add_missing(box, counts);
    return true;
  }
  kinds_.find(bounds_, box, variants);
  if (!table_.fill(kinds_)) return false;
  table_.settle();
  mixed_of_kind_.resize(box.size());
  for (std::size_t a = 0; a < box.size(); ++a)
    mixed_of_kind_[a].assign(kinds_.axes()[a].kinds(), 0);
  if (take) number_entries(box);
  positive_.assign(kinds_.variants().size(), 0.0);
  double positive = 0.0;  // with everybody
  std::uint64_t const everybody = low_bits(static_cast<int>(positive_.size()));
  table_.each_kind(
      [&](double groups, int label, std::uint64_t members) {
        if (label == 0) return;
        if (members == everybody) {
          positive += groups;
        } else {
          each_bit(members, [&](std::size_t k) { positive_[k] += groups; });
        }
      },
      [&](std::span<std::int32_t const> entries, double groups, std::size_t kind) {
        look_at(kind);
        add_mixed(entries, kind, static_cast<std::uint64_t>(groups), counts);
        if (take) take_groups(0, 0, take);
        return true;
      });
  for (std::size_t k = 0; k < positive_.size(); ++k)
    for (int const v : kinds_.variants()[k]) add_positive(v, positive + positive_[k]);
  if (groups_of_labels_.size() > kMostLabels) finish(counts);
  add_lists(box, counts);
  walk_.domain().add_missing(box, counts);
  counts.groups += all;
  return true;
}

void KindCounter::finish(GroupCounts& counts) {
  for (auto const& [labels, groups] : groups_of_labels_) add_labels(labels, groups, counts);
  groups_of_labels_.clear();
  describe_in_doubt(counts);
}

void KindCounter::look_at(std::size_t kind) {
  members_.labels.assign(walk_.query().variants[0].size(), kNobody);
  each_bit(table_.members(kind), [&](std::size_t k) {
    auto const label = static_cast<char>(std::countr_zero(table_.labels(kind, k)));
    for (int const v : kinds_.variants()[k]) members_.labels[static_cast<std::size_t>(v)] = label;
  });
  members_.bin = bin_by_sums(kind);
}

double KindCounter::score(std::int32_t sum) const {
  return scale_ * (offset_ + sum / walk_.units().per_unit());
}

double KindCounter::probability(std::int32_t sum) const {
  return walk_.scores() == ScoreKind::kProbabilities ? score(sum)
                                                     : 1.0 / (1.0 + std::exp(-score(sum)));
}

double KindCounter::severity_by_sums(std::size_t kind) {
  if (walk_.units().sums() == 1)
    return probability(table_.most(kind)) - probability(table_.least(kind));
  auto const classes = static_cast<std::size_t>(walk_.units().sums());
  shares_.resize(classes);
  least_.assign(classes, std::numeric_limits<double>::infinity());
  most_.assign(classes, -std::numeric_limits<double>::infinity());
  each_bit(table_.members(kind), [&](std::size_t k) {
    for (std::size_t c = 0; c < classes; ++c) shares_[c] = score(table_.sum(kind, k, c));
    if (walk_.scores() == ScoreKind::kLogits) {
      double const top = std::ranges::max(shares_);
      double all = 0.0;
      for (double& share : shares_) all += share = std::exp(share - top);
      for (double& share : shares_) share /= all;
    }
    for (std::size_t c = 0; c < classes; ++c) {
      least_[c] = std::min(least_[c], shares_[c]);
      most_[c] = std::max(most_[c], shares_[c]);
    }
  });
  double severity = 0.0;
  for (std::size_t c = 0; c < classes; ++c) severity = std::max(severity, most_[c] - least_[c]);
  return severity;
}

int KindCounter::bin_by_sums(std::size_t kind) {
  double const in_bins = severity_by_sums(kind) * kSeverityBins;
  double const least = std::floor(in_bins - bin_margin_);
  double const most = std::floor(in_bins + bin_margin_);
  return least == most ? static_cast<int>(std::min(least, kSeverityBins - 1.0)) : kInDoubt;
}

void KindCounter::add_in_doubt(std::span<std::int32_t const> entries, std::size_t kind,
                               std::uint64_t groups) {
  BoxDomain const& domain = walk_.trees().domain();
  auto const some = static_cast<std::size_t>(lowest_bit(table_.members(kind)));
  rows_.resize(rows_.size() + domain.attributes());
  domain.row(entries, kinds_.variants()[some].front(), &rows_[rows_.size() - domain.attributes()]);
  row_groups_.push_back(groups);
}

void KindCounter::describe_in_doubt(GroupCounts& counts) {
  auto const layout = walk_.plan().counters();
  described_.resize(row_groups_.size());
  if (!row_groups_.empty())
    walk_.rows().describe(rows_.data(), row_groups_.size(), described_.data());
  for (std::size_t i = 0; i < row_groups_.size(); ++i) {
    float const bin = described_[i].severity * static_cast<float>(kSeverityBins);
    auto const whole = static_cast<int>(std::min(bin, static_cast<float>(kSeverityBins - 1)));
    counts.counters[static_cast<std::size_t>(layout.severity(whole))] += row_groups_[i];
  }
  rows_.clear();
  row_groups_.clear();
}

void KindCounter::add_mixed(std::span<std::int32_t const> entries, std::size_t kind,
                            std::uint64_t groups, GroupCounts& counts) {
  groups_of_labels_[members_.labels] += groups;
  if (members_.bin == kInDoubt) {
    add_in_doubt(entries, kind, groups);
    if (row_groups_.size() == kDescribedAtOnce) describe_in_doubt(counts);
  } else {
    int const bin = walk_.plan().counters().severity(members_.bin);
    counts.counters[static_cast<std::size_t>(bin)] += groups;
  }
  kind_.resize(entries.size());
  for (std::size_t a = 0; a < entries.size(); ++a) {
    kind_[a] = kinds_.kind_of(a, entries[a]);
    mixed_of_kind_[a][kind_[a]] += groups;
  }
}

void KindCounter::add_labels(std::string const& labels, std::uint64_t groups,
                             GroupCounts& counts) const {
  auto const layout = walk_.plan().counters();
  auto const& walk = walk_.plan().get();
  auto const add = [&](int counter, std::uint64_t n) {
    counts.counters[static_cast<std::size_t>(counter)] += n;
  };
  auto const label = [&](int v) { return labels[static_cast<std::size_t>(v)]; };
  int members = 0;
  for (int v = 0; v < layout.variants; ++v) {
    if (label(v) == kNobody) continue;
    ++members;
    if (label(v) > 0) add(layout.positive(v), groups);
  }
  add(CountLayout::kGroups, groups);
  add(CountLayout::kInstances, groups * static_cast<std::uint64_t>(members));
  for (int i = 0; i < walk.subsets; ++i) {
    WalkSubset const& subset = walk.subset[i];
    for (int c = 0; c < subset.classes; ++c) {
      int const* const member = subset.member + static_cast<long>(c) * subset.class_size;
      std::uint32_t labels_in_class = 0;
      int in_class = 0;
      for (int k = 0; k < subset.class_size; ++k) {
        if (label(member[k]) == kNobody) continue;
        labels_in_class |= std::uint32_t{1} << label(member[k]);
        ++in_class;
      }
      if (in_class == 0 || is_one_bit(labels_in_class)) continue;
      add(layout.subset(i), groups);
      add(layout.subset(i) + 1, groups * static_cast<std::uint64_t>(in_class));
    }
  }
  for (int v = 0; layout.pairs && v < layout.variants; ++v) {
    if (label(v) == kNobody) continue;
    for (int w = 0; w < layout.variants; ++w)
      if (label(w) < label(v)) add(layout.pair(v, w), groups);
  }
}

void KindCounter::number_entries(std::span<AxisRange const> box) {
  numbers_.resize(box.size());
  std::int64_t stride = 1;
  for (std::size_t a = box.size(); a-- > 0;) {
    numbers_[a].assign(kinds_.axes()[a].kinds(), {});
    for (std::int32_t e = box[a].first; e <= box[a].last; ++e)
      numbers_[a][kinds_.kind_of(a, e)].push_back(e * stride);
    stride *= walk_.plan().lists()[a].size();
  }
}

void KindCounter::take_groups(std::size_t axis, std::int64_t before,
                              GroupCounter::Take const& take) const {
  if (axis == kind_.size()) return take(before);
  for (std::int64_t const number : numbers_[axis][kind_[axis]])
    take_groups(axis + 1, before + number, take);
}

void KindCounter::add_lists(std::span<AxisRange const> box, GroupCounts& counts) const {
  for (std::size_t a = 0; a < box.size(); ++a) {
    auto const& kinds = kinds_.axes()[a];
    for (std::int32_t e = box[a].first; e <= box[a].last; ++e) {
      std::size_t const kind = kinds_.kind_of(a, e);
      // Each of a kind's entries has as many of its groups.
      counts.list_groups[a][static_cast<std::size_t>(e)] +=
          mixed_of_kind_[a][kind] / static_cast<std::uint64_t>(kinds.sizes[kind]);
    }
  }
}

}  // namespace fairlane
