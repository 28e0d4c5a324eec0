#include "apps/commands/decoded_results.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "apps/console.h"
#include "apps/files.h"
#include "apps/text/words.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/results/instance_words.h"
#include "engine/results/instances.h"
#include "engine/results/instances_reader.h"
#include "kernels/visits.h"
#include "models/data/csv_scanner.h"
#include "models/data/decode_table.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

/// values.csv of `enumerate`, whose second column has codes of the attribute in the first.
void decode_values(std::string const& text, std::string const& source, Domain const& domain,
                   TextSink const& sink) {
  CsvScanner scanner(text, source);
  CsvHeader const header = read_csv_header(scanner);
  if (header.names.size() < 2 || header.names[1] != "value")
    scanner.fail(1, 1, "has other columns than those of `enumerate`, expected attribute,value,...");
  std::string out = text.substr(0, text.find('\n') + 1);
  while (!scanner.no_more_records()) {
    Attribute const* attribute = nullptr;
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == 0) {
        int const index = domain.find(std::string(cell.text));
        if (index < 0)
          scanner.fail(cell, fmt::format("{} is no attribute of the domain {}",
                                         in_quotes(cell.text), escaped(domain.source)));
        attribute = &domain.attributes[static_cast<std::size_t>(index)];
      }
      std::int32_t code = 0;
      bool const is_code = i == 1 && parse_code(cell.text, code) == CodeCell::kYes;
      if (i == 1 && (!is_code || !attribute->allows(code))) {
        scanner.fail(cell, fmt::format("{} is no code of {}, expected {}", in_quotes(cell.text),
                                       in_quotes(attribute->name), attribute->codes_text()));
      }
      out += i == 0 ? "" : ",";
      out += csv_cell(is_code ? attribute->word(code) : std::string(cell.text));
      if (cell.last) break;
    }
    out += '\n';
  }
  sink(out);
}

/// The findings of a run as a CSV file, whether they are one or arrays.
void decode_findings(std::string const& dir, RecordedRun const& recorded, Domain const& domain,
                     TextSink const& sink) {
  std::vector<std::string> names;
  for (auto const& one : recorded.config.protected_attributes) names.push_back(one.name);
  std::vector<int> const selected = attribute_indices(domain, names);
  InstanceColumns const columns(domain, selected, recorded.config.output);
  InstanceFile file(dir, recorded.config.output.format, columns);
  sink(columns.csv_header());
  std::string out;
  InstanceWords const words(domain, selected, columns);
  auto const take = [&](std::int64_t, InstanceRecord const& record) {
    words.append_line(out, record);
  };
  auto const fail = [&](std::int64_t number, char const* what) {
    throw data_error(file.place(number), what);
  };
  InstanceBlock block;
  while (file.next(block)) {
    out.clear();
    file.parse(block, take, fail);
    sink(out);
  }
  file.require_listed_rows();
}

constexpr std::string_view kFindings = "instances.csv";
/// What holds codes in an output directory, or may: `compare` writes nothing that does.
constexpr std::string_view kCoded[] = {kFindings,   "global.csv", "values.csv",
                                       "pairs.csv", "cells.csv",  "counterexamples.csv"};

/// Names of the files of a directory that are put into words, in order.
std::vector<std::string> coded_files(fs::path const& dir) {
  std::vector<std::string> names;
  std::error_code ec;
  for (std::string_view const name : kCoded) {
    bool const is_listed = name == kFindings && fs::exists(dir / kInstanceIndex, ec);
    if (is_listed || fs::exists(dir / name, ec)) names.emplace_back(name);
  }
  return names;
}

/// Refuses to replace a directory that holds more than what this command writes.
void check_replaced(std::string const& out) {
  std::error_code ec;
  if (!fs::is_directory(out, ec)) return refuse_no_file(out);
  for (auto const& entry : fs::directory_iterator(out, ec)) {
    std::string const name = entry.path().filename().string();
    if (std::ranges::count(kCoded, name) > 0 && !entry.is_directory(ec)) continue;
    throw Error(ExitCode::kOutput,
                fmt::format("{}: holds {}, expected nothing but tables in words to replace",
                            escaped(out, out.size()), in_quotes(name)));
  }
}

/// A directory beside its later name, removed unless it gets that.
class StagedFolder {
 public:
  explicit StagedFolder(std::string const& path)
      : path_(path), staged_(fmt::format("{}.{}.partial", path, getpid())) {
    std::error_code ec;
    fs::create_directories(staged_, ec);
    if (ec) fail("cannot be created", ec);
  }
  ~StagedFolder() {
    std::error_code ec;
    fs::remove_all(staged_, ec);
  }
  StagedFolder(StagedFolder const&) = delete;
  StagedFolder& operator=(StagedFolder const&) = delete;

  std::string file(std::string const& name) const { return (fs::path(staged_) / name).string(); }

  /// Replaces what has the name.
  void place() const {
    std::error_code ec;
    sync_path(staged_);
    fs::remove_all(path_, ec);
    if (ec) fail("cannot be replaced", ec);
    rename_file(staged_, path_, ExitCode::kOutput);
  }

 private:
  [[noreturn]] void fail(char const* what, std::error_code const& ec) const {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: {}: {}", escaped(path_, path_.size()), what, ec.message()));
  }

  std::string path_;
  std::string staged_;
};

}  // namespace

std::vector<std::string> decode_results(std::string const& dir, std::string const& domain_path,
                                        std::string const& out, Console const& console) {
  RecordedRun const recorded = read_manifest(dir);
  std::error_code ec;
  if (!fs::exists(fs::path(dir) / "DONE", ec))
    console.warn(fmt::format("{}: has no DONE, the run did not finish", escaped(dir, dir.size())));
  std::vector<std::string> const names = coded_files(dir);
  if (names.empty()) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: has no table in codes, expected the results of run, enumerate or "
                            "verify with findings",
                            escaped(dir, dir.size())));
  }
  check_replaced(out);
  Domain const domain =
      domain_path.empty() ? recorded_domain(recorded) : read_domain_yaml(domain_path);
  StagedFolder const folder(out);
  std::vector<std::string> files;
  for (std::string const& name : names) {
    std::string const source = (fs::path(dir) / name).string();
    FileWriter file(folder.file(name));
    TextSink const sink = [&](std::string_view part) { file.write(part.data(), part.size()); };
    if (name == kFindings) {
      decode_findings(dir, recorded, domain, sink);
    } else if (name == "values.csv") {
      decode_values(read_file(source, kMaxTableBytes), source, domain, sink);
    } else {
      decode_table(read_file(source, kMaxTableBytes), source, domain, sink);
    }
    file.close();
    files.push_back((fs::path(out) / name).string());
  }
  folder.place();
  return files;
}

}  // namespace fairlane
