// Where the margin method's effort goes: inputs near the decision boundary from which moves are
// worth testing, and new starts where they are worth more.
//
// The frontier advances in waves. Which origins a wave has, and what its tests add, depend on the
// run's seed and on earlier waves alone, so that neither threads nor devices can change them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "engine/job/checkpoint.h"
#include "engine/search/lockstep/move_draws.h"
#include "engine/search/lockstep/search_effort.h"
#include "kernels/lane_block.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// Where an origin comes from; each has a queue.
enum class OriginKind : std::uint8_t {
  kDeep,  // an IDI that was no origin before, as TrialOutcome has it
  kHit,   // another one; one that was an origin once; twice; more often
  kSecond,
  kThird,
  kOften,
  kNear0,  // a miss, by TrialOutcome
  kNear1,
  kNear2,
  kNear3,
  kNear4,
  kStart,  // where a start's step towards the boundary has ended
};
inline constexpr std::size_t kOriginKinds = 11;

/// One wave: starts first, then origins.
/// rows   [starts + kinds.size()][attributes]
/// kinds  of the origins
struct Wave {
  std::uint32_t number = 0;
  OriginEffort effort;
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
  std::vector<std::uint64_t> hashes;
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

    /// Model evaluations of an origin with so many tests. A start, all of whose members are
    /// evaluated, takes as many as an origin with gradients and one test.
    double evaluations(double origin_tests, bool gradients) const {
      return origin_tests * test_evaluations + member_evaluations +
             (gradients ? gradient_evaluations : 0.0);
    }
  };
  /// Rows of start number n, 0, 1, ...: writes row [attributes]. Any thread.
  using StartRow = std::function<void(std::int64_t n, std::int32_t* row)>;

  /// Its own work is shared by so many threads at most. subject, pool: outlive it
  Frontier(PackedSubject const& subject, std::uint64_t seed, Size const& size, ThreadPool& pool,
           int threads);

  /// An IDI that is known. row [attributes]
  void add_hit(std::int32_t const* row);

  /// The next wave; the one that is on its way where its results were never taken.
  Wave const& next(StartRow const& start_row);
  /// Moves for the wave's origins; valid until its results are taken.
  LatticeStep step() const;
  /// The results of the wave that is on its way. tests: gets how many tests each start and origin
  /// made
  void take(WaveResults const& results, std::vector<std::uint32_t>& tests);

  void write(CheckpointWriter& state) const;
  /// Takes over what write() has left; false where there is nothing.
  bool read(CheckpointReader const& state);

 private:
  /// What origins of a kind have cost and brought; recent waves weigh most.
  struct Yield {
    double evaluations = 0.0;
    double found = 0.0;
  };
  struct Queue {
    std::vector<std::uint16_t> cells;      // [queued]
    std::unique_ptr<std::int32_t[]> rows;  // [room][attributes], of which [queued] have values
    std::size_t room = 0;
    std::uint64_t replaceable = 0;  // hits that came when there was no room
    Yield yield;
  };

  /// An origin that has its place in a queue, but not yet its row: a wave's origin, moved.
  struct PendingRow {
    OriginKind kind;
    std::uint32_t place;
    std::uint32_t origin;
    std::uint32_t word;  // 0: not moved
  };

  /// The upper half of an attribute's codes begins with `first`.
  struct Half {
    std::size_t attribute;
    std::int32_t first;
  };

  std::int32_t* row_of(Queue& queue, std::size_t place) { return &queue.rows[place * width()]; }
  void make_room(Queue& queue, std::size_t room) const;
  /// Calls work(i) for i below count, on several threads where there is enough to do.
  template <class Work>
  void share(std::int64_t count, Work const& work);
  std::size_t width() const { return static_cast<std::size_t>(packed_.get().columns); }
  std::size_t queued(std::size_t kind) const { return queues_[kind].cells.size(); }
  /// Where in its queue another origin goes: behind the last one, while there is room. Then it
  /// takes the place of another hit, or has none.
  std::optional<std::size_t> place_in(OriginKind kind);
  void push(OriginKind kind, std::int32_t const* row);
  void push_later(OriginKind kind, std::uint32_t origin, std::uint32_t word);
  void fill_rows();
  double rate(std::size_t kind) const;
  double start_rate() const;
  /// Origins and starts of a wave.
  std::int64_t wave_lanes() const;
  /// Moves `count` origins of a kind into the wave: each is of a few that are drawn uniformly the
  /// one in the least visited part of the domain.
  void draw_origins(std::size_t kind, std::size_t count);
  /// Moves that the wave's origins choose from.
  std::size_t draws_of_wave() const;
  /// Part of the domain that a row lies in, by the halves of its attributes' ranges.
  std::uint16_t cell_of(std::int32_t const* row) const;
  void take_start(std::size_t index, std::uint64_t hash, bool hit, std::int32_t const* row);
  std::uint32_t take_origin(std::size_t index, WaveResults const& results);
  void end_wave();
  /// Whether a group was tested before; it counts as tested from now on.
  bool test_and_set(std::uint64_t hash);
  std::uint64_t hash_of(std::int32_t const* row) const;
  /// Moves a row as a test did.
  void move(std::uint32_t word, std::int32_t* row) const;

  PackedSubject const& packed_;
  std::uint64_t seed_;
  Size size_;
  std::size_t hit_room_;  // rows of a queue of hits
  ThreadPool& pool_;
  int threads_;
  std::vector<Half> halves_;  // [movable]
  std::array<Queue, kOriginKinds> queues_;
  Yield starts_;
  std::int64_t next_start_ = 0;
  std::uint32_t waves_ = 0;
  Wave wave_;
  bool on_its_way_ = false;
  SearchEffort effort_;
  EffortResult spent_;                 // of the wave that is on its way
  MoveDraws moves_;                    // the same
  std::vector<PendingRow> pending_;    // the same
  bool replaces_ = false;              // the same: some take a place that another has
  std::vector<std::uint64_t> tested_;  // bits, see TestedGroups
  int log2_bits_ = 0;
  std::vector<std::uint32_t> cells_;  // origins so far in each cell
  std::uint64_t set_bits_ = 0;
};

}  // namespace fairlane
