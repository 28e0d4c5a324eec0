// Lanes that advance together: what the engine asks of a device in every round of a search.
//
// A block holds lanes [0, size). Lanes are independent: a lane's path depends on its row, its seed
// number and the run's seed alone, never on the block, the thread or the device. Rows cross this
// interface in the dataset's order. A method is a test and two steps of these; see MethodSpec in
// engine/search/method.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>

#include "kernels/core/adaptive_steps.h"
#include "kernels/core/gradients.h"
#include "kernels/core/lattice.h"

namespace fairlane {

/// What a test finds out about an input's similar set.
enum class Test : std::uint8_t {
  kLabels,   // whether it is an IDI, from the record where its group is known
  kPartner,  // evaluates it in full: also the partner with the largest output difference
  kMargins,  // evaluates it in full: also the members nearest to and farthest from the boundary
};

/// Global step along the signs of both gradients, at the input and its partner. sign -1 walks
/// against the gradient. After Test::kPartner.
struct SignStep {
  GradientSpec gradient;
  float decay = 0.5F;
  std::int32_t step = 1;
  std::int32_t sign = -1;
};

/// Global Newton step towards the nearest member's decision boundary (kernels/core/margin.h).
/// reach: least range of a move. After Test::kMargins.
struct NewtonStep {
  std::int32_t reach = 1;
};

using GlobalStep = std::variant<SignStep, NewtonStep>;

/// Local step drawn with weights from the gradients at the input and its partner.
struct WeightedStep {
  GradientSpec gradient;
  std::int32_t step = 1;
  std::uint32_t update_interval =
      5;  // successes in a row before partner and weights are renewed; 0 = before every step
  bool never_update = false;  // "inf": the first weights for ever
  float epsilon = 1.0e-6F;

  /// Whether every step draws its own partner, so that the first weights are not used.
  bool renews_always() const { return update_interval == 0 && !never_update; }
};

/// Local step that keeps one member on either side of the boundary (kernels/core/margin.h).
struct MarginStep {
  std::int32_t step = 1;
};

/// Tests of moves of several attributes from inputs near the boundary (kernels/core/lattice.h):
/// begin() chooses the table's trials, and every round tests the next one, from the same origin.
/// table      on the host, where it stays until the last round
/// version    of its tested groups, which change with it
/// added      bits of those that version - 1 lacks; grows: it lacks nothing else
/// gradients  taken at the origins; otherwise moves are not predicted to change a margin
struct LatticeStep {
  MoveTable table;
  std::uint64_t version = 0;
  std::span<std::uint32_t const> added;
  bool grows = false;
  bool gradients = true;
};

/// Local step of AEQUITAS, from origins that are known to be IDIs.
/// odds    of the round, on the host
/// events  [movable][2][2] in kernel column order, out: every step is added, see event_of()
struct OddsStep {
  StepOdds odds;
  std::int32_t step = 1;
  Acceptance acceptance = Acceptance::kMetropolis;
  std::uint64_t* events = nullptr;
};

using LocalStep = std::variant<WeightedStep, MarginStep, LatticeStep, OddsStep>;

/// Lanes that advance together. One thread uses a block at a time.
class LaneBlock {
 public:
  virtual ~LaneBlock() = default;
  virtual int capacity() const = 0;
  virtual int size() const = 0;

  /// Appends lanes. seed [n], rows [n][attributes]. Iteration, momentum and streak start at zero.
  virtual void place(std::span<std::uint32_t const> seed, std::int32_t const* rows) = 0;
  /// Appends the lanes of seeds first, first + 1, ..., whose rows are drawn uniformly (SeedDraw).
  /// Where the block does not draw, it does nothing and returns false.
  virtual bool place_drawn(std::uint32_t, int) { return false; }
  /// Drops the lanes with keep [size] == 0; the others close up in unspecified order.
  virtual void retain(std::span<std::uint8_t const> keep) = 0;

  /// Counts one more iteration for every lane, tests its input and records the visit.
  virtual void test(Test test) = 0;
  /// Moves every lane's input by a global step; what stands there is not tested.
  void advance(GlobalStep const& step) {
    std::visit([this](auto const& s) { advance(s); }, step);
  }
  virtual void advance(SignStep const& step) = 0;
  virtual void advance(NewtonStep const& step) = 0;
  /// Whether lanes can go on by themselves with such steps.
  virtual bool seeks(SignStep const&) const { return false; }
  virtual bool seeks(NewtonStep const&) const { return false; }
  bool seeks(GlobalStep const& step) const {
    return std::visit([this](auto const& s) { return this->seeks(s); }, step);
  }
  /// Tests and steps of every lane until a test meets an IDI or its iteration is `last`;
  /// steps_last: the step after that test, too. Only where seeks().
  virtual void seek(SignStep const&, std::uint32_t, bool) {}
  virtual void seek(NewtonStep const&, std::uint32_t, bool) {}
  void seek(GlobalStep const& step, std::uint32_t last, bool steps_last) {
    std::visit([&](auto const& s) { this->seek(s, last, steps_last); }, step);
  }
  /// Makes the lanes' inputs the origins of a local search: first partners and gradients.
  void begin(LocalStep const& step) {
    std::visit([this](auto const& s) { begin(s); }, step);
  }
  virtual void begin(WeightedStep const& step) = 0;
  virtual void begin(MarginStep const& step) = 0;
  virtual void begin(LatticeStep const& step) = 0;
  virtual void begin(OddsStep const& step) = 0;
  /// Local rounds: each counts an iteration, renews gradients where due, draws, steps, tests,
  /// records, and takes back what the step does not accept.
  virtual void step(WeightedStep const& step, int rounds) = 0;
  virtual void step(MarginStep const& step, int rounds) = 0;
  virtual void step(LatticeStep const& step, int rounds) = 0;
  /// One round, after which the lanes learn from each other.
  virtual void step(OddsStep const& step) = 0;
  void step(LocalStep const& step, int rounds) {
    std::visit(
        [this, rounds](auto const& s) {
          if constexpr (std::is_same_v<std::decay_t<decltype(s)>, OddsStep>) {
            for (int i = 0; i < rounds; ++i) this->step(s);
          } else {
            this->step(s, rounds);
          }
        },
        step);
  }
  /// Rounds that are worth asking for at once.
  virtual int rounds_at_once() const { return 1; }

  virtual std::uint32_t seed(int lane) const = 0;
  virtual std::uint32_t iteration(int lane) const = 0;
  /// Renewals of gradients since the lane was placed.
  virtual std::uint32_t renewals(int lane) const = 0;
  /// Whether the last test or step met an IDI.
  virtual bool hit(int lane) const = 0;
  /// After the rounds of a LatticeStep: every lane's tests. words, hashes [trials][size], trials
  /// `stride` apart: TrialWord and TestedGroups::high_bits() of the group that was tested
  virtual void trials(std::uint32_t* words, std::uint32_t* hashes, std::size_t stride) const = 0;
  /// row [attributes] in dataset order.
  virtual void row(int lane, std::int32_t* row) const = 0;
};

}  // namespace fairlane
