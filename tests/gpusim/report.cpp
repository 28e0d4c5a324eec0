// The file of GPUSIM_REPORT: kernels, and what was complained about.
#include <cstdio>
#include <numeric>
#include <string>

#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

void Machine::report() {
  if (!options.cost.empty()) costs.write(options.cost);
  if (options.report.empty()) return;
  std::string text;
  for (Kernel const* const k : used_) {
    auto const touched = std::accumulate(k->touched.begin(), k->touched.end(), std::size_t{0});
    text += "kernel\t" + k->pretty + "\t" + std::to_string(k->launches) + " launches\t" +
            std::to_string(k->blocks) + " blocks\t" + std::to_string(k->threads) + " threads\t" +
            std::to_string(k->instructions) + " warp instructions\t" +
            std::to_string(k->lane_instructions) + " lane instructions\t" +
            std::to_string(touched) + " of " + std::to_string(k->code.size()) +
            " instructions reached\n";
  }
  for (auto const& [what, count] : complaints.counts()) {
    text += "complaint\t" + std::to_string(count) + "\t" + what + "\n";
  }
  // Written at once: several processes may append to the file.
  std::FILE* const file = std::fopen(options.report.c_str(), "a");
  if (file == nullptr) {
    std::perror(("gpusim: " + options.report).c_str());
    return;
  }
  std::setvbuf(file, nullptr, _IOFBF, text.size() + 1);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
}

}  // namespace fairlane::gpusim
