#include "engine/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numbers>

#include "engine/group_counts.h"
#include "engine/stopwatch.h"
#include "engine/walk_report.h"
#include "engine/workers.h"
#include "kernels/core/error.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kBatch = 1 << 15;      // samples drawn and evaluated at once
constexpr std::int64_t kFirstLook = 1 << 10;  // samples before the first look at the interval
constexpr std::int64_t kMostSetVariants = 1 << 14;
constexpr std::size_t kDescribed = 4096;

/// What samples of one subject say. sampled: inputs; hits: IDIs among them; layout: of the counters
struct Samples {
  std::int64_t sampled = 0;
  std::int64_t hits = 0;
  GroupCounts counts;
  CountLayout layout;
};

/// One subject's region, sampled in batches that depend on nothing but the seed and their number.
class Sampler {
 public:
  Sampler(RunConfig const& config, EstimateOptions const& options)
      : subject_(config, options.execution.model),
        backend_(make_backend(subject_, options.execution, config.seed, {})),
        lists_(options.region.rows ? std::vector<ValueList>{}
                                   : walk_lists(subject_, options.region)),
        rows_(options.region.rows ? rows_within(subject_, options.region)
                                  : std::vector<std::int64_t>{}),
        options_(options),
        seed_(config.seed) {}

  TestSubject const& subject() const { return subject_; }
  Backend& backend() { return *backend_; }
  /// Draws [begin, end), multiples of kBatch but for the end.
  Samples draw(std::int64_t begin, std::int64_t end);
  /// Every row of the data that lies within the region, which has `rows`.
  Samples count_rows();

 private:
  /// The sum over batches [first, first + count) of [begin, end).
  template <class Batch>
  Samples in_batches(std::int64_t begin, std::int64_t end, Batch const& batch);
  ValueList drawn(std::int64_t begin, std::int64_t count) const;
  ValueList listed(std::int64_t begin, std::int64_t count) const;
  /// Counts the groups of a list. mixed: takes the discriminatory ones
  Samples evaluate(ValueList list, std::function<void(WalkPlan const&, std::int64_t)> const& mixed);
  Samples evaluate_drawn(std::int64_t begin, std::int64_t count);
  Samples evaluate_rows(std::int64_t begin, std::int64_t count);
  /// IDIs among rows [..][attributes].
  std::int64_t count_hits(std::vector<std::int32_t> const& rows);

  TestSubject const subject_;
  std::unique_ptr<Backend> backend_;
  std::vector<ValueList> lists_;    // of what is sampled
  std::vector<std::int64_t> rows_;  // of the data, where these are evaluated instead
  EstimateOptions const& options_;
  std::uint64_t seed_;
};

/// A number below `size` from a sample's words.
std::int64_t below_size(std::uint64_t sample, std::uint32_t draw, std::int64_t size,
                        std::uint64_t seed) {
  auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(sample),
                                        static_cast<std::uint32_t>(Phase::kSample),
                                        static_cast<std::uint32_t>(sample >> 32), draw, seed);
  std::uint64_t const random = static_cast<std::uint64_t>(words.w[0]) << 32 | words.w[1];
  // The high half of random * size, in 32-bit parts; its bias is below size / 2^64.
  auto const range = static_cast<std::uint64_t>(size);
  std::uint64_t const low = (random & 0xFFFFFFFFU) * (range & 0xFFFFFFFFU);
  std::uint64_t const a = (random >> 32) * (range & 0xFFFFFFFFU);
  std::uint64_t const b = (random & 0xFFFFFFFFU) * (range >> 32);
  std::uint64_t const middle = (low >> 32) + (a & 0xFFFFFFFFU) + (b & 0xFFFFFFFFU);
  return static_cast<std::int64_t>((random >> 32) * (range >> 32) + (a >> 32) + (b >> 32) +
                                   (middle >> 32));
}

ValueList Sampler::drawn(std::int64_t begin, std::int64_t count) const {
  ValueList all;
  for (auto const& list : lists_)
    all.attributes.insert(all.attributes.end(), list.attributes.begin(), list.attributes.end());
  all.values.reserve(static_cast<std::size_t>(count) * all.attributes.size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t l = 0; l < lists_.size(); ++l) {
      auto const& list = lists_[l];
      std::int64_t const entry = below_size(static_cast<std::uint64_t>(begin + i),
                                            static_cast<std::uint32_t>(l), list.size(), seed_);
      auto const from =
          list.values.begin() +
          static_cast<std::ptrdiff_t>(static_cast<std::size_t>(entry) * list.attributes.size());
      all.values.insert(all.values.end(), from,
                        from + static_cast<std::ptrdiff_t>(list.attributes.size()));
    }
  }
  return all;
}

ValueList Sampler::listed(std::int64_t begin, std::int64_t count) const {
  Dataset const& data = *subject_.data();
  auto const& tested = subject_.selected();
  ValueList list;
  for (int a = 0; a < data.attributes; ++a) {
    if (std::find(tested.begin(), tested.end(), a) == tested.end()) list.attributes.push_back(a);
  }
  for (std::int64_t i = begin; i < begin + count; ++i) {
    std::int64_t const row = rows_[static_cast<std::size_t>(i)];
    for (int const a : list.attributes)
      list.values.push_back(data.rows[static_cast<std::size_t>(row * data.attributes + a)]);
  }
  return list;
}

Samples Sampler::evaluate(ValueList list,
                          std::function<void(WalkPlan const&, std::int64_t)> const& mixed) {
  std::vector<ValueList> lists;
  lists.push_back(std::move(list));
  auto const walker = backend_->make_walker(std::move(lists));
  Samples samples;
  samples.counts = GroupCounts(walker->plan());
  samples.layout = walker->plan().counters();
  GroupCounter counter(*walker);
  GroupCounter::Take take;
  if (mixed) take = [&](std::int64_t group) { mixed(walker->plan(), group); };
  std::int64_t const heads = walker->plan().get().heads;
  for (std::int64_t first = 0; first < heads; first += walker->chunk())
    counter.count(first, std::min(walker->chunk(), heads - first), samples.counts, take);
  samples.counts.list_groups.clear();  // by sample: of no interest
  samples.sampled = samples.counts.groups;
  samples.hits = static_cast<std::int64_t>(samples.counts.counters[CountLayout::kGroups]);
  return samples;
}

Samples Sampler::evaluate_drawn(std::int64_t begin, std::int64_t count) {
  auto const& packed = backend_->subject();
  if (packed.get().finite) return evaluate(drawn(begin, count), {});
  // Of a discriminatory group with undefined members, the sampled input may be one of those.
  auto const width = static_cast<std::size_t>(packed.get().columns);
  auto const batch = static_cast<std::uint32_t>(begin / kBatch);
  std::vector<std::int32_t> rows;
  Samples samples = evaluate(drawn(begin, count), [&](WalkPlan const& plan, std::int64_t group) {
    rows.resize(rows.size() + width);
    std::int32_t* const row = rows.data() + (rows.size() - width);
    plan.row(group, row);
    auto const variant =
        below_size(static_cast<std::uint64_t>(group), batch, packed.get().variants, ~seed_);
    packed.set_variant(static_cast<int>(variant), row);
  });
  samples.hits = count_hits(rows);
  return samples;
}

Samples Sampler::evaluate_rows(std::int64_t begin, std::int64_t count) {
  Samples samples = evaluate(listed(begin, count), {});
  if (backend_->subject().get().finite) return samples;
  Dataset const& data = *subject_.data();
  std::vector<std::int32_t> rows;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    auto const row = data.rows.begin() + rows_[static_cast<std::size_t>(i)] * data.attributes;
    rows.insert(rows.end(), row, row + data.attributes);
  }
  samples.hits = count_hits(rows);
  return samples;
}

std::int64_t Sampler::count_hits(std::vector<std::int32_t> const& rows) {
  std::size_t const width = static_cast<std::size_t>(backend_->subject().get().columns);
  std::vector<Description> descriptions(kDescribed);
  std::int64_t hits = 0;
  for (std::size_t at = 0; at < rows.size(); at += kDescribed * width) {
    std::size_t const n = std::min(kDescribed, (rows.size() - at) / width);
    backend_->describe(&rows[at], n, descriptions.data());
    hits +=
        std::count_if(descriptions.begin(), descriptions.begin() + static_cast<std::ptrdiff_t>(n),
                      [](Description const& d) { return d.pair_variant >= 0; });
  }
  return hits;
}

void add(Samples& sum, Samples const& more) {
  sum.sampled += more.sampled;
  sum.hits += more.hits;
  if (sum.counts.counters.empty()) {
    sum.counts = more.counts;
    sum.layout = more.layout;
  } else {
    sum.counts.add(more.counts);
  }
}

template <class Batch>
Samples Sampler::in_batches(std::int64_t begin, std::int64_t end, Batch const& batch) {
  std::atomic<std::int64_t> next{begin};
  Workers workers;
  std::mutex lock;
  Samples sum;
  workers.run(thread_count(options_.execution), [&](int) {
    while (!workers.failed()) {
      std::int64_t const first = next.fetch_add(kBatch);
      if (first >= end) return;
      if (options_.stop != nullptr && options_.stop->load())
        throw Error(ExitCode::kInterrupted, "interrupted; an estimate starts anew");
      Samples const samples = batch(first, std::min(kBatch, end - first));
      std::lock_guard const guard(lock);
      add(sum, samples);
    }
  });
  return sum;
}

Samples Sampler::draw(std::int64_t begin, std::int64_t end) {
  return in_batches(begin, end, [this](std::int64_t first, std::int64_t count) {
    return evaluate_drawn(first, count);
  });
}

Samples Sampler::count_rows() {
  return in_batches(
      0, static_cast<std::int64_t>(rows_.size()),
      [this](std::int64_t first, std::int64_t count) { return evaluate_rows(first, count); });
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

Json share_json(double share, ShareInterval const& interval) {
  return {{"share", share}, {"low", interval.low}, {"high", interval.high}};
}

/// Confidence of the k-th look, from 1 on: all looks together miss the share no more often than one with `confidence`
/// would, so sampling may end at any of them. (The sum of 1/k^2 is pi^2/6.)
double confidence_of_look(double confidence, int look) {
  constexpr double kSum = std::numbers::pi * std::numbers::pi / 6.0;
  return 1.0 - (1.0 - confidence) / (kSum * look * look);
}

/// What is known of the shares.
/// confidence  of the intervals that are reported; none: all inputs were evaluated
/// reached     sampling has ended because enough was known
struct Estimate {
  Samples samples;
  std::optional<double> confidence;
  bool reached = true;

  ShareInterval interval(std::int64_t hits) const {
    double const share = share_of(hits, samples.sampled);
    return confidence ? clopper_pearson(hits, samples.sampled, *confidence)
                      : ShareInterval{share, share};
  }
};

/// All rows where they are asked for; otherwise samples until the IDIs' share is known well enough, as `enough` says.
template <class Enough>
Estimate sample_until(Sampler& sampler, EstimateOptions const& options, Enough&& enough) {
  Estimate result;
  if (options.region.rows) {
    result.samples = sampler.count_rows();
    return result;
  }
  std::int64_t end = kFirstLook;
  for (int look = 1;; ++look) {
    std::int64_t const begin = result.samples.sampled;
    add(result.samples, sampler.draw(begin, end));
    result.confidence = confidence_of_look(options.confidence, look);
    auto const& s = result.samples;
    if (enough(share_of(s.hits, s.sampled), result.interval(s.hits))) return result;
    if (end >= options.most_samples) {
      result.reached = false;
      return result;
    }
    end = std::min(2 * end, options.most_samples);
  }
}

/// THEMIS's group score: the largest difference of a positive rate between two protected combinations. Of all inputs, or
/// of samples of them with that confidence.
Json group_score(Samples const& samples, std::optional<double> confidence) {
  CountLayout const& layout = samples.layout;
  std::vector<std::int64_t> positive;
  for (int v = 0; v < layout.variants; ++v) {
    positive.push_back(static_cast<std::int64_t>(
        samples.counts.counters[static_cast<std::size_t>(layout.positive(v))]));
  }
  auto const [least, most] = std::minmax_element(positive.begin(), positive.end());
  std::int64_t const n = samples.counts.groups;
  double const score = share_of(*most - *least, n);
  if (!confidence) return share_json(score, {score, score});
  // Every variant's rate lies within its interval at once.
  double const each = 1.0 - (1.0 - *confidence) / layout.variants;
  double low = 0.0;
  double high = 0.0;
  std::vector<ShareInterval> intervals;
  for (std::int64_t const k : positive) intervals.push_back(clopper_pearson(k, n, each));
  for (auto const& a : intervals) {
    for (auto const& b : intervals) {
      low = std::max(low, a.low - b.high);
      high = std::max(high, a.high - b.low);
    }
  }
  return share_json(score, {low, high});
}

Json trials_json(Sampler& sampler, EstimateOptions const& options, std::int64_t begin) {
  std::int64_t const size = *options.samples;
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t t = 0; t < options.trials; ++t) {
    Samples const trial = sampler.draw(begin + t * size, begin + (t + 1) * size);
    double const share = share_of(trial.hits, trial.sampled);
    sum += share;
    squares += share * share;
  }
  auto const n = static_cast<double>(options.trials);
  double const mean = sum / n;
  double const deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  return {{"trials", options.trials},
          {"samples", size},
          {"mean", mean},
          {"half_width", normal_half_width(deviation, options.trials, options.confidence)}};
}

/// THEMIS's search for the smallest sets of attributes whose causal score exceeds a share.
class SetSearch {
 public:
  SetSearch(RunConfig const& config, EstimateOptions const& options, TestSubject const& subject)
      : config_(config), options_(options), subject_(subject) {}

  Json run() {
    int const count = static_cast<int>(subject_.domain().attributes.size());
    for (int size = 1; size <= std::min(options_.largest_set, count - 1); ++size) {
      std::vector<int> set(static_cast<std::size_t>(size));
      for (int i = 0; i < size; ++i) set[static_cast<std::size_t>(i)] = i;
      do {
        examine(set);
      } while (next(set, count));
    }
    return {{"above", *options_.search_above},
            {"largest_set", options_.largest_set},
            {"found", found_json_},
            {"undecided", undecided_json_},
            {"too_large", too_large_}};
  }

 private:
  /// The next set of that size in lexicographic order.
  static bool next(std::vector<int>& set, int count) {
    int const size = static_cast<int>(set.size());
    for (int i = size - 1; i >= 0; --i) {
      auto const at = static_cast<std::size_t>(i);
      if (set[at] == count - size + i) continue;
      ++set[at];
      for (std::size_t k = at + 1; k < set.size(); ++k) set[k] = set[k - 1] + 1;
      return true;
    }
    return false;
  }

  void examine(std::vector<int> const& set) {
    for (auto const& smaller : found_) {
      if (std::includes(set.begin(), set.end(), smaller.begin(), smaller.end())) return;
    }
    Json names = Json::array();
    RunConfig config = config_;
    config.protected_attributes.clear();
    std::int64_t variants = 1;
    for (int const a : set) {
      auto const& attribute = subject_.domain().attributes[static_cast<std::size_t>(a)];
      names.push_back(attribute.name);
      config.protected_attributes.push_back({attribute.name, {}});
      variants *= attribute.code_count();
      if (variants > kMostSetVariants) {
        ++too_large_;
        return;
      }
    }
    if (variants == 1) return;
    EstimateOptions options = options_;
    // A scorer stays as it is loaded.
    if (auto const& scorer = subject_.model().scorer())
      options.execution.model.make = [&scorer] { return scorer; };
    Sampler sampler(config, options);
    double const above = *options_.search_above;
    auto const decided = [&](double, ShareInterval const& interval) {
      return interval.low > above || interval.high <= above ||
             interval.high - interval.low <= 2.0 * options_.error;
    };
    Estimate const result = sample_until(sampler, options_, decided);
    auto const& s = result.samples;
    auto const groups = static_cast<std::int64_t>(s.counts.counters[CountLayout::kGroups]);
    ShareInterval const interval = result.interval(groups);
    Json json = {{"protected", names}};
    json.update(share_json(share_of(groups, s.sampled), interval));
    json["samples"] = s.sampled;
    if (interval.low > above) {
      found_.push_back(set);
      found_json_.push_back(json);
    } else if (interval.high > above) {
      undecided_json_.push_back(json);
    }
  }

  RunConfig const& config_;
  EstimateOptions const& options_;
  TestSubject const& subject_;
  std::vector<std::vector<int>> found_;
  Json found_json_ = Json::array();
  Json undecided_json_ = Json::array();
  std::int64_t too_large_ = 0;
};

}  // namespace

std::string estimate(RunConfig const& config, EstimateOptions const& options) {
  Stopwatch const start;
  Sampler sampler(config, options);
  if (options.notice) {
    for (auto const& line : sampler.subject().notices()) options.notice(line);
    options.notice("backend: " + sampler.backend().name());
  }
  bool const exact = options.region.rows;
  Estimate result;
  if (options.samples && !exact) {
    result.samples = sampler.draw(0, *options.samples);
    result.confidence = options.confidence;
  } else {
    result = sample_until(sampler, options, [&](double share, ShareInterval const& interval) {
      return interval.high - share <= options.error && share - interval.low <= options.error;
    });
  }
  if (!result.reached && options.notice) {
    options.notice(
        fmt::format("the share is not yet known to +-{} after {} samples, the most allowed",
                    options.error, result.samples.sampled));
  }
  auto const& s = result.samples;
  auto const groups = static_cast<std::int64_t>(s.counts.counters[CountLayout::kGroups]);
  Json names = Json::array();
  for (std::int32_t const a : sampler.subject().selected())
    names.push_back(sampler.subject().domain().attributes[static_cast<std::size_t>(a)].name);
  Json json;
  json["method"] = "estimate";
  json["protected"] = names;
  json["variants"] = s.layout.variants;
  json["of"] = exact ? "rows" : options.region.whole() ? "domain" : "region";
  json["counts"] = {{"samples", s.sampled},
                    {"unique_groups", groups},
                    {"hits", s.hits},
                    {"model_evaluations", s.sampled * s.layout.variants}};
  json["confidence"] = exact ? 1.0 : options.confidence;
  json["success_rate"] = share_json(share_of(s.hits, s.sampled), result.interval(s.hits));
  json["causal_score"] = share_json(share_of(groups, s.sampled), result.interval(groups));
  json["group_score"] = group_score(s, result.confidence);
  json["undefined"] = s.counts.counters[CountLayout::kUndefined];
  if (options.trials > 0) json["trials"] = trials_json(sampler, options, s.sampled);
  if (options.search_above) json["sets"] = SetSearch(config, options, sampler.subject()).run();
  json["timing"] = {{"total_seconds", start.seconds()}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fairlane
