#include "engine/search/genetic/expga_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/threads/thread_pool.h"
#include "engine/search/genetic/expga_breeding.h"
#include "engine/search/genetic/expga_fitness.h"
#include "engine/search/genetic/lime.h"
#include "engine/search/search_task.h"

namespace fairlane {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostTests = std::numeric_limits<std::uint32_t>::max();  // finders' numbers

// Sections of the state, beside the fitness's and the visits.
constexpr char const* kInputs = "input.state";      // uint8 [explained] kSeedBit, kFoundBit
constexpr char const* kPeople = "person.row";       // int32 [people][attributes]
constexpr char const* kFitness = "person.fitness";  // uint32 [people]
constexpr char const* kTests = "local.tests";       // int64 [1]
constexpr std::uint8_t kSeedBit = 1;
constexpr std::uint8_t kFoundBit = 2;

/// Attributes that may rank before the first protected one in an explanation, and it itself: 7 of
/// census's 13, 10 of bank's 16 and 14 of credit's 20, as in the authors' program.
int rank_limit(RunConfig const& config, int attributes) {
  constexpr int kOthers = 6;
  return config.expga.rank.value_or(std::max(attributes - kOthers, (attributes + 1) / 2));
}

class ExpgaSearch : public SearchTask {
 public:
  ExpgaSearch(RunConfig const& config, SeedSource const& seeds, Backend& backend,
              SearchOptions const& options);

 private:
  void search() override;
  void count() override;
  void list_legs();
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  std::string done() const override {
    return fmt::format("{} inputs explained, {} tests of individuals", explained(), local_tests_);
  }

  void find_seeds();
  /// Explains so many of the next inputs on all threads. Returns kSeedBit for each seed, or 0.
  std::vector<std::uint8_t> choose(std::int64_t count);
  /// Explains the next inputs, at most `most`, and tests those that are seeds.
  void explain(std::int64_t most);
  void evolve();
  /// Tests of individuals within all limits; names the budget that sets it.
  std::int64_t limit_tests();
  /// Breeds the next generation, and tests its first `most` individuals.
  void advance(std::int64_t most);
  /// The next generation's rows.
  std::vector<std::int32_t> bred() const;
  /// Tests rows on all threads. numbers [count] of their finders. Returns 1 for each IDI.
  std::vector<std::uint8_t> test(std::span<std::int32_t const> rows,
                                 std::span<std::uint32_t const> numbers, Phase phase);
  void test_in(LaneBlock& block, std::span<std::int32_t const> rows,
               std::span<std::uint32_t const> numbers, std::uint8_t* hits) const;
  void report(std::int64_t done, std::int64_t tests) const;

  /// The input of that number, with the first protected combination.
  std::vector<std::int32_t> input(std::int64_t number) const;
  bool is_seed(std::vector<double> const& coefficients) const;
  /// Whether so many inputs and seeds leave nothing to look for.
  bool full(std::int64_t inputs, std::int64_t seeds) const;

  std::int64_t explained() const { return static_cast<std::int64_t>(inputs_.size()); }
  std::int64_t people() const { return static_cast<std::int64_t>(rows_.size() / attributes_); }
  std::int64_t evaluations_of(std::int64_t inputs, std::int64_t tests) const {
    return inputs * config_.expga.samples + tests * variants_;
  }
  bool enough() const { return fitness_of_.found() >= most_found_; }

  std::size_t attributes_;
  std::int64_t variants_;
  std::int64_t most_found_;
  LimeExplainer explainer_;
  int explainers_;  // threads
  std::vector<Gene> genes_;
  ThreadPool pool_;

  std::vector<std::uint8_t> inputs_;    // [explained]
  std::vector<std::int32_t> rows_;      // [people][attributes] of the last generation
  std::vector<std::uint32_t> fitness_;  // [people]
  ExpgaFitness fitness_of_;
  std::int64_t local_tests_ = 0;
  std::vector<std::unique_ptr<LaneBlock>> blocks_[2];  // of both phases
};

ExpgaSearch::ExpgaSearch(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                         SearchOptions const& options)
    : SearchTask(config, seeds, backend, options),
      attributes_(static_cast<std::size_t>(backend.subject().get().columns)),
      variants_(backend.subject().get().variants),
      most_found_(config.budget.instances.value_or(kNoLimit)),
      explainer_(seeds.subject(), config.expga.samples, config.seed),
      explainers_(options.threads > 0 ? options.threads : backend.concurrency()),
      genes_(genes_of(seeds.subject().view())),
      fitness_of_(backend) {
  if (explainer_.single_thread()) explainers_ = 1;
}

std::vector<std::int32_t> ExpgaSearch::input(std::int64_t number) const {
  std::vector<std::int32_t> row(attributes_);
  seeds_.rows(number, 1, row.data());
  backend_.subject().set_variant(0, row.data());
  return row;
}

bool ExpgaSearch::is_seed(std::vector<double> const& coefficients) const {
  int const limit = rank_limit(config_, static_cast<int>(attributes_));
  auto const& selected = seeds_.subject().selected();
  return std::any_of(selected.begin(), selected.end(), [&](std::int32_t a) {
    return rank_of(coefficients, static_cast<std::size_t>(a)) < limit;
  });
}

bool ExpgaSearch::full(std::int64_t inputs, std::int64_t seeds) const {
  auto const& budget = config_.budget;
  return seeds >= std::min(config_.expga.populations * kExpgaPopulation,
                           budget.iterations.value_or(kNoLimit)) ||
         evaluations_of(inputs, seeds) >= budget.evaluations.value_or(kNoLimit);
}

std::vector<std::uint8_t> ExpgaSearch::choose(std::int64_t count) {
  std::vector<std::uint8_t> states(static_cast<std::size_t>(count), 0);
  pool_.share(explainers_, 0, count, 1, [&](int, std::int64_t i, std::int64_t) {
    job_.check_stop();
    std::int64_t const number = explained() + i;
    auto const coefficients =
        explainer_.explain(input(number).data(), static_cast<std::uint32_t>(number));
    if (is_seed(coefficients)) states[static_cast<std::size_t>(i)] = kSeedBit;
  });
  return states;
}

void ExpgaSearch::explain(std::int64_t most) {
  std::int64_t const first = explained();
  std::vector<std::uint8_t> states = choose(std::min<std::int64_t>(explainers_, most));
  std::vector<std::uint32_t> numbers;  // of the seeds
  std::vector<std::int32_t> rows;
  std::size_t taken = 0;
  for (; taken < states.size(); ++taken) {
    std::int64_t const number = first + static_cast<std::int64_t>(taken);
    if (full(number, people() + static_cast<std::int64_t>(numbers.size()))) break;
    if (states[taken] == 0) continue;
    auto const row = input(number);
    numbers.push_back(static_cast<std::uint32_t>(number));
    rows.insert(rows.end(), row.begin(), row.end());
    fitness_of_.add_seed(row.data());
  }
  auto const hits = test(rows, numbers, Phase::kGlobal);
  auto const fitness = fitness_of_.judge(rows, hits, most_found_);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] != 0) states[numbers[i] - static_cast<std::size_t>(first)] |= kFoundBit;
  }
  // The input with which enough is found is the last one.
  if (enough()) taken = numbers[fitness.size() - 1] - static_cast<std::size_t>(first) + 1;
  inputs_.insert(inputs_.end(), states.begin(),
                 states.begin() + static_cast<std::ptrdiff_t>(taken));
  fitness_.insert(fitness_.end(), fitness.begin(), fitness.end());
  rows_.insert(rows_.end(), rows.begin(),
               rows.begin() + static_cast<std::ptrdiff_t>(fitness.size() * attributes_));
  report(explained(), static_cast<std::int64_t>(fitness.size()));
}

void ExpgaSearch::find_seeds() {
  std::int64_t limit = seeds_.count();
  auto const& budget = config_.budget;
  if (options_.replay && options_.replay->global_seeds >= 0)
    limit = std::min(limit, options_.replay->global_seeds);
  begin_phase(0, limit, explained());
  while (explained() < limit && !full(explained(), people()) && !enough()) {
    job_.check_stop();
    if (job_.due()) job_.save_on_the_way();
    if (job_.late()) return;
    explain(limit - explained());
  }
  bool const few = budget.seeds && *budget.seeds < config_.global.num;
  if (few && explained() == seeds_.count()) result_.cut.reason = "seeds";
}

std::int64_t ExpgaSearch::limit_tests() {
  auto& cut = result_.cut;
  auto const& budget = config_.budget;
  std::int64_t limit = std::min(config_.local.num * people(), kMostTests);
  if (budget.iterations && *budget.iterations - people() <= limit) {
    limit = *budget.iterations - people();
    cut.reason = "iterations";
  }
  if (budget.evaluations) {
    std::int64_t const left = *budget.evaluations - evaluations_of(explained(), people());
    std::int64_t const tests = left > 0 ? left / variants_ + (left % variants_ != 0 ? 1 : 0) : 0;
    if (tests <= limit) {
      limit = tests;
      cut.reason = "evaluations";
    }
  }
  if (options_.replay && options_.replay->local_seeds >= 0) {
    limit = std::min(limit, options_.replay->local_seeds);
    cut.reason = options_.replay->reason;
  }
  return limit;
}

void ExpgaSearch::evolve() {
  std::int64_t const limit = limit_tests();
  begin_phase(1, limit, local_tests_);
  while (local_tests_ < limit && !enough()) {
    job_.check_stop();
    if (job_.due()) job_.save_on_the_way();
    if (job_.late()) {
      result_.cut.reason = "seconds";
      return;
    }
    advance(limit - local_tests_);
  }
}

std::vector<std::int32_t> ExpgaSearch::bred() const {
  std::vector<std::int32_t> rows = rows_;
  auto const generation = static_cast<std::uint32_t>(local_tests_ / people());
  for (std::int64_t first = 0; first < people(); first += kExpgaPopulation) {
    auto const n = static_cast<std::size_t>(std::min(kExpgaPopulation, people() - first));
    auto const from = static_cast<std::size_t>(first);
    Brood const brood{static_cast<std::uint32_t>(first), generation, config_.seed};
    breed(genes_, std::span(fitness_).subspan(from, n), brood,
          std::span(rows).subspan(from * attributes_, n * attributes_));
  }
  return rows;
}

void ExpgaSearch::advance(std::int64_t most) {
  std::vector<std::int32_t> rows = bred();
  auto const n = static_cast<std::size_t>(std::min(people(), most));
  std::span<std::int32_t const> const tested = std::span(rows).first(n * attributes_);
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(local_tests_));
  auto const hits = test(tested, numbers, Phase::kLocal);
  auto const fitness = fitness_of_.judge(tested, hits, most_found_);
  std::copy(fitness.begin(), fitness.end(), fitness_.begin());
  rows_ = std::move(rows);
  local_tests_ += static_cast<std::int64_t>(fitness.size());
  report(local_tests_, static_cast<std::int64_t>(fitness.size()));
}

std::vector<std::uint8_t> ExpgaSearch::test(std::span<std::int32_t const> rows,
                                            std::span<std::uint32_t const> numbers, Phase phase) {
  auto const n = static_cast<std::int64_t>(numbers.size());
  std::vector<std::uint8_t> hits(numbers.size());
  if (n == 0) return hits;
  auto& blocks = blocks_[static_cast<std::size_t>(phase)];
  auto const parts = static_cast<int>(std::min<std::int64_t>(
      backend_.concurrency(), (n + kExpgaPopulation - 1) / kExpgaPopulation));
  std::int64_t const lanes = (n + parts - 1) / parts;
  while (static_cast<int>(blocks.size()) < parts) {
    blocks.push_back(backend_.make_block(
        static_cast<int>(std::min<std::int64_t>(lanes, backend_.block_lanes(lanes))), phase));
  }
  pool_.split(parts, n, [&](int part, std::int64_t begin, std::int64_t end) {
    auto const first = static_cast<std::size_t>(begin);
    auto const count = static_cast<std::size_t>(end - begin);
    test_in(*blocks[static_cast<std::size_t>(part)],
            rows.subspan(first * attributes_, count * attributes_), numbers.subspan(first, count),
            &hits[first]);
  });
  return hits;
}

void ExpgaSearch::test_in(LaneBlock& block, std::span<std::int32_t const> rows,
                          std::span<std::uint32_t const> numbers, std::uint8_t* hits) const {
  auto const lanes = static_cast<std::size_t>(block.capacity());
  std::vector<std::uint8_t> const none(lanes, 0);
  for (std::size_t first = 0; first < numbers.size(); first += lanes) {
    std::size_t const n = std::min(lanes, numbers.size() - first);
    block.place(numbers.subspan(first, n), &rows[first * attributes_]);
    block.test(Test::kLabels);
    for (std::size_t i = 0; i < n; ++i) hits[first + i] = block.hit(static_cast<int>(i)) ? 1 : 0;
    block.retain({none.data(), n});
  }
}

void ExpgaSearch::report(std::int64_t done, std::int64_t tests) const {
  if (options_.progress == nullptr) return;
  options_.progress->done = done;
  options_.progress->iterations += tests;
  options_.progress->found(fitness_of_.found());
}

void ExpgaSearch::search() {
  find_seeds();
  auto& cut = result_.cut;
  if (enough()) {
    cut.finder = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(explained()), 0);
  } else if (job_.late()) {
    cut.reason = "seconds";
  } else {
    evolve();
    if (enough())
      cut.finder = Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(local_tests_), 0);
  }
  if (enough()) cut.reason = "instances";
}

void ExpgaSearch::list_legs() {
  std::int64_t seeds = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    seeds += (inputs_[i] & kSeedBit) != 0 ? 1 : 0;
    result_.legs.push_back({Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(i), 0),
                            evaluations_of(static_cast<std::int64_t>(i) + 1, seeds)});
  }
  for (std::int64_t first = 0; first < local_tests_; first += people()) {
    std::int64_t const end = std::min(first + people(), local_tests_);
    result_.legs.push_back({Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(first), 0),
                            evaluations_of(explained(), people() + end)});
  }
}

void ExpgaSearch::count() {
  result_.cut.global_seeds = explained();
  result_.cut.local_seeds = local_tests_;
  auto& counts = result_.counts;
  std::set<std::vector<std::int32_t>> unique;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    bool const found = (inputs_[i] & kFoundBit) != 0;
    result_.global.push_back({found, (inputs_[i] & kSeedBit) != 0 ? 1U : 0U});
    counts.global_found += found ? 1 : 0;
    std::vector<std::int32_t> const row = input(static_cast<std::int64_t>(i));
    if (found) unique.insert(row);
    if (options_.trace) result_.last_rows.insert(result_.last_rows.end(), row.begin(), row.end());
  }
  counts.global_seeds = explained();
  counts.global_unique = static_cast<std::int64_t>(unique.size());
  counts.iterations = people() + local_tests_;
  counts.model_evaluations = evaluations_of(explained(), counts.iterations);
  if (options_.legs) list_legs();
}

void ExpgaSearch::write_state(CheckpointWriter& state) {
  state.add(kInputs, inputs_);
  state.add(kPeople, rows_);
  state.add(kFitness, fitness_);
  state.add(kTests, std::vector<std::int64_t>{local_tests_});
  fitness_of_.write(state);
  write_visits(state);
}

void ExpgaSearch::read_state(CheckpointReader const& state) {
  inputs_ = state.values<std::uint8_t>(kInputs);
  rows_ = state.values<std::int32_t>(kPeople);
  fitness_ = state.values<std::uint32_t>(kFitness);
  local_tests_ = state.values<std::int64_t>(kTests).at(0);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if ((inputs_[i] & kSeedBit) != 0)
      fitness_of_.add_seed(input(static_cast<std::int64_t>(i)).data());
  }
  fitness_of_.read(state);
  read_visits(state);
}

}  // namespace

SearchResult expga_search(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                          SearchOptions const& options) {
  return ExpgaSearch(config, seeds, backend, options).run();
}

}  // namespace fairlane
