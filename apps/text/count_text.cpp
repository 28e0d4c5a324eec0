#include "apps/text/count_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/console.h"
#include "apps/text/words.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kShownTreatments = 12;

std::string joined(Json const& names) {
  std::vector<std::string> words;
  for (auto const& name : names) words.push_back(escaped(name.get<std::string>()));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string of_all(std::int64_t part, double share, char const* whole) {
  return fmt::format("{}  ({:.4f} % of {})", with_commas(part), share * 100.0, whole);
}

/// Same of what undefined outputs may add to.
std::string of_all(std::int64_t part, double share, double high, char const* whole) {
  if (share == high) return of_all(part, share, whole);
  return fmt::format("{}  ({:.4f} to {:.4f} % of {})", with_commas(part), share * 100.0,
                     high * 100.0, whole);
}

/// What is undefined of an enumeration's or an estimate's inputs, in so many groups; empty: nothing
/// is.
std::string undefined_text(Json const& json) {
  auto const& counts = json.at("counts");
  auto const undefined = json.at("undefined").get<std::int64_t>();
  auto const inputs = counts.at("model_evaluations").get<std::int64_t>();
  if (undefined == 0) return {};
  if (undefined == inputs) {
    return fmt::format(
        "all {} evaluated inputs: their output is not a finite number, so that "
        "nothing is known",
        with_commas(inputs));
  }
  return fmt::format(
      "{} of {} inputs, whose output is not a finite number; {} groups may "
      "discriminate or not",
      with_commas(undefined), with_commas(inputs),
      with_commas(counts.at("undefined_groups").get<std::int64_t>()));
}

}  // namespace

bool nothing_defined(std::string const& text) {
  Json const json = Json::parse(text);
  auto const evaluated = json.at("counts").at("model_evaluations").get<std::int64_t>();
  auto const excluded = json.value("infeasible", std::int64_t{0});
  return evaluated > 0 && json.at("undefined").get<std::int64_t>() + excluded == evaluated;
}

std::string enumeration_progress_text(WalkProgress const& progress) {
  return fmt::format(
      "{} of {} groups  {} IDIs  {} left", short_count(static_cast<double>(progress.groups)),
      short_count(static_cast<double>(progress.total)),
      short_count(static_cast<double>(progress.instances)), seconds_text(progress.seconds_left));
}

std::string estimate_progress_text(EstimateProgress const& progress) {
  std::string line = fmt::format("{} samples", short_count(static_cast<double>(progress.samples)));
  if (progress.seconds > 0.0) {
    line += fmt::format("  {}/s",
                        short_count(static_cast<double>(progress.samples) / progress.seconds));
  }
  if (progress.parts > 0) {
    return line + fmt::format("  {} {} of {}", progress.what, with_commas(progress.part),
                              with_commas(progress.parts));
  }
  if (progress.known_to < 1.0) line += "  share known to +-" + percent(progress.known_to);
  return line;
}

std::string enumeration_text(std::string const& text, Domain const* domain) {
  Json const json = Json::parse(text);
  auto const& counts = json.at("counts");
  auto const count = [&](char const* name) { return counts.at(name).get<std::int64_t>(); };
  Facts facts;
  if (std::string const undefined = undefined_text(json); !undefined.empty())
    facts.add("undefined", undefined);
  facts.add("protected", fmt::format("{}  ({} combinations)", joined(json.at("protected")),
                                     with_commas(json.at("variants").get<std::int64_t>())));
  facts.add("evaluated", fmt::format("{} inputs in {} groups", with_commas(count("inputs")),
                                     with_commas(count("groups"))));
  if (json.contains("infeasible")) {
    facts.add(
        "excluded by constraints",
        fmt::format("{} more inputs", with_commas(json.at("infeasible").get<std::int64_t>())));
  }
  facts.add("discriminatory groups",
            of_all(count("unique_groups"), json.at("group_rate").get<double>(),
                   json.at("group_rate_high").get<double>(), "all groups"));
  facts.add("IDIs", of_all(count("unique_instances"), json.at("success_rate").get<double>(),
                           json.at("success_rate_high").get<double>(), "all inputs"));
  if (json.contains("subsets")) {
    for (auto const& subset : json.at("subsets")) {
      facts.add("  " + joined(subset.at("protected")) + " alone",
                of_all(subset.at("unique_instances").get<std::int64_t>(),
                       subset.at("rate").get<double>(), "all inputs are IDIs"));
    }
  }
  if (json.contains("treatment")) {
    auto treatments = json.at("treatment").get<std::vector<Json>>();
    std::stable_sort(treatments.begin(), treatments.end(), [](Json const& a, Json const& b) {
      return a.at("pairs").get<std::uint64_t>() > b.at("pairs").get<std::uint64_t>();
    });
    std::size_t shown = 0;
    for (auto const& treatment : treatments) {
      auto const pairs = treatment.at("pairs").get<std::int64_t>();
      if (pairs == 0 || shown++ == kShownTreatments) break;
      std::string const name = treatment.at("attribute").get<std::string>();
      int const index = domain == nullptr ? -1 : domain->find(name);
      auto const word = [&](char const* key) {
        auto const code = treatment.at(key).get<std::int32_t>();
        return index < 0 ? std::to_string(code)
                         : value_words(domain->attributes[static_cast<std::size_t>(index)], code);
      };
      facts.add(shown == 1 ? "greater label" : "",
                fmt::format("{} {} over {}: {} pairs", escaped(name), word("greater"),
                            word("lesser"), with_commas(pairs)));
    }
  }
  auto const& timing = json.at("timing");
  facts.add("time", fmt::format("{}  (walk {}, writing {})",
                                seconds_text(timing.at("total_seconds").get<double>()),
                                seconds_text(timing.at("search_seconds").get<double>()),
                                seconds_text(timing.at("write_seconds").get<double>())));
  return facts.text();
}

std::string estimate_text(std::string const& text) {
  Json const json = Json::parse(text);
  auto const& counts = json.at("counts");
  bool const late = json.contains("budget");
  bool const exact = json.at("of") == "rows" && !late;
  auto const share_of = [&](Json const& value) {
    double const middle = value.at("share").get<double>() * 100.0;
    if (exact && value.at("low") == value.at("high")) return fmt::format("{:.4f} %", middle);
    return fmt::format("{:.4f} %  ({:.4f} to {:.4f} %)", middle,
                       value.at("low").get<double>() * 100.0,
                       value.at("high").get<double>() * 100.0);
  };
  auto const share = [&](char const* name) { return share_of(json.at(name)); };
  Facts facts;
  if (std::string const undefined = undefined_text(json); !undefined.empty())
    facts.add("undefined", undefined);
  facts.add("protected", fmt::format("{}  ({} combinations)", joined(json.at("protected")),
                                     with_commas(json.at("variants").get<std::int64_t>())));
  std::string const samples = with_commas(counts.at("samples").get<std::int64_t>());
  facts.add(json.at("of") == "rows" ? "rows" : "samples",
            late ? samples + "  when the seconds of the budget were over" : samples);
  if (json.contains("infeasible")) {
    auto const drawn = counts.at("model_evaluations").get<std::int64_t>() /
                       json.at("variants").get<std::int64_t>();
    facts.add(
        "excluded by constraints",
        fmt::format("{} more, of {}", with_commas(drawn - counts.at("samples").get<std::int64_t>()),
                    with_commas(drawn)));
  }
  facts.add("IDIs among all inputs", share("success_rate"));
  facts.add("causal score", share("causal_score") + "  of all groups discriminate");
  facts.add("group score", share("group_score") + "  between two combinations' positive rates");
  if (json.contains("trials")) {
    auto const& trials = json.at("trials");
    std::string line = fmt::format("{:.4f} % +- {:.4f} %  (mean of {} trials of {} samples)",
                                   trials.at("mean").get<double>() * 100.0,
                                   trials.at("half_width").get<double>() * 100.0,
                                   with_commas(trials.at("trials").get<std::int64_t>()),
                                   with_commas(trials.at("samples").get<std::int64_t>()));
    if (auto const groups = trials.at("undefined_groups").get<std::int64_t>(); groups > 0)
      line += fmt::format("; {} undefined groups are taken as fair", with_commas(groups));
    facts.add("trials", line);
  }
  if (json.contains("sets")) {
    auto const& sets = json.at("sets");
    for (auto const& set : sets.at("found")) {
      facts.add("discriminates",
                fmt::format("{}: {}  of its groups", joined(set.at("protected")), share_of(set)));
    }
    std::string line =
        fmt::format("{} smallest ones above {} %, {} undecided, {} too large to be examined",
                    sets.at("found").size(), sets.at("above").get<double>() * 100.0,
                    sets.at("undecided").size(), sets.at("too_large").get<std::int64_t>());
    if (sets.contains("not_examined")) {
      line += fmt::format(", {} not examined in the time",
                          with_commas(sets.at("not_examined").get<std::int64_t>()));
    }
    facts.add("sets", line);
    if (!exact) {
      facts.add("", fmt::format("the intervals of all {} together hold with a confidence of {} %",
                                with_commas(sets.at("compared").get<std::int64_t>()),
                                json.at("confidence").get<double>() * 100.0));
    }
  }
  if (!exact) {
    facts.add("confidence", fmt::format("{} %, wherever sampling ended",
                                        json.at("confidence").get<double>() * 100.0));
  }
  facts.add("time", seconds_text(json.at("timing").at("total_seconds").get<double>()));
  return facts.text();
}

}  // namespace fairlane
