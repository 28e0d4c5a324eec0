// Where the margin method's effort goes: inputs near the decision boundary from which moves are
// worth testing, and new starts where they are worth more.
//
// The frontier advances in waves. Which origins a wave has, and what its tests add, depend on the
// run's seed and on earlier waves alone, so that neither threads nor devices can change them. A
// wave is chosen by what is known one wave before it is due, and so beside the tests of the wave
// before. That a group was tested is known at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/job/checkpoint.h"
#include "engine/search/lockstep/move_draws.h"
#include "engine/search/lockstep/origin_queue.h"
#include "engine/search/lockstep/search_effort.h"
#include "kernels/lane_block.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// Where an origin comes from; each has a queue. IDIs that were no origins before are told apart by
/// how many of the tests from the same origin met IDIs: fewer than three quarters, more, all.
enum class OriginKind : std::uint8_t {
  kDeepSome,  // as TrialOutcome has it
  kDeepMost,
  kDeepAll,
  kHitSome,  // other IDIs
  kHitMost,
  kHitAll,
  kSecond,  // one that was an origin once; twice; more often
  kThird,
  kOften,
  kNear0,  // a miss, by TrialOutcome
  kNear1,
  kNear2,
  kNear3,
  kNear4,
  kStart,  // where a start's step towards the boundary has ended
};
inline constexpr std::size_t kOriginKinds = 15;
/// Whether such origins are IDIs.
inline bool is_idi(std::size_t kind) {
  return kind <= static_cast<std::size_t>(OriginKind::kOften);
}

/// The same of those that were no origins before.
inline bool is_new_idi(std::size_t kind) {
  return kind < static_cast<std::size_t>(OriginKind::kSecond);
}

/// One wave: starts first, then origins.
/// effort  of its origins
/// draws   moves that these choose from
/// rows    [starts + kinds.size()][attributes]
/// kinds   of the origins
struct Wave {
  std::uint32_t number = 0;
  OriginEffort effort;
  std::size_t draws = 0;
  std::int64_t starts = 0;
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> kinds;

  std::int64_t count() const { return starts + static_cast<std::int64_t>(kinds.size()); }
};

/// What became of a wave.
/// hit     [starts] the start is an IDI
/// rows    [starts][attributes] where its step ended otherwise
/// trials  of each origin
/// words   [trials][origins], hashes [trials][origins]: see LaneBlock::trials
struct WaveResults {
  std::vector<std::uint8_t> hit;
  std::vector<std::int32_t> rows;
  int trials = 0;
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> hashes;
};

/// The queues of origins, what each kind has brought so far, and what is known of moves and groups.
class Frontier {
 public:
  /// tests                 that the search is expected to make
  /// test_evaluations      of a move, which are those of two members
  /// member_evaluations    of an origin's other members
  /// gradient_evaluations  of an origin's gradients
  /// skips_gradients       origins may do without them
  /// hit_bytes             rows of a queue of hits may take
  struct Size {
    double tests = 0.0;
    double test_evaluations = 2.0;
    double member_evaluations = 0.0;
    double gradient_evaluations = 0.0;
    bool skips_gradients = false;
    std::size_t hit_bytes = std::size_t{1} << 28;

    /// Model evaluations of so many origins with so many tests together. A start, all of whose
    /// members are evaluated, takes as many as an origin with gradients and one test.
    double evaluations(double origins, double origin_tests, bool gradients) const {
      return origin_tests * test_evaluations +
             origins * (member_evaluations + (gradients ? gradient_evaluations : 0.0));
    }
  };
  /// Rows of start number n, 0, 1, ...: writes row [attributes]. Any thread.
  using StartRow = std::function<void(std::int64_t n, std::int32_t* row)>;

  /// subject, pool: outlive it
  Frontier(PackedSubject const& subject, std::uint64_t seed, Size const& size, StartRow start_row,
           ThreadPool& pool);

  /// An IDI that is known before the first plan. row [attributes]
  void add_hit(std::int32_t const* row);

  /// Learns from the results that were taken last, and chooses the wave after the one that is due;
  /// at first both. Does nothing the second time. Any thread, also beside the tests of the wave
  /// that is due; shared by so many threads.
  void plan(int threads);
  /// Origins and starts of a wave at most.
  std::int64_t most_lanes() const;
  /// The wave that is due, and moves for its origins: those of a plan, until its results are taken.
  Wave const& wave() const { return due().wave; }
  LatticeStep step() const;
  /// The results of that wave; then the next one is due. Shared by so many threads. results: gets
  /// other results' memory. tests: gets how many tests each start and origin made, behind what it
  /// holds
  void take(WaveResults& results, std::vector<std::uint32_t>& tests, int threads);

  /// After a plan.
  void write(CheckpointWriter& state) const;
  /// Takes over what write() has left, by so many threads; false where there is nothing.
  bool read(CheckpointReader const& state, int threads);

 private:
  /// What origins of a kind have cost and brought; recent waves weigh most.
  struct Yield {
    double evaluations = 0.0;
    double found = 0.0;
  };
  struct Queue {
    OriginQueue waiting;
    std::uint64_t replaceable = 0;  // hits that came when there was no room
    Yield yield;
  };

  /// What a test of a wave is for the queues: the kind of origin that its row becomes, or kNothing.
  using Fate = std::uint8_t;

  /// A wave from its choice until it is learned from.
  /// outcomes  those of moves when it was chosen
  /// moves     that its origins choose from
  /// results   and their fates, [starts], then [trials][origins], once they are taken
  struct Course {
    enum class Stage : std::uint8_t { kNone, kChosen, kTested };

    Course(Subject const& subject, std::uint64_t seed) : outcomes(subject), moves(subject, seed) {}

    Stage stage = Stage::kNone;
    Wave wave;
    MoveOutcomes outcomes;
    MoveDraws moves;
    WaveResults results;
    std::vector<Fate> fates;
  };

  /// A test's bit of tested_, its place among the wave's fates, and whether the bit was set before.
  struct TestedBit {
    std::uint64_t bit;
    std::uint32_t test;
    bool known;
  };

  /// What a thread lists of the wave's tests, and marks.
  /// bits   [threads] for those who look after them, a range of bits each
  /// added  own bits that were not set before
  struct MarkedPart {
    std::vector<std::vector<TestedBit>> bits;
    std::vector<std::uint32_t> added;
  };

  /// A row of a wave's lane, how it was moved, and the lane's family.
  struct LaneRow {
    std::int32_t const* row;
    std::uint32_t word;
    std::uint32_t family;
  };

  /// A row that takes the place of another hit.
  struct Replacement {
    std::size_t kind;
    std::size_t place;
    LaneRow from;
  };

  /// What lanes of a wave count for: whoever counts which of them, the sums are the same.
  /// tests, found    [trials] as EffortResult has them
  /// origins         [kinds] of the lanes
  /// origin_tests    [kinds] that these are paid for
  /// origin_found    [kinds] new IDIs of theirs
  /// start_found     new IDIs among starts
  /// pushed          [kinds] rows for each queue
  struct Tally {
    std::array<std::uint64_t, kMostTrials> tests{};
    std::array<std::uint64_t, kMostTrials> found{};
    std::array<std::uint64_t, kOriginKinds> origins{};
    std::array<std::uint64_t, kOriginKinds> origin_tests{};
    std::array<std::uint64_t, kOriginKinds> origin_found{};
    std::uint64_t start_found = 0;
    std::array<std::size_t, kOriginKinds> pushed{};
    MoveDraws::Tally moves;

    void add(Tally const& other);
  };

  /// The upper half of an attribute's codes begins with `first`.
  struct Half {
    std::size_t attribute;
    std::int32_t first;
  };

  Course const& due() const { return courses_[due_]; }
  /// Calls work(i) for i below count, on several of so many threads where there is enough to do.
  template <class Work>
  void share(std::size_t count, int threads, Work const& work) {
    auto const all = static_cast<std::int64_t>(count);
    pool_.split(threads_for(all, threads), all, [&](int, std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        work(i);
    });
  }
  /// Of so many threads, those that so many lanes are worth.
  static int threads_for(std::int64_t lanes, int threads);
  std::size_t width() const { return static_cast<std::size_t>(packed_.get().columns); }
  std::size_t queued(std::size_t kind) const { return queues_[kind].waiting.size(); }
  double rate(std::size_t kind) const;
  double start_rate() const;
  std::int64_t lanes_of(std::uint32_t wave) const;
  /// Part of the domain that a row lies in, by the halves of its attributes' ranges.
  std::uint16_t cell_of(std::int32_t const* row) const;
  /// Whether a bit of the tested groups was set; it is from now on.
  bool test_and_set(std::uint64_t bit);
  /// As TestedGroups::high_bits() has it.
  std::uint32_t hash_of(std::int32_t const* row) const;

  /// Chooses the next wave.
  void choose(Course& course, int threads);
  /// Draws the moves of a wave, by the outcomes that its course has.
  void draw_moves(Course& course, int threads);
  /// Moves that a wave's origins choose from.
  std::size_t draws_for(Wave const& wave) const;
  /// Of a wave, whatever starts have brought.
  std::int64_t least_starts(OriginEffort effort, std::int64_t lanes) const;
  /// Chooses up to `count` origins for the wave: most by what their kinds bring, others among all
  /// new IDIs, so that the search does not stay where most are. Families are apart while there are
  /// enough of them.
  void choose_origins(Wave& wave, std::size_t count, int threads);
  /// How origins of a kind are chosen.
  /// among  so many that are drawn uniformly, a multiple of four, each is the one in the least
  ///        visited part of the domain
  /// apart  of families that neither the wave nor the one before has, as two of one test much the
  ///        same
  struct Choice {
    std::size_t among;
    bool apart;
  };
  /// An origin that may be chosen, and its mark when that was drawn.
  struct Candidate {
    std::uint32_t place = 0;
    OriginMark mark;
  };
  /// The best candidate of a choice, and whether even that is of a family that comes last.
  struct Best {
    Candidate candidate;
    bool sibling = false;
  };
  /// Ranks origins for the wave that is being chosen: less is better.
  struct Ranking {
    std::uint32_t const* family_waves;
    std::size_t families;  // a power of two
    std::uint32_t const* cells;
    std::uint32_t wave;
    std::uint32_t apart;  // waves, from this one back, whose families come last

    std::size_t family_place(std::uint32_t family) const { return family & (families - 1); }
    void prefetch(OriginMark mark) const {
      __builtin_prefetch(family_waves + family_place(mark.family));
      __builtin_prefetch(cells + mark.cell);
    }
    std::uint64_t operator()(OriginMark mark) const {
      std::uint64_t const sibling = wave - family_waves[family_place(mark.family)] < apart ? 1 : 0;
      return sibling << 32 | cells[mark.cell];
    }
    static bool is_sibling(std::uint64_t rank) { return rank >> 32 != 0; }
  };
  Ranking ranking(bool apart) const {
    constexpr std::uint32_t kOnTheirWay = 2;
    return {family_waves_.data(), family_waves_.size(), cells_.data(), waves_,
            apart ? kOnTheirWay : 0};
  }
  /// The first one of the best.
  static Best best_of(std::span<Candidate const> candidates, Ranking const& ranking);
  struct Range {
    std::size_t first;
    std::size_t count;
  };
  /// Draws candidates for some of the choices among `all` of a queue, of which every choice leaves
  /// one less -> candidates_, best_
  void draw_candidates(OriginQueue const& queue, std::size_t all, Range choices,
                       Choice const& choice, int threads);
  /// Chooses up to `count` origins of a kind for the wave. Their slots -> slots_of_wave_
  void draw_origins(Wave& wave, std::size_t kind, std::size_t count, Choice const& choice,
                    int threads);
  /// Moves the chosen origins' rows into the wave.
  void take_rows(Wave& wave, int threads);

  /// Which of a wave's groups were tested before -> its fates; all count as tested from now on.
  /// tests [lanes]: out
  void mark_tested(Course& course, std::uint32_t* tests, int threads);
  /// Lists what lanes [begin, end) tested, for those who look after the bits. tests [end]: out
  void list_tests(Course const& course, std::size_t begin, std::size_t end, MarkedPart& part,
                  std::uint32_t* tests) const;
  /// Marks the listed tests' groups, all of whose bits are the caller's. added: gets new bits
  void mark_listed(std::span<TestedBit> bits, std::vector<std::uint32_t>& added);

  /// What a tested wave adds to all that is known.
  void learn(Course& course, int threads);
  /// Counts lanes [begin, end) of a wave, and finds their fates.
  static Tally count_lanes(Course& course, std::int64_t begin, std::int64_t end);
  void learn_yields(Wave const& wave, Tally const& tally);
  /// Puts the rows of a wave's lanes into the queues. tallies: of neighbouring ranges
  void push_rows(Course const& course, std::vector<Tally> const& tallies);
  /// The same for lanes [begin, end), whose first row for a queue is its row number next [kinds];
  /// but for replacements, which are made in order. -> replacements
  void push_lanes(Course const& course, std::int64_t begin, std::int64_t end,
                  std::array<std::size_t, kOriginKinds> next,
                  std::vector<Replacement>& replacements);
  /// Where row number `number` of a queue goes: behind the last one, while there is room. Then it
  /// takes the place of another hit, or has none.
  std::optional<std::size_t> place_of(std::size_t kind, std::size_t number) const;
  /// Puts a row, moved as the wave's test did, at its place in a queue. Any thread.
  /// moved: working memory
  void put(std::size_t kind, std::size_t place, LaneRow const& from, MoveDraws const& moves,
           std::vector<std::int32_t>& moved);
  /// Moves a row as a test did.
  void move(MoveDraws const& moves, std::uint32_t word, std::int32_t* row) const;
  void forget_some();

  PackedSubject const& packed_;
  std::uint64_t seed_;
  Size size_;
  StartRow start_row_;
  ThreadPool& pool_;
  std::vector<Half> halves_;   // [movable]
  std::vector<Queue> queues_;  // [kinds]
  Yield starts_;
  std::int64_t next_start_ = 0;
  std::uint32_t waves_ = 0;
  std::array<Course, 2> courses_;
  std::size_t due_ = 0;  // the one that comes next
  SearchEffort effort_;
  MoveOutcomes outcomes_;
  std::vector<std::uint32_t> slots_of_wave_;     // of the rows of the wave that is being chosen
  std::vector<std::uint32_t> families_of_wave_;  // the same: of its origins
  std::uint32_t draws_ = 0;                      // the same: of origins so far
  std::vector<Candidate> candidates_;            // the same: [choices][among] of some choices
  std::vector<Best> best_;                       // the same: [choices]
  std::vector<std::uint64_t> changed_;           // the same: bits of places, see draw_origins
  std::vector<std::uint32_t> family_waves_;      // by the lowest bits of a family: its last wave
  std::vector<std::uint64_t> tested_;            // bits, see TestedGroups
  int log2_bits_ = 0;
  std::vector<std::uint32_t> added_;  // bits that the wave before has set
  bool grows_ = false;                // and it cleared none
  std::vector<std::uint32_t> cells_;  // origins so far in each cell
  std::uint64_t set_bits_ = 0;
};

}  // namespace fairlane
