#include "engine/count/walk_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/threads/shared_stack.h"
#include "base/threads/workers.h"
#include "engine/count/kind_counter.h"
#include "engine/count/walk_sharing.h"
#include "engine/count/walk_skip.h"
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
constexpr std::int64_t kLeastPieces = 64;      // of a chunk, down to which nobody is looked for
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

/// Heads [begin, end) that lie in a node. fresh: its level is not its parent's, so that it may be
/// tried
struct Part {
  WalkNode node;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool fresh = true;
};

/// One walk on its way.
class WalkSearch : private JobTask {
 public:
  WalkSearch(Walker& walker, SubjectView const& view, RowDescriber& rows, std::int64_t begin,
             std::int64_t end, int threads, EnumerateOptions const& options, JobOptions job,
             GroupCounts& counts, WalkFindings& findings)
      : walker_(walker),
        threshold_(view.threshold),
        network_(view.network),
        can_skip_(view.scorer == nullptr && view.constraints.empty()),
        tree_(walker.plan(), view),
        domain_(walker.plan(), view),
        kinded_(walker.plan(), domain_, view, rows),
        threads_(threads),
        options_(options),
        counts_(counts),
        findings_(findings),
        group_size_(walker.plan().get().groups),
        begin_(begin / group_size_),
        end_(end / group_size_),
        job_(*this, std::move(job)) {
    add_part(begin_, end_);
    started_ = heads_left();
    if (options.ranks != nullptr && options.ranks->size() > 1 && options.ranks->is_first())
      dealer_.emplace(*options.ranks, walker.plan());
    if (can_skip_ && options.skipping == Skipping::kAlways) {
      levels_ = ~LevelSet{0};
      look_ = kThorough;
    }
  }

  void run() { job_.run(); }
  /// What a rank does that is dealt ranges.
  void help(Ranks& ranks);

 private:
  class Worker;

  void work() override;
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  /// Of what was left when this session began.
  std::string done() const override {
    return fmt::format("{} of {} groups", (started_ - heads_left()) * group_size_,
                       started_ * group_size_);
  }
  bool can_save() const override { return is_whole_; }
  char const* name() const override { return "walk"; }
  std::string resumed_text(std::string const& done) const override;
  std::string stopped_text(std::string const& what, std::string const& done,
                           std::string const& place) const override;

  void add_part(std::int64_t begin, std::int64_t end) {
    if (begin < end) parts_.push_back({tree_.root(), begin, end});
  }
  std::int64_t heads_left() const;
  bool counts_kinds() const {
    return kinded_.usable() && !findings_.wanted() && options_.skipping != Skipping::kNever;
  }
  /// Whether boxes in which nobody exists are left out.
  bool leaves_out_nobody() const {
    return domain_.knows_who_exists() && domain_.existing().any_rules() &&
           options_.skipping != Skipping::kNever;
  }
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

  Walker& walker_;
  float threshold_;
  BoundedNetwork network_;
  bool can_skip_;  // there is a network, of which something can be proven
  WalkTree tree_;
  WalkDomain domain_;
  KindedWalk kinded_;
  int threads_;
  EnumerateOptions const& options_;
  GroupCounts& counts_;
  WalkFindings& findings_;
  Workers workers_;
  std::mutex lock_;  // of counts_ and findings_
  std::int64_t group_size_;
  std::int64_t begin_;
  std::int64_t end_;
  std::vector<Part> parts_;                 // what is left, the first of it last
  std::atomic<std::int64_t> evaluated_{0};  // heads, in this slice
  LevelSet levels_ = 0;                     // that are tried
  std::optional<Walker::Look> look_;        // at what is evaluated
  std::optional<WalkDealer> dealer_;        // to other ranks
  double heads_per_second_ = 0.0;           // of one rank, as expected
  std::int64_t started_ = 0;                // heads left when this session began
  bool is_whole_ = true;                    // what is left, counted and found belongs together
  Job job_;
};

/// One thread's part in a slice.
class WalkSearch::Worker {
 public:
  explicit Worker(WalkSearch& search)
      : search_(search),
        chunk_(search.walker_.chunk()),
        counter_(search.walker_, search.look_),
        counts_(search.walker_.plan()) {
    if (search.levels_ != 0) prover_.emplace(search.network_, search.threshold_, search.tree_);
    if (search.counts_kinds()) kinds_.emplace(search.kinded_);
    if (search.findings_.wanted()) take_ = [this](std::int64_t group) { found_.push_back(group); };
  }

  /// Counts a part, or puts its parts on the stack.
  void step(Part const& part, std::vector<Part>& rest) {
    if (kinds_) return step_by_kinds(part, rest);
    if (search_.leaves_out_nobody() && leave_out_nobody(part, rest)) return;
    auto const& tree = search_.tree_;
    std::int64_t const heads = tree.heads(part.node);
    int const level = level_of(heads);
    if (part.fresh && (search_.levels_ >> level & 1) != 0 && part.begin == part.node.first &&
        part.end == part.node.first + heads) {
      if (auto const label = prover_->common_label(part.node)) {
        counts_.add_uniform(search_.walker_.plan().counters(), heads * search_.group_size_, *label);
        return;
      }
    }
    LevelSet const smaller = search_.levels_ & ((LevelSet{1} << level) - 1);
    WalkNode low;
    WalkNode high;
    if (smaller != 0 && tree.split(part.node, low, high)) {
      push(high, level, part, rest);
      push(low, level, part, rest);
      return;
    }
    std::int64_t const chunks = (part.end - part.begin) / chunk_;
    if (chunks > 1) {
      std::int64_t const middle = (part.begin + chunks / 2 * chunk_) / chunk_ * chunk_;
      rest.push_back({part.node, middle, part.end, false});
      rest.push_back({part.node, part.begin, middle, false});
      return;
    }
    evaluate(part.begin, part.end);
  }

  /// Hands everything over.
  void finish() {
    flush();
    std::lock_guard const guard(search_.lock_);
    search_.counts_.add(counts_);
  }

 private:
  /// Counts a part's kinds where it is a whole node with few of them, or puts its halves on the
  /// stack.
  void step_by_kinds(Part const& part, std::vector<Part>& rest) {
    auto const& tree = search_.tree_;
    std::int64_t const heads = tree.heads(part.node);
    bool const is_whole = part.begin == part.node.first && part.end == part.node.first + heads;
    if (is_whole && kinds_->count(tree.entries(part.node), counts_)) {
      search_.evaluated_.fetch_add(heads, std::memory_order_relaxed);
      return;
    }
    // What is still of too many kinds, since variants are, is not worth looking at ever smaller.
    WalkNode low;
    WalkNode high;
    if (heads <= chunk_ || !tree.split(part.node, low, high)) return evaluate(part.begin, part.end);
    int const level = level_of(heads);
    push(high, level, part, rest);
    push(low, level, part, rest);
  }

  /// Counts a part in which nobody exists, or puts the halves of one in which some groups do not on
  /// the stack. Returns whether it did either.
  bool leave_out_nobody(Part const& part, std::vector<Part>& rest) {
    auto const& tree = search_.tree_;
    GroupBox const box = tree.entries(part.node);
    std::int64_t const heads = tree.heads(part.node);
    double const there = search_.domain_.existing().count(box);
    if (there == 0.0 && part.end - part.begin == heads) {
      std::int64_t const groups = heads * search_.group_size_;
      counts_.groups += groups;
      counts_.skipped += groups;
      search_.domain_.add_missing(box, counts_);
      return true;
    }
    WalkNode low;
    WalkNode high;
    bool const all_exist = there == search_.domain_.get().groups(box);
    if (all_exist || heads <= chunk_ / kLeastPieces || !tree.split(part.node, low, high))
      return false;
    int const level = level_of(heads);
    push(high, level, part, rest);
    push(low, level, part, rest);
    return true;
  }

  void push(WalkNode const& node, int above, Part const& part, std::vector<Part>& rest) {
    std::int64_t const heads = search_.tree_.heads(node);
    std::int64_t const begin = std::max(part.begin, node.first);
    std::int64_t const end = std::min(part.end, node.first + heads);
    if (begin < end) rest.push_back({node, begin, end, level_of(heads) < above});
  }

  /// Evaluates heads, together with those before them where they are neighbours: walkers take many
  /// at once.
  void evaluate(std::int64_t begin, std::int64_t end) {
    if (begin != run_end_) flush();
    if (run_begin_ == run_end_) run_begin_ = begin;
    run_end_ = end;
    for (;;) {
      std::int64_t const whole = chunk_ - run_begin_ % chunk_;
      if (run_end_ - run_begin_ < whole) return;
      count(whole);
    }
  }
  void flush() {
    if (run_begin_ < run_end_) count(run_end_ - run_begin_);
  }
  void count(std::int64_t heads) {
    search_.evaluated_.fetch_add(heads, std::memory_order_relaxed);
    counter_.count(run_begin_, heads, counts_, take_);
    run_begin_ += heads;
    if (found_.empty()) return;
    std::lock_guard const guard(search_.lock_);
    search_.findings_.add(found_);
    found_.clear();
  }

  WalkSearch& search_;
  std::int64_t chunk_;
  GroupCounter counter_;
  GroupCounts counts_;
  std::optional<NodeProver> prover_;
  std::optional<KindCounter> kinds_;
  GroupCounter::Take take_;
  std::vector<std::int64_t> found_;
  std::int64_t run_begin_ = 0;  // heads that are about to be evaluated
  std::int64_t run_end_ = 0;
};

void WalkSearch::work() {
  job_.progress().begin(0, counts_.groups + started_ * group_size_, counts_.groups);
  Stopwatch const start;
  bool const only_deals = dealer_ && options_.dealt_at_once > 0;
  if (only_deals) {
    dealer_->begin({levels_, look_});
  } else {
    walk_or_go_back(walker_.chunk() * threads_ * kPilotChunks);
  }
  if (!parts_.empty() && !only_deals) {
    double const seconds = start.seconds();
    double const left = look_ahead();
    if (dealer_) {
      heads_per_second_ = static_cast<double>(heads_left()) / std::max(left, 1e-9);
      dealer_->begin({levels_, look_});
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
    Part& part =
        *std::ranges::max_element(parts_, {}, [](Part const& p) { return p.end - p.begin; });
    std::int64_t const chunk =
        options_.dealt_at_once > 0 ? options_.dealt_at_once : walker_.chunk();
    std::int64_t const piece = std::max(chunk, dealer_->piece(heads_left(), heads_per_second_));
    // What is walked here is taken from the front.
    std::int64_t const begin = std::max(part.begin, (part.end - piece) / chunk * chunk);
    dealer_->deal(rank, {begin, part.end});
    part.end = begin;
    std::erase_if(parts_, [](Part const& p) { return p.begin == p.end; });
  }
}

bool WalkSearch::take_shares() {
  bool any = false;
  while (auto const share = dealer_->poll()) {
    any = true;
    for (HeadRange const& left : share->left) add_part(left.begin, left.end);
    counts_.add(share->counts);
    findings_.add(share->found);
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
    levels_ = helper.manner().levels;
    look_ = helper.manner().look;
    parts_.clear();
    add_part(range->begin, range->end);
    while (!parts_.empty() && !helper.asked_to_stop())
      walk_slice(std::numeric_limits<std::int64_t>::max());
    WalkShare share{{}, std::move(counts_), findings_.release()};
    for (Part const& part : parts_) share.left.push_back({part.begin, part.end});
    helper.send(share);
    counts_ = GroupCounts(walker_.plan());
  }
}

std::string WalkSearch::resumed_text(std::string const&) const {
  return fmt::format("going on after {} groups", counts_.groups);
}

std::string WalkSearch::stopped_text(std::string const& what, std::string const& done,
                                     std::string const&) const {
  return fmt::format("{} after {}; their state is saved: the same command goes on from there", what,
                     done);
}

void WalkSearch::walk_or_go_back(std::int64_t heads) {
  bool const goes_back = !can_skip_ && !findings_.wanted();
  auto const parts = goes_back ? parts_ : std::vector<Part>{};
  auto const counts = goes_back ? counts_ : GroupCounts{};
  is_whole_ = false;
  try {
    walk_slice(heads);
  } catch (Error const&) {
    if (!goes_back) throw;
    parts_ = parts;
    counts_ = counts;
    is_whole_ = true;
    throw;
  }
  is_whole_ = true;
  count_progress();
}

void WalkSearch::walk_slice(std::int64_t heads) {
  Stopwatch const start;
  std::sort(parts_.begin(), parts_.end(),
            [](Part const& a, Part const& b) { return a.begin > b.begin; });
  evaluated_ = 0;
  SharedStack<Part> stack(std::move(parts_));
  double const slice = options_.ranks != nullptr ? kSharedSlice : kSliceSeconds;
  workers_.run(threads_, [&](int) {
    Worker worker(*this);
    stack.work([&](Part const& part, std::vector<Part>& rest) { worker.step(part, rest); },
               [&] {
                 return workers_.failed() || evaluated_.load() >= heads || job_.due() ||
                        start.seconds() > slice;
               });
    worker.finish();
  });
  parts_ = std::move(stack.items());
}

std::int64_t WalkSearch::heads_left() const {
  std::int64_t heads = 0;
  for (Part const& part : parts_) heads += part.end - part.begin;
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
  LookChoice const looks = pilot_looks(walker_, begin_, end_, walked, budget);
  look_ = looks.look;
  SkipChoice const choice = pilot_skipping(network_, threshold_, tree_, begin_, end_, threads_,
                                           walked * looks.share, budget);
  levels_ = choice.levels;
  return left * choice.seconds_per_head / walked;
}

void WalkSearch::tell_expected(double seconds, double left) {
  auto const variants = static_cast<double>(walker_.plan().counters().variants);
  auto const group_size = static_cast<double>(group_size_);
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
                              levels_ != 0 ? ", skipping what is proven to hold no IDI"
                              : look_      ? ", leaving out what is proven to change nothing"
                                           : ""));
}

void WalkSearch::count_progress() {
  auto& progress = job_.progress();
  progress.done = counts_.groups;
  progress.instances = static_cast<std::int64_t>(counts_.counters[CountLayout::kInstances]);
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
    add_part(left[i] / group_size_, left[i + 1] / group_size_);
  auto const done = state.values<std::int64_t>("done");
  counts_.groups = done.at(0);
  counts_.skipped = done.at(1);
  counts_.counters = state.values<std::uint64_t>("counters");
  for (std::size_t l = 0; l < counts_.list_groups.size(); ++l)
    counts_.list_groups[l] = state.values<std::uint64_t>("list" + std::to_string(l));
  findings_.restore(state);
  started_ = heads_left();
}

void WalkSearch::write_state(CheckpointWriter& state) {
  is_whole_ = false;  // a scorer may fail in it
  findings_.save(state);
  is_whole_ = true;
  std::vector<std::int64_t> left;  // begin and end of groups, one range after the other
  for (Part const& part : parts_) {
    left.push_back(part.begin * group_size_);
    left.push_back(part.end * group_size_);
  }
  for (HeadRange const& range : dealer_ ? dealer_->out() : std::vector<HeadRange>{}) {
    left.push_back(range.begin * group_size_);
    left.push_back(range.end * group_size_);
  }
  state.add("left", left);
  state.add("done", std::vector<std::int64_t>{counts_.groups, counts_.skipped});
  state.add("counters", counts_.counters);
  for (std::size_t l = 0; l < counts_.list_groups.size(); ++l)
    state.add("list" + std::to_string(l), counts_.list_groups[l]);
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
