#include "base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fairlane {

std::string with_commas(std::int64_t value) {
  std::string text = fmt::format("{}", value);
  std::size_t const first = value < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string short_count(double value) {
  constexpr double kStep = 1000.0;
  constexpr char const* kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (std::fabs(value) >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= kStep;
    ++unit;
  }
  int const digits = unit == 0 || std::fabs(value) >= 99.5 ? 0 : 1;
  return fmt::format("{:.{}f}{}", value, digits, kUnits[unit]);
}

std::string percent(double share) {
  double const value = 100.0 * share;
  return fmt::format("{:.{}f} %", value, value != 0.0 && std::fabs(value) < 0.1 ? 3 : 1);
}

std::string fine_percent(double share) {
  constexpr double kSmall = 0.1;  // with two places nothing would be left of less
  double const value = 100.0 * share;
  if (value == 0.0 || value >= kSmall) return fmt::format("{:.2f} %", value);
  return value < kSmall * 0.01 ? fmt::format("{:.1e} %", value) : fmt::format("{:.4f} %", value);
}

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60.0;
  if (seconds < 10.0) return fmt::format("{:.2f} s", seconds);
  if (seconds < kMinute) return fmt::format("{:.1f} s", seconds);
  auto const whole = static_cast<std::int64_t>(std::min(seconds, 1e15));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", with_commas(whole / 3600), whole / 60 % 60);
}

std::string bytes_text(double bytes) {
  constexpr double kStep = 1024.0;
  constexpr char const* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= kStep && unit + 1 < std::size(kUnits)) {
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace fairlane
