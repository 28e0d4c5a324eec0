#include "engine/recheck/checked_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/verify/boxes/linear_limit.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestManifest = std::size_t{1} << 26;
constexpr std::size_t kLongestPath = 4096;

/// A variant's value of an attribute under test; variants are numbered with the last one fastest.
std::int32_t value_of(TestSubject const& subject, int variant, std::size_t selected) {
  auto const& values = subject.values();
  for (std::size_t s = values.size(); s-- > selected + 1;)
    variant /= static_cast<int>(values[s].size());
  return values[selected][static_cast<std::size_t>(variant) % values[selected].size()];
}

}  // namespace

VerifyOptions checked_query(std::string const& dir) {
  std::string const path = dir + "/manifest.json";
  try {
    return restored_query(Json::parse(read_file(path, kLongestManifest)).at("verify"));
  } catch (std::exception const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is not a manifest of `fairlane verify`: {}",
                                             escaped(path, kLongestPath), escaped(e.what())));
  }
}

RegionRules checked_rules(std::string const& dir, VerifyOptions const& query,
                          TestSubject const& subject) {
  RegionRules rules;
  for (RelaxedBy const& relaxed : query.relaxed) {
    int const a = subject.domain().find(relaxed.attribute);
    if (a < 0 || relaxed.by < 1 || std::ranges::count(subject.selected(), a) > 0) {
      throw Error(
          ExitCode::kData,
          fmt::format("{}/manifest.json: relaxes {} by {}, expected an attribute that is "
                      "not under test, by 1 at least",
                      escaped(dir, kLongestPath), in_quotes(relaxed.attribute), relaxed.by));
    }
    rules.relaxed.push_back({a, relaxed.by});
  }
  for (std::string const& text : query.where) {
    for (LinearLimit& limit : parse_limit(text, subject.domain(), subject.selected()))
      rules.limits.push_back(std::move(limit));
  }
  return rules;
}

bool are_compared(TestSubject const& subject, PairSemantics semantics, int v, int w) {
  bool all = true;
  bool any = false;
  for (std::size_t s = 0; s < subject.values().size(); ++s) {
    bool const differ = value_of(subject, v, s) != value_of(subject, w, s);
    all = all && differ;
    any = any || differ;
  }
  return semantics == PairSemantics::kAll ? all : any;
}

}  // namespace fairlane
