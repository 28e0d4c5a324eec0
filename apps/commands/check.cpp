// fairlane check DIR: evaluates every reported pair again, independently.
#include <fmt/format.h>

#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "base/formats/json.h"
#include "engine/check/check.h"

namespace fairlane {
namespace {

struct CheckArguments {
  std::string dir;
  ModelFlags model;
  ConsoleOptions console;
};

std::string check_json(CheckResult const& result) {
  Json json;
  json["instances"] = result.instances;
  json["confirmed"] = result.confirmed;
  json["marginal"] = result.marginal;
  json["undefined"] = result.undefined;
  json["failed"] = result.failed_pairs();
  json["contradictions"] = result.contradictions;
  json["run_inputs"] = result.run_inputs;
  json["run_undefined"] = result.run_undefined;
  if (!result.unchecked.empty()) json["unchecked"] = result.unchecked;
  json["failures"] = result.failures;
  json["marginals"] = result.marginals;
  return json.dump(2) + "\n";
}

std::string check_text(CheckResult const& result) {
  Facts facts;
  if (result.run_undefined > 0) {
    facts.add("undefined",
              fmt::format("{} of {} inputs of the run, whose output is not a finite "
                          "number",
                          with_commas(result.run_undefined), with_commas(result.run_inputs)));
  }
  if (!result.unchecked.empty()) facts.add("unchecked", result.unchecked);
  facts.add("reported pairs", with_commas(result.instances));
  facts.add("confirmed", with_commas(result.confirmed) +
                             (result.asked_again ? "  (the model, asked again, says the same)"
                                                 : "  (evaluated again in double precision)"));
  facts.add("marginal", with_commas(result.marginal) +
                            "  (within rounding of the decision boundary: either label is right)");
  if (result.undefined > 0) {
    facts.add("undefined pairs",
              with_commas(result.undefined) +
                  "  (an output is not a finite number: neither holds nor fails)");
  }
  facts.add("failed", with_commas(result.failed_pairs()));
  if (result.contradictions > 0) {
    facts.add("contradictions", with_commas(result.contradictions) +
                                    "  (numbers of summary.json that are not what the files hold)");
  }
  std::string text = facts.text();
  for (std::string const& line : result.failures) text += "failed: " + line + "\n";
  return text;
}

ExitCode check(CheckArguments const& arguments) {
  CheckResult const result = check_directory(arguments.dir, arguments.model.options());
  print(arguments.console.json ? check_json(result) : check_text(result));
  if (result.failed_pairs() > 0) {
    throw Error(
        ExitCode::kIntegrity,
        fmt::format("{}: {} of {} reported pairs do not hold{}", arguments.dir,
                    with_commas(result.failed_pairs()), with_commas(result.instances),
                    result.failures.empty() ? "" : "; the first: " + result.failures.front()));
  }
  if (result.contradictions > 0) {
    throw Error(ExitCode::kIntegrity, fmt::format("{}: the summary does not hold: {}",
                                                  arguments.dir, fmt::join(result.failures, "; ")));
  }
  if (!result.unchecked.empty()) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: nothing was checked: {}", arguments.dir, result.unchecked));
  }
  if (result.undefined > 0) {
    throw Error(
        ExitCode::kIntegrity,
        fmt::format("{}: {} of {} reported pairs cannot be verified, since an output is not "
                    "a finite number",
                    arguments.dir, with_commas(result.undefined), with_commas(result.instances)));
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_check(Arguments& app) {
  auto const arguments = std::make_shared<CheckArguments>();
  app.add_option("DIR", arguments->dir, "output directory of a run")->required()->type_name("");
  arguments->model.add_to(app);
  arguments->console.add_to(app);
  return [arguments] { return check(*arguments); };
}

}  // namespace fairlane
