// Small files that a command writes beside a run's results.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace fairlane {

/// Writes a whole file as write_whole_file() does, and its folder where there is none.
/// Throws Error(kOutput) when it cannot be created, Error(kDisk) when writing fails.
void write_text_file(std::string const& path, std::string_view text);
/// Same of what `fill` gives to its sink.
void write_text_file(std::string const& path, std::function<void(TextSink const&)> const& fill);

/// Throws Error(kOutput) where a directory or a device has the name of a file that is to be
/// written: a file would take its place.
void refuse_no_file(std::string const& path);
/// Throws that, too, where there is a file that does not begin like those that the command writes,
/// and would be lost.
/// kind  what those are, such as "a page of results"
void refuse_other_file(std::string const& path, std::string_view beginning, char const* kind);

/// Whether a path's name is that of a YAML file.
bool is_yaml(std::string const& path);

/// A path as it is written into a file of the folder `base`: relative to where that folder is,
/// also where links lead there.
std::string relative_path(std::string const& path, std::string const& base);

}  // namespace fairlane
