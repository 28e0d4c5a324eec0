// What each command's results say in words, a row for each command, and what the rows share.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "engine/report/results_words.h"

namespace fairlane::report {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// The words for one command's results; each function takes a digest.
struct CommandWords {
  char const* command;
  ResultVerdict (*verdict)(Json const&);
  std::vector<ShareLine> (*shares)(Json const&);
  Facts (*counts)(Json const&);
  std::vector<std::string> (*limits)(Json const&);
};

/// A number of the JSON at a path, in words and as it is; 0 where it is absent.
std::string count_at(Json const& json, std::string_view path);
std::int64_t whole_at(Json const& json, std::string_view path);
double share_at(Json const& json, std::string_view path);
/// Which part of the domain was looked at: "with age 1 to 2"; empty: all of it.
std::string region_words(Json const& digest);
/// "1.00 % to 2.00 % with 95 % confidence". confidence: may be null
std::string interval_words(double low, double high, Json const* confidence);
ShareLine share_line(std::string of, double low, double middle, double high, std::string detail);
/// A share with its interval as the JSON has it. basis: of what it is known
ShareLine share_line(std::string of, Json const& share, Json const* confidence,
                     std::string const& basis);
/// `domain_share` of a run, or of a model that was retrained.
ShareLine domain_share_line(std::string const& of, Json const& share);
/// "With nothing changed but age".
std::string changes_with(Json const& digest);
/// Adds what undefined outputs leave open.
void add_undefined(Json const& summary, std::vector<std::string>& limits);

}  // namespace fairlane::report
