// fairlane train CONFIG: a classifier from a table.
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/train_text.h"
#include "engine/train/train.h"

namespace fairlane {
namespace {

struct TrainArguments {
  ConfigOptions config;
  ConsoleOptions console;
  bool overwrite = false;
};

ExitCode run_train(TrainArguments const& arguments) {
  Console const console(arguments.console);
  TrainOptions options;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  RunConfig const config = arguments.config.config(ModelUse::kMade);
  WorkFrame frame(console);
  frame.lead(options, train_progress_text);
  std::string const json = train(config, options);
  frame.clear();
  print(arguments.console.json ? json : train_text(json));
  if (!arguments.console.json) print(results_place(config.output.dir));
  return ExitCode::kOk;
}

}  // namespace

Action add_train(Arguments& app) {
  auto const arguments = std::make_shared<TrainArguments>();
  arguments->config.add_to(app);
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  arguments->console.add_to(app);
  return [arguments] { return run_train(*arguments); };
}

}  // namespace fairlane
