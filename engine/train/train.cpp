#include "engine/train/train.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/config/config_json.h"
#include "engine/count/domain_share.h"
#include "engine/job/job.h"
#include "engine/learning/similar_pairs.h"
#include "engine/record/output_dir.h"
#include "engine/results/manifest.h"
#include "engine/subject/row_labels.h"
#include "models/keras/h5_writer.h"
#include "models/onnx/model_writer.h"
#include "models/safetensors.h"

namespace fairlane {
namespace {

Network network_to_train(RunConfig const& config, TrainingTable const& table,
                         ModelOptions const& options) {
  int const columns = table.domain.columns();
  if (!config.train.layers.empty() || config.model.empty())
    return initial_network(config.train, columns, table.outputs(), config.seed);
  Model const like = load_model(config.model, columns, options);
  return initial_network(like.network("training a network of its shape"), columns, table.outputs(),
                         config.seed);
}

std::string number_or_nothing(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

std::string history_csv(std::vector<Epoch> const& epochs) {
  std::string text = "epoch,loss,validation_loss,validation_accuracy\n";
  for (Epoch const& epoch : epochs) {
    text += fmt::format("{},{},{},{}\n", epoch.number, epoch.loss,
                        number_or_nothing(epoch.validation_loss),
                        number_or_nothing(epoch.validation_accuracy));
  }
  return text;
}

/// The training as a job.
class TrainTask final : public JobTask {
 public:
  TrainTask(Network const& initial, TrainingTable const& table, RunConfig const& config,
            FitOptions options, JobOptions job)
      : epochs_(config.train.epochs),
        fit_(initial, table.train, table.validation, config.train, config.seed, std::move(options)),
        job_(*this, std::move(job)) {}

  void run() { job_.run(); }
  Fitted const& fitted() const { return fit_.fitted(); }
  double earlier_seconds() const { return job_.earlier_seconds(); }

 private:
  void work() override {
    while (!fit_.is_done()) {
      fit_.run_epoch();
      if (job_.due()) job_.save_on_the_way();
    }
  }
  void write_state(CheckpointWriter& state) override { fit_.state().write(state); }
  void read_state(CheckpointReader const& state) override {
    if (auto const saved = FitState::read(state)) fit_.resume(*saved);
  }
  bool can_save() const override { return !fit_.fitted().epochs.empty(); }
  std::string done() const override {
    return fmt::format("{} of {} epochs", fit_.fitted().epochs.size(), epochs_);
  }
  bool asks_model() const override { return false; }
  char const* name() const override { return "training"; }

  int epochs_;
  Fit fit_;
  Job job_;
};

}  // namespace

Metrics measure_on(TestSubject const& subject, Backend& backend, TrainingRows const& rows,
                   int classes) {
  RowLabels const decided = label_rows(subject, backend, rows.rows);
  return measure(rows.labels, decided.scores, decided.labels, classes);
}

void write_network(Network const& network, std::string const& name,
                   std::function<std::string(std::string const&)> const& place) {
  write_safetensors(network, place(name + ".safetensors"));
  write_onnx(network, place(name + ".onnx"));
  if (has_keras_form(network)) write_keras_h5(network, place(name + ".h5"));
}

std::string test_config_text(RunConfig const& config, TestSubject const& subject,
                             std::string const& model) {
  namespace fs = std::filesystem;
  auto const from_here = [&](std::string const& path) {
    fs::path const dir = fs::absolute(config.output.dir);
    return Json(fs::absolute(path).lexically_relative(dir).generic_string()).dump();
  };
  std::string names;
  for (std::int32_t const a : subject.selected()) {
    names += (names.empty() ? "" : ", ") +
             Json(subject.domain().attributes[static_cast<std::size_t>(a)].name).dump();
  }
  // Quoted texts of JSON are texts of YAML.
  std::string text = "# Tests the model beside this file: fairlane run THIS_FILE\n";
  text += fmt::format("model: {}\ndata: {}\ndomain: {}\nprotected: [{}]\n", Json(model).dump(),
                      from_here(config.data), from_here(config.domain), names);
  if (config.threshold != 0.5) text += fmt::format("threshold: {}\n", config.threshold);
  if (config.out_of_domain != OutOfDomain::kError)
    text += fmt::format("out_of_domain: {}\n", name_of(config.out_of_domain));
  text += fmt::format("method: {}\nseed: {}\noutput: {{dir: run}}\n", config.method, config.seed);
  return text;
}

std::string train(RunConfig const& asked, TrainOptions const& options) {
  Stopwatch const start;
  auto const tell = [&](std::string const& line) {
    if (options.notice) options.notice(line);
  };
  RunConfig config = asked;
  TrainingTable const table = read_training_table(config);
  for (std::string const& notice : table.notices) tell(notice);
  Network const initial = network_to_train(config, table, options.execution.model);
  // The domain and what is compared, before there is a model.
  TestSubject const before(config, Model("a network in training", initial), table.domain);
  Json section = recorded_section(config, "train");
  std::string const manifest = manifest_json(config, before, Cut{}, {{"train", section.dump()}});
  OutputDir out(config.output.dir, manifest, options.overwrite);

  KnownPairs const none;
  std::optional<SimilarPairs> pairs;
  if (config.train.consistency > 0.0)
    pairs.emplace(before, table.train, config.train.random_pairs, config.seed, none);
  FitOptions fitting;
  fitting.weights = row_weights(table.train, table.classes, config.train.class_weights);
  fitting.pairs = pairs ? &*pairs : nullptr;
  fitting.on_gpu = options.execution.backend.starts_with("cuda");
  if (fitting.on_gpu && !can_train_on_gpu())
    throw Error(ExitCode::kUnavailable, "--backend cuda: this LibTorch has no GPU; use cpu");
  fitting.stop = options.stop;
  fitting.is_saved = true;
  fitting.progress = [&](Epoch const& epoch) {
    if (options.progress) options.progress({epoch, config.train.epochs, start.seconds()});
  };
  Stopwatch const fit_start;
  JobOptions job;
  job.stop = options.stop;
  job.tell = tell;
  job.state =
      StateFile{out.state_path(), manifest, out.path(), options.execution.checkpoint, options.now};
  TrainTask task(initial, table, config, std::move(fitting), std::move(job));
  task.run();
  Fitted const& fitted = task.fitted();
  double const fit_seconds = fit_start.seconds() + task.earlier_seconds();

  write_network(fitted.network, "model",
                [&](std::string const& name) { return out.partial(name); });
  config.model = out.partial("model.safetensors");
  config.plausibility = {};                                    // it is about what a search finds
  TestSubject const subject(config, options.execution.model);  // as it was written
  Execution execution = options.execution;
  execution.backend = "cpu";
  auto const backend = make_backend(subject, execution, config.seed, {});
  Json metrics;
  auto const measured = [&](char const* name, TrainingRows const& rows) {
    metrics[name] = rows.count() == 0
                        ? Json(nullptr)
                        : metrics_json(measure_on(subject, *backend, rows, table.classes));
  };
  measured("train", table.train);
  measured("validation", table.validation);
  measured("test", table.test);
  DomainShareOptions sampling;
  sampling.execution = execution;
  sampling.stop = options.stop;
  DomainShare const share = measure_domain_share(config, subject, sampling);

  Json json;
  json["method"] = "train";
  Json names = Json::array();
  for (std::int32_t const a : subject.selected())
    names.push_back(subject.domain().attributes[static_cast<std::size_t>(a)].name);
  json["protected"] = names;
  json["classes"] = table.classes;
  json["rows"] = {{"train", table.train.count()},
                  {"validation", table.validation.count()},
                  {"test", table.test.count()}};
  json["epochs"] = fitted.epochs.size();
  json["best_epoch"] = fitted.best;
  json["parameters"] = fitted.network.parameters();
  json["metrics"] = std::move(metrics);
  json["domain_share"] = domain_share_json(share);
  json["timing"] = {{"fit_seconds", fit_seconds},
                    {"total_seconds", start.seconds() + task.earlier_seconds()}};
  std::string const text = json.dump(2) + "\n";
  out.write("history.csv", history_csv(fitted.epochs));
  out.write("run.yaml", test_config_text(asked, subject, "model.safetensors"));
  out.write("summary.json", text);
  out.finish();
  return text;
}

}  // namespace fairlane
