#include "engine/verify/vnnlib.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/onnx/model_writer.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostFiles = 100'000;
constexpr std::size_t kMostCases = 100'000;  // of one property
constexpr int kSeconds = 100;                // for each instance: Fairify's soft time-out
constexpr char const* kNetwork = "network.onnx";
constexpr char const* kInstances = "instances.csv";
constexpr char const* kProperties = "vnnlib";
constexpr char const* kProperty = "cell_";
constexpr char const* kEnding = ".vnnlib";

/// A network's layers twice, side by side, the inputs of the attributes under test apart.
class PairNetwork {
 public:
  /// own: inputs that the second one does not share
  PairNetwork(Network const& network, std::vector<int> const& own) {
    pair_.source = network.source;
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      DenseLayer const& layer = network.layers[l];
      std::vector<int> second(static_cast<std::size_t>(layer.inputs));
      for (int i = 0; i < layer.inputs; ++i)
        second[static_cast<std::size_t>(i)] = l == 0 ? i : layer.inputs + i;
      int inputs = 2 * layer.inputs;
      if (l == 0) {
        inputs = layer.inputs;
        for (int const i : own) second[static_cast<std::size_t>(i)] = inputs++;
      }
      add(layer, inputs, second);
    }
    pair_.layers.back().activation = Activation::kLinear;
  }
  Network const& network() const { return pair_; }

 private:
  /// second [inputs]: which input of the pair is one of the second network
  void add(DenseLayer const& layer, int inputs, std::vector<int> const& second) {
    DenseLayer both = layer;
    both.inputs = inputs;
    both.outputs = 2 * layer.outputs;
    both.bias.insert(both.bias.end(), layer.bias.begin(), layer.bias.end());
    both.weights.assign(
        static_cast<std::size_t>(both.inputs) * static_cast<std::size_t>(both.outputs), 0.0F);
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    for (std::size_t i = 0; i < second.size(); ++i) {
      float const* const from = &layer.weights[i * outputs];
      std::copy_n(from, outputs, &both.weights[i * 2 * outputs]);
      std::copy_n(from, outputs,
                  &both.weights[static_cast<std::size_t>(second[i]) * 2 * outputs + outputs]);
    }
    pair_.layers.push_back(std::move(both));
  }

  Network pair_;
};

/// A number as every reader of VNN-LIB takes it.
std::string number(double x) {
  std::string text = fmt::format("{}", x);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// The properties of a domain's cells.
class Properties {
 public:
  Properties(TestSubject const& subject, BoxDomain const& domain, Cells const& cells,
             VerifyQuery const& query)
      : subject_(subject),
        domain_(domain),
        cells_(cells),
        query_(query),
        inputs_(static_cast<std::size_t>(domain.inputs())),
        outputs_(subject.model().outputs()),
        own_(domain.variant_inputs()) {}

  std::string text(std::int64_t cell) const {
    std::string text = head(cell);
    std::vector<Interval> bounds(inputs_);
    auto const& variants = query_.variants[static_cast<std::size_t>(cells_.variants(cell))];
    domain_.enclose(cells_.box(cell), bounds.data());
    domain_.enclose_variants(variants, bounds.data());
    for (std::size_t i = 0; i < inputs_ + own_.size(); ++i)
      text += fmt::format("(declare-const X_{} Real)\n", i);
    for (int o = 0; o < 2 * outputs_; ++o) text += fmt::format("(declare-const Y_{} Real)\n", o);
    for (std::size_t i = 0; i < inputs_; ++i) assert_between(text, i, bounds[i]);
    for (std::size_t i = 0; i < own_.size(); ++i)
      assert_between(text, inputs_ + i, bounds[static_cast<std::size_t>(own_[i])]);
    std::vector<std::string> const apart = cases_of_labels();
    text += "(assert (or\n";
    std::size_t cases = 0;
    for (int const v : variants) {
      for (int const w : variants) {
        if (!query_.compares(v, w)) continue;
        cases += apart.size();
        if (cases > kMostCases) refuse_cases(cell);
        std::string const members = member_text(v, true) + member_text(w, false);
        for (std::string const& labels : apart) text += "  (and" + members + labels + ")\n";
      }
    }
    // A disjunction of nothing, which VNN-LIB does not write: nobody is compared here.
    if (cases == 0) text += "  (and (<= X_0 0.0) (>= X_0 1.0))\n";
    return text + "))\n";
  }

 private:
  std::string head(std::int64_t cell) const {
    Domain const& domain = subject_.domain();
    std::string text = fmt::format(
        "; Cell {} of {}: is there a pair whose first member has {}?\n"
        "; Inputs are integers or other values of a table; bounds are the hull of the cell's: "
        "unsat proves it fair,\n; an example may be of nobody. Where outputs meet, both labels "
        "count.\n",
        cell, cells_.count(),
        outputs_ == 1 ? "label 1 and whose second has label 0" : "a higher label than the second");
    std::vector<AxisRange> const values = cells_.values(cell);
    for (std::size_t a = 0; a < values.size(); ++a) {
      bool const tested = std::ranges::count(subject_.selected(), static_cast<int>(a)) > 0;
      text += fmt::format("; {}: {} to {}{}\n", escaped(domain.attributes[a].name), values[a].first,
                          values[a].last, tested ? ", under test" : "");
    }
    for (std::size_t i = 0; i < own_.size(); ++i)
      text += fmt::format("; X_{} is X_{} of the second member\n", inputs_ + i, own_[i]);
    return text;
  }
  static void assert_between(std::string& text, std::size_t input, Interval const& bounds) {
    text += fmt::format("(assert (>= X_{0} {1}))\n(assert (<= X_{0} {2}))\n", input,
                        number(bounds.low), number(bounds.high));
  }
  /// The inputs of a variant, for the first or for the second member.
  std::string member_text(int variant, bool first) const {
    std::vector<Interval> values(inputs_);
    int const list[] = {variant};
    domain_.enclose_variants(list, values.data());
    std::string text;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      auto const input = static_cast<std::size_t>(own_[i]);
      text += fmt::format(" (>= X_{0} {1}) (<= X_{0} {1})", first ? input : inputs_ + i,
                          number(values[input].low));
    }
    return text;
  }
  /// What outputs the members of a pair have whose labels differ, the first one's the higher.
  std::vector<std::string> cases_of_labels() const {
    if (outputs_ == 1) {
      return {fmt::format(" (>= Y_0 {}) (<= Y_1 {})", number(query_.least_upper()),
                          number(query_.most_lower()))};
    }
    auto const wins = [&](int label, int first) {
      std::string text;
      for (int o = 0; o < outputs_; ++o)
        if (o != label) text += fmt::format(" (>= Y_{} Y_{})", first + label, first + o);
      return text;
    };
    std::vector<std::string> cases;
    for (int high = 1; high < outputs_; ++high)
      for (int low = 0; low < high; ++low) cases.push_back(wins(high, 0) + wins(low, outputs_));
    return cases;
  }
  [[noreturn]] void refuse_cases(std::int64_t cell) const {
    throw Error(
        ExitCode::kUsage,
        fmt::format("--vnnlib: cell {} has more than {} pairs of members and labels, which "
                    "a property lists one by one; compare fewer values of {}",
                    cell, kMostCases,
                    in_quotes(subject_.domain()
                                  .attributes[static_cast<std::size_t>(subject_.selected().front())]
                                  .name)));
  }

  TestSubject const& subject_;
  BoxDomain const& domain_;
  Cells const& cells_;
  VerifyQuery const& query_;
  std::size_t inputs_;
  int outputs_;
  std::vector<int> own_;
};

[[noreturn]] void fail_folder(std::string const& folder, std::string const& what) {
  throw Error(ExitCode::kOutput, fmt::format("{}: {}", escaped(folder), what));
}

bool is_property(std::string const& name) {
  return name.starts_with(kProperty) && name.ends_with(kEnding);
}

/// Makes the folder, or removes the properties of an earlier question from it.
void make_folder(std::string const& folder) {
  std::string const properties = folder + "/" + kProperties;
  std::error_code error;
  fs::create_directories(properties, error);
  if (error) fail_folder(folder, "cannot be made: " + error.message());
  std::vector<fs::path> old;
  auto const look = [&](std::string const& in, auto const& is_ours) {
    for (auto at = fs::directory_iterator(in, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      std::string const name = at->path().filename().string();
      if (!is_ours(name)) {
        fail_folder(folder, fmt::format("holds {}, expected a new folder or what --vnnlib has "
                                        "written; name another one",
                                        in_quotes(name)));
      }
      if (is_property(name) || name == kInstances) old.push_back(at->path());
    }
    if (error) fail_folder(in, "cannot be listed: " + error.message());
  };
  look(folder, [](std::string const& name) {
    return name == kNetwork || name == kInstances || name == kProperties;
  });
  look(properties, is_property);
  for (fs::path const& path : old) fs::remove(path, error);
}

}  // namespace

void check_vnnlib(TestSubject const& subject, RegionRules const& rules) {
  auto const refuse = [](std::string const& what) {
    return Error(ExitCode::kUnavailable, "--vnnlib: VNN-LIB has no words for " + what);
  };
  subject.model().network("--vnnlib");
  if (!subject.constraints().empty())
    throw refuse("constraints of a domain, of which " + escaped(subject.domain().source) +
                 " has some");
  if (!rules.relaxed.empty()) throw refuse("pairs that --relax compares; leave it out");
  if (!rules.limits.empty()) throw refuse("sums of attributes; leave --where out");
}

void write_vnnlib(TestSubject const& subject, BoxDomain const& domain, Cells const& cells,
                  VerifyQuery const& query, std::string const& folder) {
  if (cells.count() > kMostFiles) {
    throw Error(ExitCode::kUsage,
                fmt::format("--vnnlib: {} cells, expected at most {}, each of which is a file; use "
                            "longer runs, or a file of cells",
                            cells.count(), kMostFiles));
  }
  make_folder(folder);
  PairNetwork const pair(subject.model().network("--vnnlib"), domain.variant_inputs());
  write_onnx(pair.network(), folder + "/" + kNetwork, 1);
  Properties const properties(subject, domain, cells, query);
  std::string instances;
  for (std::int64_t cell = 0; cell < cells.count(); ++cell) {
    std::string const name = fmt::format("{}/{}{}{}", kProperties, kProperty, cell, kEnding);
    std::string const text = properties.text(cell);
    FileWriter file(folder + "/" + name);
    file.write(text.data(), text.size());
    file.close();
    instances += fmt::format("{},{},{}\n", kNetwork, name, kSeconds);
  }
  // What is listed there is whole, whenever a process is killed.
  write_whole_file(folder + "/" + kInstances, instances);
}

}  // namespace fairlane
