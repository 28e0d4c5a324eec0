#include "engine/search/symbolic/symbolic_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstring>
#include <optional>
#include <set>

#include "base/threads/thread_pool.h"
#include "engine/record/row_codec.h"
#include "engine/search/search_task.h"
#include "engine/search/symbolic/decision_tree.h"
#include "engine/search/symbolic/path_toggles.h"
#include "engine/search/symbolic/row_sampler.h"

namespace fairlane {
namespace {

using Key = std::vector<std::uint64_t>;

constexpr std::uint32_t kCachedStream =
    0xFFFFFFFFU;  // of the sampler; the others are numbers of tests
constexpr std::int64_t kSampleBytes = std::int64_t{1} << 26;  // neighbours in memory at once

// Sections of the state, beside the visits.
constexpr char const* kRanks = "queue.rank";        // double [queue]
constexpr char const* kArrivals = "queue.arrival";  // uint64 [queue]
constexpr char const* kKeys = "queue.key";          // uint64 [queue][words]
constexpr char const* kTested = "test.key";         // uint64 [tests][words]
constexpr char const* kOutcomes = "test.state";     // uint8 [tests] kFoundBit, kDirectedBit
constexpr char const* kPaths = "path";              // int32: length of a box, the box; again
constexpr std::uint8_t kFoundBit = 1;
constexpr std::uint8_t kDirectedBit = 2;

/// An input that waits. Of equal ranks the first to arrive comes first.
/// arrival  number of inputs before it; 0 where the least row comes first instead, as in the
///          authors' queue
/// key      of the row (RowCodec), which sorts like it
struct Entry {
  double rank = 0.0;
  std::uint64_t arrival = 0;
  Key key;

  bool directed() const { return rank < kSeedRank; }
  auto operator<=>(Entry const&) const = default;
};

/// An input of the round at hand.
struct Candidate {
  Entry entry;
  std::vector<std::int32_t> row;
  std::vector<Predicate> path;
  bool found = false;
};

class SymbolicSearch : public SearchTask {
 public:
  SymbolicSearch(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                 SearchOptions const& options);

 private:
  void search() override;
  void count() override;
  void list_legs();
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  std::string done() const override {
    return fmt::format("{} of {} tests", tests(), config_.global.num);
  }

  void push_seeds();
  void push(double rank, std::int32_t const* row);
  /// Takes the best untested inputs off the queue, at most `most`.
  void take(std::int64_t most);
  /// Finds every candidate's path.
  void explain();
  void sample_and_explain(std::span<Candidate> candidates, std::uint32_t first_number);
  /// Tests the candidates in order, up to the budget of instances, and drops the rest.
  void test();
  void test(std::span<Candidate> candidates, std::uint32_t first_number, Phase phase);
  /// Puts what the candidates lead to on the queue.
  void expand();
  /// The round counts.
  void commit();

  std::int64_t tests() const { return static_cast<std::int64_t>(outcomes_.size()); }
  /// Tests after which that many model evaluations are spent.
  std::int64_t tests_within(std::int64_t evaluations) const {
    std::int64_t const samples = config_.sg.samples;
    std::int64_t const each = backend_.subject().get().variants + (per_instance() ? samples : 0);
    std::int64_t const left =
        std::max<std::int64_t>(evaluations - (per_instance() ? 0 : samples), 1);
    return left / each + (left % each != 0 ? 1 : 0);
  }
  /// Model evaluations of the first tests: a surrogate for each, or one for all.
  std::int64_t evaluations_of(std::int64_t tests) const {
    std::int64_t const surrogates = per_instance() ? tests : std::min<std::int64_t>(1, tests);
    return tests * backend_.subject().get().variants + surrogates * config_.sg.samples;
  }
  bool per_instance() const { return config_.sg.surrogate == Surrogate::kPerInstance; }
  Key group_of(Key const& key) const {
    Key group(key.size());
    codec_.group_of_key(key.data(), group.data());
    return group;
  }
  /// Calls work(i) for i < count on all threads.
  template <class Work>
  void in_parallel(std::int64_t count, Work const& work) {
    pool_.share(threads_, 0, count, 1, [&](int, std::int64_t i, std::int64_t) {
      job_.check_stop();
      work(i);
    });
  }

  std::size_t attributes_;
  int threads_;
  RowCodec codec_;
  RowSampler sampler_;
  ToggleSpace space_;
  ThreadPool pool_;

  std::vector<Entry> queue_;                   // a heap, the least on top
  std::uint64_t arrivals_ = 0;                 // of the next entry
  std::set<Key> tested_;                       // groups, of the round at hand too
  std::set<std::vector<std::int32_t>> paths_;  // toggled so far
  std::vector<std::uint8_t> outcomes_;         // [tests]
  Key tested_keys_;                            // [tests][words]
  std::int64_t found_ = 0;                     // IDIs
  std::vector<Candidate> round_;
  std::unique_ptr<LaneBlock> blocks_[2];  // of both phases, once there is need
  std::optional<DecisionTree> cached_;
  std::vector<std::int32_t> samples_;
  std::vector<std::uint8_t> labels_;
};

SymbolicSearch::SymbolicSearch(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                               SearchOptions const& options)
    : SearchTask(config, seeds, backend, options),
      attributes_(static_cast<std::size_t>(backend.subject().get().columns)),
      threads_(options.threads > 0 ? options.threads : backend.concurrency()),
      codec_(backend.subject()),
      sampler_(seeds.subject(), config.seed) {
  auto const& subject = backend.subject();
  space_.movable.resize(attributes_, 0);
  for (std::size_t a = 0; a < attributes_; ++a) {
    auto const& view = seeds.subject().view();
    space_.domain.push_back({view.low[a], view.high[a]});
    space_.codes.push_back(view.codes_of(a));
  }
  for (int i = 0; i < subject.get().movable_count; ++i) {
    auto const column = static_cast<std::size_t>(subject.get().movable[i]);
    space_.movable[static_cast<std::size_t>(subject.attribute_of()[column])] = 1;
  }
}

void SymbolicSearch::push(double rank, std::int32_t const* row) {
  std::uint64_t const arrival = config_.sg.order == QueueOrder::kProgram ? 0 : arrivals_++;
  Entry entry{rank, arrival, Key(static_cast<std::size_t>(codec_.words()))};
  codec_.row_key(row, entry.key.data());
  if (tested_.contains(group_of(entry.key))) return;
  queue_.push_back(std::move(entry));
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void SymbolicSearch::push_seeds() {
  constexpr std::int64_t kAtOnce = 1024;
  std::vector<std::int32_t> rows(kAtOnce * attributes_);
  for (std::int64_t first = 0; first < seeds_.count(); first += kAtOnce) {
    std::int64_t const n = std::min(kAtOnce, seeds_.count() - first);
    seeds_.rows(first, n, rows.data());
    for (std::int64_t i = 0; i < n; ++i)
      push(kSeedRank, rows.data() + static_cast<std::size_t>(i) * attributes_);
  }
}

void SymbolicSearch::take(std::int64_t most) {
  round_.clear();
  while (static_cast<std::int64_t>(round_.size()) < most && !queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    Candidate candidate{std::move(queue_.back()), {}, {}, false};
    queue_.pop_back();
    if (!tested_.insert(group_of(candidate.entry.key)).second) continue;
    candidate.row.resize(attributes_);
    codec_.row_of_key(candidate.entry.key.data(), candidate.row.data());
    round_.push_back(std::move(candidate));
  }
}

void SymbolicSearch::explain() {
  auto const samples = static_cast<std::int64_t>(config_.sg.samples);
  if (!per_instance()) {
    if (!cached_) {
      samples_.resize(static_cast<std::size_t>(samples) * attributes_);
      labels_.resize(static_cast<std::size_t>(samples));
      sampler_.draw(kCachedStream, 0, samples, nullptr, samples_.data());
      label_rows(backend_, samples_.data(), samples, labels_.data());
      cached_.emplace(
          defined_rows(samples_.data(), labels_.data(), samples, static_cast<int>(attributes_)));
    }
    for (Candidate& candidate : round_) candidate.path = cached_->path(candidate.row.data());
    return;
  }
  auto const row_bytes = static_cast<std::int64_t>(attributes_ * sizeof(std::int32_t));
  auto const at_once =
      static_cast<std::size_t>(std::max<std::int64_t>(1, kSampleBytes / (samples * row_bytes)));
  for (std::size_t first = 0; first < round_.size(); first += at_once) {
    sample_and_explain(std::span(round_).subspan(first, std::min(at_once, round_.size() - first)),
                       static_cast<std::uint32_t>(outcomes_.size() + first));
  }
}

void SymbolicSearch::sample_and_explain(std::span<Candidate> candidates,
                                        std::uint32_t first_number) {
  auto const n = static_cast<std::int64_t>(candidates.size());
  auto const samples = static_cast<std::int64_t>(config_.sg.samples);
  std::int64_t const rows = n * samples;
  samples_.resize(static_cast<std::size_t>(rows) * attributes_);
  labels_.resize(static_cast<std::size_t>(rows));
  auto const row = [&](std::int64_t i) {
    return samples_.data() + static_cast<std::size_t>(i) * attributes_;
  };
  bool const local = config_.sg.neighbours == Neighbours::kLocal;
  in_parallel(n, [&](std::int64_t i) {
    auto const& x = candidates[static_cast<std::size_t>(i)].row;
    std::copy(x.begin(), x.end(), row(i * samples));  // the first neighbour is the input itself
    sampler_.draw(first_number + static_cast<std::uint32_t>(i), 1, samples - 1,
                  local ? x.data() : nullptr, row(i * samples + 1));
  });
  // As few and large batches as the backend likes.
  std::int64_t const batches = std::min<std::int64_t>(backend_.concurrency(), rows);
  in_parallel(batches, [&](std::int64_t b) {
    std::int64_t const begin = rows * b / batches;
    std::int64_t const end = rows * (b + 1) / batches;
    label_rows(backend_, row(begin), end - begin, labels_.data() + begin);
  });
  in_parallel(n, [&](std::int64_t i) {
    auto& candidate = candidates[static_cast<std::size_t>(i)];
    candidate.path = tree_path(defined_rows(row(i * samples), labels_.data() + i * samples, samples,
                                            static_cast<int>(attributes_)),
                               candidate.row.data());
  });
}

void SymbolicSearch::test() {
  auto const budget = config_.budget.instances;
  std::size_t done = 0;
  std::int64_t found = found_;
  while (done < round_.size() && !(budget && found >= *budget)) {
    // Never more at once than may be needed for the budget: what is tested counts.
    std::size_t const left = round_.size() - done;
    std::size_t const n = budget ? std::min(left, static_cast<std::size_t>(*budget - found)) : left;
    auto const tested = std::span(round_).subspan(done, n);
    auto const number = static_cast<std::uint32_t>(outcomes_.size() + done);
    test(tested, number, Phase::kGlobal);
    test(tested, number, Phase::kLocal);
    found += std::count_if(tested.begin(), tested.end(), [](auto const& c) { return c.found; });
    done += n;
  }
  round_.resize(done);
}

void SymbolicSearch::test(std::span<Candidate> candidates, std::uint32_t first_number,
                          Phase phase) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].entry.directed() != (phase == Phase::kLocal)) continue;
    numbers.push_back(first_number + static_cast<std::uint32_t>(i));
    rows.insert(rows.end(), candidates[i].row.begin(), candidates[i].row.end());
  }
  if (numbers.empty()) return;
  auto& block = blocks_[static_cast<std::size_t>(phase)];
  if (!block) {
    std::int64_t const frontier = config_.sg.frontier;
    block = backend_.make_block(
        static_cast<int>(std::min<std::int64_t>(frontier, backend_.block_lanes(frontier))), phase);
  }
  auto const lanes = static_cast<std::size_t>(block->capacity());
  std::vector<std::uint8_t> const none(lanes, 0);
  for (std::size_t first = 0; first < numbers.size(); first += lanes) {
    std::size_t const n = std::min(lanes, numbers.size() - first);
    block->place({numbers.data() + first, n}, rows.data() + first * attributes_);
    block->test(Test::kLabels);
    for (std::size_t i = 0; i < n; ++i)
      candidates[numbers[first + i] - first_number].found = block->hit(static_cast<int>(i));
    block->retain({none.data(), n});
  }
}

void SymbolicSearch::expand() {
  bool const toggles_directed = config_.local.num > 0;
  for (Candidate const& candidate : round_) {
    for (Toggle& toggle : toggles(candidate.path, candidate.row,
                                  candidate.found && toggles_directed, space_, config_.sg)) {
      if (paths_.insert(std::move(toggle.box)).second) push(toggle.rank, toggle.row.data());
    }
  }
}

void SymbolicSearch::commit() {
  for (Candidate const& candidate : round_) {
    bool const directed = candidate.entry.directed();
    outcomes_.push_back(static_cast<std::uint8_t>((candidate.found ? kFoundBit : 0) |
                                                  (directed ? kDirectedBit : 0)));
    tested_keys_.insert(tested_keys_.end(), candidate.entry.key.begin(), candidate.entry.key.end());
    found_ += candidate.found ? 1 : 0;
  }
  if (options_.progress != nullptr) {
    options_.progress->done = tests();
    options_.progress->iterations += static_cast<std::int64_t>(round_.size());
    options_.progress->found(found_);
  }
  round_.clear();
}

void SymbolicSearch::search() {
  if (!job_.resumed()) push_seeds();
  std::int64_t limit = config_.global.num;
  auto& cut = result_.cut;
  if (config_.budget.iterations && *config_.budget.iterations < limit) {
    limit = *config_.budget.iterations;
    cut.reason = "iterations";
  }
  if (config_.budget.evaluations && tests_within(*config_.budget.evaluations) <= limit) {
    limit = tests_within(*config_.budget.evaluations);
    cut.reason = "evaluations";
  }
  if (options_.replay && options_.replay->global_seeds >= 0) {
    limit = std::min(limit, options_.replay->global_seeds);
    cut.reason = options_.replay->reason;
  }
  begin_phase(0, limit, tests());
  auto const enough = [&] {
    return config_.budget.instances && found_ >= *config_.budget.instances;
  };
  while (tests() < limit && !enough()) {
    job_.check_stop();
    if (job_.due()) job_.save_on_the_way();
    if (job_.late()) {
      cut.reason = "seconds";
      break;
    }
    std::int64_t const frontier = config_.sg.frontier;
    take(std::min(limit - tests(), frontier));
    bool const last = tests() + static_cast<std::int64_t>(round_.size()) == limit;
    if (round_.empty()) {
      bool const few = config_.budget.seeds && *config_.budget.seeds < config_.global.num;
      cut.reason = few ? "seeds" : "";
      break;
    }
    // Tested after the long part, so that a search that is stopped has recorded whole rounds only.
    if (!last) explain();
    test();
    if (!last) expand();
    commit();
  }
  if (enough()) cut.reason = "instances";
}

void SymbolicSearch::list_legs() {
  // Directed tests lie between others, but their finders behind them.
  for (Phase const phase : {Phase::kGlobal, Phase::kLocal}) {
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      bool const is_directed = (outcomes_[i] & kDirectedBit) != 0;
      if (is_directed != (phase == Phase::kLocal)) continue;
      result_.legs.push_back({Finder::pack(phase, static_cast<std::uint32_t>(i), 0),
                              evaluations_of(static_cast<std::int64_t>(i) + 1)});
    }
  }
}

void SymbolicSearch::count() {
  auto& cut = result_.cut;
  cut.global_seeds = tests();
  auto& counts = result_.counts;
  counts.iterations = tests();
  for (std::uint8_t const outcome : outcomes_) {
    bool const found = (outcome & kFoundBit) != 0;
    result_.global.push_back({found, 1});
    if ((outcome & kDirectedBit) != 0) continue;
    ++counts.global_seeds;
    counts.global_found += found ? 1 : 0;
  }
  counts.global_unique = counts.global_found;
  counts.model_evaluations = evaluations_of(tests());
  if (options_.legs) list_legs();
  if (options_.trace) {
    result_.last_rows.resize(outcomes_.size() * attributes_);
    auto const words = static_cast<std::size_t>(codec_.words());
    for (std::size_t i = 0; i < outcomes_.size(); ++i)
      codec_.row_of_key(&tested_keys_[i * words], &result_.last_rows[i * attributes_]);
  }
}

void SymbolicSearch::write_state(CheckpointWriter& state) {
  // What a round that was given up had taken goes back to the queue.
  std::vector<double> ranks;
  std::vector<std::uint64_t> arrivals;
  Key keys;
  auto const add = [&](Entry const& entry) {
    ranks.push_back(entry.rank);
    arrivals.push_back(entry.arrival);
    keys.insert(keys.end(), entry.key.begin(), entry.key.end());
  };
  for (Entry const& entry : queue_) add(entry);
  for (Candidate const& candidate : round_) add(candidate.entry);
  state.add(kRanks, ranks);
  state.add(kArrivals, arrivals);
  state.add(kKeys, keys);
  state.add(kTested, tested_keys_);
  state.add(kOutcomes, outcomes_);
  state.section(kPaths);
  for (auto const& path : paths_) {
    state.write(std::vector<std::int32_t>{static_cast<std::int32_t>(path.size())});
    state.write(path);
  }
  write_visits(state);
}

void SymbolicSearch::read_state(CheckpointReader const& state) {
  outcomes_ = state.values<std::uint8_t>(kOutcomes);
  for (std::uint8_t const outcome : outcomes_) found_ += (outcome & kFoundBit) != 0 ? 1 : 0;
  tested_keys_ = state.values<std::uint64_t>(kTested);
  auto const words = static_cast<std::ptrdiff_t>(codec_.words());
  for (auto key = tested_keys_.begin(); key != tested_keys_.end(); key += words)
    tested_.insert(group_of(Key(key, key + words)));
  auto const ranks = state.values<double>(kRanks);
  auto const arrivals = state.values<std::uint64_t>(kArrivals);
  auto const keys = state.values<std::uint64_t>(kKeys);
  auto key = keys.begin();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    queue_.push_back({ranks[i], arrivals[i], Key(key, key + words)});
    arrivals_ = std::max(arrivals_, arrivals[i] + 1);
    key += words;
  }
  std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  auto const paths = state.values<std::int32_t>(kPaths);
  for (auto at = paths.begin(); at != paths.end();) {
    auto const end = at + 1 + *at;
    paths_.emplace(at + 1, end);
    at = end;
  }
  read_visits(state);
}

}  // namespace

SearchResult symbolic_search(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                             SearchOptions const& options) {
  return SymbolicSearch(config, seeds, backend, options).run();
}

}  // namespace fairlane
