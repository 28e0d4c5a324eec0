#include "engine/subject/subject.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "engine/subject/kept_rows.h"
#include "kernels/devices.h"
#include "kernels/layout/plan.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kListedNames = 20;  // attributes named in one message

// What is said of a key, "is 3, expected ..." or a sentence, behind where it stands.
std::string said_of(RunConfig const& config, std::string const& key, std::string const& what) {
  auto const found = config.positions.find(key);
  std::string const& place = found != config.positions.end() ? found->second : config.source;
  std::string const said = key + (what.starts_with("is ") ? " " : ": ") + what;
  return place.empty() ? said : fmt::format("{}: {}", escaped(place, kLongestPath), said);
}

Error bad_config(RunConfig const& config, std::string const& key, std::string const& what) {
  return Error(ExitCode::kConfig, said_of(config, key, what));
}

/// The key of `plausibility` by which a search is steered, and its value.
std::pair<char const*, double> steering_key(RunConfig const& config) {
  PlausibilityConfig const& wanted = config.plausibility;
  if (wanted.at_least > 0.0) return {"plausibility.at_least", wanted.at_least};
  return {"plausibility.weight", wanted.weight};
}

std::vector<std::string> names_of(Domain const& domain, bool only_flagged) {
  std::vector<std::string> names;
  for (auto const& attribute : domain.attributes) {
    if (attribute.is_protected || !only_flagged) names.push_back(attribute.name);
  }
  return names;
}

std::string list_names(std::vector<std::string> const& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kListedNames) return text + fmt::format(", ... ({} in all)", names.size());
    text += (i == 0 ? "" : ", ") + escaped(names[i], 60);
  }
  return text;
}

// The compared values of a selected attribute, ascending.
std::vector<std::int32_t> compared_values(RunConfig const& config, ProtectedAttribute const& wanted,
                                          Attribute const& attribute) {
  std::vector<std::int32_t> values = wanted.values;
  if (values.empty()) {
    std::int64_t const count = attribute.code_count();
    if (count > kMaxVariants) {
      throw bad_config(config, "protected",
                       fmt::format("{} has {} values, at most {} combinations are supported; list "
                                   "the values to compare",
                                   in_quotes(wanted.name), count, kMaxVariants));
    }
    for (std::int64_t i = 0; i < count; ++i) values.push_back(attribute.code_at(i));
  }
  std::sort(values.begin(), values.end());
  auto const twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end()) {
    throw bad_config(config, "protected",
                     fmt::format("{} lists the value {} twice", in_quotes(wanted.name), *twice));
  }
  for (std::int32_t const value : values) {
    if (!attribute.allows(value)) {
      throw bad_config(config, "protected",
                       fmt::format("{} lists the value {}, expected {} as in the domain",
                                   in_quotes(wanted.name), value, attribute.codes_text()));
    }
  }
  if (values.size() < 2) {
    throw bad_config(config, "protected",
                     fmt::format("{} has the single value {} to compare, expected at least two",
                                 in_quotes(wanted.name), values.front()));
  }
  return values;
}

std::uint64_t physical_memory() {
  constexpr std::uint64_t kAssumed = 4ULL << 30;  // where the system does not tell
  long const pages = sysconf(_SC_PHYS_PAGES);
  long const size = sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = pages > 0 && size > 0
                            ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                            : kAssumed;
  // A container may have less than its machine; "max" there reads as no number.
  std::ifstream group("/sys/fs/cgroup/memory.max");
  std::uint64_t limit = 0;
  if (group >> limit && limit > 0) bytes = std::min(bytes, limit);
  return bytes;
}

// GPUs that this build can use, at most so many.
std::vector<int> usable_devices(std::size_t most) {
  std::vector<int> usable;
  for (auto const& device : cuda_devices(most)) {
    if (device.problem.empty()) usable.push_back(device.index);
  }
  return usable;
}

FoundDevice first_device() {
  auto const usable = usable_devices(1);
  return usable.empty() ? FoundDevice{-1, cuda_problem()} : FoundDevice{usable.front(), {}};
}

// Of one evaluation; none of what is no network.
std::optional<double> multiply_adds(TestSubject const& subject) {
  if (subject.model().scorer()) return std::nullopt;
  double sum = 0.0;
  for (auto const& layer : subject.view().network)
    sum += static_cast<double>(layer.inputs) * layer.outputs;
  return sum;
}

// The GPUs of "0" or "0,2"; none when it is no such list.
std::vector<int> device_numbers(std::string const& text) {
  std::vector<int> numbers;
  char const* const end = text.data() + text.size();
  for (char const* from = text.data();; ++from) {
    int number = 0;
    auto const [to, error] = std::from_chars(from, end, number);
    if (error != std::errc() || number < 0 || (to != end && *to != ',')) return {};
    numbers.push_back(number);
    if (to == end) return numbers;
    from = to;
  }
}

// The table, whose values are the bounds that the domain leaves open.
std::optional<Dataset> read_data(RunConfig const& config, Domain& domain) {
  std::optional<Dataset> data;
  if (!config.data.empty()) data = read_csv(config.data, domain);
  resolve_bounds(domain, data ? &*data : nullptr);
  return data;
}

ModelOptions in_folder(ModelOptions options, std::string const& folder) {
  options.folder = folder;
  return options;
}

}  // namespace

TestSubject::TestSubject(RunConfig const& config, ModelOptions const& options)
    : TestSubject(config, options, read_domain_yaml(config.domain)) {}

TestSubject::TestSubject(RunConfig const& config, ModelOptions const& options, Domain domain)
    : TestSubject(config, std::move(domain), [&](Domain const& resolved) {
        return load_model(config.model, resolved.columns(),
                          in_folder(options, config.model_folder));
      }) {}

TestSubject::TestSubject(RunConfig const& config, Model model, Domain domain)
    : TestSubject(config, std::move(domain), [&](Domain const&) { return std::move(model); }) {}

TestSubject::TestSubject(RunConfig const& config, Domain domain,
                         std::function<Model(Domain const&)> const& load)
    : domain_(std::move(domain)), data_(read_data(config, domain_)), model_(load(domain_)) {
  check_inputs(config);
  check_features(model_, domain_);
  if (!(config.threshold > 0.0 && config.threshold < 1.0)) {
    throw bad_config(config, "threshold",
                     fmt::format("is {}, expected a number between 0 and 1", config.threshold));
  }
  if (model_.outputs() > 1 && config.threshold != 0.5) {
    throw bad_config(
        config, "threshold",
        fmt::format("is {}, but {} has {} outputs and decides by the largest; leave it "
                    "at 0.5",
                    config.threshold, escaped(config.model, kLongestPath), model_.outputs()));
  }
  describe_attributes(config);
  select_protected(config);
  constexpr double kAllRows = 100.0;  // per cent
  if (data_) {
    std::int64_t const rows = data_->count();
    apply_out_of_domain(*data_, domain_, config.out_of_domain);
    if (data_->dropped > 0) {
      notices_.push_back(fmt::format("{}: {} of {} rows lie outside the domain and were dropped",
                                     escaped(config.data, kLongestPath), data_->dropped, rows));
    }
    if (data_->clipped > 0) {
      notices_.push_back(fmt::format("{}: {} of {} rows lay outside the domain and were clipped",
                                     escaped(config.data, kLongestPath), data_->clipped, rows));
    }
    tell(keep_existing_rows(*data_, domain_, config.data));
    // Before rows are left out that are not compared: they are of the table's people, too.
    if (config.plausibility.steers())
      bound_.emplace(domain_, *data_, kAllRows - config.plausibility.at_least);
    tell(keep_compared_rows(*data_, selected_, values_, config.data));
    if (data_->labels.empty() && domain_.names_label) {
      notices_.push_back(
          fmt::format("{}: has no label column {}, so the model is not held against "
                      "the table's labels",
                      escaped(config.data, kLongestPath), in_quotes(domain_.label)));
    }
  }
  if (!config.global.seeds.empty()) {
    seed_rows_ = read_csv(config.global.seeds, domain_, Labels::kUnused);
    apply_out_of_domain(*seed_rows_, domain_, OutOfDomain::kError);
    tell(keep_existing_rows(*seed_rows_, domain_, config.global.seeds));
    tell(keep_compared_rows(*seed_rows_, selected_, values_, config.global.seeds));
  }
  for (auto const& values : values_) value_spans_.emplace_back(values);
  if (!model_.scorer()) layers_ = model_.network("a search").views();
  view_.network = layers_;
  view_.low = low_;
  view_.high = high_;
  view_.flagged = flagged_;
  view_.selected = selected_;
  view_.values = value_spans_;
  view_.scorer = model_.scorer().get();
  view_.scores = model_.scores();
  view_.threshold = label_threshold(view_.scores, config.threshold);
  if (view_.scores == ScoreKind::kLabels) {
    notices_.push_back(
        fmt::format("the model gives labels only: {}; its one-hot vectors stand for probabilities",
                    escaped(config.model, kLongestPath)));
  }
  view_.codes = code_spans_;
  view_.immutable = immutable_;
  view_.encodings = encodings_;
  constraints_ = CompiledConstraints(domain_);
  view_.constraints = constraints_.views();
  if (config.plausibility.steers()) steer(config);
  require_finite_outputs(config);
}

void TestSubject::steer(RunConfig const& config) {
  auto const [key, figure] = steering_key(config);
  if (!bound_) {
    throw bad_config(config, key,
                     fmt::format("is {}, but no `data` is given, whose rows say how plausible an "
                                 "input is; expected a table, or 0",
                                 figure));
  }
  limits_findings_ = config.plausibility.at_least > 0.0;
  if (config.plausibility.weight > 0.0) finding_slack_ = bound_->slack(config.plausibility.weight);
  view_.finding_slack = finding_slack_;
  finding_constraint_ = bound_->view();
  view_.finding_constraints = {&finding_constraint_, 1};
}

void TestSubject::require_finite_outputs(RunConfig const& config) const {
  bool const excludes = !constraints_.empty() || bound_;
  if (!excludes || view_.scorer || PackedSubject(view_, 1).outputs_are_finite()) return;
  std::string const problem = fmt::format(
      "but outputs of {} may overflow, so that an undefined output would not tell which; expected "
      "a network whose outputs are finite on the whole domain",
      escaped(config.model, kLongestPath));
  if (constraints_.empty()) {
    auto const [key, figure] = steering_key(config);
    throw bad_config(config, key, fmt::format("is {}, {}", figure, problem));
  }
  throw Error(ExitCode::kConfig, fmt::format("{}: has constraints, {}",
                                             escaped(domain_.source, kLongestPath), problem));
}

RunConfig const& unlimited(RunConfig const& config, char const* command) {
  if (!config.plausibility.steers()) return config;
  auto const [key, figure] = steering_key(config);
  throw Error(
      ExitCode::kUnavailable,
      said_of(config, key,
              fmt::format("is {}, which `{}` does not look at; expected 0: only searches honour it",
                          figure, command)));
}

void TestSubject::check_inputs(RunConfig const& config) const {
  int const columns = domain_.columns();
  if (model_.inputs() == columns) return;
  std::string const model = escaped(config.model, kLongestPath);
  std::string const domain = escaped(config.domain, kLongestPath);
  if (!domain_.encodes()) {
    throw Error(
        ExitCode::kData,
        fmt::format("{}: takes {} inputs, but the domain {} has {} attributes; expected one "
                    "attribute per input, in the model's order{}",
                    model, model_.inputs(), domain, columns,
                    model_.inputs() > columns
                        ? "; an attribute with several inputs needs an `encoding`"
                        : ""));
  }
  throw Error(ExitCode::kData,
              fmt::format("{}: takes {} inputs, but the {} attributes of the domain {} are encoded "
                          "as {} columns; expected the model's inputs, in its order",
                          model, model_.inputs(), domain_.size(), domain, columns));
}

void TestSubject::describe_attributes(RunConfig const& config) {
  encoding_tables_.resize(domain_.attributes.size());
  for (std::size_t a = 0; a < domain_.attributes.size(); ++a) {
    auto const& attribute = domain_.attributes[a];
    low_.push_back(*attribute.low);
    high_.push_back(*attribute.high);
    flagged_.push_back(attribute.is_protected ? 1 : 0);
    immutable_.push_back(attribute.immutable ? 1 : 0);
    code_spans_.emplace_back(attribute.values);
    try {
      encodings_.push_back(encoding_view(attribute, encoding_tables_[a]));
    } catch (Error const& error) {
      throw Error(error.code(),
                  fmt::format("{}: {}", escaped(config.domain, kLongestPath), error.what()));
    }
  }
}

bool TestSubject::can_move() const {
  for (std::size_t a = 0; a < immutable_.size(); ++a) {
    bool const tested =
        std::binary_search(selected_.begin(), selected_.end(), static_cast<std::int32_t>(a));
    if (!tested && immutable_[a] == 0) return true;
  }
  return false;
}

void TestSubject::select_protected(RunConfig const& config) {
  auto const flagged = names_of(domain_, true);
  if (config.protected_attributes.empty()) {
    throw bad_config(config, "protected",
                     flagged.empty()
                         ? fmt::format("is missing; name at least one attribute of {}",
                                       escaped(config.domain, kLongestPath))
                         : fmt::format("is missing; {} flags {}: name one or several of them",
                                       escaped(config.domain, kLongestPath), list_names(flagged)));
  }
  std::vector<ProtectedAttribute const*> by_attribute(static_cast<std::size_t>(domain_.size()));
  for (auto const& wanted : config.protected_attributes) {
    int const attribute = domain_.find(wanted.name);
    if (attribute < 0) {
      auto const names = names_of(domain_, false);
      std::string hint = did_you_mean(wanted.name, names);
      if (hint.empty()) hint = fmt::format("; expected one of {}", list_names(names));
      throw bad_config(config, "protected",
                       fmt::format("{} is no attribute of {}{}", in_quotes(wanted.name),
                                   escaped(config.domain, kLongestPath), hint));
    }
    auto& slot = by_attribute[static_cast<std::size_t>(attribute)];
    if (slot != nullptr) {
      throw bad_config(config, "protected",
                       fmt::format("{} is named twice", in_quotes(wanted.name)));
    }
    slot = &wanted;
  }
  if (config.protected_attributes.size() == by_attribute.size()) {
    throw bad_config(config, "protected",
                     fmt::format("names all {} attributes, expected at least one that may vary",
                                 by_attribute.size()));
  }
  for (std::size_t a = 0; a < by_attribute.size(); ++a) {
    if (by_attribute[a] == nullptr) continue;
    selected_.push_back(static_cast<std::int32_t>(a));
    values_.push_back(compared_values(config, *by_attribute[a], domain_.attributes[a]));
    if (flagged_[a] == 0) {
      notices_.push_back(
          fmt::format("protected: {} is not flagged as protected in {}; it is treated "
                      "as if it were, so labels may differ in the last bit from runs "
                      "that do not select it",
                      in_quotes(domain_.attributes[a].name), escaped(config.domain, kLongestPath)));
    }
  }
}

void TestSubject::tell(std::string notice) {
  if (!notice.empty()) notices_.push_back(std::move(notice));
}

std::int64_t TestSubject::variants() const {
  std::int64_t product = 1;
  for (auto const& values : values_) product *= static_cast<std::int64_t>(values.size());
  return product;
}

float label_threshold(ScoreKind scores, double threshold) {
  if (scores != ScoreKind::kLogits) return static_cast<float>(threshold);
  if (threshold == 0.5) return 0.0F;
  return static_cast<float>(std::log(threshold / (1.0 - threshold)));
}

Execution weighed(Execution execution, TestSubject const& subject, Workload const& work) {
  if (execution.backend != "auto") return execution;
  BackendChoice const choice =
      choose_backend(work, multiply_adds(subject), thread_count(execution), first_device);
  execution.backend = choice.device < 0 ? "cpu" : fmt::format("cuda:{}", choice.device);
  execution.backend_reason = choice.reason;
  return execution;
}

std::string backend_line(Backend const& backend, Execution const& execution) {
  std::string const& reason = execution.backend_reason;
  return "backend: " + backend.name() + (reason.empty() ? "" : "; auto: " + reason);
}

std::unique_ptr<Backend> make_backend(TestSubject const& subject, Execution const& asked,
                                      std::uint64_t seed, VisitSink overflow,
                                      std::function<void(std::string const&)> notice,
                                      Arithmetic arithmetic) {
  Execution const execution = weighed(asked, subject, kEndlessWork);
  std::string const& wanted = execution.backend;
  std::string const kind = wanted.substr(0, wanted.find(':'));
  bool const has_part = kind.size() < wanted.size();
  std::string const part = has_part ? wanted.substr(kind.size() + 1) : "";
  bool const known = kind == "cuda" ? !has_part || part == "all" || !device_numbers(part).empty()
                                    : kind == "cpu" && !(has_part && part.empty());
  if (!known) {
    throw Error(ExitCode::kUsage,
                fmt::format("backend {}: expected auto, cpu, cpu:ISA, cuda, cuda:N, cuda:N,M or "
                            "cuda:all{}",
                            in_quotes(wanted), did_you_mean(kind, {"auto", "cpu", "cuda"})));
  }
  bool const is_network = !subject.model().scorer();
  std::vector<int> devices;
  if (kind == "cuda") {
    devices =
        has_part && part != "all" ? device_numbers(part) : usable_devices(has_part ? SIZE_MAX : 1);
    if (devices.empty()) {
      throw Error(ExitCode::kUnavailable, fmt::format("backend {}: {}; use auto or cpu",
                                                      in_quotes(wanted), cuda_problem()));
    }
  }
  std::unique_ptr<Backend> backend;
  if (!devices.empty()) {
    DeviceOptions options;
    options.devices = devices;
    options.lanes = execution.batch;
    options.route = execution.route;
    options.seed = seed;
    options.memory_limit = execution.memory / kRecordShares;
    options.overflow = std::move(overflow);
    options.notice = notice;
    options.arithmetic = arithmetic;
    options.threads = thread_count(execution);
    backend = make_cuda_backend(subject.view(), options);
  } else {
    CpuOptions options;
    options.threads = thread_count(execution);
    options.lanes = execution.batch;
    options.isa = part;
    options.seed = seed;
    options.memory_limit = memory_limit(execution) / kRecordShares;
    options.overflow = std::move(overflow);
    backend = is_network ? make_cpu_backend(subject.view(), options)
                         : make_scorer_backend(subject.view(), options);
  }
  if (backend->arithmetic() != arithmetic && notice) {
    notice(is_network ? fmt::format("arithmetic: exact; {} has no faster one for this network",
                                    backend->name())
                      : "arithmetic: fast has no meaning for a model that is no network");
  }
  return backend;
}

int thread_count(Execution const& execution) {
  return execution.threads > 0 ? execution.threads : machine_threads();
}

std::uint64_t memory_limit(Execution const& execution) {
  if (execution.memory > 0) return execution.memory;
  return physical_memory() / 2 / static_cast<std::uint64_t>(execution.sharers);
}

}  // namespace fairlane
