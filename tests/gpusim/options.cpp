#include "tests/gpusim/options.h"

#include <cstdlib>

namespace fairlane::gpusim {

namespace {

std::string text_of(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

long number_of(char const* name, long otherwise) {
  std::string const text = text_of(name);
  return text.empty() ? otherwise : std::atol(text.c_str());
}

}  // namespace

Options options_of_environment() {
  Options const usual;
  Options options;
  options.random = number_of("GPUSIM_RANDOM", 0) != 0;
  options.race = number_of("GPUSIM_RACE", 0) != 0;
  options.init = number_of("GPUSIM_INIT", 1) != 0;
  options.seed = static_cast<std::uint64_t>(number_of("GPUSIM_SEED", 1));
  options.resident = static_cast<int>(number_of("GPUSIM_RESIDENT", usual.resident));
  options.multiprocessors = static_cast<int>(number_of("GPUSIM_SMS", usual.multiprocessors));
  options.shared = static_cast<int>(number_of("GPUSIM_SHARED", usual.shared));
  options.memory = static_cast<std::uint64_t>(number_of("GPUSIM_MEMORY_MIB", 1024)) << 20;
  options.devices = static_cast<int>(number_of("GPUSIM_DEVICES", usual.devices));
  options.lazy = number_of("GPUSIM_LAZY", 1) != 0;
  options.host = number_of("GPUSIM_HOST", 0) != 0;
  if (options.host) options.lazy = false;  // the host need not wait for what is its own
  options.verbose = number_of("GPUSIM_VERBOSE", 0) != 0;
  options.cost = text_of("GPUSIM_COST");
  options.far = static_cast<unsigned>(number_of("GPUSIM_FAR", usual.far));
  options.report = text_of("GPUSIM_REPORT");
  return options;
}

}  // namespace fairlane::gpusim
