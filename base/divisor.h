// Division by a number that is divided by often.
#pragma once

#include <cstdint>

namespace fairlane {

/// Quotient and remainder by a multiplication, where a division takes several times as long.
class Divisor {
 public:
  /// divisor  1 or more
  explicit Divisor(std::uint64_t divisor)
      : divisor_(divisor), inverse_(~std::uint64_t{0} / divisor) {}

  /// The quotient; x becomes the remainder.
  std::uint64_t divide(std::uint64_t& x) const {
    __extension__ using Wide = unsigned __int128;
    // The inverse was rounded down, so that the quotient may be one too small, never too large.
    auto quotient = static_cast<std::uint64_t>(Wide{x} * inverse_ >> 64);
    x -= quotient * divisor_;
    if (x >= divisor_) {
      x -= divisor_;
      ++quotient;
    }
    return quotient;
  }

 private:
  std::uint64_t divisor_;
  std::uint64_t inverse_;
};

}  // namespace fairlane
