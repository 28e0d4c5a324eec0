// Directories of `verify` that somebody has changed, and signed again so that only the statement
// itself can give it away.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "engine/count/region.h"
#include "engine/recheck/recheck.h"
#include "engine/results/manifest.h"
#include "engine/verify/boxes/cells.h"
#include "engine/verify/certificate.h"
#include "engine/verify/recorded_query.h"
#include "tests/models/temporary.h"
#include "tests/naive_reference.h"

namespace fairlane {

inline void write_bytes(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline std::string text_of(std::vector<std::string> const& lines) {
  std::string text;
  for (std::string const& line : lines) text += line + "\n";
  return text;
}

/// How a check ended. code: of the error that it ended with
struct Checked {
  std::optional<ExitCode> code;
  RecheckResult result;
  std::string error;

  bool accepted() const { return !code && result.failed == 0 && result.unproven == 0; }
  /// Everything that was said.
  std::string text() const {
    std::string all = error;
    for (std::string const& line : result.failures) all += "\n" + line;
    return all;
  }
};

/// A finished verification's directory.
class Forgery {
 public:
  explicit Forgery(std::string dir) : dir_(std::move(dir)) {}

  std::string text(std::string const& name) const { return slurp(dir_ + "/" + name); }
  void set(std::string const& name, std::string const& text) const {
    write_bytes(dir_ + "/" + name, text);
  }
  /// Replaces the first `part` of a file, which has one.
  void replace(std::string const& name, std::string const& part, std::string const& by) const {
    std::string bytes = text(name);
    std::size_t const at = bytes.find(part);
    ASSERT_NE(at, std::string::npos) << name << " has no " << part;
    set(name, bytes.replace(at, part.size(), by));
  }
  void change_json(std::string const& name, std::function<void(Json&)> const& change) const {
    Json json = Json::parse(text(name));
    change(json);
    set(name, json.dump(2) + "\n");
  }

  /// Lines of the certificate's cells.
  std::vector<std::string> cells() const {
    auto const lines = lines_of(text("certificate.txt"));
    return {lines.begin() + kHeadLines, lines.end() - 1};
  }
  /// Writes a certificate with these cells that agrees with the other files as they are.
  void sign(std::vector<std::string> const& cells) const {
    auto const before = lines_of(text("certificate.txt"));
    std::vector<std::string> lines(before.begin(), before.begin() + kHeadLines);
    lines[1] = "manifest " + sha256_file(dir_ + "/manifest.json");
    Json files = Json::object();
    for (char const* name : {"cells.csv", "counterexamples.csv", "summary.json", "against.csv"}) {
      if (std::filesystem::exists(dir_ + "/" + name)) files[name] = result_digest(name, text(name));
    }
    lines[2] = "files " + files.dump();
    lines[4] = "cells " + std::to_string(cells.size());
    lines.insert(lines.end(), cells.begin(), cells.end());
    std::string const all = text_of(lines);
    set("certificate.txt", all + "sha256 " + sha256(all) + "\n");
  }
  void sign() const { sign(cells()); }

  /// Says in all files that a cell that is unfair, or unknown for undefined outputs, is fair, by
  /// this proof, and signs it.
  void call_fair(std::size_t cell, std::string const& proof) const {
    auto known = cells();
    bool const unfair = known[cell] == "unfair";
    std::string const words = unfair ? ",sat,," : ",unknown,undefined,";
    auto lines = lines_of(text("cells.csv"));
    std::string& line = lines[cell + 1];
    std::size_t const at = line.find(words);
    ASSERT_NE(at, std::string::npos) << line;
    line.replace(at, words.size(), ",unsat,,");
    set("cells.csv", text_of(lines));
    auto examples = lines_of(text("counterexamples.csv"));
    std::erase_if(examples, [&](std::string const& example) {
      return example.starts_with(std::to_string(cell) + ",");
    });
    set("counterexamples.csv", text_of(examples));
    change_json("summary.json", [&](Json& json) {
      auto const add = [](Json& value, std::int64_t by) { value = value.get<std::int64_t>() + by; };
      auto const count = [&](char const* key) { return json["cells"][key].get<std::int64_t>(); };
      add(json["cells"][unfair ? "sat" : "unknown"], -1);
      add(json["cells"]["unsat"], 1);
      if (unfair) add(json["counterexamples"]["all"], -1);
      json["verdict"] = count("sat") > 0 ? "sat" : count("unknown") > 0 ? "unknown" : "unsat";
    });
    known[cell] = "fair " + proof;
    sign(known);
  }

  /// against: the directory with which it was compared
  Checked check(int threads = 1, int effort = RecheckOptions().effort,
                std::string const& against = "") const {
    Checked checked;
    RecheckOptions options;
    options.against = against;
    options.threads = threads;
    options.effort = effort;
    try {
      checked.result = recheck(dir_, options);
    } catch (Error const& error) {
      checked.code = error.code();
      checked.error = error.what();
    }
    return checked;
  }

 private:
  static constexpr int kHeadLines = 5;
  std::string dir_;
};

/// What is true of every cell of a directory's query, by evaluating everybody: whether it has two
/// people who are compared and have different labels, or somebody without a label.
struct CellTruth {
  bool unfair = false;
  bool undefined = false;
};

inline std::vector<CellTruth> truths_of(std::string const& dir) {
  RecordedRun const recorded = read_manifest(dir);
  TestSubject const subject(recorded.config);
  VerifyOptions const query =
      restored_query(Json::parse(slurp(dir + "/manifest.json")).at("verify"));
  PackedSubject const packed(subject.view(), 16);
  BoxDomain const domain(subject.view(), packed, region_lists(subject, query.region));
  Cells const cells =
      query.cell_file.empty()
          ? Cells(subject.view(), domain, query.cell_size)
          : Cells(subject.view(), domain, read_cell_bounds(dir + "/cells.csv", subject.domain()),
                  subject.domain());
  naive::FloatReference const reference(subject.view());
  std::vector<CellTruth> truths(static_cast<std::size_t>(cells.count()));
  naive::Row row(subject.domain().attributes.size());
  for (std::size_t cell = 0; cell < truths.size(); ++cell) {
    auto const number = static_cast<std::int64_t>(cell);
    auto const& variants = cells.variant_lists()[static_cast<std::size_t>(cells.variants(number))];
    GroupBox const box = cells.box(number);
    each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
      std::vector<std::int32_t> labels;
      std::vector<naive::Row> rows;
      for (int const v : variants) {
        domain.row(entries, v, row.data());
        rows.push_back(row);
        labels.push_back(reference.label(row));
        truths[cell].undefined = truths[cell].undefined || labels.back() == kUndefinedLabel;
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          std::size_t differing = 0;
          for (std::int32_t const s : subject.selected()) {
            auto const a = static_cast<std::size_t>(s);
            differing += rows[i][a] != rows[j][a] ? 1 : 0;
          }
          bool const compared = query.semantics == PairSemantics::kAll
                                    ? differing == subject.selected().size()
                                    : differing > 0;
          truths[cell].unfair =
              truths[cell].unfair || (compared && labels[i] != labels[j] &&
                                      labels[i] != kUndefinedLabel && labels[j] != kUndefinedLabel);
        }
      }
      return true;
    });
  }
  return truths;
}

/// Whatever a directory says that is accepted is true of what its own files name.
inline void expect_true(std::string const& dir) {
  auto const truths = truths_of(dir);
  Certificate const certificate = read_certificate(dir + "/certificate.txt");
  ASSERT_EQ(certificate.cells.size(), truths.size());
  for (std::size_t cell = 0; cell < truths.size(); ++cell) {
    CellTruth const& truth = truths[cell];
    auto const verdict = certificate.cells[cell].verdict;
    if (verdict == CertifiedCell::Verdict::kFair) {
      EXPECT_FALSE(truth.unfair || truth.undefined) << "cell " << cell;
    } else if (verdict == CertifiedCell::Verdict::kUnfair) {
      EXPECT_TRUE(truth.unfair) << "cell " << cell;
    }
  }
}

}  // namespace fairlane
