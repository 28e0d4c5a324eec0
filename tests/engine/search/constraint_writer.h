// Random constraints for the domains of small subjects.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

#include "tests/engine/search/small_subject.h"

namespace fairlane {

/// Draws the `constraints` of a domain whose attribute k has `ranges[k]` codes from k - 2 on.
class ConstraintWriter {
 public:
  ConstraintWriter(SmallShape const& shape, std::mt19937& random)
      : shape_(shape), random_(random) {}

  std::string section(int count) {
    std::string text = "constraints:\n";
    for (int i = 0; i < count; ++i) text += "  - " + one() + "\n";
    return text;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  int attribute() { return below(static_cast<int>(shape_.ranges.size())); }
  int code(int a) { return a - 2 + below(shape_.ranges[static_cast<std::size_t>(a)]); }

  std::string condition(int a) {
    switch (below(4)) {
      case 0:
        return fmt::format("a{}: {}", a, code(a));
      case 1:
        return fmt::format("a{}: {{at_least: {}}}", a, code(a));
      case 2:
        return fmt::format("a{}: {{not: {}}}", a, code(a));
      default:
        return fmt::format("a{}: {{at_most: {}}}", a, code(a));
    }
  }
  std::string one() {
    int const a = attribute();
    int const n = static_cast<int>(shape_.ranges.size());
    int const b = (a + 1 + below(n - 1)) % n;
    switch (below(3)) {
      case 0:
        return fmt::format("{{from_data: [a{}, a{}]}}", a, b);
      case 1:
        return fmt::format("{{sum: {{a{}: {}, a{}: -1}}, at_most: {}}}", a, 1 + below(2), b,
                           below(5) - 1);
      default:
        return fmt::format("{{if: {{{}}}, then: {{{}}}}}", condition(a), condition(b));
    }
  }

  SmallShape const& shape_;
  std::mt19937& random_;
};

}  // namespace fairlane
