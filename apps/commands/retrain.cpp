// fairlane retrain CONFIG: a fairer model in place of another.
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/retrain_text.h"
#include "base/formats/json.h"
#include "engine/retrain/retrain.h"

namespace fairlane {
namespace {

struct RetrainArguments {
  ConfigOptions config;
  ConsoleOptions console;
  std::string evaluate;
  bool export_set = false;
  bool overwrite = false;
};

ExitCode run_retrain(RetrainArguments const& arguments) {
  Console const console(arguments.console);
  RetrainOptions options;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  options.export_set = arguments.export_set;
  options.evaluate = arguments.evaluate;
  if (options.export_set && !options.evaluate.empty())
    throw usage_error("--export and --evaluate are two steps; expected one of them");
  RunConfig const config = arguments.config.config();
  WorkFrame frame(console);
  frame.lead(options, retrain_progress_text);
  std::string const text = retrain(config, options);
  frame.clear();
  print(arguments.console.json ? text : retrain_text(text));
  if (!arguments.console.json) print(results_place(config.output.dir));
  Json const json = Json::parse(text);
  if (json.contains("exported")) return ExitCode::kOk;
  bool const is_short = json.at("taken").is_null() || json.at("target_reached") == false;
  return is_short ? ExitCode::kPartly : ExitCode::kOk;
}

}  // namespace

Action add_retrain(Arguments& app) {
  auto const arguments = std::make_shared<RetrainArguments>();
  arguments->config.add_to(app);
  app.add_flag("--export", arguments->export_set,
               "write the rows to learn from for another program, and train nothing");
  app.add_option("--evaluate", arguments->evaluate,
                 "hold this model against the configured one, and train nothing")
      ->type_name("MODEL");
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  arguments->console.add_to(app);
  return [arguments] { return run_retrain(*arguments); };
}

}  // namespace fairlane
