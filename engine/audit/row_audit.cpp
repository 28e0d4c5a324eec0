// Rows are sorted into groups; every group's members are evaluated together, once.
#include "engine/audit/row_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/threads/thread_pool.h"
#include "engine/count/binomial_interval.h"
#include "engine/subject/row_labels.h"
#include "kernels/core/labels.h"
#include "kernels/layout/plan.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMembersAtOnce = std::int64_t{1} << 14;
constexpr std::int32_t kNoClass = -1;

/// Numbers of rows, those of one group side by side.
/// order  [rows] by group, then ascending
/// begin  [groups + 1] where a group begins in `order`
struct RowGroups {
  std::vector<std::size_t> order;
  std::vector<std::size_t> begin;

  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
};

RowGroups group_rows(PackedSubject const& packed, std::span<std::int32_t const> rows) {
  auto const width = static_cast<std::size_t>(packed.get().columns);
  auto const words = static_cast<std::size_t>(packed.keys().words);
  std::size_t const count = rows.size() / width;
  std::vector<std::uint64_t> keys(count * words);
  for (std::size_t i = 0; i < count; ++i) packed.group_key(&rows[i * width], &keys[i * words]);
  auto const order_of = [&](std::size_t a, std::size_t b) {
    for (std::size_t w = 0; w < words; ++w) {
      if (keys[a * words + w] != keys[b * words + w])
        return keys[a * words + w] < keys[b * words + w] ? -1 : 1;
    }
    return 0;
  };
  RowGroups groups;
  groups.order.resize(count);
  std::iota(groups.order.begin(), groups.order.end(), std::size_t{0});
  std::sort(groups.order.begin(), groups.order.end(), [&](std::size_t a, std::size_t b) {
    int const order = order_of(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || order_of(groups.order[i - 1], groups.order[i]) != 0) groups.begin.push_back(i);
  }
  groups.begin.push_back(count);
  return groups;
}

/// Rows counted by combination. Sums of integers, so that threads' shares add up to the same.
/// pairs  [variants][variants] rows that get the favourable class as the first alone; or empty
struct VariantCounts {
  std::vector<std::int64_t> favourable;
  std::vector<std::int64_t> undefined;
  std::vector<std::int64_t> pairs;

  explicit VariantCounts(std::size_t variants)
      : favourable(variants),
        undefined(variants),
        pairs(variants <= kMostPreferenceVariants ? variants * variants : 0) {}

  void add(VariantCounts const& more) {
    auto const sum = [](auto& to, auto const& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    sum(favourable, more.favourable);
    sum(undefined, more.undefined);
    sum(pairs, more.pairs);
  }
};

/// The rows of one table on their way.
class RowAuditor {
 public:
  RowAuditor(TestSubject const& subject, Backend& backend, std::span<std::int32_t const> rows,
             std::int32_t favourable, std::atomic<bool> const* stop);
  RowAudit run();

 private:
  /// Evaluates groups [first, first + count), whose members are [count][variants].
  void evaluate(std::int64_t first, std::int64_t count, VariantCounts& counts);
  void count_group(std::int32_t const* labels, std::int64_t weight, VariantCounts& counts) const;
  /// labels [variants]; p [variants][outputs] probabilities
  void describe_group(std::size_t group, std::int32_t const* labels, float const* p);
  void sum_up(VariantCounts const& counts);
  float score_of(float const* p, std::int32_t label) const {
    return p[label > 0 && outputs_ > 1 ? label : 0];
  }

  TestSubject const& subject_;
  Backend& backend_;
  PackedSubject const& packed_;
  std::span<std::int32_t const> rows_;
  std::int32_t favourable_;
  std::atomic<bool> const* stop_;
  std::size_t width_;
  std::size_t outputs_;
  std::size_t variants_;
  RowGroups groups_;
  std::vector<std::uint8_t> is_unknown_;  // [rows]
  RowAudit audit_;
};

RowAuditor::RowAuditor(TestSubject const& subject, Backend& backend,
                       std::span<std::int32_t const> rows, std::int32_t favourable,
                       std::atomic<bool> const* stop)
    : subject_(subject),
      backend_(backend),
      packed_(backend.subject()),
      rows_(rows),
      favourable_(favourable),
      stop_(stop),
      width_(static_cast<std::size_t>(subject.domain().size())),
      outputs_(static_cast<std::size_t>(subject.model().outputs())),
      variants_(static_cast<std::size_t>(subject.variants())) {
  int const classes = std::max(2, subject.model().outputs());
  if (favourable < 0 || favourable >= classes) {
    throw usage_error(
        fmt::format("the favourable class is {}, expected one of 0..{}", favourable, classes - 1));
  }
  groups_ = group_rows(packed_, rows);
  std::size_t const count = rows.size() / width_;
  audit_.rows = static_cast<std::int64_t>(count);
  audit_.groups = groups_.count();
  audit_.is_affected.assign(count, 0);
  audit_.severity.assign(count, 0.0);
  audit_.own_label.assign(count, kNoClass);
  audit_.other_label.assign(count, kNoClass);
  audit_.other_variant.assign(count, -1);
  audit_.own_score.assign(count, 0.0F);
  audit_.other_score.assign(count, 0.0F);
  is_unknown_.assign(count, 0);
}

void RowAuditor::count_group(std::int32_t const* labels, std::int64_t weight,
                             VariantCounts& counts) const {
  bool mixed = false;
  for (std::size_t v = 0; v < variants_; ++v) {
    if (labels[v] == favourable_) counts.favourable[v] += weight;
    if (labels[v] == kNoClass) counts.undefined[v] += weight;
    mixed = mixed || labels[v] != labels[0];
  }
  if (!mixed || counts.pairs.empty()) return;
  for (std::size_t a = 0; a < variants_; ++a) {
    if (labels[a] != favourable_) continue;
    std::int64_t* const row = &counts.pairs[a * variants_];
    for (std::size_t b = 0; b < variants_; ++b) {
      if (labels[b] != favourable_ && labels[b] != kNoClass) row[b] += weight;
    }
  }
}

void RowAuditor::describe_group(std::size_t group, std::int32_t const* labels, float const* p) {
  auto const other_than = [&](std::int32_t label) {
    for (std::size_t v = 0; v < variants_; ++v) {
      if (labels[v] != label && labels[v] != kNoClass) return static_cast<std::int32_t>(v);
    }
    return -1;
  };
  // As the kernels: a score that is no number widens nothing.
  float severity = 0.0F;
  for (std::size_t c = 0; c < outputs_; ++c) {
    float low = std::numeric_limits<float>::infinity();
    float high = -low;
    for (std::size_t v = 0; v < variants_; ++v) {
      float const x = p[v * outputs_ + c];
      if (x < low) low = x;
      if (x > high) high = x;
    }
    if (high - low > severity) severity = high - low;
  }
  // Who does not exist could not get another class.
  bool const is_unknown =
      !packed_.is_constrained() &&
      std::any_of(labels, labels + variants_, [](std::int32_t label) { return label == kNoClass; });
  for (std::size_t k = groups_.begin[group]; k < groups_.begin[group + 1]; ++k) {
    std::size_t const i = groups_.order[k];
    int const own = packed_.variant_of(&rows_[i * width_]);
    if (own < 0) {
      throw Error(ExitCode::kBug, "a row to audit has protected values that are not compared");
    }
    auto const v = static_cast<std::size_t>(own);
    std::int32_t const label = labels[v];
    audit_.own_label[i] = label;
    audit_.own_score[i] = audit_.other_score[i] = score_of(p + v * outputs_, label);
    std::int32_t const pair = label == kNoClass ? -1 : other_than(label);
    is_unknown_[i] = is_unknown && pair < 0 ? 1 : 0;
    if (pair < 0) continue;
    auto const other = static_cast<std::size_t>(pair);
    audit_.is_affected[i] = 1;
    audit_.severity[i] = static_cast<double>(severity);
    audit_.other_variant[i] = pair;
    audit_.other_label[i] = labels[other];
    audit_.other_score[i] = score_of(p + other * outputs_, labels[other]);
  }
}

void RowAuditor::evaluate(std::int64_t first, std::int64_t count, VariantCounts& counts) {
  auto const begin = static_cast<std::size_t>(first);
  auto const groups = static_cast<std::size_t>(count);
  std::vector<std::int32_t> members;
  members.reserve(groups * variants_ * width_);
  for (std::size_t g = begin; g < begin + groups; ++g) {
    auto const row =
        rows_.begin() + static_cast<std::ptrdiff_t>(groups_.order[groups_.begin[g]] * width_);
    for (std::size_t v = 0; v < variants_; ++v) {
      members.insert(members.end(), row, row + static_cast<std::ptrdiff_t>(width_));
      packed_.set_variant(static_cast<int>(v), &members[members.size() - width_]);
    }
  }
  RowLabels decided = label_rows(subject_, backend_, members);
  std::vector<float> terms(2 * outputs_);
  for (std::size_t m = 0; m < groups * variants_; ++m) {
    if (!subject_.constraints().allows(&members[m * width_])) {
      decided.labels[m] = kNoClass;
      std::fill_n(&decided.scores[m * outputs_], outputs_, std::numeric_limits<float>::quiet_NaN());
    }
    probabilities<ScalarPack>(subject_.view().scores, &decided.scores[m * outputs_],
                              static_cast<int>(outputs_), 1, terms.data());
  }
  for (std::size_t g = 0; g < groups; ++g) {
    std::int32_t const* const labels = &decided.labels[g * variants_];
    auto const weight =
        static_cast<std::int64_t>(groups_.begin[begin + g + 1] - groups_.begin[begin + g]);
    count_group(labels, weight, counts);
    describe_group(begin + g, labels, &decided.scores[g * variants_ * outputs_]);
  }
}

void RowAuditor::sum_up(VariantCounts const& counts) {
  double sum = 0.0;
  for (std::size_t i = 0; i < audit_.is_affected.size(); ++i) {
    audit_.affected += audit_.is_affected[i];
    audit_.undefined += is_unknown_[i];
    sum += audit_.severity[i];
    audit_.severity_max = std::max(audit_.severity_max, audit_.severity[i]);
  }
  if (audit_.affected > 0) audit_.severity_mean = sum / static_cast<double>(audit_.affected);
  for (std::size_t v = 0; v < variants_; ++v) {
    VariantRate rate;
    for (std::size_t s = 0; s < subject_.selected().size(); ++s)
      rate.values.push_back(packed_.variant_value(static_cast<int>(v), static_cast<int>(s)));
    rate.favourable = counts.favourable[v];
    rate.rows = audit_.rows - (packed_.is_constrained() ? counts.undefined[v] : 0);
    rate.undefined = packed_.is_constrained() ? 0 : counts.undefined[v];
    rate.share = share_of(rate.favourable, rate.rows);
    audit_.variants.push_back(std::move(rate));
  }
  if (counts.pairs.empty()) return;
  for (std::size_t a = 0; a < variants_; ++a) {
    for (std::size_t b = 0; b < variants_; ++b) {
      std::int64_t const there = counts.pairs[a * variants_ + b];
      std::int64_t const back = counts.pairs[b * variants_ + a];
      if (there > back) {
        audit_.preferences.push_back(
            {static_cast<std::int32_t>(a), static_cast<std::int32_t>(b), there, back});
      }
    }
  }
  std::stable_sort(audit_.preferences.begin(), audit_.preferences.end(),
                   [](Preference const& a, Preference const& b) {
                     std::int64_t const net = a.rows - a.reverse_rows;
                     std::int64_t const other = b.rows - b.reverse_rows;
                     return net != other ? net > other : a.rows > b.rows;
                   });
}

RowAudit RowAuditor::run() {
  auto const piece =
      std::max<std::int64_t>(1, kMembersAtOnce / static_cast<std::int64_t>(variants_));
  VariantCounts counts(variants_);
  std::mutex lock;
  ThreadPool pool;
  pool.share(backend_.concurrency(), 0, groups_.count(), piece,
             [&](int, std::int64_t first, std::int64_t count) {
               if (stop_ != nullptr && *stop_)
                 throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
               VariantCounts own(variants_);
               evaluate(first, count, own);
               std::lock_guard const guard(lock);
               counts.add(own);
             });
  sum_up(counts);
  audit_.worst = value_shares(rows_, audit_.is_affected, static_cast<int>(width_));
  return std::move(audit_);
}

}  // namespace

std::vector<ValueShare> value_shares(std::span<std::int32_t const> rows,
                                     std::span<std::uint8_t const> is_affected, int attributes) {
  constexpr std::int64_t kPerCent = 100;
  auto const width = static_cast<std::size_t>(attributes);
  auto const all = static_cast<std::int64_t>(is_affected.size());
  std::vector<ValueShare> shares;
  for (std::size_t a = 0; a < width; ++a) {
    std::map<std::int32_t, ValueShare> by_code;
    for (std::size_t i = 0; i < is_affected.size(); ++i) {
      ValueShare& share = by_code[rows[i * width + a]];
      ++share.rows;
      share.affected += is_affected[i];
    }
    for (auto& [code, share] : by_code) {
      if (share.rows < kLeastRows || share.rows * kPerCent < all * kLeastPercent) continue;
      share.attribute = static_cast<std::int32_t>(a);
      share.code = code;
      share.share = static_cast<double>(share.affected) / static_cast<double>(share.rows);
      shares.push_back(share);
    }
  }
  // Shares are compared as fractions, so that equal ones are equal.
  std::stable_sort(shares.begin(), shares.end(), [](ValueShare const& a, ValueShare const& b) {
    std::int64_t const left = a.affected * b.rows;
    std::int64_t const right = b.affected * a.rows;
    return left != right ? left > right : a.rows > b.rows;
  });
  return shares;
}

RowAudit audit_rows(TestSubject const& subject, Backend& backend,
                    std::span<std::int32_t const> rows, std::int32_t favourable,
                    std::atomic<bool> const* stop) {
  return RowAuditor(subject, backend, rows, favourable, stop).run();
}

RowAudit audit_rows(TestSubject const& subject, Backend& backend, std::int32_t favourable,
                    std::atomic<bool> const* stop) {
  if (subject.data() == nullptr)
    throw Error(ExitCode::kNoInput,
                "no table is given, expected rows to audit; name one as `data`");
  return audit_rows(subject, backend, subject.data()->rows, favourable, stop);
}

}  // namespace fairlane
