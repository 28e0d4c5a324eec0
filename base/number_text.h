// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace fairlane {

/// "1,234,567".
std::string with_commas(std::int64_t value);
/// "1.2 M", "830".
std::string short_count(double value);
/// "12.3 %".
std::string percent(double share);
/// "12.34 %", for shares that are held against each other.
std::string fine_percent(double share);
/// "0.02 s", "3.1 s", "12 min 5 s".
std::string seconds_text(double seconds);
/// "6.2 KiB".
std::string bytes_text(double bytes);

}  // namespace fairlane
