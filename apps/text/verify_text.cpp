#include "apps/text/verify_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/console.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

std::string count_of(Json const& number) { return with_commas(number.get<std::int64_t>()); }

/// Lines on who is compared, where that is more than the attributes under test.
std::string rules_text(Json const& json) {
  std::string text;
  if (Json const* const relaxed = json.find("relaxed")) {
    for (auto const& [name, by] : relaxed->items())
      text += fmt::format("relaxed      {} by at most {}\n", escaped(name), count_of(by));
  }
  if (Json const* const where = json.find("where")) {
    for (Json const& limit : *where)
      text += fmt::format("where        {}\n", escaped(limit.get<std::string>()));
  }
  if (Json const* const margin = json.find("margin"))
    text += fmt::format("margin       {}\n", margin->get<double>());
  return text;
}

}  // namespace

std::string verify_text(std::string const& text) {
  Json const json = Json::parse(text);
  auto const& cells = json.at("cells");
  auto const count = [&](char const* key) { return cells.at(key).get<std::int64_t>(); };
  std::int64_t const all = count("sat") + count("unsat") + count("unknown");
  std::vector<std::string> names;
  for (auto const& name : json.at("protected")) names.push_back(escaped(name.get<std::string>()));
  std::string const verdict = json.at("verdict").get<std::string>();
  char const* const beside = json.contains("relaxed") ? "no more than that" : "nothing else";
  std::string const words =
      verdict == "sat"
          ? fmt::format("unfair: there are people whose decision changes with {}", beside)
      : verdict == "unsat" ? fmt::format("fair, proven: nobody's decision changes with {}", beside)
                           : "not known: nobody unfairly treated was found, but not all is proven";
  std::string result = fmt::format("protected    {}\n{}verdict      {}\n", fmt::join(names, ", "),
                                   rules_text(json), words);
  if (all > 1) {
    result += fmt::format(
        "cells        {}\n  sat        {}  with an example of unfair treatment\n"
        "  unsat      {}  proven fair\n  unknown    {}\n",
        with_commas(all), with_commas(count("sat")), with_commas(count("unsat")),
        with_commas(count("unknown")));
  }
  if (count("unknown") > 0) {
    for (auto const& [reason, cells_of] : json.at("unknown_by").items()) {
      std::string const why = reason == "boxes"     ? "their boxes were spent (--boxes)"
                              : reason == "seconds" ? "the seconds were spent (budget.seconds)"
                              : reason == "margin"  ? "fair, but by less than the margin"
                                                    : "an output is not a finite number";
      result += fmt::format("  {}: {}\n", count_of(cells_of), why);
    }
  }
  if (Json const* const empty = json.find("empty_cells"))
    result += fmt::format("  {} fair ones have nobody in them\n", count_of(*empty));
  auto const& examples = json.at("counterexamples");
  if (examples.at("float32_only").get<std::int64_t>() > 0) {
    result += fmt::format("examples     {} of {} hold in float32 alone, not in double precision\n",
                          count_of(examples.at("float32_only")), count_of(examples.at("all")));
  }
  if (Json const* const against = json.find("against")) {
    result +=
        fmt::format("against      {} cells became fair, {} unfair; {} stayed fair, {} unfair\n",
                    count_of(against->at("became_fair")), count_of(against->at("became_unfair")),
                    count_of(against->at("stayed_fair")), count_of(against->at("stayed_unfair")));
    if (against->at("unknown_in_one").get<std::int64_t>() > 0) {
      result += fmt::format("  {} are unknown in one of the two\n",
                            count_of(against->at("unknown_in_one")));
    }
  }
  if (Json const* const shares = json.find("shares")) {
    auto const percent = [](Json const& share) { return share.get<double>() * 100.0; };
    auto const& sample = shares->at("sample");
    constexpr double kExact = 1.0e12;  // groups that are written out
    double const groups = shares->at("groups").get<double>();
    result += fmt::format(
        "groups       {}\n  fair       {:.4f} %  certain\n  unfair     {:.4f} %  certain\n"
        "  undecided  {:.4f} %  after {} boxes\nsample       {:.4f} % unfair  ({:.4f} to {:.4f} %, "
        "{} groups)\n",
        groups < kExact ? with_commas(static_cast<std::int64_t>(groups))
                        : fmt::format("{:.6g}", groups),
        percent(shares->at("fair")), percent(shares->at("unfair")),
        percent(shares->at("undecided")), with_commas(shares->at("boxes").get<std::int64_t>()),
        percent(sample.at("unfair")), percent(sample.at("low")), percent(sample.at("high")),
        with_commas(sample.at("groups").get<std::int64_t>()));
  }
  auto const& boxes = json.at("boxes");
  result += fmt::format("boxes        {}\ntime         {:.2f} s\n",
                        with_commas(boxes.at("all").get<std::int64_t>()),
                        json.at("timing").at("total_seconds").get<double>());
  return result;
}

std::string verify_progress_text(VerifyProgress const& progress) {
  if (progress.undecided) {
    return fmt::format("{:.4f} % of groups undecided, {} boxes, {:.0f} s",
                       *progress.undecided * 100.0, with_commas(progress.boxes), progress.seconds);
  }
  return fmt::format("{} of {} cells decided, {} unfair, {} boxes, {:.0f} s",
                     with_commas(progress.decided), with_commas(progress.cells),
                     with_commas(progress.unfair), with_commas(progress.boxes), progress.seconds);
}

std::string recheck_text(RecheckResult const& result) {
  Facts facts;
  facts.add("cells", with_commas(result.cells));
  facts.add("  fair", fmt::format("{}  ({} leaves of their proofs)", with_commas(result.fair),
                                  with_commas(result.leaves)));
  facts.add("  unfair", fmt::format("{}  (each with an example)", with_commas(result.unfair)));
  facts.add("  unknown", with_commas(result.unknown));
  if (result.marginal > 0) {
    facts.add("marginal",
              fmt::format("{} examples within rounding of the threshold, {} of them in float32 "
                          "alone",
                          with_commas(result.marginal), with_commas(result.float32_only)));
  }
  if (result.share_groups > 0) {
    facts.add("shares", fmt::format("held against {} groups{}", with_commas(result.share_groups),
                                    result.all_share_groups ? ": all that exist" : " drawn anew"));
  }
  if (!result.against.empty()) {
    facts.add("against",
              fmt::format("{}  (its proofs were checked, too)", escaped(result.against)));
  }
  if (!result.not_checked.empty()) {
    bool const against = std::ranges::count(result.not_checked, "against") > 0;
    facts.add("not checked",
              fmt::format("{}  (of summary.json{})", fmt::join(result.not_checked, ", "),
                          against ? "; --against DIR names the other directory" : ""));
  }
  facts.add("unproven", with_commas(result.unproven) +
                            (result.unproven > 0 ? "  (leaves; try a larger --effort)" : ""));
  facts.add("failed", with_commas(result.failed));
  facts.add("time", fmt::format("{:.2f} s", result.seconds));
  std::string text = facts.text();
  for (std::string const& line : result.failures) text += "failed: " + line + "\n";
  for (std::string const& line : result.open) text += "unproven: " + line + "\n";
  return text;
}

std::string recheck_json(RecheckResult const& result) {
  Json json;
  json["cells"] = {{"sat", result.unfair}, {"unsat", result.fair}, {"unknown", result.unknown}};
  json["leaves"] = result.leaves;
  json["unproven"] = result.unproven;
  json["marginal"] = result.marginal;
  json["float32_only"] = result.float32_only;
  if (result.share_groups > 0) {
    json["shares"] = {{"groups", result.share_groups}, {"all", result.all_share_groups}};
  }
  if (!result.against.empty()) json["against"] = result.against;
  json["not_checked"] = result.not_checked;
  json["failed"] = result.failed;
  json["failures"] = result.failures;
  json["unproven_leaves"] = result.open;
  json["timing"] = {{"total_seconds", result.seconds}};
  return json.dump(2) + "\n";
}

std::string recheck_progress_text(RecheckProgress const& progress) {
  return fmt::format("{} of {} cells checked, {} leaves", with_commas(progress.checked),
                     with_commas(progress.cells), with_commas(progress.leaves));
}

}  // namespace fairlane
