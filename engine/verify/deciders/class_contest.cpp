#include "engine/verify/deciders/class_contest.h"

#include <algorithm>

namespace fairlane {
namespace {

/// Which of two classes no member of a box has, since the other's output is never below its own.
struct Beaten {
  bool first;
  bool second;
};

/// difference  the second's output less the first's; of equal ones the first is the label
Beaten beaten(OutputLines const& difference) {
  return {difference.least > 0.0, difference.most <= 0.0};
}

}  // namespace

std::vector<ClassContest> ClassContests::find(BoxRound const& round) {
  auto const& pairs = networks_.pairs();
  std::vector<ClassContest> contests(round.size());
  for (ClassContest& contest : contests) {
    for (ClassPair const& pair : pairs) contest.possible |= 1U << pair.first | 1U << pair.second;
  }
  std::size_t const lanes = bounds_.lanes();
  std::vector<double> apart(round.size() * pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    bounds_.compare_classes(static_cast<int>(p));
    for (std::size_t first = 0; first < round.size(); first += lanes) {
      std::size_t const count = std::min(lanes, round.size() - first);
      merged_.load(round, first, count);
      bounds_.bound(count);
      for (std::size_t i = 0; i < count; ++i) {
        OutputLines const bounds = bounds_.read(static_cast<int>(i));
        ClassContest& contest = contests[first + i];
        auto const [first_is, second_is] = beaten(bounds);
        if (first_is) contest.possible &= ~(1U << pairs[p].first);
        if (second_is) contest.possible &= ~(1U << pairs[p].second);
        apart[(first + i) * pairs.size() + p] = std::min(bounds.most, -bounds.least);
      }
    }
  }
  for (std::size_t i = 0; i < contests.size(); ++i) {
    ClassContest& contest = contests[i];
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      bool const both = (contest.possible >> pairs[p].first & 1U) != 0 &&
                        (contest.possible >> pairs[p].second & 1U) != 0;
      double const here = apart[i * pairs.size() + p];
      if (!both || (contest.pair >= 0 && !(here > contest.apart))) continue;
      contest.pair = static_cast<int>(p);
      contest.apart = here;
    }
  }
  return contests;
}

void ClassContests::leave_out(BoxRound const& round) {
  std::size_t const lanes = bounds_.lanes();
  int const own = round.boxes.front().classes;
  ClassPair const classes = networks_.pairs()[static_cast<std::size_t>(own)];
  auto const is_own = [&](int c) { return c == classes.first || c == classes.second; };
  for (std::size_t first = 0; first < round.size(); first += lanes) {
    std::size_t const count = std::min(lanes, round.size() - first);
    for (std::size_t p = 0; p < networks_.pairs().size(); ++p) {
      ClassPair const pair = networks_.pairs()[p];
      if (static_cast<int>(p) == own || (!is_own(pair.first) && !is_own(pair.second))) continue;
      bool any = false;
      for (std::size_t i = 0; i < count; ++i) any = any || round.is_open(first + i);
      if (!any) break;
      bounds_.compare_classes(static_cast<int>(p));
      merged_.load(round, first, count);
      bounds_.bound(count);
      for (std::size_t i = 0; i < count; ++i) {
        auto const [first_is, second_is] = beaten(bounds_.read(static_cast<int>(i)));
        bool const out = (is_own(pair.first) && first_is) || (is_own(pair.second) && second_is);
        if (round.is_open(first + i) && out)
          round.decisions[first + i].verdict = BoxVerdict::kMerged;
      }
    }
  }
  bounds_.compare_classes(own);
}

}  // namespace fairlane
