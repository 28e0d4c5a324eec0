// The demo's files, compiled in: `fairlane demo` needs nothing beside the binary.
#pragma once

#include <span>
#include <string_view>

namespace fairlane {

/// Bytes of a file of configs/demo, named by its path in there; they live as long as the program.
/// Throws Error(kBug) if there is none of that name.
std::span<unsigned char const> embedded_file(std::string_view name);

}  // namespace fairlane
