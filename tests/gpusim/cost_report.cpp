// The file of GPUSIM_COST.
#include <algorithm>
#include <cstdio>

#include "tests/gpusim/costs.h"

namespace fairlane::gpusim {

namespace {

constexpr char const* kClassNames[kCostClasses] = {
    "ffma",        "fadd_fmul",   "fp64",         "imad",        "integer",      "convert_special",
    "move",        "branch",      "sync",         "shared_load", "shared_store", "local_load",
    "local_store", "global_load", "global_store", "atomic",      "other"};
constexpr char const* kSumNames =
    "\"issue\", \"wavefronts_load\", \"wavefronts_store\", \"sectors_load\", \"sectors_store\", "
    "\"sectors_atomic\", \"generic_shared\"";
constexpr std::size_t kMostPlaces = 40;
constexpr std::size_t kPerLine = 16;

std::string quoted(std::string const& text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + "\"";
}

/// What goes before the n-th entry of a list that has kPerLine on a line.
char const* comma(std::size_t n, char const* on_a_line, char const* at_its_end) {
  return n == 0 ? "" : n % kPerLine == 0 ? at_its_end : on_a_line;
}

void write_sums(std::FILE* f, Sums const& sums) {
  for (std::size_t s = 0; s < sums.size(); ++s) {
    std::fprintf(f, "%s%lu", s == 0 ? "" : ", ", sums[s]);
  }
}

/// Per line of the PTX: how often it was executed, and for how many cycles.
void write_lines(std::FILE* f, Kernel const& k) {
  bool first = true;
  for (std::size_t n = 0; n < k.code.size(); ++n) {
    if (k.cost->executed[n] == 0) continue;
    std::fprintf(f, "%s[%d, %lu, %lu]", first ? "" : comma(n, ", ", ",\n  "), k.code[n].line,
                 k.cost->executed[n], k.cost->cycles[n]);
    first = false;
  }
}

/// The places of the source where warps spend most.
void write_places(std::FILE* f, Kernel const& k) {
  struct Spent {
    std::uint64_t executed = 0;
    std::uint64_t cycles = 0;
  };
  std::map<std::string, Spent> spent;
  for (std::size_t n = 0; n < k.code.size(); ++n) {
    Spent& here = spent[k.places[k.code[n].where]];
    here.executed += k.cost->executed[n];
    here.cycles += k.cost->cycles[n];
  }
  std::vector<std::pair<std::uint64_t, std::string>> most;
  for (auto const& [place, here] : spent) most.emplace_back(here.cycles, place);
  std::sort(most.rbegin(), most.rend());
  most.resize(std::min(most.size(), kMostPlaces));
  for (std::size_t n = 0; n < most.size(); ++n) {
    auto const& [cycles, place] = most[n];
    std::fprintf(f, "%s\n  [%s, %lu, %lu]", n == 0 ? "" : ",", quoted(place).c_str(),
                 spent[place].executed, cycles);
  }
}

void write_launches(std::FILE* f, KernelCost const& c) {
  for (std::size_t n = 0; n < c.launches.size(); ++n) {
    LaunchCost const& launch = c.launches[n];
    std::fprintf(f, "%s\n  [%u, %u, %u, %ld, %ld, %u, %lu, %lu, %lu, ", n == 0 ? "" : ",",
                 launch.grid, launch.threads, launch.shared, launch.items, launch.most,
                 launch.per_step, launch.longest, launch.critical, launch.critical_far);
    write_sums(f, launch.sums);
    std::fprintf(f, "]");
  }
}

void write_kernel(std::FILE* f, Kernel const& k, std::uint64_t index) {
  KernelCost const& c = *k.cost;
  std::uint64_t instructions = 0;
  std::uint64_t lanes = 0;
  for (std::size_t n = 0; n < kCostClasses; ++n) {
    instructions += c.sums[n];
    lanes += c.lanes[n];
  }
  std::uint64_t longest = 0;
  std::uint64_t critical = 0;
  for (auto const& launch : c.launches) {
    longest = std::max(longest, launch.longest);
    critical = std::max(critical, launch.critical);
  }
  double const per_instruction =
      instructions == 0 ? 0.0 : static_cast<double>(lanes) / static_cast<double>(instructions);
  std::fprintf(f, "{\"id\": %lu, \"symbol\": %s, \"name\": %s,\n", index, quoted(k.name).c_str(),
               quoted(k.pretty).c_str());
  std::fprintf(f,
               " \"launches\": %zu, \"blocks\": %lu, \"warps\": %lu, \"warp_instructions\": %lu, "
               "\"lanes_per_instruction\": %.2f, \"longest_warp\": %lu, "
               "\"longest_warp_cycles\": %lu,\n \"sums\": [",
               c.launches.size(), k.blocks, c.warps, instructions, per_instruction, longest,
               critical);
  write_sums(f, c.sums);
  std::fprintf(f, "],\n \"lines\": [");
  write_lines(f, k);
  std::fprintf(f, "],\n \"source\": [");
  write_places(f, k);
  std::fprintf(f, "],\n \"rows\": [");
  write_launches(f, c);
  std::fprintf(f, "]}");
}

}  // namespace

void Costs::write(std::string const& path) {
  std::FILE* const f = std::fopen(path.c_str(), "w");
  if (f == nullptr) {
    std::perror(("gpusim: " + path).c_str());
    return;
  }
  std::fprintf(f, "{\"multiprocessors\": %d,\n\"columns\": [", options_.multiprocessors);
  for (auto const* const name : kClassNames) std::fprintf(f, "\"%s\", ", name);
  std::fprintf(f, "%s],\n\"kernels\": [", kSumNames);
  char const* before = "\n";
  for (Kernel const* const kernel : kernels_) {
    std::fprintf(f, "%s", before);
    before = ",\n";
    write_kernel(f, *kernel, index_of(*kernel));
  }
  std::fprintf(f,
               "],\n\"row_head\": [\"grid\", \"threads\", \"shared\", \"items\", \"most\", "
               "\"per_step\", \"longest\", \"critical\", \"critical_far\"],\n\"calls\": {");
  before = "\n ";
  for (auto const& [name, count] : calls_) {
    std::fprintf(f, "%s%s: %lu", before, quoted(name).c_str(), count);
    before = ",\n ";
  }
  std::fprintf(f, "},\n\"trace\": [");
  for (std::size_t n = 0; n < trace_.size(); ++n) {
    std::fprintf(f, "%s[\"%c\",%lu]", comma(n, ",", ",\n"), trace_[n].kind, trace_[n].value);
  }
  std::fprintf(f, "]}\n");
  std::fclose(f);
}

}  // namespace fairlane::gpusim
