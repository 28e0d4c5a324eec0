#include "engine/count/walk_sharing.h"

#include <algorithm>

#include "engine/ranks/packed.h"

namespace fairlane {
namespace {

constexpr double kLeastSeconds = 0.02;  // that a rank works on a piece, as expected
constexpr double kMostSeconds = 5.0;
constexpr double kPieces = 3.0;    // of each rank, were they equal: they become smaller to the end
constexpr std::size_t kAhead = 2;  // ranges that a rank has at once, so that it never waits

// First number of a message of rank 0.
constexpr std::int64_t kManner = 0;
constexpr std::int64_t kRange = 1;
constexpr std::int64_t kNoMore = 2;

std::string words(std::vector<std::int64_t> const& values) { return Packer().add(values).bytes(); }

}  // namespace

WalkDealer::WalkDealer(Ranks& ranks, WalkPlan const& plan)
    : ranks_(ranks), plan_(plan), out_(static_cast<std::size_t>(ranks.size())) {}

void WalkDealer::begin(WalkManner const& manner) {
  Walker::Look const look = manner.look.value_or(Walker::Look{});
  std::string const bytes = words({kManner, static_cast<std::int64_t>(manner.levels),
                                   manner.look ? 1 : 0, look.detailed ? 1 : 0, look.parts});
  for (int rank = 1; rank < ranks_.size(); ++rank) ranks_.send(rank, bytes);
}

int WalkDealer::needy() const {
  // Those with the least first: all have one before any has two.
  std::size_t best = 0;
  for (std::size_t rank = 1; rank < out_.size(); ++rank) {
    if (out_[rank].size() < kAhead && (best == 0 || out_[rank].size() < out_[best].size()))
      best = rank;
  }
  return best == 0 ? -1 : static_cast<int>(best);
}

std::int64_t WalkDealer::piece(std::int64_t left, double heads_per_second) const {
  double const share = static_cast<double>(left) / (kPieces * ranks());
  double const heads =
      std::clamp(share, kLeastSeconds * heads_per_second, kMostSeconds * heads_per_second);
  return static_cast<std::int64_t>(std::clamp(heads, 1.0, static_cast<double>(left)));
}

void WalkDealer::deal(int rank, HeadRange const& range) {
  ranks_.send(rank, words({kRange, range.begin, range.end}));
  out_[static_cast<std::size_t>(rank)].push_back(range);
}

std::optional<WalkShare> WalkDealer::poll() {
  auto const message = ranks_.poll();
  if (!message) return std::nullopt;
  WalkShare share;
  Unpacker from(message->bytes);
  auto const left = from.take<std::int64_t>();
  for (std::size_t i = 0; i + 1 < left.size(); i += 2) share.left.push_back({left[i], left[i + 1]});
  share.counts = GroupCounts(plan_);
  auto const groups = from.take<std::int64_t>();
  share.counts.groups = groups.at(0);
  share.counts.skipped = groups.at(1);
  auto const take_counts = [&](std::vector<std::uint64_t>& to) {
    auto values = from.take<std::uint64_t>();
    if (values.size() != to.size())
      throw Error(ExitCode::kBug, "a rank's counts have another size than expected");
    to = std::move(values);
  };
  take_counts(share.counts.counters);
  for (auto& list : share.counts.list_groups) take_counts(list);
  share.found.groups = from.take<std::int64_t>();
  share.found.drawn = from.take<WalkInstance>();
  out_[static_cast<std::size_t>(message->from)].pop_front();
  return share;
}

std::vector<HeadRange> WalkDealer::out() const {
  std::vector<HeadRange> all;
  for (auto const& ranges : out_) all.insert(all.end(), ranges.begin(), ranges.end());
  return all;
}

bool WalkDealer::deserted() {
  auto const& failures = ranks_.failures();
  for (std::size_t rank = 0; rank < out_.size(); ++rank) {
    if (!out_[rank].empty() && !failures[rank]) return false;
  }
  return true;
}

void WalkDealer::end() {
  for (int rank = 1; rank < ranks_.size(); ++rank) ranks_.send(rank, words({kNoMore}));
  ranks_.flush();
}

std::optional<HeadRange> WalkHelper::next() {
  while (true) {
    std::string const bytes = ranks_.wait_from(0);
    auto const message = Unpacker(bytes).take<std::int64_t>();
    switch (message.at(0)) {
      case kManner:
        manner_.levels = static_cast<LevelSet>(message.at(1));
        if (message.at(2) != 0)
          manner_.look = Walker::Look{message.at(3) != 0, static_cast<int>(message.at(4))};
        break;
      case kRange:
        return HeadRange{message.at(1), message.at(2)};
      default:
        return std::nullopt;
    }
  }
}

void WalkHelper::send(WalkShare const& share) {
  std::vector<std::int64_t> left;
  for (HeadRange const& range : share.left) {
    left.push_back(range.begin);
    left.push_back(range.end);
  }
  Packer bytes;
  bytes.add(left);
  bytes.add(std::vector<std::int64_t>{share.counts.groups, share.counts.skipped});
  bytes.add(share.counts.counters);
  for (auto const& list : share.counts.list_groups) bytes.add(list);
  bytes.add(share.found.groups);
  bytes.add(share.found.drawn);
  ranks_.send(0, bytes.bytes());
  // A stopped rank says what it has before it ends.
  if (ranks_.asked_to_stop()) return;
  ranks_.flush();
}

}  // namespace fairlane
