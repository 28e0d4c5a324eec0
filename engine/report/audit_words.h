// What audit.json says, in the words that all reports share. Texts are plain: each format escapes
// them its own way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formats/json.h"

namespace fairlane::report {

inline constexpr std::size_t kShownBytes = 200;  // of a name or value: nobody reads more
inline constexpr std::size_t kSentenceBytes = 2000;

/// A member; null where it is absent or null, that is, not examined.
Json const* present(Json const& object, std::string_view key);
/// The items of an array that may be absent; none where it is.
Json const& list_of(Json const& object, std::string_view key);
/// A text that every format can hold: control and reordering characters are escaped.
std::string plain(std::string_view text, std::size_t limit = kShownBytes);
/// What stands for &, < and > in HTML and in Markdown; empty for any other character.
std::string_view entity_of(char character);
/// plain() of a member; empty where it is absent.
std::string text_of(Json const& object, std::string_view key, std::size_t limit = kShownBytes);
/// plain() of each item.
std::vector<std::string> texts_of(Json const& array, std::size_t limit = kShownBytes);
/// "1,234", or "1.2e+20" of what exceeds every integer.
std::string count_words(Json const& count);
/// "12.34 %".
std::string share_words(Json const& share);
/// "0.560".
std::string number_words(Json const& number);
/// "a, b and c".
std::string listed(std::vector<std::string> const& words, char const* last = " and ");

/// "age", or "age and race together".
std::string set_words(Json const& set);
/// The values of a set's attributes: "18-29, group-A and female", and with the names of attributes
/// whose values have no words but are numbers: "age 1, race 0, female".
std::string combination_words(Json const& set, Json const& values);
/// "refused", or "approved = 0" where the class has no word of its own.
std::string outcome_words(Json const& audit, Json const& outcome);
/// The decision that is better to have.
std::string favourable_words(Json const& audit);
/// The verdict in a few words: "Decisions differ".
std::string verdict_words(Json const& audit);

/// One of the three shares of a protected set.
struct ShareLine {
  std::string of;      // whom: "people in the table"
  std::string share;   // "10.40 %", or "not examined"
  std::string detail;  // "312 of 3,000, counted"
  bool examined = false;
  double middle = 0.0;
  double low = 0.0;
  double high = 0.0;
};
/// The shares of the rows, of plausible people and of the domain, in that order.
std::vector<ShareLine> share_lines(Json const& set);
/// The share that the verdict speaks of: "5.16 %" of "people in the table, by age".
ShareLine verdict_share(Json const& audit);
/// "0.300 on average, 0.900 at most"; empty where no severity is known.
std::string severity_words(Json const& set);
/// "97 of 100 people there are affected (97.00 %); they are 31.00 % of all affected".
std::string rule_words(Json const& rule);
/// "line 17 of the table" or "found by the search, not in the table".
std::string source_words(Json const& finding);
/// "approved = 0 (0.210)".
std::string scored_words(Json const& audit, Json const& outcome);
/// How ordinary the person is; empty where it is unknown.
std::string ordinary_words(Json const& finding);
/// "20,000 findings, 9,000 profiles ...".
std::string search_words(Json const& search);

/// What was not examined of a set, its absent parts included.
std::vector<std::string> limits_of(Json const& set);
/// Name and value of what was audited and how.
std::vector<std::pair<std::string, std::string>> facts_of(Json const& audit);
/// The commands that repeat an audit and its parts, one a line; empty where it has none.
std::string reproduce_words(Json const& audit);
/// Each noun of a report and what it means.
std::vector<std::pair<std::string, std::string>> glossary();
/// Whether anything was found with this set.
bool anything_found(Json const& set);

}  // namespace fairlane::report
