#include "engine/audit/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number_text.h"
#include "base/text.h"
#include "engine/report/audit_words.h"
#include "engine/report/policy_words.h"

namespace fairlane {
namespace {

std::int64_t whole(Json const& set, char const* part, char const* key) {
  Json const& json = set.at(part);
  return json.is_null() ? 0 : json.at(key).get<std::int64_t>();
}

std::vector<std::string> names_of(Json const& set) {
  return set.at("protected").get<std::vector<std::string>>();
}

/// "age, race or gender".
std::string either(Json const& set) { return report::listed(names_of(set), " or "); }

/// "age 18-29, gender female".
std::string combination(Json const& names, Json const& words) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i].get<std::string>(),
                        words[i].get<std::string>());
  }
  return text;
}

/// Whether a set is of one attribute that the last set tests, too.
bool is_part(Json const& set, Json const& all) {
  auto const name = set.at("protected")[0].get<std::string>();
  return std::ranges::any_of(all.at("protected"), [&](Json const& one) {
    return set.at("protected").size() == 1 && one.get<std::string>() == name;
  });
}

/// Of the attributes that are tested together, the one that changes most rows alone.
Json const& worst_part(Json const& sets) {
  Json const& all = sets[sets.size() - 1];
  Json const* worst = &all;
  for (std::size_t i = 0; i + 1 < sets.size(); ++i) {
    bool const is_first = worst == &all;
    if (is_part(sets[i], all) &&
        (is_first || whole(sets[i], "rows", "affected") > whole(*worst, "rows", "affected")))
      worst = &sets[i];
  }
  return *worst;
}

/// The set that changes most rows.
Json const& worst_alone(Json const& sets) {
  return *std::ranges::max_element(sets, {},
                                   [](Json const& set) { return whole(set, "rows", "affected"); });
}

/// Who is preferred to whom, most often.
std::string direction(Json const& set, std::string const& favourable) {
  if (set.at("preferences").empty()) return "";
  Json const& first = set.at("preferences")[0];
  auto const rows = first.at("rows").get<std::int64_t>();
  auto const reverse = first.at("reverse_rows").get<std::int64_t>();
  Json const& names = set.at("protected");
  return fmt::format(" {} people would get {} with {} and not with {}{}.", with_commas(rows),
                     favourable, combination(names, first.at("better")),
                     combination(names, first.at("worse")),
                     reverse == 0 ? ", nobody the other way round"
                                  : fmt::format(", {} the other way round", with_commas(reverse)));
}

bool is_proven(Json const& set) {
  Json const& domain = set.at("domain");
  return !domain.is_null() && domain.at("source").get<std::string>() == "count" &&
         domain.at("high").get<double>() == 0.0;
}

Json verdict(char const* level, std::string text) {
  return {{"level", level}, {"text", std::move(text)}};
}

}  // namespace

Json verdict_json(Json const& audit) {
  Json const& sets = audit.at("sets");
  Json const& all = sets[sets.size() - 1];
  std::string const names = either(all);
  std::string const people = with_commas(whole(all, "rows", "count"));
  std::int64_t affected = 0;
  std::int64_t plausible = 0;
  std::int64_t found = 0;
  std::int64_t undefined = 0;
  double share = 0.0;  // of the domain, at least
  bool is_all_proven = true;
  bool is_looked_beyond = false;
  for (auto const& set : sets) {
    affected = std::max(affected, whole(set, "rows", "affected"));
    plausible = std::max(plausible, whole(set, "plausible", "affected"));
    found = std::max(found, whole(set, "search", "groups"));
    undefined += whole(set, "rows", "undefined");
    if (!set.at("domain").is_null())
      share = std::max(share, set.at("domain").at("low").get<double>());
    is_all_proven = is_all_proven && is_proven(set);
    for (char const* const part : {"plausible", "domain", "search"})
      is_looked_beyond = is_looked_beyond || !set.at(part).is_null();
  }
  std::string const more =
      undefined == 0 ? "" : " Some outputs are no finite numbers, and were taken for neither.";
  if (affected > 0) {
    Json const& head = whole(all, "rows", "affected") > 0 ? all : worst_alone(sets);
    Json const& worst = &head == &all ? worst_part(sets) : head;
    std::string text = fmt::format(
        "The decision about {} of {} people in the table ({}) changes when nothing but {} does.",
        with_commas(whole(head, "rows", "affected")), with_commas(whole(head, "rows", "count")),
        fine_percent(head.at("rows").at("share").get<double>()), either(head));
    for (auto const& set : sets) {
      bool const is_told = &set != &head && (&set == &worst || !is_part(set, all));
      if (is_told && whole(set, "rows", "affected") > 0) {
        text += fmt::format(" {} alone changes it for {}.", fmt::join(names_of(set), ", "),
                            with_commas(whole(set, "rows", "affected")));
      }
    }
    return verdict("differs", text + direction(worst, report::favourable_words(audit)) + more);
  }
  std::string const nobody = fmt::format(
      "No decision about the {} people in the table changes when only {} does", people, names);
  if (plausible > 0 || found > 0 || share > 0.0) {
    std::string const other =
        plausible > 0 ? fmt::format("that about {} of the plausible people that were drawn",
                                    with_commas(plausible))
        : found > 0
            ? fmt::format("that about {} other profiles, which a search found,", with_commas(found))
            : fmt::format("that about at least {} of all possible inputs", fine_percent(share));
    return verdict("differs", fmt::format("{}, but {} does.{}", nobody, other, more));
  }
  if (is_all_proven) {
    return verdict(
        "proven fair",
        fmt::format("No decision depends on {}: every input of the domain was counted.", names));
  }
  return verdict("none found",
                 fmt::format("{}, {}.{}", nobody,
                             is_looked_beyond ? "nor was another input found for which it does"
                                              : "and nothing beyond the table was examined",
                             more));
}

Json policy_json(Json const& audit, std::string const& share, double above) {
  bool is_kept = true;
  bool is_met = false;
  for (auto const& set : audit.at("sets")) {
    report::LimitState const state = report::limit_state(set, share, above);
    is_met = is_met || state == report::LimitState::kExceeded;
    is_kept = is_kept && state == report::LimitState::kKept;
  }
  Json const met = is_met ? Json(true) : is_kept ? Json(false) : Json(nullptr);
  return {{"share", share}, {"above", above}, {"met", met}};
}

}  // namespace fairlane
