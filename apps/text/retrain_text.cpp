#include "apps/text/retrain_text.h"

#include <fmt/format.h>

#include <vector>

#include "apps/console.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

std::string names_text(Json const& names) {
  std::string text;
  for (auto const& name : names)
    text += (text.empty() ? "" : ", ") + escaped(name.get<std::string>());
  return text;
}

std::string share_of_idis(Json const& share) {
  if (share.at("share").is_null()) return "not measured";
  return fine_percent(share.at("share").get<double>());
}

/// Accuracy on some rows; "-" where there are none.
std::string accuracy_text(Json const& metrics) {
  if (metrics.at("rows") == 0) return "-";
  return fine_percent(metrics.at("accuracy").get<double>());
}

std::string whole(Json const& count) { return with_commas(count.get<std::int64_t>()); }

using Table = std::vector<std::vector<std::string>>;

Table candidates_table(Json const& json) {
  Table rows = {
      {"round", "candidate", "consistency", "added rows", "IDIs", "validation", "held out", ""}};
  std::size_t number = 0;
  for (auto const& one : json.at("candidates")) {
    bool const is_taken = json.at("taken") == number;
    ++number;
    rows.push_back({fmt::format("{}", one.at("round").get<int>() + 1), fmt::format("{}", number),
                    fmt::format("{:g}", one.at("consistency").get<double>()),
                    whole(one.at("added_rows")), share_of_idis(one.at("domain_share")),
                    accuracy_text(one.at("validation")), accuracy_text(one.at("test")),
                    is_taken                      ? "taken"
                    : one.at("is_pareto") == true ? "pareto"
                                                  : ""});
  }
  return rows;
}

/// What was measured of both models, a row each.
Table sides_table(Json const& json) {
  Json const& before = json.at("before");
  Json const& after = json.at("after");
  Table rows = {{"", "before", "after"}};
  auto const add = [&](std::string const& title, auto const& cell) {
    rows.push_back({title, cell(before), after.is_null() ? "-" : cell(after)});
  };
  auto const metric = [&](char const* title, char const* name) {
    add(title, [&](Json const& side) {
      Json const& value = side.at("test").at(name);
      return value.is_null() ? std::string("-") : fine_percent(value.get<double>());
    });
  };
  add("IDIs of all inputs", [](Json const& side) {
    Json const& joint = side.at("fairness").at("joint");
    std::string text = share_of_idis(joint);
    if (joint.contains("low") && joint.at("low") != joint.at("high")) {
      text += fmt::format(" ({} to {})", fine_percent(joint.at("low").get<double>()),
                          fine_percent(joint.at("high").get<double>()));
    }
    return text;
  });
  auto const listed = [&](char const* list, char const* title) {
    Json const& mine = before.at("fairness");
    if (!mine.contains(list)) return;
    for (std::size_t i = 0; i < mine.at(list).size(); ++i) {
      add(fmt::format("  {}{}", names_text(mine.at(list)[i].at("protected")), title),
          [&](Json const& side) {
            Json const& share = side.at("fairness").at(list)[i].at("share");
            return share.is_object() ? share_of_idis(share) : fine_percent(share.get<double>());
          });
    }
  };
  listed("subsets", " alone");
  listed("others", " (not targeted)");
  if (!before.at("fairness").at("margin").is_null()) {
    add("groups that margin finds", [](Json const& side) {
      return whole(side.at("fairness").at("margin").at("unique_groups"));
    });
  }
  metric("accuracy, held out", "accuracy");
  metric("F1, held out", "f1");
  metric("AUC, held out", "auc");
  return rows;
}

}  // namespace

std::string retrain_text(std::string const& text) {
  Json const json = Json::parse(text);
  Facts facts;
  if (json.contains("exported")) {
    facts.add("written", fmt::format("{} rows of the table, {} added, with their labels",
                                     whole(json.at("exported").at("rows")),
                                     whole(json.at("exported").at("added_rows"))));
    facts.add("next",
              "train your model on retraining.csv, then: fairlane retrain CONFIG "
              "--evaluate MODEL");
    return facts.text();
  }
  facts.add("protected", names_text(json.at("protected")));
  if (!json.at("recipe").is_null()) facts.add("recipe", json.at("recipe").get<std::string>());
  Json const& rows = json.at("rows");
  facts.add("rows",
            fmt::format("{} learnt from, {} for validation, {} held out", whole(rows.at("train")),
                        whole(rows.at("validation")), whole(rows.at("test"))));
  for (auto const& round : json.at("rounds"))
    facts.add("IDIs to learn from", whole(round.at("unique_instances")));
  for (auto const& voter : json.at("voters")) {
    facts.add("voter",
              fmt::format("{}: {} of held-out rows right", voter.at("name").get<std::string>(),
                          fine_percent(voter.at("test").at("accuracy").get<double>())));
  }
  std::string result =
      facts.text() + "\n" + aligned(candidates_table(json)) + "\n" + aligned(sides_table(json));
  if (json.at("taken").is_null()) {
    result +=
        "\nNo candidate is better: none has fewer IDIs and keeps accuracy, F1 "
        "(retrain.accuracy_lost, retrain.f1_lost) and all classes. No model was written.\n";
  }
  if (json.at("target_reached") == false) result += "\nThe target was not reached.\n";
  return result;
}

std::string retrain_progress_text(RetrainProgress const& progress) {
  return fmt::format("{}  {}", progress.what, seconds_text(progress.seconds));
}

}  // namespace fairlane
