#include "engine/sweep/worker.h"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr int kCrashed = 128;  // added to a signal's number, as shells do
constexpr std::chrono::milliseconds kGrace{2000};

/// The number in "was ended by signal 11 (...)"; SIGABRT's where it ended otherwise.
int signal_in(std::string const& ended) {
  constexpr std::string_view kBefore = "signal ";
  std::size_t const at = ended.find(kBefore);
  int number = SIGABRT;
  if (at != std::string::npos)
    std::from_chars(ended.data() + at + kBefore.size(), ended.data() + ended.size(), number);
  return number;
}

}  // namespace

ChildWorker::ChildWorker(std::string name, std::vector<std::string> words, std::string folder)
    : name_(std::move(name)), words_(std::move(words)), folder_(std::move(folder)) {}

void ChildWorker::start(std::vector<std::string> const& words, int threads) {
  if (child_ == nullptr) {
    received_.clear();
    child_ = std::make_unique<ChildProcess>("sweep worker " + name_, words_, folder_);
  }
  busy_ = true;
  unsent_ = worker_request_line(words, threads);
  send_request();
}

void ChildWorker::send_request() {
  if (unsent_.empty()) return;
  // A pipe that nobody reads belongs to a process that is gone, which poll() notices.
  std::array<iovec, 1> const parts = {iovec{unsent_.data(), unsent_.size()}};
  unsent_.erase(0, child_->send(parts));
}

std::optional<WorkerReply> ChildWorker::poll() {
  if (!busy_ || child_ == nullptr) return std::nullopt;
  send_request();
  child_->keep_errors();
  std::array<char, 4096> bytes{};
  while (std::size_t const got = child_->receive(bytes.data(), bytes.size()))
    received_.append(bytes.data(), got);
  std::size_t const end = received_.find('\n');
  if (end == std::string::npos) {
    if (child_->output() >= 0) return std::nullopt;
    return lost();
  }
  std::string const line = received_.substr(0, end);
  received_.erase(0, end + 1);
  busy_ = false;
  try {
    return worker_reply(line);
  } catch (JsonError const&) {
    return lost();
  }
}

WorkerReply ChildWorker::lost() {
  WorkerReply reply;
  reply.crashed = true;
  auto const ended = child_->end(kGrace);
  reply.exit = kCrashed + (ended ? signal_in(*ended) : SIGKILL);
  reply.error = fmt::format("its process {}{}", ended.value_or("had to be ended"),
                            ended && reply.exit == kCrashed + SIGKILL ? "; out of memory?" : "");
  child_.reset();
  busy_ = false;
  return reply;
}

void ChildWorker::interrupt() {
  // Whoever stops us may have sent SIGTERM to it, too, and a second one would not let it save.
  if (child_ != nullptr && busy_) child_->signal(SIGHUP);
}

std::string ChildWorker::doing() const {
  if (child_ == nullptr || !busy_) return "";
  return child_->last_line();
}

int ChildWorker::descriptor() const { return child_ == nullptr ? -1 : child_->output(); }

WorkerReply worker_reply(std::string_view line) {
  Json const json = Json::parse(line);
  WorkerReply reply;
  reply.exit = json.at("exit").get<int>();
  reply.error = json.value("error", "");
  reply.machine = machine_of(json.at("machine"));
  return reply;
}

std::string worker_reply_line(WorkerReply const& reply) {
  Json json;
  json["exit"] = reply.exit;
  json["error"] = reply.error;
  json["machine"] = machine_json(reply.machine);
  return json.dump() + "\n";
}

std::string worker_request_line(std::vector<std::string> const& words, int threads) {
  Json json;
  json["words"] = words;
  json["threads"] = threads;
  return json.dump() + "\n";
}

}  // namespace fairlane
