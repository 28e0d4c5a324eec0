#include "engine/verify/verify.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "engine/job/job.h"
#include "engine/record/output_dir.h"
#include "engine/results/manifest.h"
#include "engine/verify/box_queue.h"
#include "engine/verify/verify_report.h"
#include "kernels/boxes/network_bounds.h"

namespace fairlane {
namespace {

constexpr std::int64_t kPiece = 32;  // boxes that a thread decides at once

char const* word_of(PairSemantics semantics) {
  return semantics == PairSemantics::kAny ? "any" : "all";
}

std::string recorded_options(VerifyOptions const& options) {
  Json json = recorded_region(options.region);
  json["semantics"] = word_of(options.semantics);
  json["cell_size"] = options.cell_size;
  json["most_boxes"] = options.most_boxes;
  return json.dump();
}

/// The network, where something can be proven of it.
NetworkView bounded_network(TestSubject const& subject) {
  subject.model().network("verify");  // throws for a scorer
  NetworkView const view = subject.view().network;
  if (view.back().outputs > 2) {
    throw Error(ExitCode::kUnavailable,
                fmt::format("{}: has {} outputs; `verify` proves networks of one output or two so "
                            "far; `fairlane enumerate` and `fairlane estimate` take any",
                            escaped(subject.model().source()), view.back().outputs));
  }
  for (LayerView const& layer : view) {
    if (layer.inputs > kMostInputs) {
      throw Error(ExitCode::kUnavailable,
                  fmt::format("{}: has a layer of {} inputs, expected at most {}",
                              escaped(subject.model().source()), layer.inputs, kMostInputs));
    }
  }
  return view;
}

/// Boxes are bounded on the CPU alone so far.
Execution on_cpu(Execution execution) {
  if (execution.backend == "auto") {
    execution.backend = "cpu";
    execution.backend_reason = "`verify` bounds boxes on the CPU";
  }
  if (!execution.backend.starts_with("cpu")) {
    throw Error(ExitCode::kUnavailable,
                fmt::format("--backend is {}; `verify` bounds boxes on the CPU so far, expected "
                            "auto or cpu",
                            in_quotes(execution.backend)));
  }
  return execution;
}

/// "avx2" of "cpu:avx2"; empty: the best one.
std::string instruction_set(Execution const& execution) {
  std::size_t const colon = execution.backend.find(':');
  return colon == std::string::npos ? std::string() : execution.backend.substr(colon + 1);
}

/// One verification on its way.
class Verification : private JobTask {
 public:
  Verification(RunConfig const& config, VerifyOptions const& options)
      : config_(config),
        options_(options),
        execution_(on_cpu(options.execution)),
        subject_(config, options.execution.model),
        network_(bounded_network(subject_)),
        out_(config.output.dir, manifest(), options.overwrite),
        backend_(make_backend(subject_, execution_, config.seed, {}, options.notice)),
        domain_(subject_.view(), backend_->subject(), region_lists(subject_, options.region)),
        cells_(subject_.view(), domain_, options.cell_size),
        queue_(cells_, options.most_boxes),
        threads_(thread_count(options.execution)),
        job_(*this, job_options()) {
    query_.variants = cells_.variant_lists();
    query_.threshold = static_cast<double>(subject_.view().threshold);
    if (subject_.model().outputs() == 2) query_.threshold = 0.0;
    query_.compares = [this](int v, int w) {
      if (options_.semantics == PairSemantics::kAny) return v != w;
      PackedSubject const& packed = backend_->subject();
      for (int s = 0; s < packed.get().selected; ++s) {
        if (packed.variant_value(v, s) == packed.variant_value(w, s)) return false;
      }
      return true;
    };
  }

  std::string run();

 private:
  std::string manifest() const {
    return manifest_json(config_, subject_, Cut{}, {{"verify", recorded_options(options_)}});
  }
  JobOptions job_options() const {
    JobOptions job;
    job.stop = options_.stop;
    job.tell = options_.notice;
    job.seconds = config_.budget.seconds;
    job.state = StateFile{out_.state_path(), manifest(), out_.path(), options_.execution.checkpoint,
                          options_.now};
    return job;
  }
  void tell(std::string const& line) const {
    if (options_.notice) options_.notice(line);
  }
  void work() override;
  void write_state(CheckpointWriter& state) override { queue_.write(state); }
  void read_state(CheckpointReader const& state) override { queue_.read(state); }
  std::string done() const override {
    return fmt::format("{} of {} cells", queue_.decided(), cells_.count());
  }
  char const* name() const override { return "verification"; }

  RunConfig const& config_;
  VerifyOptions const& options_;
  Execution execution_;
  TestSubject const subject_;
  BoundNetwork network_;
  OutputDir out_;
  std::unique_ptr<Backend> backend_;
  BoxDomain domain_;
  Cells cells_;
  BoxQueue queue_;
  VerifyQuery query_;
  int threads_;
  ThreadPool pool_;
  Job job_;
};

void Verification::work() {
  job_.progress().begin(0, cells_.count(), queue_.decided());
  BoxKernels const& kernels = box_kernels(instruction_set(execution_).c_str());
  std::vector<std::unique_ptr<BoxDecider>> deciders;
  for (int t = 0; t < threads_; ++t) {
    deciders.push_back(std::make_unique<BoxDecider>(domain_, network_, kernels, *backend_, query_));
  }
  std::vector<Decision> decisions;
  while (true) {
    job_.check_stop();
    if (job_.late()) return queue_.end();
    auto const& boxes = queue_.next();
    if (boxes.empty()) return;
    decisions.resize(boxes.size());
    pool_.share(threads_, 0, static_cast<std::int64_t>(boxes.size()), kPiece,
                [&](int thread, std::int64_t first, std::int64_t count) {
                  auto const at = static_cast<std::size_t>(first);
                  auto const some = static_cast<std::size_t>(count);
                  deciders[static_cast<std::size_t>(thread)]->decide(
                      std::span(boxes).subspan(at, some), std::span(decisions).subspan(at, some));
                });
    queue_.take(decisions);
    job_.progress().done = queue_.decided();
    if (options_.progress) {
      options_.progress({cells_.count(), queue_.decided(),
                         static_cast<std::int64_t>(queue_.examples().size()), queue_.boxes(),
                         job_.seconds()});
    }
    if (job_.due()) job_.save_on_the_way();
  }
}

std::string Verification::run() {
  Stopwatch const start;
  for (auto const& notice : subject_.notices()) tell(notice);
  tell(backend_line(*backend_, execution_));
  job_.run();
  VerifyReport report{subject_, domain_, cells_, queue_, *backend_};
  report.search_seconds = start.seconds();
  out_.write("cells.csv", cells_csv(report));
  out_.write("counterexamples.csv", counterexamples_csv(report));
  report.total_seconds = start.seconds();
  std::string summary = verify_summary_json(report);
  out_.write("summary.json", summary);
  out_.finish();
  return summary;
}

}  // namespace

std::string verify(RunConfig const& config, VerifyOptions const& options) {
  return Verification(config, options).run();
}

}  // namespace fairlane
