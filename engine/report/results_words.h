// What the results of a command say, in the words of their page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "engine/report/audit_words.h"

namespace fairlane::report {

/// "Decisions differ", and a sentence or two.
struct ResultVerdict {
  std::string title;
  std::string text;
};
/// digest  of results_digest()
ResultVerdict verdict_of(Json const& digest);
/// Shares, as exactly as they are known; none where the command tells none.
std::vector<ShareLine> shares_of(Json const& digest);
/// Counts: what, and how many.
std::vector<std::pair<std::string, std::string>> counts_of(Json const& digest);
/// What was not examined, is not known, or is known only so well.
std::vector<std::string> limits_of_results(Json const& digest);
/// Program, inputs with their SHA-256, seed, signature.
std::vector<std::pair<std::string, std::string>> origins_of(Json const& digest);
/// The commands that give the results again.
std::string command_of(Json const& digest);
/// Each noun of such a page and what it means. command: empty: of all
std::vector<std::pair<std::string, std::string>> results_glossary(std::string const& command);

/// What is protected: "age and race together".
std::string protected_words(Json const& digest);
/// A number of `json`, by the names that lead to it: "counts.unique_groups"; null where it is
/// absent.
Json const* number_in_json(Json const& json, std::string_view path);

}  // namespace fairlane::report
