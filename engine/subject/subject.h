// What a run tests: model, resolved domain, data and the protected selection, checked against each
// other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/plausibility/surprise_bound.h"
#include "engine/subject/backend_choice.h"
#include "kernels/backend.h"
#include "models/data/constraints.h"
#include "models/data/dataset.h"
#include "models/data/domain.h"
#include "models/model.h"

namespace fairlane {

/// A loaded and validated subject. Move-only; `view()` stays valid while it lives unmoved.
class TestSubject {
 public:
  /// Loads everything that the configuration names and checks it against each other, before any
  /// work starts.
  /// Throws Error(kNoInput | kData | kConfig) naming the file or the key. notices() then tells what
  /// a person should know.
  explicit TestSubject(RunConfig const& config, ModelOptions const& options = {});
  /// Same, with a domain that is not yet in the file that the configuration names.
  TestSubject(RunConfig const& config, ModelOptions const& options, Domain domain);
  /// Same, with a model that is in no file.
  TestSubject(RunConfig const& config, Model model, Domain domain);
  TestSubject(TestSubject const&) = delete;
  TestSubject& operator=(TestSubject const&) = delete;

  SubjectView const& view() const { return view_; }
  Model const& model() const { return model_; }
  Domain const& domain() const { return domain_; }
  /// Rows that may serve as seeds: inside the domain, within its constraints, protected values
  /// among the compared ones.
  Dataset const* data() const { return data_ ? &*data_ : nullptr; }
  /// Rows of global.seeds, if given.
  Dataset const* seed_rows() const { return seed_rows_ ? &*seed_rows_ : nullptr; }
  std::vector<std::int32_t> const& selected() const { return selected_; }
  std::vector<std::vector<std::int32_t>> const& values() const { return values_; }
  CompiledConstraints const& constraints() const { return constraints_; }
  /// Whether plausibility.at_least limits what may be a finding, and whether it lets a row be one.
  bool limits_findings() const { return limits_findings_; }
  /// Whether local steps prefer plausible inputs, as plausibility.weight asks.
  bool weighs_surprise() const { return !finding_slack_.empty(); }
  bool is_plausible(std::int32_t const* row) const { return !bound_ || bound_->allows(row); }
  /// Number of protected combinations.
  std::int64_t variants() const;
  /// Lines such as "12 of 48842 rows lie outside the domain and were dropped".
  std::vector<std::string> const& notices() const { return notices_; }
  /// Whether a search can change anything: some attribute that is not under test is not immutable.
  bool can_move() const;

 private:
  /// load: gives the model for a domain with resolved bounds
  TestSubject(RunConfig const& config, Domain domain,
              std::function<Model(Domain const&)> const& load);
  void check_inputs(RunConfig const& config) const;
  void steer(RunConfig const& config);
  void require_finite_outputs(RunConfig const& config) const;
  void describe_attributes(RunConfig const& config);
  void select_protected(RunConfig const& config);
  /// Adds a notice that says something.
  void tell(std::string notice);

  Domain domain_;
  std::optional<Dataset> data_;
  Model model_;
  std::optional<Dataset> seed_rows_;
  std::vector<std::int32_t> low_;
  std::vector<std::int32_t> high_;
  std::vector<std::uint8_t> flagged_;
  std::vector<std::uint8_t> immutable_;
  std::vector<std::span<std::int32_t const>> code_spans_;  // into domain_
  std::vector<std::vector<float>> encoding_tables_;
  std::vector<EncodingView> encodings_;
  std::vector<std::int32_t> selected_;
  std::vector<std::vector<std::int32_t>> values_;
  std::vector<std::span<std::int32_t const>> value_spans_;
  std::vector<LayerView> layers_;
  CompiledConstraints constraints_;
  std::optional<SurpriseBound> bound_;
  bool limits_findings_ = false;
  ConstraintView finding_constraint_;
  std::vector<std::int32_t> finding_slack_;
  SubjectView view_;
  std::vector<std::string> notices_;
};

/// The configuration, for a command that knows nothing of what `plausibility` does to a search.
/// Throws Error(kUnavailable) where it does something.
RunConfig const& unlimited(RunConfig const& config, char const* command);

/// Above which score a model of one output decides 1: the threshold itself for probabilities; for
/// logits 0 for 0.5, else ln(t / (1 - t)), rounded once to float32.
float label_threshold(ScoreKind scores, double threshold);

/// What `auto` becomes for a job, with the reason; any other backend stays.
Execution weighed(Execution execution, TestSubject const& subject, Workload const& work);

/// Makes the backend that `execution` asks for. `auto`, where nobody has weighed it, is taken for
/// endless work. overflow takes visits beyond the memory limit, notice lines for people.
/// arithmetic: fast where the backend has it, which a notice says otherwise. Throws
/// Error(kUnavailable | kUsage | kMemory).
std::unique_ptr<Backend> make_backend(TestSubject const& subject, Execution const& execution,
                                      std::uint64_t seed, VisitSink overflow,
                                      std::function<void(std::string const&)> notice = {},
                                      Arithmetic arithmetic = Arithmetic::kExact);

/// "backend: cpu (avx512, 2 threads); auto: ...", for people.
std::string backend_line(Backend const& backend, Execution const& execution);

/// Worker threads that `execution` asks for (at least 1) and bytes for the record of visited
/// inputs.
int thread_count(Execution const& execution);
std::uint64_t memory_limit(Execution const& execution);
/// That memory is shared equally by the backend's table and the findings taken from it.
inline constexpr std::uint64_t kRecordShares = 2;

}  // namespace fairlane
