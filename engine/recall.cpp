#include "engine/recall.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/report.h"
#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 26;

/// The part of a manifest that decides which inputs are IDIs.
nlohmann::json deciding(nlohmann::json const& manifest) {
  auto const& config = manifest.at("config");
  auto const& inputs = manifest.at("inputs");
  return {config.at("protected"), config.at("threshold"), inputs.at("model"), inputs.at("domain")};
}

}  // namespace

EnumeratedTotals read_totals(std::string const& dir, RunConfig const& config,
                             TestSubject const& subject) {
  std::string const path = dir + "/manifest.json";
  std::string const manifest_text = read_file(path, kLongest);
  std::string const summary_text = read_file(dir + "/summary.json", kLongest);
  try {
    auto const manifest = nlohmann::json::parse(manifest_text);
    if (!manifest.contains("enumerate")) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against: {} holds no enumeration, expected the results of "
                              "`fairlane enumerate`",
                              escaped(dir)));
    }
    auto const own = nlohmann::json::parse(manifest_json(config, subject, Cut{}));
    if (deciding(manifest) != deciding(own)) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against: {} enumerates another model, domain, protected "
                              "selection or threshold",
                              escaped(dir)));
    }
    auto const& walk = manifest.at("enumerate");
    bool const whole = walk.at("ranges").empty() && walk.at("from_data").empty() &&
                       !walk.at("rows").get<bool>() && walk.at("shard").at(1) == 1;
    if (!whole) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--against: {} enumerates a part of the domain, expected the whole",
                              escaped(dir)));
    }
    auto const counts = nlohmann::json::parse(summary_text).at("counts");
    return {counts.at("unique_instances").get<std::int64_t>(),
            counts.at("unique_groups").get<std::int64_t>()};
  } catch (nlohmann::json::exception const& e) {
    throw Error(ExitCode::kIntegrity, fmt::format("{}: are no results of this program: {}",
                                                  escaped(dir), escaped(e.what())));
  }
}

}  // namespace fairlane
