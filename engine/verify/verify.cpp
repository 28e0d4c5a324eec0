#include "engine/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "engine/job/job.h"
#include "engine/record/output_dir.h"
#include "engine/results/manifest.h"
#include "engine/results/results_page.h"
#include "engine/verify/against.h"
#include "engine/verify/box_queue.h"
#include "engine/verify/boxes/existing_groups.h"
#include "engine/verify/certain_shares.h"
#include "engine/verify/deciders/provable_model.h"
#include "engine/verify/fairify_csv.h"
#include "engine/verify/recorded_query.h"
#include "engine/verify/share_round.h"
#include "engine/verify/verify_report.h"
#include "engine/verify/vnnlib.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr std::int64_t kPiece = 32;  // boxes that a thread decides at once
constexpr int kStarts = 16;          // of the search where all depends on one cell

/// Most of a verification is the host's own work, of which a GPU takes nothing: it is used where it
/// is asked for.
Execution verify_execution(Execution execution, TestSubject const& subject,
                           ProvableModel const& model) {
  if (execution.backend == "auto") {
    execution.backend = "cpu";
    execution.backend_reason = "`verify` uses a GPU where --backend asks for it";
  }
  if (!execution.backend.starts_with("cpu") && !model.takes_devices()) {
    throw Error(ExitCode::kUnavailable,
                fmt::format("{}: trees and smooth hidden layers are bounded on the CPU alone so "
                            "far; --backend is {}, expected cpu",
                            escaped(subject.model().source()), in_quotes(execution.backend)));
  }
  return execution;
}

/// Who is compared with whom, as a subject numbers attributes.
RegionRules region_rules(TestSubject const& subject, ProvableModel const& model,
                         VerifyOptions const& options) {
  RegionRules rules;
  Domain const& domain = subject.domain();
  std::vector<std::string> names;
  for (Attribute const& attribute : domain.attributes) names.push_back(attribute.name);
  for (RelaxedBy const& relaxed : options.relaxed) {
    int const a = domain.find(relaxed.attribute);
    auto const refuse = [&](std::string const& why) {
      return Error(ExitCode::kUsage,
                   fmt::format("--relax {}={}: {}", escaped(relaxed.attribute), relaxed.by, why));
    };
    if (a < 0) {
      throw refuse(fmt::format("no attribute of {}{}", escaped(domain.source),
                               did_you_mean(relaxed.attribute, names)));
    }
    if (std::ranges::count(subject.selected(), a) > 0)
      throw refuse("the attribute is under test, expected another one");
    bool const listed = std::ranges::any_of(options.region.from_data, [&](auto const& tuple) {
      return std::ranges::count(tuple, relaxed.attribute) > 0;
    });
    if (options.region.rows || listed)
      throw refuse("its values come from the data; leave --rows and its --tuple out");
    for (RelaxedAttribute const& known : rules.relaxed) {
      if (known.attribute == a) throw refuse("named twice, expected once");
    }
    rules.relaxed.push_back({a, relaxed.by});
  }
  for (std::string const& text : options.where) {
    for (LinearLimit& limit : parse_limit(text, domain, subject.selected()))
      rules.limits.push_back(std::move(limit));
  }
  if (options.margin > 0.0) model.check_margin(subject);
  if (options.quantify > 0 && (!rules.relaxed.empty() || options.margin > 0.0)) {
    throw Error(ExitCode::kUsage,
                "--quantify counts groups by their own members alone, whose labels are certain; "
                "leave --relax and --margin out");
  }
  if (!options.vnnlib.empty()) check_vnnlib(subject, rules);
  return rules;
}

/// SHA-256 of what a domain's constraints say.
std::string words_digest(Domain const& domain) {
  std::string text;
  for (Constraint const& constraint : domain.constraints) {
    text += constraint_text(constraint, domain) + '\n';
    for (std::int32_t const code : constraint.rows) text += std::to_string(code) + ' ';
  }
  return sha256(text);
}

/// The groups of which shares are wanted. Throws Error(kUnavailable) where they cannot be counted.
ExistingGroups counted_groups(TestSubject const& subject, BoxDomain const& domain,
                              Cells const& cells, VerifyOptions const& options) {
  if (options.quantify == 0) return {domain, {}};
  ExistingGroups existing(domain, cells.variant_lists().front());
  if (existing.too_many().empty()) return existing;
  std::vector<std::string> names;
  for (int const a : existing.too_many())
    names.push_back(in_quotes(subject.domain().attributes[static_cast<std::size_t>(a)].name));
  char const* const by = domain.constraints().empty() ? "--where"
                         : domain.limited()           ? "constraints and --where"
                                                      : "constraints";
  throw Error(ExitCode::kUnavailable,
              fmt::format("{}: by {}, {} depend on one another, in more combinations than the {} "
                          "that `verify --quantify` keeps counts of; leave --quantify out, or name "
                          "fewer attributes there",
                          escaped(subject.domain().source), by, fmt::join(names, ", "),
                          ExistingGroups::kMostSums));
}

/// One verification on its way.
class Verification : private JobTask {
 public:
  Verification(RunConfig const& config, VerifyOptions const& options)
      : config_(config),
        options_(options),
        subject_(unlimited(config, "verify"), options.execution.model),
        model_(subject_),
        execution_(verify_execution(options.execution, subject_, model_)),
        rules_(region_rules(subject_, model_, options)),
        out_(config.output.dir, manifest(), options.overwrite),
        backend_(make_backend(subject_, execution_, config.seed, {}, options.notice)),
        domain_(subject_.view(), backend_->subject(), region_lists(subject_, options.region),
                rules_),
        cells_(options.cell_file.empty()
                   ? Cells(subject_.view(), domain_, options.cell_size)
                   : Cells(subject_.view(), domain_,
                           read_cell_bounds(options.cell_file, subject_.domain()),
                           subject_.domain())),
        queue_(cells_, model_.class_pairs(), options.most_boxes),
        existing_(counted_groups(subject_, domain_, cells_, options)),
        share_queue_(domain_, existing_),
        threads_(thread_count(options.execution)),
        job_(*this, job_options()) {
    query_.variants = cells_.variant_lists();
    query_.threshold = static_cast<double>(subject_.view().threshold);
    if (subject_.model().outputs() > 1) query_.threshold = 0.0;
    query_.margin = model_.margin(options.margin);
    if (cells_.count() == 1) query_.starts = kStarts;
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
  /// What is asked, of whom: of everybody whom the constraints let exist.
  Json query_of_all() const {
    Json query = recorded_query(options_);
    if (!subject_.constraints().empty()) query["constraints"] = words_digest(subject_.domain());
    return query;
  }
  std::string manifest() const {
    return manifest_json(config_, subject_, Cut{}, {{"verify", query_of_all().dump()}});
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
  /// What looking at boxes costs, where a walk of a box says what is asked: it compares all
  /// variants of a group, and nobody else.
  MeasureCosts look_costs() const;
  void work() override;
  void decide_cells();
  void count_shares();
  void sample_groups(CertainShares& shares);
  /// Calls work(decider, first, count) for pieces of so many boxes, on all threads.
  template <class Work>
  void share_boxes(std::size_t boxes, Work const& work);
  void write_state(CheckpointWriter& state) override {
    queue_.write(state);
    share_queue_.write(state);
  }
  void read_state(CheckpointReader const& state) override {
    queue_.read(state);
    share_queue_.read(state);
  }
  void tell_progress(std::int64_t boxes, std::optional<double> undecided = {}) const;
  std::string done() const override {
    return fmt::format("{} of {} cells", queue_.decided(), cells_.count());
  }
  char const* name() const override { return "verification"; }

  RunConfig const& config_;
  VerifyOptions const& options_;
  TestSubject const subject_;
  ProvableModel model_;
  Execution execution_;
  RegionRules rules_;
  OutputDir out_;
  std::unique_ptr<Backend> backend_;
  BoxDomain domain_;
  Cells cells_;
  BoxQueue queue_;
  ExistingGroups existing_;
  ShareQueue share_queue_;
  VerifyQuery query_;
  int threads_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<BoxDecider>> deciders_;  // [threads]
  std::optional<CertainShares> shares_;
  Job job_;
};

void Verification::work() {
  job_.progress().begin(0, cells_.count(), queue_.decided());
  for (int t = 0; t < threads_; ++t) {
    deciders_.push_back(model_.make_decider(domain_, *backend_, query_));
  }
  decide_cells();
  if (options_.quantify > 0) count_shares();
}

MeasureCosts Verification::look_costs() const {
  MeasureCosts costs = deciders_.front()->costs();
  bool const any = options_.semantics == PairSemantics::kAny || subject_.selected().size() == 1;
  bool const all = std::ranges::all_of(query_.variants, [this](std::vector<int> const& list) {
    return static_cast<int>(list.size()) == domain_.variants();
  });
  if (!any || !all || !rules_.relaxed.empty() || query_.margin > 0.0)
    costs.group = MeasureCosts{}.group;
  return costs;
}

template <class Work>
void Verification::share_boxes(std::size_t boxes, Work const& work) {
  auto const all = static_cast<std::int64_t>(boxes);
  // A device is given as many as there are.
  std::int64_t const piece =
      execution_.backend.starts_with("cpu") ? kPiece : (all + threads_ - 1) / threads_;
  pool_.share(threads_, 0, all, std::max(piece, kPiece),
              [&](int thread, std::int64_t first, std::int64_t count) {
                work(*deciders_[static_cast<std::size_t>(thread)], static_cast<std::size_t>(first),
                     static_cast<std::size_t>(count));
              });
}

void Verification::count_shares() {
  std::vector<BoxWalk> walks;
  for (int t = 0; t < threads_; ++t) walks.emplace_back(domain_, *backend_);
  // A device walks one box after the other.
  int const walking = execution_.backend.starts_with("cpu") ? threads_ : 1;
  MeasureCosts const costs = look_costs();
  ShareRound round(existing_, [this] { return job_.overdue(); });
  while (!share_queue_.settled() || (share_queue_.boxes() < options_.quantify && !job_.late())) {
    if (share_queue_.settled()) job_.check_stop();
    if (!round.begin(share_queue_, costs)) break;
    share_boxes(round.boxes(), [&](BoxDecider& decider, std::size_t first, std::size_t count) {
      round.measure(decider, first, count);
    });
    auto const open = round.to_evaluate();
    pool_.share(walking, 0, static_cast<std::int64_t>(open.size()), 1,
                [&](int thread, std::int64_t first, std::int64_t) {
                  round.evaluate(walks[static_cast<std::size_t>(thread)],
                                 open[static_cast<std::size_t>(first)]);
                });
    round.end(share_queue_);
    if (!share_queue_.settled()) continue;
    tell_progress(share_queue_.boxes(), share_queue_.undecided());
    if (job_.due()) job_.save_on_the_way();
  }
  shares_ = share_queue_.shares();
  sample_groups(*shares_);
}

void Verification::sample_groups(CertainShares& shares) {
  constexpr std::int64_t kMembers = 1 << 22;  // that are evaluated, at least kLeast groups
  constexpr std::int64_t kLeast = 1 << 12;
  constexpr std::int64_t kMost = 1 << 15;
  std::int64_t const samples = std::clamp(kMembers / domain_.variants(), kLeast, kMost);
  std::int64_t const draws = 32 * samples;  // of which many may not exist
  BoxExistence const existence(domain_);
  GroupPairs groups(domain_, *backend_, query_, subject_.model().outputs());
  std::vector<int> const& all = query_.variants.front();
  std::vector<std::int32_t> entries(domain_.axes());
  for (std::int64_t i = 0; i < draws && shares.sampled < samples; ++i) {
    for (std::size_t a = 0; a < entries.size(); ++a) {
      auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(i),
                                            static_cast<std::uint32_t>(Phase::kSample),
                                            static_cast<std::uint32_t>(a), 0, config_.seed);
      // The high half of a 32-bit draw times the size: its bias is below size / 2^32.
      auto const size = static_cast<std::uint64_t>(domain_.axis(a).size());
      entries[a] = static_cast<std::int32_t>(words.w[0] * size >> 32);
    }
    if (domain_.excess(entries) > 0 || existence.members(entries, all).empty()) continue;
    bool const unfair = groups.certain_pair(entries, all).has_value();
    ++shares.sampled;
    shares.unfair_samples += unfair ? 1 : 0;
    shares.defined_samples += unfair || !groups.undefined() ? 1 : 0;
  }
}

void Verification::decide_cells() {
  std::vector<Decision> decisions;
  MeasureCosts const costs = look_costs();
  while (true) {
    job_.check_stop();
    if (job_.late()) return queue_.end();
    auto const& boxes = queue_.next(costs);
    if (boxes.empty()) return;
    decisions.resize(boxes.size());
    share_boxes(boxes.size(), [&](BoxDecider& decider, std::size_t first, std::size_t count) {
      decider.decide(std::span(boxes).subspan(first, count),
                     std::span(decisions).subspan(first, count));
    });
    queue_.take(decisions);
    job_.progress().done = queue_.decided();
    tell_progress(queue_.boxes());
    if (job_.due()) job_.save_on_the_way();
  }
}

void Verification::tell_progress(std::int64_t boxes, std::optional<double> undecided) const {
  if (!options_.progress) return;
  options_.progress({cells_.count(), queue_.decided(),
                     static_cast<std::int64_t>(queue_.examples().size()), boxes, job_.seconds(),
                     undecided});
}

std::string Verification::run() {
  Stopwatch const start;
  for (auto const& notice : subject_.notices()) tell(notice);
  tell(backend_line(*backend_, execution_));
  std::optional<EarlierVerdicts> earlier;
  if (!options_.against.empty())
    earlier = read_earlier(options_.against, subject_, cells_, query_of_all());
  if (!options_.vnnlib.empty()) write_vnnlib(subject_, domain_, cells_, query_, options_.vnnlib);
  job_.run();
  if (shares_ && !shares_->agrees()) {
    ShareInterval const sample = shares_->interval(CertainShares::kConfidence);
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: counted {:.6g} of {:.6g} groups as certainly unfair and {:.6g} as "
                            "certainly fair, but a sample says that {:.6f} to {:.6f} of them are "
                            "unfair; please report it",
                            escaped(config_.model), shares_->unfair, shares_->groups, shares_->fair,
                            sample.low, sample.high));
  }
  VerifyReport report{subject_, options_, domain_, cells_, queue_, *backend_, shares_};
  report.search_seconds = start.seconds();
  std::vector<std::pair<std::string, std::string>> results;
  results.emplace_back("cells.csv", cells_csv(report));
  results.emplace_back("counterexamples.csv", counterexamples_csv(report, report.float32_only));
  if (earlier) {
    report.against = against_json(*earlier, queue_.states());
    results.emplace_back("against.csv", against_csv(*earlier, queue_.states()));
  }
  if (options_.fairify_csv) results.emplace_back("fairify.csv", fairify_csv(report));
  for (auto const& [name, text] : results) out_.write(name, text);
  results.emplace_back("summary.json", verify_summary_json(report));
  out_.write("certificate.txt", certificate_of(report, manifest(), results));
  report.total_seconds = start.seconds();
  std::string summary = verify_summary_json(report);
  out_.write("summary.json", summary);
  write_results_page(config_, options_.execution, out_);
  out_.finish();
  return summary;
}

}  // namespace

std::string verify(RunConfig const& config, VerifyOptions const& options) {
  return Verification(config, options).run();
}

}  // namespace fairlane
