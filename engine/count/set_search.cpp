#include "engine/count/set_search.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/formats/json.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostSetVariants = 1 << 14;

}  // namespace

SetSearch::SetSearch(RunConfig const& config, EstimateOptions const& options,
                     TestSubject const& subject, Job const& job)
    : config_(config),
      options_(options),
      subject_(subject),
      job_(job),
      largest_(
          std::min(options.largest_set, static_cast<int>(subject.domain().attributes.size()) - 1)),
      next_(largest_ > 0 ? 1 : 0) {
  std::vector<int> set = next_;
  for (bool more = !set.empty(); more; more = advance(set)) {
    ++sets_;
    std::int64_t const variants = variants_of(set);
    compared_ += variants > 1 && variants <= kMostSetVariants ? 1 : 0;
  }
}

std::int64_t SetSearch::variants_of(std::vector<int> const& set) const {
  std::int64_t variants = 1;
  for (int const a : set) {
    variants *= subject_.domain().attributes[static_cast<std::size_t>(a)].code_count();
    if (variants > kMostSetVariants) return kMostSetVariants + 1;
  }
  return variants;
}

bool SetSearch::advance(std::vector<int>& set) const {
  int const count = static_cast<int>(subject_.domain().attributes.size());
  int const size = static_cast<int>(set.size());
  for (int i = size - 1; i >= 0; --i) {
    auto const at = static_cast<std::size_t>(i);
    if (set[at] == count - size + i) continue;
    ++set[at];
    for (std::size_t k = at + 1; k < set.size(); ++k) set[k] = set[k - 1] + 1;
    return true;
  }
  if (size == largest_) return false;
  set.resize(set.size() + 1);
  std::iota(set.begin(), set.end(), 0);
  return true;
}

bool SetSearch::examine_next() {
  if (done_ == sets_) return false;
  bool const known = std::any_of(found_.begin(), found_.end(), [&](Finding const& smaller) {
    return std::includes(next_.begin(), next_.end(), smaller.set.begin(), smaller.set.end());
  });
  std::int64_t const variants = variants_of(next_);
  if (!known && variants > kMostSetVariants) {
    ++too_large_;
  } else if (!known && variants > 1) {
    examine(next_);
  }
  ++done_;
  if (done_ < sets_) advance(next_);
  return true;
}

void SetSearch::examine(std::vector<int> const& set) {
  RunConfig config = config_;
  config.protected_attributes.clear();
  for (int const a : set) {
    auto const& attribute = subject_.domain().attributes[static_cast<std::size_t>(a)];
    config.protected_attributes.push_back({attribute.name, {}});
  }
  Execution execution = options_.execution;
  // A scorer stays as it is loaded.
  if (auto const& scorer = subject_.model().scorer())
    execution.model.make = [&scorer] { return scorer; };
  Sampler sampler(config, execution, options_.region,
                  expected_samples(options_.error, options_.most_samples));
  double const above = *options_.search_above;
  bool const rows = options_.region.rows;
  // Every set may be missed by its part of what all may miss.
  SamplePlan const plan{
      .first = rows ? sampler.rows() : kFirstLook,
      .most = rows ? sampler.rows() : options_.most_samples,
      .confidence = 1.0 - (1.0 - options_.confidence) / static_cast<double>(compared_),
      .several = !rows,
      .exact = rows};
  std::atomic<bool> begun{false};
  // Of every set that is begun something is known.
  auto const pauses = [&] { return job_.stopped() || (begun.exchange(true) && job_.late()); };
  ShareEstimate estimate;
  auto const interval = [&] { return estimate.interval(estimate.samples.group_hits()); };
  auto const decided = [&](ShareInterval const&, ShareInterval const&) {
    ShareInterval const share = estimate.share(estimate.samples.group_hits());
    ShareInterval const known = interval();
    return known.low > above || known.high <= above ||
           known.high - share.high + share.low - known.low <= 2.0 * options_.error;
  };
  LookResult result = LookResult::kMore;
  while (result == LookResult::kMore)
    result = take_look(
        sampler, plan, decided, pauses, [](Samples const&) {}, estimate);
  job_.check_stop();
  auto const& samples = estimate.samples;
  SampledHits const groups = samples.group_hits();
  Finding const finding{set, {estimate.share(groups).low, interval()}, groups.of};
  if (finding.share.interval.low > above) {
    found_.push_back(finding);
  } else if (finding.share.interval.high > above) {
    undecided_.push_back(finding);
  }
}

std::string SetSearch::json() const {
  auto const list = [&](std::vector<Finding> const& findings) {
    Json all = Json::array();
    for (Finding const& finding : findings) {
      Json names = Json::array();
      for (int const a : finding.set)
        names.push_back(subject_.domain().attributes[static_cast<std::size_t>(a)].name);
      all.push_back({{"protected", names},
                     {"share", finding.share.share},
                     {"low", finding.share.interval.low},
                     {"high", finding.share.interval.high},
                     {"samples", finding.samples}});
    }
    return all;
  };
  Json json = {{"above", *options_.search_above}, {"largest_set", options_.largest_set},
               {"compared", compared_},           {"found", list(found_)},
               {"undecided", list(undecided_)},   {"too_large", too_large_}};
  if (done_ < sets_) json["not_examined"] = sets_ - done_;
  return json.dump();
}

std::string SetSearch::state() const {
  auto const list = [](std::vector<Finding> const& findings) {
    Json all = Json::array();
    for (Finding const& finding : findings) {
      all.push_back({{"set", finding.set},
                     {"share", finding.share.share},
                     {"low", finding.share.interval.low},
                     {"high", finding.share.interval.high},
                     {"samples", finding.samples}});
    }
    return all;
  };
  return Json{{"done", done_},
              {"too_large", too_large_},
              {"found", list(found_)},
              {"undecided", list(undecided_)}}
      .dump();
}

void SetSearch::restore(std::string const& state) {
  auto const list = [](Json const& all) {
    std::vector<Finding> findings;
    for (auto const& finding : all) {
      auto const number = [&](char const* name) { return finding.at(name).get<double>(); };
      findings.push_back({finding.at("set").get<std::vector<int>>(),
                          {number("share"), {number("low"), number("high")}},
                          finding.at("samples").get<std::int64_t>()});
    }
    return findings;
  };
  auto const json = Json::parse(state);
  found_ = list(json.at("found"));
  undecided_ = list(json.at("undecided"));
  too_large_ = json.at("too_large").get<std::int64_t>();
  done_ = json.at("done").get<std::int64_t>();
  for (std::int64_t i = 0; i < done_; ++i) advance(next_);
}

}  // namespace fairlane
