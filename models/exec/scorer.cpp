#include "models/exec/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "models/exec/child.h"

namespace fairlane {

namespace {

using Clock = ExecChild::Clock;

constexpr std::size_t kMaxBatchRows = std::size_t{1} << 24;
constexpr std::size_t kLeastRows = 512;               // of one of several batches
constexpr int kDefaultChildren = 8;                   // each loads the model and its libraries
constexpr auto kGrace = std::chrono::seconds(2);      // to end when asked to
constexpr auto kLastWords = std::chrono::seconds(1);  // to end after closing stdout

int default_children(int threads) {
  return std::clamp(threads > 0 ? threads : machine_threads(), 1, kDefaultChildren);
}

class ExecScorer final : public Scorer {
 public:
  ExecScorer(std::string const& command, int inputs, ExecOptions const& options)
      : source_("exec:" + escaped(command)),
        start_seconds_(options.start_seconds),
        timeout_seconds_(options.timeout_seconds) {
    setup_ = {source_, command_words(source_, command), options.folder, inputs,
              static_cast<std::uint32_t>(options.batch_rows)};
    int const children =
        options.children > 0 ? options.children : default_children(options.threads);
    places_.resize(static_cast<std::size_t>(children));
    for (Place& place : places_) place.child = std::make_unique<ExecChild>(setup_);
    work([] { return false; });
    model_ = *places_.front().child->model();
    serving_ = true;
  }

  ~ExecScorer() override {
    for (Place& place : places_) {
      if (place.child) place.child->close();
    }
    auto const until = Clock::now() + kGrace;  // for all together
    for (Place& place : places_) {
      if (!place.child) continue;
      auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      place.child->process().end(std::max(left, std::chrono::milliseconds(0)));
    }
  }
  ExecScorer(ExecScorer const&) = delete;
  ExecScorer& operator=(ExecScorer const&) = delete;

  std::string name() const override { return "exec: " + source_.substr(std::strlen("exec:")); }
  int inputs() const override { return setup_.inputs; }
  int outputs() const override { return model_.outputs; }
  ScoreKind kind() const override { return model_.kind; }

  void score(float const* rows, std::size_t count, float* scores) override {
    if (!failure_.empty()) throw Error(ExitCode::kStopped, failure_);
    // A share for every child, but not so little that messages cost more than rows.
    std::size_t const share = std::clamp((count + places_.size() - 1) / places_.size(),
                                         std::min<std::size_t>(kLeastRows, setup_.batch_rows),
                                         std::size_t{setup_.batch_rows});
    std::size_t next = 0;
    work([&] {
      if (next == count) return false;
      bool gave = false;
      for (Place& place : places_) {
        if (next == count) break;
        if (!place.child->has_room()) continue;
        std::size_t const some = std::min(share, count - next);
        place.child->give({next_id(), static_cast<std::uint32_t>(some),
                           rows + next * static_cast<std::size_t>(setup_.inputs),
                           scores + next * static_cast<std::size_t>(model_.outputs)});
        next += some;
        gave = true;
      }
      return gave;
    });
  }

 private:
  struct Place {
    std::unique_ptr<ExecChild> child;
    bool restarted = false;
    std::vector<ExecBatch> again;  // what it owed when it ended, to be given after the handshake
  };

  std::uint32_t next_id() {
    if (++last_id_ == 0) ++last_id_;
    return last_id_;
  }

  /// Lets the children work until none owes anything and `give_more` has nothing to give.
  template <class GiveMore>
  void work(GiveMore const& give_more) {
    try {
      while (true) {
        while (give_more()) {
        }
        bool const busy = std::any_of(places_.begin(), places_.end(),
                                      [](Place const& place) { return place.child->is_busy(); });
        if (!busy) return;
        wait();
      }
    } catch (Error const& error) {
      failure_ = error.what();
      for (Place& place : places_) place.child.reset();
      throw;
    }
  }

  /// Waits for the children to take or give something, and lets them.
  void wait() {
    polls_.resize(places_.size() * std::tuple_size_v<ExecChild::Polls>);
    auto deadline = Clock::time_point::max();
    for (std::size_t p = 0; p < places_.size(); ++p) {
      ExecChild const& child = *places_[p].child;
      std::ranges::copy(child.polls(), polls_.begin() + offset(p));
      if (child.is_busy()) deadline = std::min(deadline, child.progress() + patience(child));
    }
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    int const ready =
        poll(polls_.data(), polls_.size(),
             static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max())));
    if (ready < 0) {
      if (errno == EINTR) return;
      throw Error(ExitCode::kStopped, fmt::format("{}: poll: {}", source_, std::strerror(errno)));
    }
    auto const now = Clock::now();
    for (std::size_t p = 0; p < places_.size(); ++p) {
      ExecChild::Polls polls{};
      std::copy_n(polls_.begin() + offset(p), polls.size(), polls.begin());
      if (ready > 0) serve(p, polls);
      // Whatever was there has been read: a child is not late because we were stopped meanwhile.
      ExecChild const& child = *places_[p].child;
      if (child.is_busy() && now >= child.progress() + patience(child)) {
        fail(p, fmt::format("owes {} and has neither read nor written anything for {:g} s, so it "
                            "was killed; does it hang? If it is slow, give --exec-timeout",
                            child.owed(), seconds(child)));
      }
    }
  }

  void serve(std::size_t p, ExecChild::Polls const& polls) {
    Place& place = places_[p];
    try {
      bool const greeted = place.child->model().has_value();
      if (!place.child->handle(polls)) {
        restart(p);
      } else if (!greeted && place.child->model()) {
        welcome(p);
      }
    } catch (ExecViolation const& violation) {
      fail(p, violation.what());
    }
  }

  /// A child has said what its model is: all must say the same, today and after a restart.
  void welcome(std::size_t p) {
    Place& place = places_[p];
    ExecModel const now = *place.child->model();
    auto const other = std::find_if(places_.begin(), places_.end(), [&](Place const& one) {
      return one.child->model() && *one.child->model() != now;
    });
    if (other != places_.end() || (serving_ && now != model_)) {
      fail(p,
           "describes its model differently from before or from another child; it must always "
           "give the same kind and number of outputs");
    }
    for (ExecBatch const& batch : place.again) place.child->give(batch);
    place.again.clear();
  }

  /// A child has ended though it owes something.
  void restart(std::size_t p) {
    Place& place = places_[p];
    std::string const owed = place.child->owed();
    auto const how = place.child->process().end(kLastWords);
    if (!how) fail(p, fmt::format("closed its stdout while it owed {}, so it was killed", owed));
    if (!serving_) {
      fail(p, fmt::format("{} before its handshake; run it by itself to see why (the protocol: "
                          "models/adapters/README.md)",
                          *how));
    }
    if (place.restarted) {
      fail(p, fmt::format("{} while it owed {}, and had already been started a second time", *how,
                          owed));
    }
    place.restarted = true;
    place.again.assign(place.child->batches().begin(), place.child->batches().end());
    place.child.reset();
    try {
      place.child = std::make_unique<ExecChild>(setup_);
    } catch (Error const& error) {
      throw Error(ExitCode::kStopped,
                  fmt::format("{}; child {} had to be started a second time: it {}", error.what(),
                              p + 1, *how));
    }
  }

  [[noreturn]] void fail(std::size_t p, std::string const& what) {
    ChildProcess& process = places_[p].child->process();
    process.end(std::chrono::milliseconds(0));
    throw Error(serving_ ? ExitCode::kStopped : ExitCode::kUnavailable,
                fmt::format("{}: child {} of {} {}{}", source_, p + 1, places_.size(), what,
                            process.last_errors()));
  }

  double seconds(ExecChild const& child) const {
    return child.model() ? timeout_seconds_ : start_seconds_;
  }
  Clock::duration patience(ExecChild const& child) const {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds(child)));
  }
  static std::ptrdiff_t offset(std::size_t p) {
    return static_cast<std::ptrdiff_t>(p * std::tuple_size_v<ExecChild::Polls>);
  }

  std::string source_;
  double start_seconds_;
  double timeout_seconds_;
  ExecSetup setup_;
  ExecModel model_;
  std::vector<Place> places_;
  std::vector<pollfd> polls_;
  std::uint32_t last_id_ = 0;
  bool serving_ = false;  // the first handshakes are done
  std::string failure_;   // of an earlier call; the children are gone
};

}  // namespace

std::shared_ptr<Scorer> make_exec_scorer(std::string command, int inputs,
                                         ExecOptions const& options) {
  auto const require = [](bool holds, std::string const& what) {
    if (!holds) throw Error(ExitCode::kConfig, what);
  };
  require(
      options.batch_rows >= 1 && options.batch_rows <= kMaxBatchRows,
      fmt::format("exec: batches of {} rows, expected 1 to {}", options.batch_rows, kMaxBatchRows));
  for (double const seconds : {options.start_seconds, options.timeout_seconds}) {
    require(seconds >= kLeastExecSeconds && seconds <= kMostExecSeconds,
            fmt::format("exec: a timeout of {:g} s, expected {:g} to {:g}", seconds,
                        kLeastExecSeconds, kMostExecSeconds));
  }
  require(options.children >= 0 && options.children <= kMaxExecChildren,
          fmt::format("exec: {} children, expected 0 to {}", options.children, kMaxExecChildren));
  return std::make_shared<ExecScorer>(command, inputs, options);
}

}  // namespace fairlane
