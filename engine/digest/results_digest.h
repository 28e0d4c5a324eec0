// What a directory of results says, read back for a page: bounded in size, whatever the results'.
#pragma once

#include <string>

#include "base/error.h"
#include "base/formats/json.h"

namespace fairlane {

/// Where the files of a result lie.
/// files  the directory that has them; of a command that is still writing, its temporary one
/// dir    the output directory, to which the manifest's paths are relative
struct ResultsPlace {
  std::string files;
  std::string dir;
};

/// Reads a directory of run, enumerate, estimate, compare, verify, retrain, sweep or audit, row by
/// row where it has many, into:
///   name        the directory as it was given; empty where it is the only one
///   command     that wrote it
///   finished    whether it has DONE
///   manifest    manifest.json; of a sweep its plan.json
///   summary     the command's own JSON: summary.json, estimate.json, compare.json, sweep.json ...
///   decision    `label`: what is decided, `classes` as in audit.json
///   words       why values stand as codes; empty where they have words
///   attributes  names in the domain's order
///   value_words  of each protected `attribute` the `words` of its codes
///   findings    of instances: `count`; `values`: for each attribute its `tiles`, how many findings
///               have a value or one of a range; `directions`; `pairs` as audit.json's findings,
///               with `pair_difference` instead of `severity`. Absent: the directory has none
///   values      of enumerate: same as `tiles`, of profiles, with `of` how many there are
///   cells       of verify: `shown` of `count`, `pairs`: examples
///   seeds       of a trace: how many there are, how many `found` one, by number of `tests`
/// Throws Error(kNoInput | kData | kIntegrity).
Json results_digest(ResultsPlace const& place, std::string const& name = {});

/// Error(kData) "WHERE: is no result of this program: why". where: a path
Error no_result(std::string const& where, JsonError const& why);

}  // namespace fairlane
