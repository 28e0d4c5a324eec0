// Small models over domains with random constraints, for tests of what is proven of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/recheck/forgery.h"
#include "tests/engine/search/constraint_writer.h"
#include "tests/engine/verify/everybody.h"

namespace fairlane {

/// A tree as the format "fairlane-trees" has it; children of node i are written behind it.
struct RandomTree {
  Json feature = Json::array();
  Json threshold = Json::array();
  Json left = Json::array();
  Json right = Json::array();
  Json leaves = Json::array();

  int grow(std::mt19937& random, int inputs, int depth) {
    if (depth == 0) {
      leaves.push_back((static_cast<int>(random() % 2001) - 1000) / 700.0);
      return -static_cast<int>(leaves.size());
    }
    auto const node = feature.size();
    auto const input = static_cast<int>(random() % static_cast<unsigned>(inputs));
    feature.push_back(input);
    threshold.push_back(input - 2 + static_cast<int>(random() % 5) + 0.5);
    left.push_back(0);
    right.push_back(0);
    left[node] = grow(random, inputs, depth - 1);
    right[node] = grow(random, inputs, depth - 1);
    return static_cast<int>(node);
  }
  Json json() const {
    return {{"feature", feature},
            {"threshold", threshold},
            {"left", left},
            {"right", right},
            {"leaves", leaves}};
  }
};

inline std::string random_trees(std::mt19937& random, int inputs) {
  Json trees = Json::array();
  for (int t = 0; t < 6; ++t) {
    RandomTree tree;
    tree.grow(random, inputs, 4);
    trees.push_back(tree.json());
  }
  Json const json = {{"format", "fairlane-trees"},
                     {"version", 1},
                     {"library", "random"},
                     {"inputs", inputs},
                     {"scores", "logits"},
                     {"base", {0.05}},
                     {"leaf", "number"},
                     {"divisor", 1},
                     {"cut", 0.0},
                     {"trees", trees}};
  return json.dump();
}

/// A small network or ensemble over a domain with random constraints.
class ConstrainedSubject {
 public:
  explicit ConstrainedSubject(std::uint32_t seed) : random_(seed) {
    SmallShape shape;
    shape.seed = seed;
    shape.widths = {5, seed % 6 == 3 ? 3 : 1};
    shape.ranges.clear();
    // A large one is a single cell, which takes halving.
    bool const large = seed % 5 == 0;
    int const attributes = large ? 5 : 4;
    for (int a = 0; a < attributes; ++a)
      shape.ranges.push_back((large ? 5 : 3) + static_cast<std::int32_t>(random_() % 4));
    shape.selected = seed % 2 == 0 ? std::vector<std::int32_t>{1} : std::vector<std::int32_t>{0, 3};
    shape.constraints = ConstraintWriter(shape, random_).section(1 + static_cast<int>(seed % 4));
    // In some of those nobody has a counterpart, as another attribute says what theirs is.
    if (seed % 10 == 0) {
      shape.constraints +=
          "  - {if: {a2: {at_least: 2}}, then: {a1: -1}}\n"
          "  - {if: {a2: {at_most: 1}}, then: {a1: 0}}\n";
    }
    config_ = small_config(folder_, shape, 12);
    config_.output.dir = dir();
    config_.output.report = false;
    selected_ = shape.selected;
    if (seed % 3 == 1) {
      config_.model = folder_.write("model.json", random_trees(random_, attributes));
    } else if (seed % 2 == 0 || large) {
      // Attributes under test hardly count, so that there is something to prove.
      Network network = random_network(shape);
      auto const outputs = static_cast<std::size_t>(shape.widths.front());
      for (std::int32_t const s : shape.selected) {
        for (std::size_t o = 0; o < outputs; ++o)
          network.layers[0].weights[static_cast<std::size_t>(s) * outputs + o] *=
              large ? 0.03F : 0.2F;
      }
      write_safetensors(network, config_.model);
    }
    options_.execution.backend = "cpu";
    options_.execution.threads = 1;
    options_.cell_size = large || seed % 4 == 0 ? 0 : 3;
  }

  std::string dir() const { return folder_.file("verified"); }
  RunConfig const& config() const { return config_; }
  std::vector<std::int32_t> const& selected() const { return selected_; }
  /// An attribute that is not under test.
  int free_attribute() const { return 2; }
  int other_free_attribute() const { return selected_.size() == 1 ? 0 : 1; }
  VerifyOptions& options() { return options_; }
  void verify() { fairlane::verify(config_, options_); }
  /// The subject, unless constraints exclude everybody, or every row.
  std::unique_ptr<TestSubject> subject() const {
    try {
      return std::make_unique<TestSubject>(config_);
    } catch (Error const& error) {
      EXPECT_TRUE(error.code() == ExitCode::kConfig || error.code() == ExitCode::kData)
          << error.what();
      return nullptr;
    }
  }
  /// Replaces the domain file's constraints, and its digest in the manifest.
  void set_constraints(std::string const& section) const {
    std::string const text = slurp(config_.domain);
    write_bytes(config_.domain, text.substr(0, text.find("constraints:\n")) + section);
    Forgery const forgery(dir());
    forgery.change_json("manifest.json", [&](Json& json) {
      json["inputs"]["domain"]["sha256"] = sha256_file(config_.domain);
    });
    forgery.sign();
  }
  std::string constraints() const {
    std::string const text = slurp(config_.domain);
    return text.substr(text.find("constraints:\n"));
  }

 private:
  std::mt19937 random_;
  TemporaryFolder folder_;
  RunConfig config_;
  std::vector<std::int32_t> selected_;
  VerifyOptions options_;
};

}  // namespace fairlane
