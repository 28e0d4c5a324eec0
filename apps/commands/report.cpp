// fairlane report DIR...: the results of commands as one page.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"
#include "apps/files.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/digest/results_digest.h"
#include "engine/report/html_parts.h"
#include "engine/report/results_html.h"
#include "engine/report/results_words.h"

namespace fairlane {
namespace {

struct ReportArguments {
  std::vector<std::string> dirs;
  std::string out;
  bool json = false;
};

std::string named(std::string const& path) { return escaped(path, path.size()); }

/// A page of directories: what they say, and the text.
struct ResultsPage {
  Json verdicts = Json::array();
  std::string text;
};

ResultsPage page_of(std::vector<std::string> const& dirs) {
  std::vector<Json> digests;
  ResultsPage page;
  for (std::string const& dir : dirs) {
    try {
      digests.push_back(results_digest({dir, dir}, dirs.size() > 1 ? dir : ""));
      report::ResultVerdict const verdict = report::verdict_of(digests.back());
      page.verdicts.push_back({{"directory", dir},
                               {"command", digests.back().at("command")},
                               {"verdict", verdict.title},
                               {"text", verdict.text}});
      if (dirs.size() == 1) page.text = results_html(digests);
    } catch (JsonError const& e) {
      throw no_result(dir, e);
    }
  }
  if (dirs.size() > 1) page.text = results_html(digests);
  return page;
}

ExitCode report_results(ReportArguments const& arguments) {
  namespace fs = std::filesystem;
  std::vector<std::string> const& dirs = arguments.dirs;
  if (dirs.size() > 1 && arguments.out.empty())
    throw usage_error(
        fmt::format("--out is missing: the page of {} directories belongs to none of "
                    "them, expected --out FILE",
                    dirs.size()));
  for (std::string const& dir : dirs) {
    std::error_code ec;
    if (fs::is_directory(dir, ec)) continue;
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: {}, expected the output directory of a command", named(dir),
                            fs::exists(dir, ec) ? "is no directory" : "no such directory"));
  }
  std::string const out =
      arguments.out.empty() ? (fs::path(dirs.front()) / "report.html").string() : arguments.out;
  refuse_other_file(out, report::kPageBeginning, "a page of results");
  ResultsPage const page = page_of(dirs);
  write_text_file(out, page.text);
  if (arguments.json) {
    print(Json({{"report", out}, {"results", page.verdicts}}).dump(2) + "\n");
    return ExitCode::kOk;
  }
  for (Json const& one : page.verdicts) {
    std::string const dir =
        dirs.size() > 1 ? named(one.at("directory").get<std::string>()) + ": " : std::string();
    print(fmt::format("{}{}. {}\n", dir, one.at("verdict").get<std::string>(),
                      one.at("text").get<std::string>()));
  }
  print(fmt::format("\nThe report is {}\n", named(out)));
  return ExitCode::kOk;
}

}  // namespace

Action add_report(Arguments& app) {
  auto const arguments = std::make_shared<ReportArguments>();
  app.add_option("DIR", arguments->dirs,
                 "results of run, enumerate, estimate, compare, verify, retrain, sweep or audit")
      ->required()
      ->type_name("");
  app.add_option("--out", arguments->out,
                 "the page's file (default: report.html in DIR, where there is only one)")
      ->type_name("FILE");
  app.add_flag("--json", arguments->json, "print what the page says first, as JSON");
  return [arguments] { return report_results(*arguments); };
}

}  // namespace fairlane
