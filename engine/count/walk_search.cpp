#include "engine/count/walk_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/threads/shared_stack.h"
#include "base/threads/workers.h"
#include "engine/count/walk_sharing.h"
#include "engine/count/walk_skip.h"
#include "engine/count/walk_worker.h"
#include "engine/job/job.h"

namespace fairlane {
namespace {

constexpr double kSliceSeconds = 1.0;   // between two looks at the clock and at Ctrl-C
constexpr double kSharedSlice = 0.1;    // the same, and at what other ranks have sent
constexpr int kPilotChunks = 4;         // of each thread, to learn the speed
constexpr double kLeastForPilot = 1.0;  // seconds of a walk that is worth a sample of boxes to skip
constexpr double kPilotShare = 0.005;   // of the expected time
constexpr double kLongestPilot = 2.0;
constexpr double kRecallSeconds =
    30.0;  // in which ranks that were asked to stop say what they have
constexpr std::chrono::milliseconds kIdle{1};
constexpr Walker::Look kThorough = {true, 2};  // where everything is tried

/// "3.2 s", "12 min", "5.1 h", "12 days", "340 years".
std::string time_text(double seconds) {
  constexpr double kMinute = 60.0;
  constexpr double kHour = 60.0 * kMinute;
  constexpr double kDay = 24.0 * kHour;
  constexpr double kYear = 365.25 * kDay;
  if (seconds < 2.0 * kMinute) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2.0 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  if (seconds < 2.0 * kDay) return fmt::format("{:.1f} h", seconds / kHour);
  if (seconds < 2.0 * kYear) return fmt::format("{:.0f} days", seconds / kDay);
  return fmt::format("{:.3g} years", seconds / kYear);
}

/// One walk on its way.
class WalkSearch : private JobTask {
 public:
  WalkSearch(Walker& walker, SubjectView const& view, RowDescriber& rows, std::int64_t begin,
             std::int64_t end, int threads, EnumerateOptions const& options, JobOptions job,
             GroupCounts& counts, WalkFindings& findings)
      : task_(walker, view, rows, options.skipping != Skipping::kNever, counts, findings),
        can_skip_(view.scorer == nullptr && view.constraints.empty()),
        threads_(threads),
        options_(options),
        begin_(begin / task_.group_size),
        end_(end / task_.group_size),
        job_(*this, std::move(job)) {
    add_part(begin_, end_);
    started_ = heads_left();
    if (options.ranks != nullptr && options.ranks->size() > 1 && options.ranks->is_first())
      dealer_.emplace(*options.ranks, walker.plan());
    if (can_skip_ && options.skipping == Skipping::kAlways) {
      task_.levels = ~LevelSet{0};
      task_.look = kThorough;
    }
  }

  void run() { job_.run(); }
  /// What a rank does that is dealt ranges.
  void help(Ranks& ranks);

 private:
  void work() override;
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  /// Of what was left when this session began.
  std::string done() const override {
    return fmt::format("{} of {} groups", (started_ - heads_left()) * task_.group_size,
                       started_ * task_.group_size);
  }
  bool can_save() const override { return is_whole_; }
  char const* name() const override { return "walk"; }
  std::string resumed_text(std::string const& done) const override;
  std::string stopped_text(std::string const& what, std::string const& done,
                           std::string const& place) const override;

  void add_part(std::int64_t begin, std::int64_t end) {
    if (begin < end) parts_.push_back({task_.tree.root(), begin, end});
  }
  std::int64_t heads_left() const;
  /// Heads that are out with other ranks.
  bool is_dealt() const { return dealer_ && !dealer_->out().empty(); }
  /// Gives ranks that need it a piece of what is left.
  void deal();
  /// Adds what ranks have sent; whether that was anything.
  bool take_shares();
  /// Throws Error(kInterrupted) where the user wants that, once the other ranks' shares are here.
  void check_stop();
  /// Works on the parts with all threads until `heads` are evaluated, a state is due, or for a
  /// slice's time.
  void walk_slice(std::int64_t heads);
  /// The same. Where a scorer fails meanwhile, all is as before, unless instances were collected
  /// in it.
  void walk_or_go_back(std::int64_t heads);
  /// Chooses what to skip. Returns the expected seconds.
  double look_ahead();
  void tell_expected(double seconds, double left);
  /// Brings the job's progress up to date.
  void count_progress();
  void report(double seconds);

  WalkTask task_;
  bool can_skip_;  // there is a network, of which something can be proven
  int threads_;
  EnumerateOptions const& options_;
  Workers workers_;
  std::int64_t begin_;
  std::int64_t end_;
  std::vector<WalkPart> parts_;       // what is left, the first of it last
  std::optional<WalkDealer> dealer_;  // to other ranks
  double heads_per_second_ = 0.0;     // of one rank, as expected
  std::int64_t started_ = 0;          // heads left when this session began
  bool is_whole_ = true;              // what is left, counted and found belongs together
  Job job_;
};

void WalkSearch::work() {
  job_.progress().begin(0, task_.counts.groups + started_ * task_.group_size, task_.counts.groups);
  Stopwatch const start;
  bool const only_deals = dealer_ && options_.dealt_at_once > 0;
  if (only_deals) {
    dealer_->begin({task_.levels, task_.look});
  } else {
    walk_or_go_back(task_.walker.chunk() * threads_ * kPilotChunks);
  }
  if (!parts_.empty() && !only_deals) {
    double const seconds = start.seconds();
    double const left = look_ahead();
    if (dealer_) {
      heads_per_second_ = static_cast<double>(heads_left()) / std::max(left, 1e-9);
      dealer_->begin({task_.levels, task_.look});
    }
    tell_expected(seconds, dealer_ ? left / dealer_->ranks() : left);
  }
  while (!parts_.empty() || is_dealt()) {
    check_stop();
    deal();
    bool const walks = !parts_.empty() && !only_deals;
    if (walks) walk_or_go_back(std::numeric_limits<std::int64_t>::max());
    if (dealer_ && !take_shares() && !walks) std::this_thread::sleep_for(kIdle);
    report(start.seconds());
    if (!parts_.empty() && job_.due()) job_.save_on_the_way();
  }
  if (dealer_) dealer_->end();
}

void WalkSearch::deal() {
  if (!dealer_) return;
  for (int rank = dealer_->needy(); rank > 0 && !parts_.empty(); rank = dealer_->needy()) {
    WalkPart& part =
        *std::ranges::max_element(parts_, {}, [](WalkPart const& p) { return p.end - p.begin; });
    std::int64_t const chunk =
        options_.dealt_at_once > 0 ? options_.dealt_at_once : task_.walker.chunk();
    std::int64_t const piece = std::max(chunk, dealer_->piece(heads_left(), heads_per_second_));
    // What is walked here is taken from the front.
    std::int64_t const begin = std::max(part.begin, (part.end - piece) / chunk * chunk);
    dealer_->deal(rank, {begin, part.end});
    part.end = begin;
    std::erase_if(parts_, [](WalkPart const& p) { return p.begin == p.end; });
  }
}

bool WalkSearch::take_shares() {
  bool any = false;
  while (auto const share = dealer_->poll()) {
    any = true;
    for (HeadRange const& left : share->left) add_part(left.begin, left.end);
    task_.counts.add(share->counts);
    task_.findings.add(share->found);
  }
  if (any) count_progress();
  return any;
}

void WalkSearch::check_stop() {
  if (dealer_ && dealer_->asked_to_stop()) {
    Stopwatch const start;
    while (is_dealt() && start.seconds() < kRecallSeconds) {
      bool const deserted = dealer_->deserted();
      if (!take_shares() && deserted) break;
      std::this_thread::sleep_for(kIdle);
    }
    throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
  }
  job_.check_stop();
}

void WalkSearch::help(Ranks& ranks) {
  WalkHelper helper(ranks);
  while (auto const range = helper.next()) {
    task_.levels = helper.manner().levels;
    task_.look = helper.manner().look;
    parts_.clear();
    add_part(range->begin, range->end);
    while (!parts_.empty() && !helper.asked_to_stop())
      walk_slice(std::numeric_limits<std::int64_t>::max());
    WalkShare share{{}, std::move(task_.counts), task_.findings.release()};
    for (WalkPart const& part : parts_) share.left.push_back({part.begin, part.end});
    helper.send(share);
    task_.counts = GroupCounts(task_.walker.plan());
  }
}

std::string WalkSearch::resumed_text(std::string const&) const {
  return fmt::format("going on after {} groups", task_.counts.groups);
}

std::string WalkSearch::stopped_text(std::string const& what, std::string const& done,
                                     std::string const&) const {
  return fmt::format("{} after {}; their state is saved: the same command goes on from there", what,
                     done);
}

void WalkSearch::walk_or_go_back(std::int64_t heads) {
  bool const goes_back = !can_skip_ && !task_.findings.wanted();
  auto const parts = goes_back ? parts_ : std::vector<WalkPart>{};
  auto const counts = goes_back ? task_.counts : GroupCounts{};
  is_whole_ = false;
  try {
    walk_slice(heads);
  } catch (Error const&) {
    if (!goes_back) throw;
    parts_ = parts;
    task_.counts = counts;
    is_whole_ = true;
    throw;
  }
  is_whole_ = true;
  count_progress();
}

void WalkSearch::walk_slice(std::int64_t heads) {
  Stopwatch const start;
  std::sort(parts_.begin(), parts_.end(),
            [](WalkPart const& a, WalkPart const& b) { return a.begin > b.begin; });
  task_.evaluated = 0;
  SharedStack<WalkPart> stack(std::move(parts_));
  double const slice = options_.ranks != nullptr ? kSharedSlice : kSliceSeconds;
  workers_.run(threads_, [&](int) {
    WalkWorker worker(task_);
    stack.work([&](WalkPart const& part, std::vector<WalkPart>& rest) { worker.step(part, rest); },
               [&] {
                 return workers_.failed() || task_.evaluated.load() >= heads || job_.due() ||
                        start.seconds() > slice;
               });
    worker.finish();
  });
  parts_ = std::move(stack.items());
}

std::int64_t WalkSearch::heads_left() const {
  std::int64_t heads = 0;
  for (WalkPart const& part : parts_) heads += part.end - part.begin;
  if (!dealer_) return heads;
  for (HeadRange const& range : dealer_->out()) heads += range.end - range.begin;
  return heads;
}

double WalkSearch::look_ahead() {
  double const left = job_.seconds_left();
  if (!can_skip_ || options_.skipping != Skipping::kWhereFaster || left < kLeastForPilot)
    return left;
  double const budget = std::min(left * kPilotShare, kLongestPilot);
  double const walked = left * threads_ / static_cast<double>(heads_left());
  LookChoice const looks = pilot_looks(task_.walker, begin_, end_, walked, budget);
  task_.look = looks.look;
  SkipChoice const choice = pilot_skipping(task_.network, task_.threshold, task_.tree, begin_, end_,
                                           threads_, walked * looks.share, budget);
  task_.levels = choice.levels;
  return left * choice.seconds_per_head / walked;
}

void WalkSearch::tell_expected(double seconds, double left) {
  auto const variants = static_cast<double>(task_.walker.plan().counters().variants);
  auto const group_size = static_cast<double>(task_.group_size);
  double const groups = static_cast<double>(heads_left()) * group_size;
  double const rate =
      static_cast<double>(started_ - heads_left()) * group_size * variants / seconds;
  std::string const size = fmt::format("{:.4g} groups of {:.0f} inputs each", groups, variants);
  if (left > options_.most_seconds) {
    throw Error(
        ExitCode::kConfig,
        fmt::format("the walk over {} would take about {} here, at {:.3g} inputs/s, and {} are "
                    "given; walk a part of the domain (--range, --tuple, --rows, --shard), give it "
                    "more (budget.seconds), or use `fairlane estimate` for the rate",
                    size, time_text(left), rate, time_text(options_.most_seconds)));
  }
  if (!options_.notice) return;
  options_.notice(fmt::format("{}: about {} at {:.3g} inputs/s{}", size, time_text(left), rate,
                              task_.levels != 0 ? ", skipping what is proven to hold no IDI"
                              : task_.look      ? ", leaving out what is proven to change nothing"
                                                : ""));
}

void WalkSearch::count_progress() {
  auto& progress = job_.progress();
  progress.done = task_.counts.groups;
  progress.instances = static_cast<std::int64_t>(task_.counts.counters[CountLayout::kInstances]);
}

void WalkSearch::report(double seconds) {
  if (!options_.progress) return;
  auto const& progress = job_.progress();
  options_.progress(
      {progress.done, progress.total, progress.instances, seconds, job_.seconds_left()});
}

void WalkSearch::read_state(CheckpointReader const& state) {
  auto const left = state.values<std::int64_t>("left");
  parts_.clear();
  for (std::size_t i = 0; i + 1 < left.size(); i += 2)
    add_part(left[i] / task_.group_size, left[i + 1] / task_.group_size);
  auto const done = state.values<std::int64_t>("done");
  task_.counts.groups = done.at(0);
  task_.counts.skipped = done.at(1);
  task_.counts.counters = state.values<std::uint64_t>("counters");
  for (std::size_t l = 0; l < task_.counts.list_groups.size(); ++l)
    task_.counts.list_groups[l] = state.values<std::uint64_t>("list" + std::to_string(l));
  task_.findings.restore(state);
  started_ = heads_left();
}

void WalkSearch::write_state(CheckpointWriter& state) {
  is_whole_ = false;  // a scorer may fail in it
  task_.findings.save(state);
  is_whole_ = true;
  std::vector<std::int64_t> left;  // begin and end of groups, one range after the other
  for (WalkPart const& part : parts_) {
    left.push_back(part.begin * task_.group_size);
    left.push_back(part.end * task_.group_size);
  }
  for (HeadRange const& range : dealer_ ? dealer_->out() : std::vector<HeadRange>{}) {
    left.push_back(range.begin * task_.group_size);
    left.push_back(range.end * task_.group_size);
  }
  state.add("left", left);
  state.add("done", std::vector<std::int64_t>{task_.counts.groups, task_.counts.skipped});
  state.add("counters", task_.counts.counters);
  for (std::size_t l = 0; l < task_.counts.list_groups.size(); ++l)
    state.add("list" + std::to_string(l), task_.counts.list_groups[l]);
}

}  // namespace

void walk_groups(Walker& walker, SubjectView const& view, RowDescriber& rows, std::int64_t begin,
                 std::int64_t end, int threads, EnumerateOptions const& options,
                 StateFile const& state, GroupCounts& counts, WalkFindings& findings) {
  JobOptions job;
  job.stop = options.stop;
  job.tell = options.notice;
  job.state = state;
  WalkSearch(walker, view, rows, begin, end, threads, options, std::move(job), counts, findings)
      .run();
}

void help_walk(Walker& walker, SubjectView const& view, RowDescriber& rows, int threads,
               EnumerateOptions const& options, WalkFindings& findings) {
  GroupCounts counts(walker.plan());
  JobOptions job;
  job.stop = options.stop;
  WalkSearch(walker, view, rows, 0, 0, threads, options, std::move(job), counts, findings)
      .help(*options.ranks);
}

}  // namespace fairlane
