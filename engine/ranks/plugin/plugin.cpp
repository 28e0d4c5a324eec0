// The MPI plug-in: messages of any size between the ranks of MPI_COMM_WORLD.
//
// A message is a head (its size, its kind, and its bytes where they are few) and, where they are
// not, parts of at most 1 GiB, since MPI counts with int.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/ranks/mpi_plugin_api.h"

namespace fairlane {
namespace {

constexpr int kHeadTag = 1;
constexpr int kPartTag = 2;
constexpr std::int64_t kLargestPart = std::int64_t{1} << 30;
constexpr std::int64_t kMostInHead = 32768;  // bytes of a message that need no part of their own

struct Head {
  std::int64_t bytes;
  std::int32_t kind;
  std::int32_t unused;  // no padding: sent as bytes
};

/// A message on its way to a rank.
struct Outgoing {
  std::string head;
  std::string rest;
  std::vector<MPI_Request> requests;
};

/// A message on its way from a rank.
struct Incoming {
  std::int32_t kind = 0;
  std::string bytes;
  std::vector<MPI_Request> requests;
};

struct State {
  MPI_Comm world = MPI_COMM_NULL;
  std::deque<std::unique_ptr<Outgoing>> outgoing;
  std::vector<std::deque<std::unique_ptr<Incoming>>> incoming;  // [ranks] in their order
  std::size_t next = 0;             // rank whose message is looked at first
  std::unique_ptr<Incoming> taken;  // what receive() has told of
};

State& state() {
  static State* const state = new State;  // outlives what runs at the process's end
  return *state;
}

/// Puts MPI's own words for a result at `problem`.
std::int32_t failed(char const* call, int result, MpiProblem problem) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, words, &length);
  std::string const text = std::string(call) + ": " + words;
  auto const shown =
      std::min<std::int64_t>(problem.room - 1, static_cast<std::int64_t>(text.size()));
  std::memcpy(problem.text, text.data(), static_cast<std::size_t>(shown));
  problem.text[shown] = '\0';
  return -1;
}

#define FL_MPI(call)                                                                      \
  if (int const result = call; result != MPI_SUCCESS) {                                   \
    return failed(std::string(#call, std::strcspn(#call, "(")).c_str(), result, problem); \
  }                                                                                       \
  static_assert(true)

std::int32_t init(MpiProblem problem) {
  int provided = 0;
  FL_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  State& s = state();
  FL_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &s.world));
  FL_MPI(MPI_Comm_set_errhandler(s.world, MPI_ERRORS_RETURN));
  int size = 0;
  FL_MPI(MPI_Comm_size(s.world, &size));
  s.incoming.resize(static_cast<std::size_t>(size));
  return 0;
}

std::int32_t rank() {
  int number = 0;
  MPI_Comm_rank(state().world, &number);
  return number;
}

std::int32_t size() { return static_cast<std::int32_t>(state().incoming.size()); }

void host(char* text, std::int64_t room) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(name, &length);
  auto const shown = std::min<std::int64_t>(room - 1, length);
  std::memcpy(text, name, static_cast<std::size_t>(shown));
  text[shown] = '\0';
}

/// Calls each(offset, count) for the parts of so many bytes.
template <class Each>
int for_each_part(std::int64_t bytes, Each const& each) {
  for (std::int64_t at = 0; at < bytes; at += kLargestPart) {
    int const result = each(at, static_cast<int>(std::min(kLargestPart, bytes - at)));
    if (result != MPI_SUCCESS) return result;
  }
  return MPI_SUCCESS;
}

std::int32_t send(std::int32_t to, std::int32_t kind, char const* bytes, std::int64_t count,
                  MpiProblem problem) {
  State& s = state();
  auto out = std::make_unique<Outgoing>();
  Head const head = {count, kind, 0};
  out->head.assign(reinterpret_cast<char const*>(&head), sizeof head);
  bool const is_small = count <= kMostInHead;
  (is_small ? out->head : out->rest).append(bytes, static_cast<std::size_t>(count));
  auto const begin = [&](char const* from, int n, int tag) {
    out->requests.push_back(MPI_REQUEST_NULL);
    return MPI_Isend(from, n, MPI_BYTE, to, tag, s.world, &out->requests.back());
  };
  int result = begin(out->head.data(), static_cast<int>(out->head.size()), kHeadTag);
  if (result == MPI_SUCCESS && !is_small) {
    result = for_each_part(
        count, [&](std::int64_t at, int n) { return begin(out->rest.data() + at, n, kPartTag); });
  }
  s.outgoing.push_back(std::move(out));
  return result == MPI_SUCCESS ? 0 : failed("MPI_Isend", result, problem);
}

std::int64_t unsent(MpiProblem problem) {
  State& s = state();
  std::int64_t bytes = 0;
  std::deque<std::unique_ptr<Outgoing>> open;
  for (auto& out : s.outgoing) {
    int done = 0;
    FL_MPI(MPI_Testall(static_cast<int>(out->requests.size()), out->requests.data(), &done,
                       MPI_STATUSES_IGNORE));
    if (done != 0) continue;
    bytes += static_cast<std::int64_t>(out->head.size() + out->rest.size());
    open.push_back(std::move(out));
  }
  s.outgoing = std::move(open);
  return bytes;
}

/// Takes the heads that have come, and begins to receive what belongs to them.
std::int32_t take_heads(MpiProblem problem) {
  State& s = state();
  while (true) {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    FL_MPI(MPI_Improbe(MPI_ANY_SOURCE, kHeadTag, s.world, &there, &message, &status));
    if (there == 0) return 0;
    int count = 0;
    FL_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    auto in = std::make_unique<Incoming>();
    in->bytes.resize(static_cast<std::size_t>(count));
    FL_MPI(MPI_Mrecv(in->bytes.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    Head head;
    std::memcpy(&head, in->bytes.data(), sizeof head);
    in->kind = head.kind;
    in->bytes.erase(0, sizeof head);
    if (head.bytes > kMostInHead) {
      in->bytes.resize(static_cast<std::size_t>(head.bytes));
      int const result = for_each_part(head.bytes, [&](std::int64_t at, int n) {
        in->requests.push_back(MPI_REQUEST_NULL);
        return MPI_Irecv(in->bytes.data() + at, n, MPI_BYTE, status.MPI_SOURCE, kPartTag, s.world,
                         &in->requests.back());
      });
      if (result != MPI_SUCCESS) return failed("MPI_Irecv", result, problem);
    }
    s.incoming[static_cast<std::size_t>(status.MPI_SOURCE)].push_back(std::move(in));
  }
}

std::int32_t receive(MpiMessage* message, MpiProblem problem) {
  State& s = state();
  if (unsent(problem) < 0) return -1;
  if (take_heads(problem) < 0) return -1;
  for (std::size_t i = 0; i < s.incoming.size(); ++i) {
    std::size_t const from = s.next;
    s.next = (s.next + 1) % s.incoming.size();
    auto& queue = s.incoming[from];
    if (queue.empty()) continue;
    auto& requests = queue.front()->requests;
    int done = 0;
    FL_MPI(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                       MPI_STATUSES_IGNORE));
    if (done == 0) continue;
    s.taken = std::move(queue.front());
    queue.pop_front();
    *message = {static_cast<std::int32_t>(from), s.taken->kind,
                static_cast<std::int64_t>(s.taken->bytes.size())};
    return 1;
  }
  return 0;
}

void take(char* to) {
  State& s = state();
  std::memcpy(to, s.taken->bytes.data(), s.taken->bytes.size());
  s.taken.reset();
}

void abort(std::int32_t code) { MPI_Abort(MPI_COMM_WORLD, code); }

std::int32_t finalize(MpiProblem problem) {
  FL_MPI(MPI_Finalize());
  return 0;
}

constexpr MpiPlugin kPlugin = {kMpiPluginVersion, "MPI", init,  rank,    size, host, send, unsent,
                               receive,           take,  abort, finalize};

}  // namespace
}  // namespace fairlane

extern "C" __attribute__((visibility("default"))) void const* fairlane_mpi_plugin() {
  return &fairlane::kPlugin;
}
