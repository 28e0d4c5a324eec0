// mpi_messages BYTES: ranks of MPI gather, broadcast, exchange, and send BYTES round in a ring at
// the same time; started by mpi_messages_test.py. Prints "fine" on rank 0.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/ranks/mpi_link.h"

namespace {

using fairlane::Ranks;

int check(bool fine, char const* what) {
  if (fine) return 0;
  std::fprintf(stderr, "mpi_messages: %s\n", what);
  return 1;
}

/// Bytes that tell who sent them, and where each thousand of them belongs.
std::string bytes_of(int rank, std::size_t count) {
  constexpr std::size_t kEach = 1000;
  std::string bytes(count, static_cast<char>('a' + rank));
  for (std::size_t i = 0; i + sizeof i <= count; i += kEach) std::memcpy(&bytes[i], &i, sizeof i);
  return bytes;
}

int work(Ranks& ranks, std::size_t count) {
  int wrong = 0;
  int const size = ranks.size();
  auto const all = ranks.gather_on_all(std::to_string(ranks.rank()));
  for (int r = 0; r < size; ++r)
    wrong += check(all[static_cast<std::size_t>(r)] == std::to_string(r), "gather_on_all");
  wrong += check(!ranks.host().empty(), "host");

  // Everybody sends before anybody takes: nothing may wait for the other in a ring.
  int const next = (ranks.rank() + 1) % size;
  int const last = (ranks.rank() + size - 1) % size;
  {
    std::string const own = bytes_of(ranks.rank(), count);
    ranks.send(next, own);
    ranks.send(next, "small");
  }
  std::string const taken = ranks.wait_from(last);
  wrong += check(taken == bytes_of(last, count), "a large message has changed");
  wrong += check(ranks.wait_from(last) == "small", "a small message came before a large one");
  ranks.flush();

  std::size_t parts = 0;
  std::size_t bytes = 0;
  ranks.exchange(
      [&](Ranks::SendPart const& send) {
        std::string const part = bytes_of(ranks.rank(), std::size_t{1} << 20);
        for (int i = 0; i < 100; ++i) send(i % size, part);
      },
      [&](int from, std::string const& part) {
        ++parts;
        bytes += part.size();
        wrong += check(part == bytes_of(from, std::size_t{1} << 20), "a part has changed");
      });
  std::size_t expected = 0;
  for (int i = 0; i < 100; ++i) expected += i % size == ranks.rank() ? 1U : 0U;
  wrong += check(parts == expected * static_cast<std::size_t>(size), "parts are missing");
  wrong += check(bytes == parts << 20, "bytes are missing");

  auto const sum = ranks.gather(std::to_string(wrong));
  int total = 0;
  for (auto const& text : sum) total += std::atoi(text.c_str());
  if (ranks.is_first() && total == 0) std::printf("fine\n");
  ranks.barrier();
  return total == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    auto const link = fairlane::make_mpi_link();
    Ranks ranks(*link);
    int const code = work(ranks, argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000);
    link->close();
    return code;
  } catch (fairlane::Error const& error) {
    std::fprintf(stderr, "mpi_messages: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
