// fairlane check DIR: evaluates every reported pair again, independently.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/console.h"
#include "engine/check.h"

namespace fairlane {
namespace {

struct CheckArguments {
  std::string dir;
  ModelFlags model;
  ConsoleOptions console;
};

std::string check_json(CheckResult const& result) {
  nlohmann::ordered_json json;
  json["instances"] = result.instances;
  json["confirmed"] = result.confirmed;
  json["marginal"] = result.marginal;
  json["failed"] = result.failed;
  json["failures"] = result.failures;
  json["marginals"] = result.marginals;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string check_text(CheckResult const& result) {
  Facts facts;
  facts.add("reported pairs", with_commas(result.instances));
  facts.add("confirmed", with_commas(result.confirmed) +
                             (result.asked_again ? "  (the model, asked again, says the same)"
                                                 : "  (evaluated again in double precision)"));
  facts.add("marginal", with_commas(result.marginal) +
                            "  (within rounding of the decision boundary: either label is right)");
  facts.add("failed", with_commas(result.failed));
  std::string text = facts.text();
  for (std::string const& line : result.failures) text += "failed: " + line + "\n";
  return text;
}

ExitCode check(CheckArguments const& arguments) {
  CheckResult const result = check_directory(arguments.dir, arguments.model.options());
  print(arguments.console.json ? check_json(result) : check_text(result));
  if (result.failed == 0) return ExitCode::kOk;
  throw Error(
      ExitCode::kIntegrity,
      fmt::format("{}: {} of {} reported pairs do not hold{}", arguments.dir,
                  with_commas(result.failed), with_commas(result.instances),
                  result.failures.empty() ? "" : "; the first: " + result.failures.front()));
}

}  // namespace

Action add_check(CLI::App& app) {
  auto const arguments = std::make_shared<CheckArguments>();
  app.add_option("DIR", arguments->dir, "output directory of a run")->required()->type_name("");
  arguments->model.add_to(app);
  arguments->console.add_to(app);
  return [arguments] { return check(*arguments); };
}

}  // namespace fairlane
