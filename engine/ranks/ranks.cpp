#include "engine/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/sha256.h"
#include "base/text.h"

namespace fairlane {
namespace {

// Waiting looks often at first and then seldom, so that an idle rank leaves its core to others.
constexpr int kEagerLooks = 200;
constexpr std::chrono::microseconds kShortSleep{20};
constexpr std::chrono::microseconds kLongSleep{1000};
constexpr std::int64_t kMostUnsent = std::int64_t{64} << 20;  // bytes of an exchange on their way

// First byte of a part of an exchange.
constexpr char kMore = '\1';
constexpr char kLast = '\0';

}  // namespace

Ranks::Ranks(RankLink& link, std::atomic<bool> const* stop)
    : link_(link),
      stop_(stop),
      rank_(link.rank()),
      size_(link.size()),
      parts_(static_cast<std::size_t>(size_)),
      failures_(static_cast<std::size_t>(size_)) {}

bool Ranks::take_parcels() {
  bool any = false;
  while (auto parcel = link_.receive()) {
    any = true;
    switch (parcel->kind) {
      case RankLink::Kind::kMessage:
        messages_.push_back({parcel->from, std::move(parcel->bytes)});
        break;
      case RankLink::Kind::kCollective:
        parts_[static_cast<std::size_t>(parcel->from)].push_back(std::move(parcel->bytes));
        break;
      case RankLink::Kind::kEnd: {
        std::int32_t words[2] = {};
        std::memcpy(words, parcel->bytes.data(), sizeof words);
        failures_[static_cast<std::size_t>(parcel->from)] = {
            parcel->from, static_cast<ExitCode>(words[0]), words[1] != 0,
            parcel->bytes.substr(sizeof words)};
      }
    }
  }
  return any;
}

template <class Ready>
void Ranks::wait_until(Ready const& ready) {
  for (int looks = 0; !ready(); ++looks) {
    if (take_parcels()) {
      looks = 0;
      continue;
    }
    check_failures();
    if (asked_to_stop()) throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
    std::this_thread::sleep_for(looks < kEagerLooks ? kShortSleep : kLongSleep);
  }
}

void Ranks::check_failures() {
  for (auto const& failure : failures_) {
    if (!failure || failure->asked) continue;
    echoes_ = true;
    throw Error(failure->code, fmt::format("rank {}: {}", failure->rank, failure->what));
  }
}

bool Ranks::asked_to_stop() const {
  return (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) ||
         std::ranges::any_of(failures_,
                             [](auto const& failure) { return failure && failure->asked; });
}

void Ranks::flush() {
  wait_until([&] { return link_.unsent() == 0; });
}

std::optional<RankMessage> Ranks::poll() {
  take_parcels();
  if (messages_.empty()) {
    check_failures();
    return std::nullopt;
  }
  RankMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

RankMessage Ranks::wait() {
  wait_until([&] { return !messages_.empty(); });
  return *poll();
}

std::string Ranks::wait_from(int rank) {
  auto found = messages_.end();
  wait_until([&] {
    found = std::ranges::find(messages_, rank, &RankMessage::from);
    return found != messages_.end();
  });
  std::string bytes = std::move(found->bytes);
  messages_.erase(found);
  return bytes;
}

std::string Ranks::next_part(int from) {
  auto& queue = parts_[static_cast<std::size_t>(from)];
  wait_until([&] { return !queue.empty(); });
  std::string bytes = std::move(queue.front());
  queue.pop_front();
  return bytes;
}

void Ranks::send_all(std::string_view bytes) {
  for (int to = 0; to < size_; ++to) {
    if (to != rank_) link_.send(to, RankLink::Kind::kCollective, bytes);
  }
}

std::vector<std::string> Ranks::gather(std::string_view bytes) {
  if (!is_first()) {
    link_.send(0, RankLink::Kind::kCollective, bytes);
    flush();
    return {};
  }
  std::vector<std::string> all(static_cast<std::size_t>(size_));
  all[0] = bytes;
  for (int from = 1; from < size_; ++from) all[static_cast<std::size_t>(from)] = next_part(from);
  return all;
}

std::vector<std::string> Ranks::gather_on_all(std::string_view bytes) {
  send_all(bytes);
  std::vector<std::string> all(static_cast<std::size_t>(size_));
  for (int from = 0; from < size_; ++from)
    all[static_cast<std::size_t>(from)] = from == rank_ ? std::string(bytes) : next_part(from);
  flush();
  return all;
}

std::string Ranks::broadcast(std::string_view bytes) {
  if (!is_first()) return next_part(0);
  send_all(bytes);
  flush();
  return std::string(bytes);
}

void Ranks::barrier() {
  gather({});
  broadcast({});
}

void Ranks::exchange(std::function<void(SendPart const&)> const& give, TakePart const& take) {
  std::vector<bool> ended(static_cast<std::size_t>(size_), false);
  ended[static_cast<std::size_t>(rank_)] = true;
  // Parts behind a rank's last one belong to what all ranks do next.
  auto const take_parts = [&] {
    for (int from = 0; from < size_; ++from) {
      auto& queue = parts_[static_cast<std::size_t>(from)];
      while (!ended[static_cast<std::size_t>(from)] && !queue.empty()) {
        std::string part = std::move(queue.front());
        queue.pop_front();
        bool const more = part.front() == kMore;
        ended[static_cast<std::size_t>(from)] = !more;
        if (more) take(from, part.erase(0, 1));
      }
    }
  };
  give([&](int to, std::string_view bytes) {
    if (to == rank_) return take(rank_, std::string(bytes));
    std::string part(1, kMore);
    link_.send(to, RankLink::Kind::kCollective, part.append(bytes));
    wait_until([&] {
      take_parts();
      return link_.unsent() <= kMostUnsent;
    });
  });
  send_all(std::string_view(&kLast, 1));
  wait_until([&] {
    take_parts();
    return link_.unsent() == 0 && std::ranges::all_of(ended, [](bool end) { return end; });
  });
}

void Ranks::tell_failure(ExitCode code, bool asked, std::string const& what) {
  std::int32_t const words[2] = {static_cast<std::int32_t>(code), asked ? 1 : 0};
  std::string bytes(reinterpret_cast<char const*>(words), sizeof words);
  bytes += what;
  for (int to = 0; to < size_; ++to) {
    if (to != rank_) link_.send(to, RankLink::Kind::kEnd, bytes);
  }
}

std::vector<std::optional<RankFailure>> const& Ranks::failures() {
  take_parcels();
  return failures_;
}

void require_same(Ranks& ranks, std::string const& text, char const* what) {
  auto const texts = ranks.gather_on_all(sha256(text));
  auto const hosts = ranks.gather_on_all(ranks.host());
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    throw Error(ExitCode::kIntegrity,
                fmt::format("rank {} on {} has other {} than rank 0 on {}; expected the same "
                            "program and the same files everywhere",
                            rank, escaped(hosts[rank]), what, escaped(hosts[0])));
  }
}

}  // namespace fairlane
