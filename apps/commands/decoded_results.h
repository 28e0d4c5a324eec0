// The results of a command in words.
#pragma once

#include <string>
#include <vector>

namespace fairlane {

class Console;

/// Writes the tables of an output directory, and findings that are arrays, as CSV files in words
/// into a new directory, which appears under its name complete or not at all; one that is there is
/// replaced where it holds nothing else. domain: its file, or empty: the one that the manifest names, unchanged since.
/// Returns the written files. Throws Error(kNoInput | kData | kOutput | kDisk).
std::vector<std::string> decode_results(std::string const& dir, std::string const& domain,
                                        std::string const& out, Console const& console);

}  // namespace fairlane
