#include "engine/check/check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/ordered_pipeline.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "engine/check/double_evaluator.h"
#include "engine/check/scorer_evaluator.h"
#include "engine/results/changed_inputs.h"
#include "engine/results/instances_reader.h"
#include "engine/results/manifest.h"
#include "engine/results/row_decoder.h"
#include "engine/results/summary.h"

namespace fairlane {
namespace {

constexpr std::size_t kListed = 20;  // failures and marginal pairs named
constexpr double kScoreTolerance =
    1.0e-6;                              // relative; sigmoid and softmax are within 1 ulp = 1.2e-7
constexpr double kScoreFloor = 1.0e-44;  // float32 has no smaller numbers to tell apart
constexpr std::size_t kLongestSummary = std::size_t{1} << 24;

std::string shown(std::string const& path) { return escaped(path, 4096); }

/// A group's fingerprint; 128 bits, so that 2^40 groups collide with probability below 2^-48.
struct GroupHash {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  friend auto operator<=>(GroupHash const&, GroupHash const&) = default;
};

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// A block of instances and what was found out about it.
struct Batch {
  InstanceBlock block;
  std::unique_ptr<RowEvaluator> evaluator;
  CheckResult result;
  std::vector<std::int32_t> first;  // rows at the block's ends, for the order across blocks
  std::vector<std::int32_t> last;
  std::int64_t first_number = 0;
  std::string records;  // of the signature
  std::vector<GroupHash> groups;
};

/// Checks single instances; shared by all threads.
class InstanceChecker {
 public:
  InstanceChecker(TestSubject const& subject, InstanceFile const& file);

  void check(Batch& batch) const;
  /// Notes a failure.
  void fail(CheckResult& result, std::string const& text) const {
    ++result.failed;
    if (result.failures.size() < kListed) result.failures.push_back(text);
  }
  /// Whether `row` may follow `before`; a failure otherwise.
  bool in_order(std::int32_t const* before, std::int32_t const* row, std::int64_t number,
                CheckResult& result) const;

 private:
  /// What cannot be told of an instance.
  /// close      a member is too near to the boundary
  /// undefined  the output of the instance or of its pair is not finite, or may not be
  struct Doubt {
    bool close = false;
    bool undefined = false;
  };
  /// What is wrong with an instance, or empty.
  std::string problem_of(InstanceRecord const& record, RowEvaluator& evaluator,
                         std::int64_t& pair_variant, Doubt& doubt) const;
  /// Same of an input alone: a member of its similar set has another label.
  std::string wrong_input(InstanceRecord const& record, std::int64_t own, RowEvaluator& evaluator,
                          Doubt& doubt) const;
  std::string wrong_member(InstanceRecord const& record, std::vector<std::int32_t>& member,
                           std::int64_t own, std::int64_t pair, RowEvaluator& evaluator,
                           Doubt& doubt) const;
  /// Same of a member whose output is not finite.
  static std::string wrong_undefined(CertainLabel const& found, char const* what,
                                     std::int32_t stated, Doubt& doubt);
  std::string wrong_score(float stated, std::int32_t label, char const* what,
                          RowEvaluator const& evaluator) const;
  /// Number of a combination in product order, or -1.
  template <class Value>
  std::int64_t variant_of(Value const& value) const;
  /// Whether a row satisfies what the domain file asks for.
  bool exists(std::int32_t const* row) const {
    return satisfies(subject_.domain().constraints, row);
  }
  std::int64_t pair_variant_of(InstanceRecord const& record) const {
    return variant_of([&](std::size_t s) { return record.pair[s]; });
  }
  void set_variant(std::int64_t variant, std::int32_t* row) const;
  std::unique_ptr<RowEvaluator> make_evaluator() const;
  /// Appends what the signature is of.
  void put_record(InstanceRecord const& record, std::int32_t pair_variant,
                  std::string& records) const;
  /// The rows of a block's instances and of their members up to the pair.
  std::vector<std::int32_t> members_of(InstanceBlock const& block) const;

  TestSubject const& subject_;
  InstanceFile const& file_;
  std::size_t attributes_;
  mutable std::mutex asking_;  // a scorer
};

InstanceChecker::InstanceChecker(TestSubject const& subject, InstanceFile const& file)
    : subject_(subject), file_(file), attributes_(subject.domain().attributes.size()) {}

template <class Value>
std::int64_t InstanceChecker::variant_of(Value const& value) const {
  std::int64_t variant = 0;
  for (std::size_t s = 0; s < subject_.values().size(); ++s) {
    auto const& values = subject_.values()[s];
    auto const found = std::lower_bound(values.begin(), values.end(), value(s));
    if (found == values.end() || *found != value(s)) return -1;
    variant = variant * static_cast<std::int64_t>(values.size()) + (found - values.begin());
  }
  return variant;
}

void InstanceChecker::set_variant(std::int64_t variant, std::int32_t* row) const {
  auto const& values = subject_.values();
  for (std::size_t s = values.size(); s-- > 0;) {
    auto const count = static_cast<std::int64_t>(values[s].size());
    row[subject_.selected()[s]] = values[s][static_cast<std::size_t>(variant % count)];
    variant /= count;
  }
}

std::unique_ptr<RowEvaluator> InstanceChecker::make_evaluator() const {
  auto const& scorer = subject_.model().scorer();
  auto const& domain = subject_.domain();
  if (scorer) return std::make_unique<ScorerEvaluator>(*scorer, domain, asking_);
  return std::make_unique<DoubleEvaluator>(subject_.model().network("check"), &domain);
}

std::vector<std::int32_t> InstanceChecker::members_of(InstanceBlock const& block) const {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> member(attributes_);
  auto const take = [&](std::int64_t, InstanceRecord const& record) {
    rows.insert(rows.end(), record.row, record.row + attributes_);
    member.assign(record.row, record.row + attributes_);
    std::int64_t const last =
        record.pair == nullptr ? subject_.variants() - 1 : pair_variant_of(record);
    for (std::int64_t v = 0; v <= last; ++v) {
      set_variant(v, member.data());
      rows.insert(rows.end(), member.begin(), member.end());
    }
  };
  file_.parse(block, take, [](std::int64_t, char const*) {});  // check() tells what is wrong
  return rows;
}

std::string InstanceChecker::wrong_score(float stated, std::int32_t label, char const* what,
                                         RowEvaluator const& evaluator) const {
  double tolerance = 0.0;
  double const score = evaluator.score(label, tolerance);
  tolerance += kScoreTolerance * score + kScoreFloor;
  if (std::abs(static_cast<double>(stated) - score) <= tolerance) return {};
  return fmt::format("{} is {}, expected {} within {:.2g}", what, stated, score, tolerance);
}

std::string InstanceChecker::wrong_undefined(CertainLabel const& found, char const* what,
                                             std::int32_t stated, Doubt& doubt) {
  if (found.certain)
    return fmt::format("{} is {}, expected none: the output is not finite", what, stated);
  doubt.undefined = true;
  return {};
}

std::string InstanceChecker::wrong_member(InstanceRecord const& record,
                                          std::vector<std::int32_t>& member, std::int64_t own,
                                          std::int64_t pair, RowEvaluator& evaluator,
                                          Doubt& doubt) const {
  auto const threshold = static_cast<double>(subject_.view().threshold);
  // The members before the pair must have the instance's label, the pair itself another.
  for (std::int64_t v = 0; v <= pair; ++v) {
    if (v == own) continue;
    set_variant(v, member.data());
    evaluator.evaluate(member.data());
    auto const found = evaluator.label(threshold);
    if (!found.certain) doubt.close = true;
    if (!exists(member.data())) {
      if (v != pair) continue;
      return "the pair violates a constraint of the domain";
    }
    if (v == pair) {
      if (found.label == kNoLabel)
        return wrong_undefined(found, "pair_label", record.pair_label, doubt);
      if (found.certain && found.label != record.pair_label) {
        return fmt::format("pair_label is {}, expected {}", record.pair_label, found.label);
      }
      if (!file_.columns().has_scores()) return {};
      return wrong_score(record.pair_score, record.pair_label, "pair_score", evaluator);
    }
    if (found.certain && found.label != record.label && found.label != kNoLabel) {
      return "the pair is not the first similar input in product order that has another label";
    }
  }
  return {};
}

std::string InstanceChecker::wrong_input(InstanceRecord const& record, std::int64_t own,
                                         RowEvaluator& evaluator, Doubt& doubt) const {
  auto const threshold = static_cast<double>(subject_.view().threshold);
  evaluator.evaluate(record.row);
  auto const found = evaluator.label(threshold);
  if (found.label == kNoLabel) {
    doubt.undefined = !found.certain;
    return found.certain ? "the output is not finite" : "";
  }
  bool is_close = !found.certain;
  std::vector<std::int32_t> member(record.row, record.row + attributes_);
  for (std::int64_t v = 0; v < subject_.variants(); ++v) {
    if (v == own) continue;
    set_variant(v, member.data());
    evaluator.evaluate(member.data());
    auto const other = evaluator.label(threshold);
    if (!exists(member.data())) continue;
    bool const differs = other.label != found.label && other.label != kNoLabel;
    if (found.certain && other.certain && differs) return {};
    if (!other.certain) is_close = true;
  }
  doubt.close = is_close;
  return is_close ? "" : "no similar input has another label";
}

std::string InstanceChecker::problem_of(InstanceRecord const& record, RowEvaluator& evaluator,
                                        std::int64_t& pair_variant, Doubt& doubt) const {
  for (std::size_t a = 0; a < attributes_; ++a) {
    Attribute const& attribute = subject_.domain().attributes[a];
    if (!attribute.allows(record.row[a])) {
      return fmt::format("{} is {}, expected {}", escaped(attribute.name, 60), record.row[a],
                         attribute.codes_text());
    }
  }
  for (Constraint const& constraint : subject_.domain().constraints) {
    if (!satisfies(constraint, record.row))
      return "violates " + constraint_text(constraint, subject_.domain());
  }
  if (!subject_.is_plausible(record.row))
    return "is less plausible than plausibility.at_least asks for";
  auto const outputs = static_cast<std::int32_t>(std::max(2, evaluator.outputs()));
  if (file_.columns().has_votes()) {
    std::int32_t const voted = record.voted_label;
    if (voted < 0 || voted >= outputs)
      return fmt::format("voted_label {} is none of {} classes", voted, outputs);
    if (!(record.vote > 0.0F && record.vote <= 1.0F))
      return fmt::format("vote is {}, expected a share above 0 up to 1", record.vote);
  }
  auto const own = variant_of(
      [&](std::size_t s) { return record.row[static_cast<std::size_t>(subject_.selected()[s])]; });
  if (own < 0) return "a protected value is not among the compared ones";
  if (!file_.columns().has_labels()) return wrong_input(record, own, evaluator, doubt);
  pair_variant = pair_variant_of(record);
  if (pair_variant < 0) return "a protected value of the pair is not among the compared ones";
  if (own == pair_variant) return "the pair is the instance itself";
  if (record.label == record.pair_label) return fmt::format("both labels are {}", record.label);

  evaluator.evaluate(record.row);
  auto const found = evaluator.label(static_cast<double>(subject_.view().threshold));
  if (!found.certain) doubt.close = true;
  if (found.label == kNoLabel) return wrong_undefined(found, "label", record.label, doubt);
  if (found.certain && found.label != record.label) {
    return fmt::format("label is {}, expected {}", record.label, found.label);
  }
  for (std::int32_t const label : {record.label, record.pair_label}) {
    if (label < 0 || label >= outputs)
      return fmt::format("label {} is none of {} classes", label, outputs);
  }
  if (file_.columns().has_scores()) {
    std::string problem = wrong_score(record.score, record.label, "score", evaluator);
    if (!problem.empty()) return problem;
  }
  std::vector<std::int32_t> member(record.row, record.row + attributes_);
  return wrong_member(record, member, own, pair_variant, evaluator, doubt);
}

bool InstanceChecker::in_order(std::int32_t const* before, std::int32_t const* row,
                               std::int64_t number, CheckResult& result) const {
  auto const order =
      std::lexicographical_compare_three_way(before, before + attributes_, row, row + attributes_);
  if (order < 0) return true;
  fail(result,
       fmt::format("{}: {}", file_.place(number),
                   order == 0 ? "the instance occurs twice" : "the instance is out of order"));
  return false;
}

void InstanceChecker::put_record(InstanceRecord const& record, std::int32_t pair_variant,
                                 std::string& records) const {
  InstanceColumns const& columns = file_.columns();
  if (columns.has_scores()) {
    records.append(reinterpret_cast<char const*>(record.row), attributes_ * sizeof(std::int32_t));
    records.append(reinterpret_cast<char const*>(&pair_variant), sizeof(pair_variant));
    records.append(reinterpret_cast<char const*>(&record.finder), sizeof(record.finder));
    return;
  }
  InstanceColumn const* column = columns.all().data();
  append_cells(records, CellForm::kBinary, record.row, column, attributes_);
  if (!columns.has_labels()) return;
  column += attributes_;
  append_cells(records, CellForm::kBinary, record.pair, column, columns.selected());
  column += columns.selected();
  append_cells(records, CellForm::kBinary, &record.label, column, 1);
  append_cells(records, CellForm::kBinary, &record.pair_label, column + 1, 1);
}

void InstanceChecker::check(Batch& batch) const {
  if (!batch.evaluator) batch.evaluator = make_evaluator();
  batch.result = {};
  batch.records.clear();
  batch.groups.clear();
  batch.first.clear();
  batch.last.clear();
  CheckResult& result = batch.result;
  std::vector<std::uint8_t> selected(attributes_);
  for (std::int32_t const a : subject_.selected()) selected[static_cast<std::size_t>(a)] = 1;
  if (batch.evaluator->wants_batches()) batch.evaluator->announce(members_of(batch.block));
  auto const take = [&](std::int64_t number, InstanceRecord const& record) {
    ++result.instances;
    bool ordered = true;
    if (batch.first.empty()) {
      batch.first.assign(record.row, record.row + attributes_);
      batch.first_number = number;
    } else {
      ordered = in_order(batch.last.data(), record.row, number, result);
    }
    batch.last.assign(record.row, record.row + attributes_);
    std::int64_t pair = -1;
    Doubt doubt;
    std::string const problem = problem_of(record, *batch.evaluator, pair, doubt);
    if (!problem.empty()) {
      if (ordered) fail(result, fmt::format("{}: {}", file_.place(number), problem));
    } else if (doubt.undefined) {
      ++result.undefined;
    } else if (doubt.close) {
      ++result.marginal;
      if (result.marginals.size() < kListed) {
        result.marginals.push_back(fmt::format(
            "{}: within float32's error of the decision boundary", file_.place(number)));
      }
    } else if (ordered) {
      ++result.confirmed;
    }
    put_record(record, static_cast<std::int32_t>(pair), batch.records);
    GroupHash hash{0x9E3779B97F4A7C15ULL, 0xD1B54A32D192ED03ULL};
    for (std::size_t a = 0; a < attributes_; ++a) {
      if (selected[a] != 0) continue;
      auto const value = static_cast<std::uint32_t>(record.row[a]);
      hash.a = mix(hash.a ^ value);
      hash.b = mix(hash.b + value * 0xA24BAED4963EE407ULL + a);
    }
    if (batch.groups.empty() || batch.groups.back() != hash) batch.groups.push_back(hash);
  };
  file_.parse(batch.block, take, [&](std::int64_t number, char const* what) {
    ++result.instances;
    fail(result, fmt::format("{}: {}", file_.place(number), what));
  });
}

void add(CheckResult& total, CheckResult const& part) {
  total.instances += part.instances;
  total.confirmed += part.confirmed;
  total.marginal += part.marginal;
  total.undefined += part.undefined;
  total.failed += part.failed;
  auto const append = [](std::vector<std::string>& to, std::vector<std::string> const& from) {
    for (auto const& text : from) {
      if (to.size() < kListed) to.push_back(text);
    }
  };
  append(total.failures, part.failures);
  append(total.marginals, part.marginals);
}

/// What the files say, to compare the summary with.
struct Facts {
  std::int64_t instances = 0;
  std::int64_t groups = 0;
  std::string signature;
};

void check_summary(std::string const& dir, RunConfig const& config, TestSubject const& subject,
                   Facts const& facts, bool has_files, InstanceChecker const& checker,
                   CheckResult& result) {
  std::string const path = dir + "/summary.json";
  std::string const text = read_file(path, kLongestSummary);
  auto const contradict = [&](std::string const& what) {
    ++result.contradictions;
    checker.fail(result, fmt::format("{}: {}", shown(path), what));
  };
  auto const compare = [&](char const* name, auto const& stated, auto const& expected) {
    if (stated != expected)
      contradict(fmt::format("{} is {}, expected {}", name, stated, expected));
  };
  try {
    auto const json = Json::parse(text);
    auto const& counts = json.at("counts");
    auto const count = [&](char const* name) { return counts.at(name).get<std::int64_t>(); };
    // An enumeration counts everything, and may write a sample of it.
    bool const enumerated = json.contains("written");
    auto const& written = enumerated ? json.at("written") : counts;
    auto const ratio = [](std::int64_t part, std::int64_t whole) {
      return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    std::int64_t const instances = count("unique_instances");
    compare("method", json.at("method").get<std::string>(),
            enumerated ? kEnumerateMethod : config.method);
    compare("variants", json.at("variants").get<std::int64_t>(), subject.variants());
    compare("success_rate", json.at("success_rate").get<double>(),
            ratio(instances, count("unique_generated")));
    auto const undefined = json.at("undefined").get<std::int64_t>();
    result.run_undefined = undefined;
    result.run_inputs = count("unique_generated");
    compare("evaluations_per_instance", json.at("evaluations_per_instance").get<double>(),
            ratio(count("model_evaluations"), instances));
    if (has_files) {
      compare("unique_instances", written.at("unique_instances").get<std::int64_t>(),
              facts.instances);
      compare("unique_groups", written.at("unique_groups").get<std::int64_t>(), facts.groups);
      compare("signature", json.at("signature").get<std::string>(), facts.signature);
    }
    // A seed's population may hold several first findings.
    bool const searched = enumerated || (count("global_found") <= count("global_seeds") &&
                                         count("global_unique") <= instances);
    bool const plausible = searched && count("unique_groups") <= instances && undefined >= 0 &&
                           instances <= count("unique_generated") - undefined;
    if (!plausible) contradict("the counts contradict each other");
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is not a summary of this program: {}",
                                             shown(path), escaped(e.what())));
  }
}

}  // namespace

void check_finished(std::string const& dir) {
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: {}", shown(dir),
                            errno == ENOENT ? "no such directory" : std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: is a file, expected the output directory of a run", shown(dir)));
  }
  if (stat((dir + "/DONE").c_str(), &info) != 0) {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: has no DONE: it is not the output of a finished run", shown(dir)));
  }
}

CheckResult check_directory(std::string const& dir, ModelOptions const& options) {
  check_finished(dir);
  RecordedRun const recorded = read_manifest(dir);
  if (recorded.command == "verify") {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: was written by `fairlane verify`, expected a command that reports "
                            "pairs; see `fairlane verify --check DIR`",
                            shown(dir)));
  }
  RunConfig const& config = recorded.config;
  for (ChangedInput const& input : changed_inputs(recorded)) {
    throw Error(ExitCode::kIntegrity, input.text() + "; the file has changed since the run");
  }
  TestSubject const subject(config, options);
  InstanceFile file(dir, config.output.format, InstanceColumns(subject, config.output));
  InstanceChecker const checker(subject, file);

  CheckResult result;
  result.asked_again = subject.model().scorer() != nullptr;
  Sha256 hash;
  std::vector<GroupHash> groups;
  std::vector<std::int32_t> last;
  auto const sink = [&](Batch& batch) {
    if (!batch.first.empty()) {
      if (!last.empty() &&
          !checker.in_order(last.data(), batch.first.data(), batch.first_number, result)) {
        if (batch.result.confirmed > 0) --batch.result.confirmed;
      }
      last = batch.last;
    }
    add(result, batch.result);
    hash.update(batch.records.data(), batch.records.size());
    groups.insert(groups.end(), batch.groups.begin(), batch.groups.end());
  };
  OrderedPipeline<Batch> pipeline(
      machine_threads(), [&](Batch& batch) { checker.check(batch); }, sink);
  while (file.next(pipeline.slot().block)) pipeline.submit();
  pipeline.drain();
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  Facts const facts{result.instances, static_cast<std::int64_t>(groups.size()), hash.finish()};
  bool const has_files = config.output.format != OutputFormat::kNone;
  check_summary(dir, config, subject, facts, has_files, checker, result);
  for (InstanceFileFacts const& listed : file.files()) {
    std::string const path = dir + "/" + listed.name;
    if (listed.sha256.empty() || sha256_file(path) == listed.sha256) continue;
    ++result.contradictions;
    checker.fail(result, fmt::format("{}: is not the file that {} lists: its SHA-256 differs",
                                     shown(path), kInstanceIndex));
  }
  if (!has_files) {
    result.unchecked = "output.format is none, so that there are no pairs to evaluate again";
  } else if (result.run_undefined > 0 && result.run_undefined == result.run_inputs) {
    result.unchecked = "the output of every input is undefined: it is not a finite number";
  } else if (result.run_undefined > 0 && result.instances == 0) {
    result.unchecked = fmt::format(
        "there are no pairs, and {} of {} inputs have an undefined output: whether they are "
        "treated "
        "alike is unknown",
        result.run_undefined, result.run_inputs);
  }
  return result;
}

}  // namespace fairlane
