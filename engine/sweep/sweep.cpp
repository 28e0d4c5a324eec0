#include "engine/sweep/sweep.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/sweep/journal.h"

namespace fairlane {
namespace {

constexpr double kCommitSeconds = 1.0;     // between two acknowledgements
constexpr double kProgressSeconds = 0.25;  // between two pictures
constexpr std::chrono::milliseconds kPause{20};
constexpr std::ptrdiff_t kFirstWords = 2;  // of a cell: the command and its configuration

/// The cells of one process on their way.
class Sweep {
 public:
  Sweep(SweepPlan const& plan, SweepCells const& cells, SweepDir const& dir,
        SweepOptions const& options)
      : plan_(plan),
        cells_(cells),
        dir_(dir),
        options_(options),
        journal_(dir.journal(options.journal), options.holder) {
    SweepStandings const standings = dir.standings();
    for (std::size_t const index : options.part) {
      if (standings.is_done(cells.cells[index].id)) {
        ++progress_.done;
      } else {
        waiting_.push_back(index);
        work_left_ += cells.cells[index].work.evaluations;
      }
    }
    progress_.total = static_cast<std::int64_t>(options.part.size());
    if (waiting_.empty()) return;
    Json session;
    session["kind"] = "SESSION";
    session["holder"] = options.holder;
    journal_.add(session);
    journal_.commit();
    // Work that is not known may be long.
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
    for (WorkerSlot const& slot : options.slots) desks_.push_back(Desk{slot, nullptr, {}, {}});
    free_threads_ = std::max(options.threads, static_cast<int>(options.slots.size()));
  }

  SweepOutcome run() {
    while (busy_ > 0 || (!waiting_.empty() && !stopping_)) {
      if (!stopping_ && is_asked_to_stop()) stop();
      if (!stopping_) begin_cells();
      bool const ended = look();
      if (since_commit_.seconds() >= kCommitSeconds) acknowledge();
      if (options_.progress && since_progress_.seconds() >= kProgressSeconds) show();
      if (!ended) wait();
    }
    acknowledge();
    if (problem_) throw Error(*problem_);
    if (stopping_) {
      throw Error(
          ExitCode::kStopped,
          fmt::format("stopped; {} of {} cells are done, the others' states are saved in {}: "
                      "the same command goes on",
                      progress_.done, progress_.total, escaped(dir_.path(), dir_.path().size())));
    }
    return {progress_.done, progress_.failed, progress_.session};
  }

 private:
  /// A slot with its worker, and what that has on its desk.
  struct Desk {
    WorkerSlot slot;
    std::unique_ptr<SweepWorker> worker;
    std::optional<std::size_t> cell;
    Stopwatch since;
    int threads = 0;
  };

  double weight(std::size_t index) const {
    double const work = cells_.cells[index].work.evaluations;
    return work > 0.0 ? work : std::numeric_limits<double>::infinity();
  }

  bool is_asked_to_stop() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }

  void stop() {
    stopping_ = true;
    for (Desk& desk : desks_) {
      if (desk.cell) desk.worker->interrupt();
    }
  }

  /// Gives every free worker a cell.
  void begin_cells() {
    auto idle = static_cast<std::int64_t>(desks_.size()) - busy_;
    for (Desk& desk : desks_) {
      if (desk.cell) continue;
      while (!waiting_.empty() && is_done_elsewhere(waiting_.front())) {
        work_left_ -= cells_.cells[waiting_.front()].work.evaluations;
        waiting_.pop_front();
        ++progress_.done;
      }
      if (waiting_.empty()) return;
      std::size_t const index = waiting_.front();
      waiting_.pop_front();
      // Few cells are left at the end: they share all threads.
      auto const sharing =
          std::min<std::int64_t>(idle, static_cast<std::int64_t>(waiting_.size()) + 1);
      desk.threads = desk.slot.threads > 0 ? desk.slot.threads
                                           : std::max(1, static_cast<int>(free_threads_ / sharing));
      begin(desk, index);
      --idle;
    }
  }

  /// Whether another process, whose part is another one, has got to a cell meanwhile.
  bool is_done_elsewhere(std::size_t index) const {
    std::string const& id = cells_.cells[index].id;
    std::error_code ec;
    return std::filesystem::exists(dir_.cell_dir(id) + "/DONE", ec) && dir_.standings().is_done(id);
  }

  void begin(Desk& desk, std::size_t index) {
    SweepCell const& cell = cells_.cells[index];
    Json record;
    record["kind"] = "STARTED";
    record["cell"] = cell.id;
    record["worker"] = desk.slot.name;
    journal_.add(record);
    if (desk.worker == nullptr) desk.worker = options_.make_worker(desk.slot);
    if (desk.slot.threads == 0) free_threads_ -= desk.threads;
    desk.cell = index;
    desk.since = {};
    ++busy_;
    desk.worker->start(words_of(cell, desk), desk.threads);
  }

  std::vector<std::string> words_of(SweepCell const& cell, Desk const& desk) const {
    // The plan's words come last: where they lack one, the message is about them.
    auto const plan_words = cell.words.begin() + kFirstWords;
    std::vector<std::string> words(cell.words.begin(), plan_words);
    auto const add = [&](char const* name, std::string value) {
      words.emplace_back(name);
      words.push_back(std::move(value));
    };
    // What an unfinished cell of another version of a file has left is its own: the id says which.
    words.emplace_back("--overwrite");
    add("--out", dir_.cell_dir(cell.id));
    add("--threads", std::to_string(desk.threads));
    add("--backend", desk.slot.backend);
    if (desk.slot.memory > 0) add("--memory", std::to_string(desk.slot.memory));
    words.insert(words.end(), options_.common.begin(), options_.common.end());
    words.insert(words.end(), plan_words, cell.words.end());
    return words;
  }

  /// Takes what workers have finished; returns whether one has.
  bool look() {
    bool ended = false;
    for (Desk& desk : desks_) {
      if (!desk.cell) continue;
      auto const reply = desk.worker->poll();
      if (!reply) continue;
      ended = true;
      end(desk, *reply);
    }
    return ended;
  }

  void end(Desk& desk, WorkerReply const& reply) {
    SweepCell const& cell = cells_.cells[*desk.cell];
    double const seconds = desk.since.seconds();
    desk.cell.reset();
    --busy_;
    work_left_ -= cell.work.evaluations;
    if (desk.slot.threads == 0) free_threads_ += desk.threads;
    auto const code = static_cast<ExitCode>(reply.exit);
    bool const was_stopped = stopping_ && (code == ExitCode::kStopped ||
                                           code == ExitCode::kInterrupted || reply.crashed);
    if (was_stopped) return;
    // Nothing can be finished on a full disk, and a person who stopped one cell meant all.
    if (code == ExitCode::kDisk || code == ExitCode::kStopped || code == ExitCode::kInterrupted) {
      if (!problem_) problem_ = Error(code, fmt::format("{}: {}", cell.text(), reply.error));
      if (!stopping_) stop();
      return;
    }
    CellResult result{cell.id, reply.exit, reply.error, desk.slot.name, seconds, reply.machine, {}};
    result.machine.threads = desk.threads;
    if (result.is_done()) read(cell, result);
    if (stopping_ && result.is_done() && lacks_share(cell, result)) return;
    journal_.add(result_record(result));
    ++progress_.session;
    if (result.is_done()) {
      ++progress_.done;
      finished_.push_back(cell.id);
      work_done_ += cell.work.evaluations;
    } else {
      ++progress_.failed;
      if (options_.notice)
        options_.notice(fmt::format("failed: {} {}: {} (exit code {})", cell.id, cell.text(),
                                    result.error, result.exit));
    }
  }

  /// Whether a run was asked to stop while it took its sample, and ended without the share of the
  /// domain that one left alone would have.
  static bool lacks_share(SweepCell const& cell, CellResult const& result) {
    return cell.command->takes_method && std::ranges::any_of(result.rows, [](FigureRow const& row) {
             return value_of(row, "domain_share") == nullptr;
           });
  }

  /// Takes the figures of a finished cell.
  void read(SweepCell const& cell, CellResult& result) const {
    try {
      result.rows = read_figures(*cell.command, dir_.cell_dir(cell.id));
    } catch (Error const& error) {
      result.exit = static_cast<int>(error.code());
      result.error = error.what();
    }
  }

  void acknowledge() {
    since_commit_ = {};
    journal_.commit();
    if (plan_.keep == KeptResults::kSummary) {
      std::error_code ec;  // a directory that stays does no harm
      for (std::string const& id : finished_) std::filesystem::remove_all(dir_.cell_dir(id), ec);
    }
    finished_.clear();
    if (options_.checked) options_.checked(picture());
  }

  SweepProgress picture() const {
    SweepProgress now = progress_;
    now.seconds = since_.seconds();
    auto const ended = now.session - now.failed;
    if (work_done_ > 0.0) {
      now.seconds_left = now.seconds * work_left_ / work_done_;
    } else if (ended > 0) {
      now.seconds_left = now.seconds * static_cast<double>(now.total - now.done - now.failed) /
                         static_cast<double>(ended);
    }
    for (Desk const& desk : desks_) {
      if (!desk.cell) continue;
      now.running.push_back({desk.slot.name, cells_.cells[*desk.cell].text(), desk.worker->doing(),
                             desk.since.seconds()});
    }
    return now;
  }

  void show() {
    since_progress_ = {};
    options_.progress(picture());
  }

  /// Until a worker has something to say, or for a moment.
  void wait() {
    std::vector<pollfd> watched;
    for (Desk const& desk : desks_) {
      if (desk.cell && desk.worker->descriptor() >= 0)
        watched.push_back({desk.worker->descriptor(), POLLIN, 0});
    }
    if (watched.size() < static_cast<std::size_t>(busy_)) {
      std::this_thread::sleep_for(kPause);
      return;
    }
    ::poll(watched.data(), watched.size(), static_cast<int>(kPause.count()));
  }

  SweepPlan const& plan_;
  SweepCells const& cells_;
  SweepDir const& dir_;
  SweepOptions const& options_;
  JournalWriter journal_;
  std::deque<std::size_t> waiting_;
  std::vector<Desk> desks_;
  std::int64_t busy_ = 0;
  int free_threads_ = 0;
  bool stopping_ = false;
  std::optional<Error> problem_;
  std::vector<std::string> finished_;  // since the last acknowledgement
  double work_done_ = 0.0;             // in this session
  double work_left_ = 0.0;             // of cells that wait or run
  SweepProgress progress_;
  Stopwatch since_;
  Stopwatch since_commit_;
  Stopwatch since_progress_;
};

}  // namespace

SweepOutcome run_sweep(SweepPlan const& plan, SweepCells const& cells, SweepDir const& dir,
                       SweepOptions const& options) {
  return Sweep(plan, cells, dir, options).run();
}

}  // namespace fairlane
