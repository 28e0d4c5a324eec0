#include "engine/sweep/sweep_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/sweep/journal.h"
#include "engine/sweep/sweep_files.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr char const* kMark = "plan.json";
constexpr char const* kPartial = ".partial";
constexpr char const* kJournals = "journal";
constexpr char const* kJournalEnd = ".log";
constexpr std::size_t kLongestPath = 4096;

std::string shown(std::string const& path) { return escaped(path, kLongestPath); }

void make_folder(std::string const& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (!ec && fs::is_directory(path)) return;
  throw Error(ExitCode::kOutput, fmt::format("{}: cannot be created: {}", shown(path),
                                             ec ? ec.message() : "is no directory"));
}

CellResult result_of(Json const& record) {
  CellResult result;
  result.cell = record.at("cell").get<std::string>();
  result.exit = record.at("exit").get<int>();
  result.error = record.value("error", "");
  result.worker = record.at("worker").get<std::string>();
  result.seconds = record.at("seconds").get<double>();
  result.machine = machine_of(record.at("machine"));
  result.rows = figure_rows_of(record.at("rows"));
  return result;
}

}  // namespace

Json machine_json(CellMachine const& machine) {
  return {{"host", machine.host},       {"cpu", machine.cpu},
          {"cores", machine.cores},     {"device", machine.device},
          {"threads", machine.threads}, {"peak_gflops", machine.peak_gflops}};
}

CellMachine machine_of(Json const& json) {
  return {json.at("host").get<std::string>(),   json.at("cpu").get<std::string>(),
          json.at("device").get<std::string>(), json.at("cores").get<int>(),
          json.at("threads").get<int>(),        json.at("peak_gflops").get<double>()};
}

bool CellResult::is_done() const {
  auto const code = static_cast<ExitCode>(exit);
  return code == ExitCode::kOk || code == ExitCode::kPartly || code == ExitCode::kPolicy;
}

Json result_record(CellResult const& result) {
  Json record;
  record["kind"] = "RESULT";
  record["cell"] = result.cell;
  record["exit"] = result.exit;
  if (!result.error.empty()) record["error"] = result.error;
  record["worker"] = result.worker;
  record["seconds"] = result.seconds;
  record["machine"] = machine_json(result.machine);
  record["rows"] = figure_rows_json(result.rows);
  return record;
}

bool SweepStandings::is_done(std::string const& cell) const {
  auto const found = results.find(cell);
  return found != results.end() && found->second.is_done();
}

void SweepDir::create(SweepPlan const& plan, std::size_t cells) const {
  make_folder(path_);
  std::error_code ec;
  bool const is_ours = fs::exists(file(kMark), ec);
  if (!is_ours) {
    for (auto const& entry : fs::directory_iterator(path_, ec)) {
      std::string const name = entry.path().filename().string();
      if (name == kPartial) continue;  // SweepFiles looks whose it is
      if (std::error_code late; fs::exists(file(kMark), late))
        break;  // another process has begun it
      throw Error(ExitCode::kOutput,
                  fmt::format("{}: holds {} and no sweep; choose an empty directory", shown(path_),
                              in_quotes(name)));
    }
  }
  Json mark;
  mark["fairlane"] = FAIRLANE_VERSION;
  mark["plan"] = fs::path(plan.source).filename().string();
  mark["sha256"] = sha256_file(plan.source);
  mark["cells"] = cells;
  std::string const text = mark.dump(2) + "\n";
  bool const is_same =
      fs::exists(file(kMark), ec) && read_file(file(kMark), text.size() + 4096) == text;
  if (!is_same) SweepFiles(path_).write(kMark, text, ExitCode::kOutput);
  make_folder(file("cells"));
  make_folder(file(kJournals));
}

void SweepDir::require() const {
  std::error_code ec;
  if (!fs::exists(file(kMark), ec))
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: no sweep has begun there; `fairlane sweep run` "
                            "begins it",
                            shown(path_)));
}

std::string SweepDir::cell_dir(std::string const& id) const {
  return fmt::format("{}/cells/{}/{}", path_, id.substr(0, 2), id);
}

std::string SweepDir::journal(std::string const& name) const {
  return fmt::format("{}/{}/{}{}", path_, kJournals, name, kJournalEnd);
}

SweepStandings SweepDir::standings() const {
  SweepStandings all;
  std::error_code ec;
  std::vector<std::string> paths;
  for (auto const& entry : fs::directory_iterator(file(kJournals), ec)) {
    if (entry.path().extension() == kJournalEnd) paths.push_back(entry.path().string());
  }
  if (ec && ec != std::errc::no_such_file_or_directory)
    throw Error(ExitCode::kNoInput, fmt::format("{}: {}", shown(file(kJournals)), ec.message()));
  std::sort(paths.begin(), paths.end());
  for (std::string const& path : paths) {
    std::string const name = fs::path(path).stem().string();
    JournalHolder const holder = journal_holder(path);
    if (holder.held) all.holders[name] = holder.who;
    std::map<std::string, RunningCell> begun;
    try {
      read_journal(path, [&](Json const& record) {
        auto const kind = record.at("kind").get<std::string>();
        if (kind == "SESSION") return begun.clear();  // whoever had begun them is gone
        auto const cell = record.at("cell").get<std::string>();
        if (kind == "STARTED") begun[cell] = {record.at("worker").get<std::string>(), name};
        if (kind != "RESULT") return;
        begun.erase(cell);
        if (!all.is_done(cell)) all.results[cell] = result_of(record);
      });
    } catch (JsonError const& error) {
      throw Error(ExitCode::kIntegrity, fmt::format("{}: {}", shown(path), error.what()));
    }
    if (holder.held) all.running.merge(begun);
  }
  std::erase_if(all.running, [&](auto const& one) { return all.is_done(one.first); });
  return all;
}

}  // namespace fairlane
