#include "engine/report/audit_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/number_text.h"
#include "base/text.h"

namespace fairlane::report {
namespace {

ShareLine unexamined(char const* of) {
  ShareLine line;
  line.of = of;
  line.share = "not examined";
  return line;
}

ShareLine rows_line(Json const& set) {
  ShareLine line = unexamined("people in the table");
  Json const* const rows = present(set, "rows");
  if (rows == nullptr) return line;
  line.examined = true;
  line.share = share_words(rows->at("share"));
  line.detail = fmt::format("{} of {}, counted", count_words(rows->at("affected")),
                            count_words(rows->at("count")));
  line.middle = line.low = line.high = rows->at("share").get<double>();
  return line;
}

/// Sets an interval and says how sure it is, where it is one.
void set_interval(ShareLine& line, Json const& share) {
  line.examined = true;
  line.share = share_words(share.at("share"));
  line.middle = share.at("share").get<double>();
  line.low = share.at("low").get<double>();
  line.high = share.at("high").get<double>();
  if (line.low == line.high) return;
  line.detail =
      fmt::format("{} to {}", share_words(share.at("low")), share_words(share.at("high")));
  if (Json const* const confidence = present(share, "confidence")) {
    line.detail += fmt::format(" with {:g} % confidence", 100.0 * confidence->get<double>());
  } else {
    line.detail += ", since some outputs are no number";
  }
  line.detail += "; ";
}

ShareLine plausible_line(Json const& set) {
  ShareLine line = unexamined("plausible people");
  Json const* const plausible = present(set, "plausible");
  if (plausible == nullptr) return line;
  set_interval(line, *plausible);
  line.detail += fmt::format("{} of {} drawn", count_words(plausible->at("affected")),
                             count_words(plausible->at("people")));
  return line;
}

ShareLine domain_line(Json const& set) {
  ShareLine line = unexamined("all possible inputs");
  Json const* const domain = present(set, "domain");
  if (domain == nullptr) return line;
  set_interval(line, *domain);
  std::string const groups = count_words(domain->at("groups"));
  line.detail += domain->at("source").get<std::string>() == "sample"
                     ? fmt::format("a sample of {} profiles", groups)
                     : fmt::format("all {} profiles counted", groups);
  return line;
}

/// Whether a word is a code, or tells no more than one.
bool is_number(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Json const* present(Json const& object, std::string_view key) {
  Json const* const found = object.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Json const& list_of(Json const& object, std::string_view key) {
  static Json const none = Json::array();
  Json const* const found = present(object, key);
  return found == nullptr ? none : *found;
}

std::string plain(std::string_view text, std::size_t limit) {
  std::string out = escaped(text, limit);
  // U+FFFE and U+FFFF are no characters of XML.
  for (std::string_view const none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = 0; (at = out.find(none, at)) != std::string::npos;)
      out.replace(at, none.size(), "\xEF\xBF\xBD");
  }
  return out;
}

std::string_view entity_of(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    default:
      return {};
  }
}

std::string text_of(Json const& object, std::string_view key, std::size_t limit) {
  Json const* const found = present(object, key);
  return found == nullptr ? std::string() : plain(found->get<std::string>(), limit);
}

std::vector<std::string> texts_of(Json const& array, std::size_t limit) {
  std::vector<std::string> texts;
  for (Json const& item : array) texts.push_back(plain(item.get<std::string>(), limit));
  return texts;
}

std::string count_words(Json const& count) {
  constexpr double kMostShown = 1e15;  // doubles hold all integers up to there
  if (count.is_number_integer()) return with_commas(count.get<std::int64_t>());
  auto const value = count.get<double>();
  return std::fabs(value) < kMostShown ? with_commas(std::llround(value))
                                       : fmt::format("{:.1e}", value);
}

std::string share_words(Json const& share) { return fine_percent(share.get<double>()); }

std::string number_words(Json const& number) { return fmt::format("{:.3f}", number.get<double>()); }

std::string listed(std::vector<std::string> const& words, char const* last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

std::string set_words(Json const& set) {
  std::vector<std::string> const names = texts_of(set.at("protected"));
  return listed(names) + (names.size() > 1 ? " together" : "");
}

std::string combination_words(Json const& set, Json const& values) {
  std::vector<std::string> const names = texts_of(set.at("protected"));
  std::vector<std::string> words = texts_of(values);
  bool is_any_named = false;
  for (std::size_t i = 0; i < std::min(words.size(), names.size()); ++i) {
    if (!is_number(words[i])) continue;
    words[i] = names[i] + " " + words[i];
    is_any_named = true;
  }
  return listed(words, is_any_named ? ", " : " and ");
}

std::string outcome_words(Json const& audit, Json const& outcome) {
  std::string const number = std::to_string(outcome.at("class").get<std::int64_t>());
  std::string const word = text_of(outcome, "word");
  if (!word.empty() && word != number) return word;
  std::string const label = text_of(audit.at("decision"), "label");
  return label.empty() ? "class " + number : label + " = " + number;
}

std::string favourable_words(Json const& audit) {
  Json const* const favourable = present(audit.at("decision"), "favourable");
  return favourable == nullptr ? "the favourable decision" : outcome_words(audit, *favourable);
}

std::string verdict_words(Json const& audit) {
  std::string const level = audit.at("verdict").at("level").get<std::string>();
  if (level == "differs") return "Decisions differ";
  if (level == "none found") return "No difference found";
  return level == "proven fair" ? "Proven fair" : plain(level);
}

std::vector<ShareLine> share_lines(Json const& set) {
  return {rows_line(set), plausible_line(set), domain_line(set)};
}

ShareLine verdict_share(Json const& audit) {
  enum : std::size_t { kRows, kPlausible, kDomain };  // as share_lines() has them
  Json const& sets = audit.at("sets");
  Json const& all = sets[sets.size() - 1];
  auto const share = [](Json const& set, std::size_t kind) {
    return share_lines(set)[kind].middle;
  };
  // Of the rows those who are affected by all that is tested together, where there are such.
  auto const worst = [&](std::size_t kind) {
    Json const* most = &all;
    if (kind == kRows && share(all, kind) > 0.0) return most;
    for (Json const& set : sets) {
      if (share(set, kind) > share(*most, kind)) most = &set;
    }
    return most;
  };
  auto const is_any = [&](std::size_t kind) { return share(*worst(kind), kind) > 0.0; };
  bool const is_found = std::ranges::any_of(sets, [](Json const& set) {
    Json const* const search = present(set, "search");
    return search != nullptr && search->at("groups").get<double>() > 0.0;
  });
  std::size_t kind = kRows;
  if (!is_any(kRows)) {
    if (is_any(kPlausible)) {
      kind = kPlausible;
    } else if ((!is_found && is_any(kDomain)) ||
               audit.at("verdict").at("level").get<std::string>() == "proven fair") {
      kind = kDomain;
    }
  }
  Json const& set = *worst(kind);
  ShareLine line = share_lines(set)[kind];
  line.of = fmt::format("{}, by {}", line.of, set_words(set));
  return line;
}

std::string severity_words(Json const& set) {
  Json const* const severity = present(set, "severity");
  if (severity == nullptr) return {};
  return fmt::format("{} on average, {} at most", number_words(severity->at("mean")),
                     number_words(severity->at("max")));
}

std::string rule_words(Json const& rule) {
  return fmt::format("{} of {} people there are affected ({}); they are {} of all affected",
                     count_words(rule.at("affected")), count_words(rule.at("rows")),
                     share_words(rule.at("precision")), share_words(rule.at("coverage")));
}

std::string source_words(Json const& finding) {
  if (Json const* const line = present(finding, "line"))
    return fmt::format("line {} of the table", count_words(*line));
  return finding.at("source").get<std::string>() == "row" ? "a row of the table"
                                                          : "found by the search, not in the table";
}

std::string scored_words(Json const& audit, Json const& outcome) {
  std::string const words = outcome_words(audit, outcome);
  Json const* const score = present(outcome, "score");
  return score == nullptr ? words : fmt::format("{} ({})", words, number_words(*score));
}

std::string ordinary_words(Json const& finding) {
  Json const* const known = present(finding, "plausibility");
  if (known == nullptr) return {};
  return fmt::format(
      "at least as unusual as {:.1f} % of the table by distance ({}) and as {:.1f} % by surprise "
      "({})",
      known->at("distance_percentile").get<double>(), number_words(known->at("distance")),
      known->at("surprise_percentile").get<double>(), number_words(known->at("surprise")));
}

std::string search_words(Json const& search) {
  return fmt::format("{} found {} inputs in {} profiles by {} evaluations of the model",
                     text_of(search, "method"), count_words(search.at("instances")),
                     count_words(search.at("groups")), count_words(search.at("evaluations")));
}

std::vector<std::string> limits_of(Json const& set) {
  std::vector<std::string> limits = texts_of(list_of(set, "not_examined"), kSentenceBytes);
  for (ShareLine const& line : share_lines(set)) {
    if (!line.examined) limits.push_back("The share of " + line.of + " was not examined.");
  }
  if (present(set, "search") == nullptr)
    limits.emplace_back("No search went beyond the rows of the table.");
  Json const* const rows = present(set, "rows");
  Json const* const undefined = rows == nullptr ? nullptr : present(*rows, "undefined");
  if (undefined != nullptr && undefined->get<std::int64_t>() > 0) {
    limits.push_back(fmt::format(
        "For {} of the {} people an output is no finite number, so that it is not known whether "
        "they are affected.",
        count_words(*undefined), count_words(rows->at("count"))));
  }
  return limits;
}

std::vector<std::pair<std::string, std::string>> facts_of(Json const& audit) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"model", text_of(audit, "model")},
      {"table",
       fmt::format("{} ({} rows)", text_of(audit, "table"), count_words(audit.at("rows")))},
      {"favourable decision", favourable_words(audit)},
  };
  if (Json const* const agreement = present(audit, "agreement")) {
    std::string text = fmt::format("the model gives the table's label for {} of the rows",
                                   share_words(*agreement));
    if (Json const* const majority = present(audit, "majority"))
      text += fmt::format("; the most frequent label alone would for {}", share_words(*majority));
    facts.emplace_back("agreement", text);
  }
  if (Json const* const inputs = present(audit, "domain_inputs"))
    facts.emplace_back("possible inputs", count_words(*inputs));
  facts.emplace_back("configuration", text_of(audit, "config"));
  facts.emplace_back("domain", text_of(audit, "domain_file"));
  facts.emplace_back("seed", std::to_string(audit.at("seed").get<std::uint64_t>()));
  facts.emplace_back("program", "fairlane " + text_of(audit, "version"));
  if (Json const* const timing = present(audit, "timing"))
    facts.emplace_back("time", seconds_text(timing->at("total_seconds").get<double>()));
  return facts;
}

std::string reproduce_words(Json const& audit) {
  std::string commands;
  for (Json const& command : list_of(audit, "reproduce"))
    commands += plain(command.get<std::string>(), std::string::npos) + "\n";
  return commands;
}

std::vector<std::pair<std::string, std::string>> glossary() {
  return {
      {"person", "a row of the table, or an input that could be one"},
      {"protected attribute", "one whose value must not change a decision"},
      {"affected",
       "a person who would get another decision with another value of the protected attributes and "
       "everything else unchanged"},
      {"finding", "an affected person, shown with the change that turns the decision"},
      {"profile",
       "all about a person but what is protected; people who differ in nothing else share one"},
      {"favourable decision", "the one that is better to have"},
      {"share",
       "affected people out of all of a kind: the people in the table, plausible people "
       "(drawn to resemble the table), or all possible inputs (most resemble nobody)"},
      {"severity", "the largest difference of the model's output that the change makes: 0 is none"},
      {"score", "the model's output behind the decision"},
      {"distance, surprise",
       "how far a person is from the nearest row of the table, and how rare the combination of "
       "values is; both are held against the table's own rows"},
  };
}

bool anything_found(Json const& set) {
  for (ShareLine const& line : share_lines(set)) {
    if (line.middle > 0.0) return true;
  }
  return !list_of(set, "findings").empty();
}

}  // namespace fairlane::report
