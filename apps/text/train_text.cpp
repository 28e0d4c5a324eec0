#include "apps/text/train_text.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/console.h"
#include "apps/text/summary_text.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

std::string metrics_text(Json const& metrics) {
  std::string text = fmt::format("{} of {} rows right  (precision {}, recall {}, F1 {}",
                                 fine_percent(metrics.at("accuracy").get<double>()),
                                 with_commas(metrics.at("rows").get<std::int64_t>()),
                                 fine_percent(metrics.at("precision").get<double>()),
                                 fine_percent(metrics.at("recall").get<double>()),
                                 fine_percent(metrics.at("f1").get<double>()));
  if (!metrics.at("auc").is_null())
    text += fmt::format(", AUC {:.4f}", metrics.at("auc").get<double>());
  return text + ")";
}

}  // namespace

std::string train_text(std::string const& text) {
  Json const json = Json::parse(text);
  auto const count = [](Json const& value) { return with_commas(value.get<std::int64_t>()); };
  Facts facts;
  std::string names;
  for (auto const& name : json.at("protected"))
    names += (names.empty() ? "" : ", ") + escaped(name.get<std::string>());
  facts.add("protected", names);
  Json const& rows = json.at("rows");
  facts.add("rows",
            fmt::format("{} learnt from, {} for validation, {} held out", count(rows.at("train")),
                        count(rows.at("validation")), count(rows.at("test"))));
  facts.add("network", fmt::format("{} weights, from epoch {} of {}", count(json.at("parameters")),
                                   count(json.at("best_epoch")), count(json.at("epochs"))));
  Json const& metrics = json.at("metrics");
  if (!metrics.at("test").is_null()) facts.add("held out", metrics_text(metrics.at("test")));
  facts.add("learnt from", metrics_text(metrics.at("train")));
  facts.add("share of the domain", domain_share_text(json.at("domain_share")));
  Json const& timing = json.at("timing");
  facts.add("time",
            fmt::format("{}  (training {})", seconds_text(timing.at("total_seconds").get<double>()),
                        seconds_text(timing.at("fit_seconds").get<double>())));
  return facts.text();
}

std::string train_progress_text(TrainProgress const& progress) {
  Epoch const& epoch = progress.epoch;
  std::string text =
      fmt::format("epoch {} of {}  loss {:.4f}", epoch.number, progress.epochs, epoch.loss);
  if (!std::isnan(epoch.validation_loss)) {
    text += fmt::format("  validation {:.4f}, {} right", epoch.validation_loss,
                        percent(epoch.validation_accuracy));
  }
  return text + "  " + seconds_text(progress.seconds);
}

}  // namespace fairlane
