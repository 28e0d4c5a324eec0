// gpusim_selftest CASE: see selftest_test.py.
#include "tests/gpusim/selftest/cases.h"

int main(int argc, char** argv) {
  using fairlane::gpusim::Case;
  std::string const wanted = argc > 1 ? argv[1] : "";
  for (auto const& cases : {fairlane::gpusim::right_cases(), fairlane::gpusim::warp_cases(),
                            fairlane::gpusim::runtime_cases(), fairlane::gpusim::faulty_cases()}) {
    for (Case const& one : cases) {
      if (wanted.empty()) std::printf("%s\n", one.name);
      if (wanted != one.name) continue;
      bool const right = one.run();
      std::printf("%s\n", right ? "right" : "wrong");
      return right ? 0 : 1;
    }
  }
  return wanted.empty() ? 0 : 1;
}
