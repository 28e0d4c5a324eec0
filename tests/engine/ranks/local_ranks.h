// Ranks that are threads of one process, for what is built upon Ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/ranks/ranks.h"

namespace fairlane {

/// The mailboxes of all ranks.
class LocalRanks {
 public:
  explicit LocalRanks(int size) : boxes_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(boxes_.size()); }
  /// Messages that a rank has sent, those of all ranks together left out.
  std::int64_t sent(int rank) const { return boxes_[static_cast<std::size_t>(rank)].sent; }
  std::unique_ptr<RankLink> link(int rank) { return std::make_unique<Link>(*this, rank); }

 private:
  struct Box {
    std::mutex lock;
    std::deque<RankLink::Parcel> parcels;
    std::atomic<std::int64_t> sent{0};  // by the rank whose box this is
  };
  class Link : public RankLink {
   public:
    Link(LocalRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return ranks_.size(); }
    std::string host() const override { return "here"; }
    void send(int to, Kind kind, std::string_view bytes) override {
      Box& box = ranks_.boxes_[static_cast<std::size_t>(to)];
      std::lock_guard const guard(box.lock);
      box.parcels.push_back({rank_, kind, std::string(bytes)});
      if (kind == Kind::kMessage) ++ranks_.boxes_[static_cast<std::size_t>(rank_)].sent;
    }
    std::int64_t unsent() override { return 0; }
    std::optional<Parcel> receive() override {
      Box& box = ranks_.boxes_[static_cast<std::size_t>(rank_)];
      std::lock_guard const guard(box.lock);
      if (box.parcels.empty()) return std::nullopt;
      Parcel parcel = std::move(box.parcels.front());
      box.parcels.pop_front();
      return parcel;
    }
    void abort(ExitCode) override {}
    void close() override {}

   private:
    LocalRanks& ranks_;
    int rank_;
  };
  std::vector<Box> boxes_;
};

/// How the work of a rank has ended; code kOk where it returned.
struct RankEnd {
  ExitCode code = ExitCode::kOk;
  std::string what;
  bool echo = false;      // of another rank's failure
  std::int64_t sent = 0;  // messages
};

/// Calls work(ranks) on so many ranks at once; [ranks] how they ended. An Error is told to the
/// others, as the command does.
std::vector<RankEnd> run_ranks(int size, std::function<void(Ranks&)> const& work);

}  // namespace fairlane
