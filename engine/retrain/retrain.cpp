#include "engine/retrain/retrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/config/config_json.h"
#include "engine/job/job.h"
#include "engine/learning/electorate.h"
#include "engine/learning/training_draws.h"
#include "engine/record/output_dir.h"
#include "engine/results/manifest.h"
#include "engine/results/results_page.h"
#include "engine/results/run.h"
#include "engine/retrain/candidate_trainer.h"
#include "engine/retrain/candidates.h"
#include "engine/retrain/fairness.h"
#include "engine/retrain/found_instances.h"
#include "engine/retrain/recipe.h"
#include "engine/retrain/retraining_set.h"
#include "engine/train/train.h"

namespace fairlane {
namespace {

constexpr double kFirstStrength = 1.0;  // of the consistency term
constexpr double kPercent = 0.01;
constexpr char const* kCandidate = "candidate";
constexpr char const* kBest = "best";  // of the rounds so far

/// One retraining on its way.
class Retraining final : public JobTask {
 public:
  Retraining(RunConfig const& config, RetrainOptions const& options)
      : config_(config),
        options_(options),
        recipe_(find_recipe(config.retrain.recipe)),
        subject_(unlimited(config, "retrain"), options.execution.model),
        table_(read_training_table(config, subject_.model())),
        out_(config.output.dir, manifest(), options.overwrite),
        job_(*this, job_options()) {
    work_folder_ = out_.partial("work");
    std::filesystem::create_directories(work_folder_);
    fairness_.execution = options.execution;
    fairness_.execution.backend = "cpu";
    fairness_.folder = work_folder_;
    fairness_.stop = options.stop;
  }

  std::string run();

 private:
  std::string manifest() const;
  JobOptions job_options() const;
  void work() override { train_rounds(); }
  void write_state(CheckpointWriter& state) override { trainer_.write(state); }
  void read_state(CheckpointReader const& state) override { trainer_.read(state); }
  std::string done() const override { return trainer_.done(); }
  bool can_save() const override { return trainer_.has_trained(); }
  bool asks_model() const override { return false; }
  char const* name() const override { return "retraining"; }

  void tell(std::string const& line) const {
    if (options_.notice) options_.notice(line);
  }
  void show(std::string const& what) const {
    if (options_.progress) options_.progress({what, watch_.seconds()});
  }
  bool needs_votes() const {
    return recipe_.kind == RecipeKind::kAddedRows || recipe_.kind == RecipeKind::kGrowingRows;
  }
  /// Instances that so many times retrain.share is.
  double share_of_found(int times) const {
    return std::min(1.0, config_.retrain.share * times) * static_cast<double>(found_.count());
  }
  bool needs_instances() const { return recipe_.kind != RecipeKind::kUnaware; }
  /// Searches `model`, or takes the results that the configuration names in the first round.
  void find_instances(std::string const& model);
  /// Adds the first so many instances to what earlier rounds added.
  void add_rows(double instances);
  void train_rounds();
  Network initial(std::uint64_t seed) const;
  /// Trains candidate `number` of the round; false where the recipe has no more.
  bool train_next(int number);
  void judge(Candidate& candidate);
  Metrics measured(std::string const& model, TrainingRows const& rows) const;
  RunConfig with_model(std::string const& model) const;
  std::string write_set();

  Stopwatch const watch_;
  RunConfig const& config_;
  RetrainOptions const& options_;
  Recipe const& recipe_;
  TestSubject const subject_;
  TrainingTable const table_;
  OutputDir out_;
  Job job_;
  CandidateTrainer trainer_;
  std::string work_folder_;
  FairnessOptions fairness_;
  FoundInstances found_;
  std::vector<std::uint32_t> order_;  // in which instances are added
  std::size_t picked_ = 0;            // of them, by the last candidate
  KnownPairs known_;                  // those found in all rounds, where pairs teach
  Json rounds_ = Json::array();       // what each found
  std::unique_ptr<Electorate> electorate_;
  AddedRows kept_;   // of the best candidate of earlier rounds
  AddedRows added_;  // of the last candidate
  Original original_;
  std::vector<Candidate> candidates_;
};

std::string Retraining::manifest() const {
  Json section = recorded_section(config_, "retrain");
  section["train"] = recorded_section(config_, "train");
  section["export"] = options_.export_set;
  section["evaluate"] = options_.evaluate;
  return manifest_json(config_, subject_, Cut{}, {{"retrain", section.dump()}});
}

JobOptions Retraining::job_options() const {
  JobOptions job;
  job.stop = options_.stop;
  job.tell = options_.notice;
  job.state = StateFile{out_.state_path(), manifest(), out_.path(), options_.execution.checkpoint,
                        options_.now};
  return job;
}

RunConfig Retraining::with_model(std::string const& model) const {
  RunConfig config = config_;
  config.model = model;
  return config;
}

Metrics Retraining::measured(std::string const& model, TrainingRows const& rows) const {
  RunConfig const config = with_model(model);
  TestSubject const subject(config, options_.execution.model);
  auto const backend = make_backend(subject, fairness_.execution, config.seed, {});
  return measure_on(subject, *backend, rows, table_.classes);
}

void Retraining::find_instances(std::string const& model) {
  std::string dir = rounds_.empty() ? config_.retrain.instances : "";
  Json json;
  if (dir.empty()) {
    show("searching for IDIs with " + config_.method);
    RunConfig searching = with_model(model);
    searching.output = {};
    searching.output.report = false;
    searching.output.format = OutputFormat::kNpy;
    if (!config_.retrain.needs_scores()) searching.output.columns = OutputColumns::kLabels;
    searching.output.dir = dir = work_folder_ + "/search";
    RunOptions run_options;
    run_options.execution = options_.execution;
    run_options.overwrite = true;
    run_options.search.stop = options_.stop;
    Summary summary;
    try {
      summary = fairlane::run(searching, run_options);
    } catch (Error const&) {
      job_.check_stop();  // what the search has saved is of no use to another session
      throw;
    }
    json = {{"method", config_.method}, {"model_evaluations", summary.search.model_evaluations}};
  } else {
    json = {{"directory", std::filesystem::path(dir).filename().string()}};
  }
  found_ = read_instances(dir, subject_, config_.retrain);
  json["unique_instances"] = found_.count();
  rounds_.push_back(std::move(json));
  order_ = pick(found_, subject_, config_, thread_count(options_.execution));
  if (recipe_.kind == RecipeKind::kConsistency) known_.append(found_.pairs);
  if (found_.count() == 0)
    tell("no IDI was found: there is nothing to add; another method may find some (see compare)");
}

void Retraining::add_rows(double instances) {
  auto const wanted = static_cast<std::size_t>(std::lround(instances));
  picked_ = std::min(wanted, order_.size());
  std::vector<std::int32_t> rows;
  std::vector<float> weights;
  auto const width = static_cast<std::size_t>(subject_.domain().size());
  for (std::size_t i = 0; i < picked_; ++i) {
    auto const members = added_members(found_, order_[i], subject_, config_.retrain.members);
    rows.insert(rows.end(), members.begin(), members.end());
    weights.resize(rows.size() / width, found_.pairs.weights[order_[i]]);
  }
  Votes votes = electorate_->vote(rows, config_.retrain.vote);
  AddedRows added;
  added.set(table_, std::move(rows), std::move(votes), std::move(weights));
  added_ = kept_;
  added_.append(added);
  if (picked_ < wanted)
    tell(fmt::format("only {} IDIs are there of the {} that the recipe adds", picked_, wanted));
}

Network Retraining::initial(std::uint64_t seed) const {
  int const columns = table_.domain.columns();
  if (!config_.train.layers.empty())
    return initial_network(config_.train, columns, subject_.model().outputs(), seed);
  if (subject_.model().scorer()) {
    throw Error(
        ExitCode::kUnavailable,
        fmt::format("{}: is no network, so that its own program has to train it; --export writes "
                    "the set, --evaluate MODEL judges the result, train.layers trains a network "
                    "in its place",
                    escaped(config_.model)));
  }
  return initial_network(subject_.model().network("retraining"), columns,
                         subject_.model().outputs(), seed);
}

bool Retraining::train_next(int number) {
  Candidate candidate;
  candidate.round = static_cast<int>(rounds_.size()) - (needs_instances() ? 1 : 0);
  candidate.strength = config_.train.consistency;
  CandidateTask task;
  task.train = table_.train;
  task.validation = table_.validation;
  switch (recipe_.kind) {
    case RecipeKind::kAddedRows:
      add_rows(share_of_found(number + 1));
      break;
    case RecipeKind::kGrowingRows: {
      // p ~ U(2^i, 2^(i+1)) percent.
      double const u = unit_number(
          training_words(TrainingDraw::kShare, static_cast<std::uint32_t>(number), 0, config_.seed)
              .w[0]);
      add_rows(kPercent * std::ldexp(1.0 + u, number) * static_cast<double>(table_.train.count()));
      break;
    }
    case RecipeKind::kConsistency:
      candidate.strength = candidate_strength(
          config_.train.consistency > 0.0 ? config_.train.consistency : kFirstStrength, number);
      break;
    case RecipeKind::kUnaware:
      hide_protected(subject_, task.train);
      hide_protected(subject_, task.validation);
      break;
  }
  added_.append_to(task.train);
  candidate.added = added_.rows.count();
  TrainConfig& training = task.config;
  training = config_.train;
  training.consistency = candidate.strength;
  // Instances teach once: as rows where they are labelled, otherwise as pairs.
  SimilarPairs const pairs(subject_, table_.train, training.random_pairs, config_.seed, known_);
  FitOptions& fitting = task.fitting;
  fitting.weights = row_weights(task.train, table_.classes, training.class_weights);
  added_.weigh(fitting.weights);
  fitting.pairs = training.consistency > 0.0 ? &pairs : nullptr;
  fitting.on_gpu = options_.execution.backend.starts_with("cuda");
  fitting.stop = options_.stop;
  fitting.progress = [&](Epoch const& epoch) {
    show(fmt::format("candidate {}: epoch {} of {}, loss {:.4f}", number + 1, epoch.number,
                     config_.train.epochs, epoch.loss));
  };
  task.initial = initial(config_.seed);
  candidate.network = trainer_.next(std::move(task), config_.seed, [this] {
    if (job_.due()) job_.save_on_the_way();
  });
  if (recipe_.kind == RecipeKind::kUnaware) forget_protected(subject_, candidate.network);
  candidates_.push_back(std::move(candidate));
  judge(candidates_.back());
  std::size_t const last = candidates_.size() - 1;
  if (recipe_.kind == RecipeKind::kGrowingRows && number > 0)
    return candidates_[last].share.share < candidates_[last - 1].share.share;
  return picked_ < order_.size() || !needs_votes();
}

void Retraining::judge(Candidate& candidate) {
  std::string model = candidate.model;
  if (model.empty()) {
    write_network(candidate.network, kCandidate,
                  [&](std::string const& name) { return work_folder_ + "/" + name; });
    model = work_folder_ + "/" + kCandidate + ".safetensors";
  }
  candidate.validation = measured(model, table_.validation);
  candidate.test = measured(model, table_.test);
  RunConfig const config = with_model(model);
  TestSubject const subject(config, options_.execution.model);
  candidate.share = sample_share(config, subject, fairness_);
}

void Retraining::train_rounds() {
  if (needs_votes())
    electorate_ = std::make_unique<Electorate>(subject_, table_, config_.seed, options_.stop);
  int const most = config_.retrain.candidates.value_or(recipe_.candidates);
  double const target = config_.retrain.target.value_or(-1.0);
  std::string searched = config_.model;
  for (int round = 0; round < config_.retrain.rounds; ++round) {
    if (needs_instances()) find_instances(searched);
    if (round > 0 && found_.count() == 0) break;
    for (int number = 0; number < most; ++number) {
      if (!train_next(number) || candidates_.back().share.high <= target) break;
    }
    auto const best = choose(candidates_, original_, config_.retrain);
    bool const is_better = best && candidates_[*best].round == round;
    if (!is_better || !needs_instances() || candidates_[*best].share.high <= target) break;
    if (round + 1 == config_.retrain.rounds) break;
    kept_ = added_;
    kept_.keep(candidates_[*best].added);
    write_network(candidates_[*best].network, kBest,
                  [&](std::string const& name) { return work_folder_ + "/" + name; });
    searched = work_folder_ + "/" + kBest + ".safetensors";
  }
}

std::string Retraining::write_set() {
  find_instances(config_.model);
  electorate_ = std::make_unique<Electorate>(subject_, table_, config_.seed, options_.stop);
  add_rows(share_of_found(1));
  TrainingRows rows = table_.train;
  added_.append_to(rows);
  out_.write("retraining.csv", labelled_csv(table_.domain, rows, table_.train.count()));
  out_.write("validation.csv",
             labelled_csv(table_.domain, table_.validation, table_.validation.count()));
  out_.write("test.csv", labelled_csv(table_.domain, table_.test, table_.test.count()));
  Json json;
  json["method"] = "retrain";
  json["exported"] = {{"rows", table_.train.count()}, {"added_rows", added_.rows.count()}};
  json["rounds"] = rounds_;
  json["timing"] = {{"total_seconds", watch_.seconds()}};
  std::string const text = json.dump(2) + "\n";
  out_.write("summary.json", text);
  write_results_page(config_, options_.execution, out_);
  out_.finish();
  return text;
}

std::string Retraining::run() {
  for (std::string const& notice : table_.notices) tell(notice);
  if (options_.export_set) return write_set();
  if (options_.evaluate.empty()) initial(config_.seed);  // says what cannot be trained at once
  bool const counts = counts_domain(config_, subject_, fairness_.execution);
  show("measuring the model as it is");
  Fairness const before = measure_fairness(config_, counts, fairness_);
  original_.share = sample_share(config_, subject_, fairness_);
  original_.validation = measured(config_.model, table_.validation);
  original_.test = measured(config_.model, table_.test);
  if (!options_.evaluate.empty()) {
    Candidate given;
    given.model = options_.evaluate;
    candidates_.push_back(std::move(given));
    judge(candidates_.back());
  } else {
    job_.run();
  }
  std::optional<std::size_t> const taken = choose(candidates_, original_, config_.retrain);

  Json json;
  json["method"] = "retrain";
  json["recipe"] = options_.evaluate.empty() ? Json(recipe_.name) : Json(nullptr);
  json["protected"] = Json::array();
  for (std::int32_t const a : subject_.selected())
    json["protected"].push_back(subject_.domain().attributes[static_cast<std::size_t>(a)].name);
  json["rows"] = {{"train", table_.train.count()},
                  {"validation", table_.validation.count()},
                  {"test", table_.test.count()}};
  json["rounds"] = rounds_;
  json["voters"] = electorate_ ? voters_json(electorate_->members()) : Json::array();
  json["candidates"] = candidates_json(candidates_);
  json["taken"] = taken ? Json(*taken) : Json(nullptr);
  auto const side = [](Fairness const& fairness, Metrics const& test, Metrics const& validation) {
    return Json{{"fairness", fairness.json},
                {"test", metrics_json(test)},
                {"validation", metrics_json(validation)}};
  };
  json["before"] = side(before, original_.test, original_.validation);
  json["after"] = nullptr;
  json["target_reached"] = nullptr;
  if (taken) {
    Candidate const& best = candidates_[*taken];
    std::string model = best.model;
    if (model.empty()) {
      write_network(best.network, "model",
                    [&](std::string const& name) { return out_.partial(name); });
      model = out_.partial("model.safetensors");
      out_.write("run.yaml", test_config_text(config_, subject_, "model.safetensors"));
    }
    show("measuring the model that was taken");
    Fairness const after = measure_fairness(with_model(model), counts, fairness_);
    json["after"] = side(after, best.test, best.validation);
    if (config_.retrain.target)
      json["target_reached"] = after.joint.high <= *config_.retrain.target;
  } else if (config_.retrain.target) {
    json["target_reached"] = false;
  }
  json["timing"] = {{"total_seconds", watch_.seconds()}};
  std::string const text = json.dump(2) + "\n";
  if (added_.rows.count() > 0) out_.write("added.csv", added_csv(table_.domain, added_));
  out_.write("summary.json", text);
  write_results_page(config_, options_.execution, out_);
  out_.finish();
  return text;
}

}  // namespace

std::string retrain(RunConfig const& config, RetrainOptions const& options) {
  return Retraining(config, options).run();
}

}  // namespace fairlane
