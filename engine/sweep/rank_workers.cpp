#include "engine/sweep/rank_workers.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"

namespace fairlane {
namespace {

// The first byte of a message; what follows is a line of worker.h, or text.
constexpr char kRequest = 'r';
constexpr char kInterrupt = 'i';
constexpr char kEnd = 'e';
constexpr char kReply = 'a';
constexpr char kDoing = 'd';

constexpr double kDoingSeconds = 1.0;  // between two lines of progress
constexpr std::chrono::milliseconds kServePause{5};

}  // namespace

/// The worker on a rank, as rank 0 has it.
class RankCrew::Worker final : public SweepWorker {
 public:
  Worker(RankCrew& crew, int rank) : crew_(crew), rank_(rank) {}

  void start(std::vector<std::string> const& words, int threads) override {
    post().doing.clear();
    crew_.ranks_.send(rank_, kRequest + worker_request_line(words, threads));
  }
  std::optional<WorkerReply> poll() override {
    crew_.take_messages();
    if (post().replies.empty()) return std::nullopt;
    std::string const line = std::move(post().replies.front());
    post().replies.pop_front();
    return worker_reply(line);
  }
  void interrupt() override { crew_.ranks_.send(rank_, std::string(1, kInterrupt)); }
  std::string doing() const override { return crew_.posts_[static_cast<std::size_t>(rank_)].doing; }
  int descriptor() const override { return -1; }

 private:
  Post& post() { return crew_.posts_[static_cast<std::size_t>(rank_)]; }

  RankCrew& crew_;
  int rank_;
};

RankCrew::RankCrew(Ranks& ranks) : ranks_(ranks), posts_(static_cast<std::size_t>(ranks.size())) {}

std::unique_ptr<SweepWorker> RankCrew::worker(int rank) {
  return std::make_unique<Worker>(*this, rank);
}

void RankCrew::dismiss() {
  for (int rank = 1; rank < ranks_.size(); ++rank) ranks_.send(rank, std::string(1, kEnd));
  ranks_.flush();
}

void RankCrew::take_messages() {
  while (auto message = ranks_.poll()) {
    Post& post = posts_[static_cast<std::size_t>(message->from)];
    std::string text = message->bytes.substr(1);
    if (message->bytes[0] == kReply) {
      post.replies.push_back(std::move(text));
    } else {
      post.doing = std::move(text);
    }
  }
}

void serve_sweep(Ranks& ranks, SweepWorker& worker) {
  bool busy = false;
  Stopwatch since_doing;
  while (true) {
    bool idle = true;
    if (auto const message = ranks.poll()) {
      idle = false;
      char const kind = message->bytes[0];
      if (kind == kEnd) return;
      if (kind == kInterrupt) worker.interrupt();
      if (kind == kRequest) {
        Json const request = Json::parse(message->bytes.substr(1));
        worker.start(request.at("words").get<std::vector<std::string>>(),
                     request.at("threads").get<int>());
        busy = true;
      }
    }
    if (busy) {
      if (auto const reply = worker.poll()) {
        idle = false;
        busy = false;
        ranks.send(0, kReply + worker_reply_line(*reply));
      } else if (since_doing.seconds() >= kDoingSeconds) {
        since_doing = {};
        ranks.send(0, kDoing + worker.doing());
      }
    }
    if (idle) std::this_thread::sleep_for(kServePause);
  }
}

}  // namespace fairlane
