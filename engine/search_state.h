// What all searches that can go on from a saved state have in common.
#pragma once

#include <functional>
#include <string>

#include "engine/search.h"

namespace fairlane {

/// A section with everything that the backend recorded and the findings took over.
void write_visits(CheckpointWriter& state, Saving const& saving, Backend& backend);
/// Gives an earlier session's visits to the findings.
void restore_visits(Saving const& saving);

/// Calls save(), which may fail while the search goes on: that is told, and the earlier state stays. A device that fails
/// ends the search.
void save_on_the_way(Saving& saving, std::function<void()> const& save);

/// What becomes of an error that ended the search: whether and where its state is saved.
/// save   saves once more where the user has stopped the search
/// saved  what the state on disk has done, such as "300 of 812 origins"; empty where there is none
[[noreturn]] void stop_search(Error const& error, Saving const& saving,
                              std::function<void()> const& save, std::string const& saved);

}  // namespace fairlane
