// What fairlane and its MPI plug-in say to each other: plain C types and one function table, so
// that fairlane links no MPI. The plug-in shares no other code with the rest.
//
// Anything that changes here, or means something else, takes a new kMpiPluginVersion.
#pragma once

#include <cstdint>

namespace fairlane {

inline constexpr std::uint32_t kMpiPluginVersion = 1;
inline constexpr char const* kMpiPluginFile = "fairlane_mpi.so";
inline constexpr char const* kMpiPluginSymbol = "fairlane_mpi_plugin";

/// A call that can fail returns a negative number, and puts a line at `problem`, of at most `room`
/// bytes.
struct MpiProblem {
  char* text;
  std::int64_t room;
};

/// kind  a number of the caller's, sent along
struct MpiMessage {
  std::int32_t from;
  std::int32_t kind;
  std::int64_t bytes;
};

/// One thread at a time. Messages of one rank to another arrive in the order in which they were
/// sent, of any size.
struct MpiPlugin {
  std::uint32_t version;  // kMpiPluginVersion, first in every version
  char const* name;       // of the library
  /// Once in a process, before everything else.
  std::int32_t (*init)(MpiProblem problem);
  std::int32_t (*rank)();
  std::int32_t (*size)();
  /// Name of the machine, cut to `room` bytes with the 0 at its end.
  void (*host)(char* text, std::int64_t room);
  /// Begins to send a copy of the bytes.
  std::int32_t (*send)(std::int32_t to, std::int32_t kind, char const* bytes, std::int64_t count,
                       MpiProblem problem);
  /// Goes on with what is on its way; bytes that are still to be sent.
  std::int64_t (*unsent)(MpiProblem problem);
  /// Goes on with what is on its way; 1: a message has come, 0: none. The next take() is its.
  std::int32_t (*receive)(MpiMessage* message, MpiProblem problem);
  /// The bytes of the message that receive() has told of, to `to`.
  void (*take)(char* to);
  /// Ends the processes of all ranks, of which mpirun returns the code.
  void (*abort)(std::int32_t code);
  /// After everything was sent and received. Waits for the other ranks.
  std::int32_t (*finalize)(MpiProblem problem);
};
using MpiPluginEntry = MpiPlugin const* (*)();

}  // namespace fairlane
