// A kernel ready to be executed, and the translation unit that it is of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpusim/instruction.h"
#include "tests/gpusim/tokens.h"

namespace fairlane::gpusim {

class DeviceMemory;
struct KernelCost;
struct Module;

/// Special registers that are rows of 32-bit values, in the order of kSpecialNames.
enum Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaX,
  kCtaY,
  kCtaZ,
  kNctaX,
  kNctaY,
  kNctaZ,
  kLaneId,
  kWarpId,
  kMaskEq,
  kMaskLt,
  kMaskLe,
  kMaskGt,
  kMaskGe,
  kSmId,
  kNsmId,
  kGridWorkspaceHigh,
  kGridWorkspaceLow,
  kDynamicShared,
  kSpecials
};
/// What PTX calls them; the last has no name there: where a block's dynamic shared memory begins.
extern char const* const kSpecialNames[kSpecials];

struct ParameterPlace {
  std::uint32_t off = 0;
  std::uint32_t size = 0;
};

/// code              its instructions, then those of the functions that it calls
/// places            of the source, "file:line", innermost first
/// constants         rows of 32 equal values
/// parameter_memory  of the launch under way
/// predicates        how many; the first is false, the second true
/// special           where rows of special registers lie in the registers
/// target            the architecture whose PTX it is, such as 90
/// touched           [instructions] whether it was ever executed
struct Kernel {
  Kernel();
  ~Kernel();
  Kernel(Kernel const&) = delete;
  Kernel& operator=(Kernel const&) = delete;

  std::string name;
  std::string pretty;
  Module* module = nullptr;
  std::vector<Instruction> code;
  std::vector<std::string> places;
  std::vector<ParameterPlace> parameters;
  std::uint32_t parameter_bytes = 0;
  std::unique_ptr<std::uint8_t[]> parameter_memory;
  std::uint32_t register_bytes = 0;
  std::uint32_t predicates = 2;
  std::vector<std::uint8_t> constants;
  std::uint32_t static_shared = 0;
  std::uint32_t local_bytes = 0;
  int max_threads = 1024;
  int dynamic_limit = 48 << 10;
  bool fences = false;
  bool decoded = false;
  std::uint32_t special[kSpecials] = {};

  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;
  std::uint64_t instructions = 0;
  std::uint64_t lane_instructions = 0;
  std::vector<std::uint8_t> touched;
  std::unique_ptr<KernelCost> cost;  // where costs are counted
};

/// Where the tokens of a function stand: [begin, end).
struct Body {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t parameters = 0;
  std::size_t parameters_end = 0;
  std::size_t results = 0;
  std::size_t results_end = 0;
  std::size_t directives = 0;
};

/// The PTX of one translation unit. Its text is read when a kernel of it is first asked for, a
/// kernel's instructions when it is first launched.
struct Module {
  explicit Module(DeviceMemory& device_memory) : memory(device_memory) {}

  /// The kernel that PTX calls so; null where there is none.
  Kernel* find(std::string const& name);
  /// Address of a variable at the level of the module; 0 where there is none.
  std::uint64_t address_of(std::string const& name);
  void decode(Kernel& kernel);

  DeviceMemory& memory;
  std::string text;
  int target = 0;  // of .target sm_NN
  bool parsed = false;
  std::vector<Token> tokens;
  std::map<std::string, Body> bodies;
  std::map<int, std::string> files;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<std::string, std::uint64_t> globals;
  std::vector<std::string> dynamic_shared;
};

/// Ends the process where PTX says something that the simulator does not know.
[[noreturn]] void stop(std::string const& what);

}  // namespace fairlane::gpusim
