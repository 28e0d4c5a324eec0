#include "engine/recheck/recheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "engine/check/check.h"
#include "engine/recheck/checked_against.h"
#include "engine/recheck/checked_cells.h"
#include "engine/recheck/checked_example.h"
#include "engine/recheck/checked_existence.h"
#include "engine/recheck/checked_inputs.h"
#include "engine/recheck/checked_neighbours.h"
#include "engine/recheck/checked_query.h"
#include "engine/recheck/checked_shares.h"
#include "engine/recheck/contract_label.h"
#include "engine/recheck/ensemble_leaf_prover.h"
#include "engine/recheck/network_leaf_prover.h"
#include "engine/recheck/proof_walk.h"
#include "engine/results/changed_inputs.h"
#include "engine/results/manifest.h"
#include "engine/verify/boxes/cells.h"
#include "engine/verify/boxes/proof_tree.h"
#include "engine/verify/certificate.h"
#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr std::size_t kListed = 20;
constexpr std::size_t kLongestJson = std::size_t{1} << 26;
constexpr std::size_t kLongestCsv = std::size_t{1} << 34;
constexpr std::int64_t kPiece = 4;                   // cells that a thread takes at once
constexpr int kTile = 16;                            // of a layout that nothing is evaluated with
constexpr std::int64_t kShareGroups = 100'000;       // evaluated for the shares, at most
constexpr std::int64_t kShareWork = 10'000'000'000;  // parameters of networks, likewise

using Verdict = CertifiedCell::Verdict;

std::string shown(std::string const& path) { return escaped(path, 4096); }

/// One directory.
class Recheck {
 public:
  Recheck(std::string dir, RecheckOptions const& options);
  RecheckResult run();

 private:
  static RecordedRun checked_manifest(std::string const& dir);
  Cells cells_of() const;
  /// What is wrong with a result whose digest the certificate has; empty: nothing.
  std::string changed_file(std::string const& name) const;
  /// Throws Error(kUnavailable) for a network of which no proof can be checked.
  void check_network() const;
  void check_head();
  void check_examples();
  void check_summary();
  void check_shares(Json const& shares);
  void check_against(Json const& against);
  void check_proofs();
  /// Walks the trees of a cell, and proves their leaves.
  void check_proof(std::int64_t cell, LeafProver& prover);
  /// What is wrong with the letter of a leaf; empty: nothing.
  std::string wrong_kind(GroupBox const& box, char leaf) const;
  /// Whether nobody is in a box, within the limits and the constraints.
  LeafOutcome prove_empty(GroupBox box, std::span<int const> variants) const;
  void fail(std::string const& text) {
    std::lock_guard const guard(lock_);
    ++result_.failed;
    if (result_.failures.size() < kListed) result_.failures.push_back(text);
  }
  int threads() const { return options_.threads == 0 ? machine_threads() : options_.threads; }
  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  std::string place_of(std::int64_t cell) const {
    return fmt::format("{}/certificate.txt: cell {}", shown(dir_), cell);
  }

  std::string dir_;
  RecheckOptions const& options_;
  RecordedRun recorded_;
  TestSubject subject_;
  TreeEnsemble const* trees_;  // null: a network
  Network const* network_;
  VerifyOptions query_options_;
  RegionRules rules_;
  PackedSubject packed_;
  BoxDomain domain_;
  Certificate certificate_;
  Cells cells_;
  CheckedExistence existence_;
  VerifyQuery query_;
  std::uint64_t boxes_ = 0;       // of all cells, as cells.csv has them
  std::int64_t empty_ = 0;        // cells
  std::int64_t disagreeing_ = 0;  // examples that double precision does not confirm
  std::mutex lock_;
  RecheckResult result_;
};

RecordedRun Recheck::checked_manifest(std::string const& dir) {
  check_finished(dir);
  RecordedRun recorded = read_manifest(dir);
  if (recorded.command != "verify") {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: was written by `fairlane {}`, expected `fairlane verify`; see "
                            "`fairlane check`",
                            shown(dir), recorded.command));
  }
  for (ChangedInput const& input : changed_inputs(recorded)) {
    throw Error(ExitCode::kIntegrity, input.text() + "; the file has changed since");
  }
  return recorded;
}

Cells Recheck::cells_of() const {
  if (query_options_.cell_file.empty())
    return Cells(subject_.view(), domain_, query_options_.cell_size);
  // Of a file of cells, cells.csv has all that counts.
  if (std::string const problem = changed_file("cells.csv"); !problem.empty())
    throw Error(ExitCode::kIntegrity, problem);
  return Cells(subject_.view(), domain_, read_cell_bounds(dir_ + "/cells.csv", subject_.domain()),
               subject_.domain());
}

/// Of a subject that is an ensemble; null of others.
TreeEnsemble const* trees_of(TestSubject const& subject) {
  auto const* const scorer = dynamic_cast<TreeScorer const*>(subject.model().scorer().get());
  return scorer == nullptr ? nullptr : &scorer->trees();
}

Recheck::Recheck(std::string dir, RecheckOptions const& options)
    : dir_(std::move(dir)),
      options_(options),
      recorded_(checked_manifest(dir_)),
      subject_(recorded_.config, options.model),
      trees_(trees_of(subject_)),
      network_(trees_ != nullptr ? nullptr : &subject_.model().network("verify --check")),
      query_options_(checked_query(dir_)),
      rules_(checked_rules(dir_, query_options_, subject_)),
      packed_(subject_.view(), kTile),
      domain_(subject_.view(), packed_, region_lists(subject_, query_options_.region), rules_),
      certificate_(read_certificate(dir_ + "/certificate.txt")),
      cells_(cells_of()),
      existence_(domain_, subject_.domain()) {
  check_tables(domain_, subject_);
  check_neighbours(domain_, subject_, rules_.relaxed);
  if (network_ != nullptr) check_network();
  int const outputs = subject_.model().outputs();
  query_.threshold = outputs == 1 ? static_cast<double>(subject_.view().threshold) : 0.0;
  query_.margin = (outputs == 2 ? 2.0 : 1.0) * query_options_.margin;
  query_.variants = cells_.variant_lists();
  query_.compares = [this](int v, int w) {
    return are_compared(subject_, query_options_.semantics, v, w);
  };
}

void Recheck::check_network() const {
  for (std::size_t l = 0; l + 1 < network_->layers.size(); ++l) {
    DenseLayer const& layer = network_->layers[l];
    if (CheckedNetwork::takes(layer)) continue;
    throw Error(
        ExitCode::kUnavailable,
        fmt::format("{}: layer {} has the activation {}, of which no proof can be checked "
                    "so far, expected relu, leaky_relu, elu, tanh, sigmoid, silu, gelu or linear",
                    shown(recorded_.config.model), l, activation_name(layer.activation)));
  }
  if (network_->outputs() > 2 && query_options_.margin > 0.0) {
    throw Error(ExitCode::kUnavailable,
                fmt::format("{}: has {} outputs; a margin is of networks of one or two",
                            shown(recorded_.config.model), network_->outputs()));
  }
}

std::string Recheck::changed_file(std::string const& name) const {
  std::string const path = dir_ + "/" + name;
  std::string stated;
  for (auto const& [file, digest] : certificate_.head.files) {
    if (file == name) stated = digest;
  }
  try {
    std::string const found = result_digest(name, read_file(path, kLongestCsv));
    if (found == stated) return "";
    return fmt::format("{}: has SHA-256 {}, but certificate.txt records {}; the file has changed",
                       shown(path), found, stated.empty() ? "none" : escaped(stated));
  } catch (JsonError const& e) {
    return fmt::format("{}: is no summary of `fairlane verify`: {}", shown(path),
                       escaped(e.what()));
  }
}

void Recheck::check_head() {
  std::string const path = dir_ + "/certificate.txt";
  auto const refuse = [&](std::string const& what) {
    return Error(ExitCode::kIntegrity, fmt::format("{}: {}", shown(path), what));
  };
  if (certificate_.head.manifest_digest != sha256_file(dir_ + "/manifest.json"))
    throw refuse("belongs to another manifest.json");
  std::vector<std::vector<std::string>> axes;
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    axes.emplace_back();
    for (int const attribute : domain_.axis(a).attributes) {
      axes.back().push_back(subject_.domain().attributes[static_cast<std::size_t>(attribute)].name);
    }
  }
  if (certificate_.head.axes != axes) throw refuse("its axes are not those of the query");
  std::set<std::string> names = {"cells.csv", "counterexamples.csv", "summary.json"};
  for (auto const& [name, digest] : certificate_.head.files) names.insert(name);
  for (std::string const& name : names) {
    if (name.find('/') != std::string::npos) throw refuse("names a file of another directory");
    if (std::string const problem = changed_file(name); !problem.empty()) fail(problem);
  }
  if (certificate_.head.cells != cells_.count()) {
    throw refuse(fmt::format("has {} cells, but the query makes {}", certificate_.head.cells,
                             cells_.count()));
  }
  result_.cells = cells_.count();
  for (CertifiedCell const& cell : certificate_.cells) {
    ++(cell.verdict == Verdict::kFair     ? result_.fair
       : cell.verdict == Verdict::kUnfair ? result_.unfair
                                          : result_.unknown);
  }
}

void Recheck::check_examples() {
  std::string const path = dir_ + "/counterexamples.csv";
  std::istringstream text(read_file(path, kLongestCsv));
  auto const compares = [this](std::size_t differing) {
    return query_options_.semantics == PairSemantics::kAll ? differing == subject_.selected().size()
                                                           : differing > 0;
  };
  ExampleChecker checker(subject_, domain_, cells_, rules_.relaxed, compares, query_.threshold);
  std::string line;
  if (!std::getline(text, line) || line != checker.header())
    return fail(
        fmt::format("{}:1: the header is not that of the domain's attributes", shown(path)));
  std::int64_t number = 1;
  for (std::int64_t cell = 0; cell < cells_.count(); ++cell) {
    if (certificate_.cells[static_cast<std::size_t>(cell)].verdict != Verdict::kUnfair) continue;
    std::string const place = fmt::format("{}:{}", shown(path), ++number);
    if (!std::getline(text, line))
      return fail(fmt::format("{}: expected an example of cell {}", place, cell));
    ExampleOutcome const outcome = checker.check(cell, cut_at_commas(line));
    if (!outcome.problem.empty()) fail(fmt::format("{}: {}", place, outcome.problem));
    result_.marginal += outcome.marginal ? 1 : 0;
    result_.float32_only += outcome.float32_only ? 1 : 0;
    disagreeing_ += outcome.disagrees ? 1 : 0;
  }
  if (std::getline(text, line))
    fail(fmt::format("{}:{}: is no example of an unfair cell", shown(path), number + 1));
}

void Recheck::check_summary() {
  std::string const path = dir_ + "/summary.json";
  std::string const text = read_file(path, kLongestJson);
  try {
    Json const json = Json::parse(text);
    auto const compare = [&](char const* name, auto const& stated, auto const& expected) {
      if (stated != expected)
        fail(fmt::format("{}: {} is {}, expected {}", shown(path), name, stated, expected));
    };
    auto const& cells = json.at("cells");
    compare("cells.sat", cells.at("sat").get<std::int64_t>(), result_.unfair);
    compare("cells.unsat", cells.at("unsat").get<std::int64_t>(), result_.fair);
    compare("cells.unknown", cells.at("unknown").get<std::int64_t>(), result_.unknown);
    compare("empty_cells", json.value("empty_cells", std::int64_t{0}), empty_);
    compare("verdict", json.at("verdict").get<std::string>(),
            std::string(result_.unfair > 0    ? "sat"
                        : result_.unknown > 0 ? "unknown"
                                              : "unsat"));
    compare("variants", json.at("variants").get<std::int64_t>(), subject_.variants());
    auto const& examples = json.at("counterexamples");
    compare("counterexamples.all", examples.at("all").get<std::int64_t>(), result_.unfair);
    compare("counterexamples.float32_only", examples.at("float32_only").get<std::int64_t>(),
            disagreeing_);
    compare("boxes.all", json.at("boxes").at("all").get<std::uint64_t>(), boxes_);
    compare("margin", json.value("margin", 0.0), query_options_.margin);
    if (Json const* const shares = json.find("shares")) check_shares(*shares);
    if (Json const* const against = json.find("against")) {
      check_against(*against);
    } else if (!options_.against.empty()) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against {}: {} was not compared with another verification",
                              in_quotes(options_.against, 4096), shown(dir_)));
    }
    auto const names = json.at("protected").get<std::vector<std::string>>();
    std::vector<std::string> expected;
    for (std::int32_t const s : subject_.selected())
      expected.push_back(subject_.domain().attributes[static_cast<std::size_t>(s)].name);
    if (names != expected) fail(shown(path) + ": protected is not what the manifest has");
  } catch (JsonError const& e) {
    fail(fmt::format("{}: is no summary of `fairlane verify`: {}", shown(path), escaped(e.what())));
  }
}

void Recheck::check_shares(Json const& shares) {
  CheckedNeighbours const neighbours(domain_);
  auto const& variants = query_.variants[static_cast<std::size_t>(cells_.variants(0))];
  double const all = domain_.groups(domain_.whole());
  std::int64_t const parameters = network_ != nullptr ? network_->parameters() : 1;
  std::int64_t const most = std::clamp<std::int64_t>(
      kShareWork / (parameters * static_cast<std::int64_t>(variants.size())), 1000, kShareGroups);
  result_.all_share_groups = all <= static_cast<double>(most);
  std::int64_t const count = result_.all_share_groups ? std::llround(all) : most;
  GroupTally tally;
  ThreadPool pool;
  constexpr std::int64_t kShare = 500;  // groups that a thread evaluates at once
  pool.share(
      threads(), 0, (count + kShare - 1) / kShare, 1, [&](int, std::int64_t share, std::int64_t) {
        auto const label = make_contract_label(subject_);
        CheckedGroups const groups(
            domain_, neighbours, query_,
            [&label](std::int32_t const* row) { return (*label)(row); }, 1.0);
        GroupTeller const teller(domain_, existence_, groups, variants);
        std::int64_t const first = share * kShare;
        std::int64_t const last = std::min(first + kShare, count);
        GroupTally const found = result_.all_share_groups
                                     ? teller.count(first, last)
                                     : teller.draw(static_cast<std::uint64_t>(share), last - first);
        std::lock_guard const guard(lock_);
        tally.groups += found.groups;
        tally.not_fair += found.not_fair;
      });
  result_.share_groups = tally.groups;
  if (tally.groups == 0 && !result_.all_share_groups) result_.not_checked.emplace_back("shares");
  for (std::string const& problem : share_problems(shares, all, tally, result_.all_share_groups))
    fail(fmt::format("{}/summary.json: {}", shown(dir_), problem));
}

void Recheck::check_against(Json const& against) {
  if (options_.against.empty()) {
    result_.not_checked.emplace_back("against");
    return;
  }
  Json const query = Json::parse(read_file(dir_ + "/manifest.json", kLongestJson)).at("verify");
  for (std::string const& problem : against_problems(dir_, options_.against, subject_, cells_,
                                                     query, against, certificate_.cells))
    fail(problem);
  result_.against = options_.against;
  RecheckOptions options = options_;
  options.against.clear();
  RecheckResult const earlier = recheck(options_.against, options);
  result_.leaves += earlier.leaves;
  result_.unproven += earlier.unproven;
  result_.failed += earlier.failed;
  std::ranges::copy(earlier.failures, std::back_inserter(result_.failures));
  std::ranges::copy(earlier.open, std::back_inserter(result_.open));
}

void Recheck::check_proof(std::int64_t cell, LeafProver& prover) {
  auto const& variants = query_.variants[static_cast<std::size_t>(cells_.variants(cell))];
  ProofWalk walk(certificate_.cells[static_cast<std::size_t>(cell)].proof);
  auto const wrong = [&](std::string const& what) {
    fail(fmt::format("{}, character {} of its proof: {}", place_of(cell), walk.place(), what));
  };
  // Of an ensemble all classes are proven at once.
  int const classes = network_ != nullptr ? network_->outputs() : 1;
  for (int first = 0; first < std::max(classes - 1, 1); ++first) {
    for (int second = first + 1; second < std::max(classes, 2); ++second) {
      walk.plant(cells_.box(cell));
      while (walk.step()) {
        if (is_stopped()) return;
        if (std::string const what = wrong_kind(walk.box(), walk.leaf()); !what.empty())
          return wrong(what);
        bool const said_empty = walk.leaf() == static_cast<char>(LeafProof::kEmpty);
        int const one = classes == 1 ? 0 : first;
        int const other = classes == 1 ? 0 : second;
        LeafOutcome const outcome = said_empty ? prove_empty(walk.box(), variants)
                                    : walk.leaf() == static_cast<char>(LeafProof::kEvaluated)
                                        ? prover.prove_evaluated(walk.box(), variants, one, other)
                                        : prover.prove(walk.box(), variants, one, other);
        if (outcome == LeafOutcome::kRefuted && said_empty)
          return wrong("a leaf is said to be empty where somebody may be");
        if (outcome == LeafOutcome::kRefuted) wrong("a leaf holds an unfair or undefined group");
        std::lock_guard const guard(lock_);
        ++result_.leaves;
        if (outcome != LeafOutcome::kUnproven) continue;
        ++result_.unproven;
        if (result_.open.size() < kListed)
          result_.open.push_back(fmt::format("{}, character {}", place_of(cell), walk.place()));
      }
      if (!walk.problem().empty()) return wrong(walk.problem());
    }
  }
  if (!walk.at_end()) wrong("expected the end behind it, since all boxes are proven");
}

std::string Recheck::wrong_kind(GroupBox const& box, char leaf) const {
  switch (static_cast<LeafProof>(leaf)) {
    case LeafProof::kMerged:
    case LeafProof::kVariants:
    case LeafProof::kUnits:
    case LeafProof::kNarrowed:
    case LeafProof::kKinds:
    case LeafProof::kEmpty:
      return "";
    case LeafProof::kEvaluated:
      if (domain_.groups(box) <= kMostEvaluatedGroups) return "";
      return "a leaf is said to be evaluated that has too many groups";
    default:
      return "expected a cut or a leaf, one of m, v, u, e, k, x and n";
  }
}

LeafOutcome Recheck::prove_empty(GroupBox box, std::span<int const> variants) const {
  if (!domain_.keep_limits(box)) return LeafOutcome::kProven;
  if (!existence_.constrained()) return LeafOutcome::kRefuted;
  Emptiness const found = existence_.look(box, variants, options_.effort);
  return found == Emptiness::kEmpty     ? LeafOutcome::kProven
         : found == Emptiness::kPeopled ? LeafOutcome::kRefuted
                                        : LeafOutcome::kUnproven;
}

void Recheck::check_proofs() {
  ThreadPool pool;
  std::vector<std::unique_ptr<ContractLabel>> labels;
  std::vector<std::unique_ptr<LeafProver>> provers;
  for (int t = 0; t < threads(); ++t) {
    labels.push_back(make_contract_label(subject_));
    ContractLabel& label = *labels.back();
    if (trees_ != nullptr) {
      provers.push_back(
          std::make_unique<EnsembleLeafProver>(domain_, *trees_, query_, label, options_.effort));
    } else {
      provers.push_back(std::make_unique<NetworkLeafProver>(
          domain_, *network_, query_, [&label](std::int32_t const* row) { return label(row); },
          options_.effort));
    }
    provers.back()->stop_at(options_.stop);
    provers.back()->honour(existence_);
  }
  constexpr std::int64_t kRound = 512;  // cells, after which progress is told
  for (std::int64_t first = 0; first < cells_.count(); first += kRound) {
    std::int64_t const last = std::min(first + kRound, cells_.count());
    pool.share(threads(), first, last, kPiece,
               [&](int thread, std::int64_t from, std::int64_t count) {
                 for (std::int64_t cell = from; cell < from + count; ++cell) {
                   if (certificate_.cells[static_cast<std::size_t>(cell)].verdict == Verdict::kFair)
                     check_proof(cell, *provers[static_cast<std::size_t>(thread)]);
                 }
               });
    if (is_stopped()) {
      throw Error(ExitCode::kInterrupted, fmt::format("{}: stopped, {} of {} cells were checked",
                                                      shown(dir_), first, cells_.count()));
    }
    if (options_.progress) options_.progress({cells_.count(), last, result_.leaves});
  }
}

RecheckResult Recheck::run() {
  Stopwatch const start;
  if (options_.notice) {
    for (std::string const& notice : subject_.notices()) options_.notice(notice);
  }
  check_head();
  CheckedCells const cells = check_cells_csv(dir_, cells_, subject_.domain(), certificate_.cells);
  for (std::string const& problem : cells.problems) fail(problem);
  boxes_ = cells.boxes;
  empty_ = cells.empty;
  check_examples();
  check_summary();
  check_proofs();
  // Threads find them in any order.
  std::ranges::sort(result_.failures);
  std::ranges::sort(result_.open);
  result_.seconds = start.seconds();
  return result_;
}

}  // namespace

RecheckResult recheck(std::string const& dir, RecheckOptions const& options) {
  return Recheck(dir, options).run();
}

}  // namespace fairlane
