#include "engine/report/results_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "base/text.h"
#include "engine/report/command_words.h"
#include "engine/report/count_words.h"
#include "engine/report/proof_words.h"

namespace fairlane::report {
namespace {

std::string command_name(Json const& digest) { return digest.at("command").get<std::string>(); }

/// What the manifest says of the command; null of `run`.
Json const* options_of(Json const& digest) {
  return digest.at("manifest").find(command_name(digest));
}

CommandWords const& words_of(Json const& digest) {
  std::string const command = command_name(digest);
  for (CommandWords const* const words :
       {&kRunWords, &kEnumerateWords, &kEstimateWords, &kVerifyWords, &kCompareWords,
        &kRetrainWords, &kSweepWords, &kAuditWords}) {
    if (command == words->command) return *words;
  }
  throw JsonError(fmt::format("{} is no command with results", in_quotes(command)));
}

/// A key of the recorded configuration; null where there is none.
Json const* recorded_key(Json const& digest, std::string_view key) {
  Json const* const config = digest.at("manifest").find("config");
  return config == nullptr ? nullptr : present(*config, key);
}

}  // namespace

Json const* number_in_json(Json const& json, std::string_view path) {
  Json const* at = &json;
  while (at != nullptr && at->is_object()) {
    std::size_t const dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (dot == std::string_view::npos) return at != nullptr && at->is_number() ? at : nullptr;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

std::string count_at(Json const& json, std::string_view path) {
  Json const* const number = number_in_json(json, path);
  return number == nullptr ? "0" : count_words(*number);
}

std::int64_t whole_at(Json const& json, std::string_view path) {
  Json const* const number = number_in_json(json, path);
  return number == nullptr || !number->is_number_integer() ? 0 : number->get<std::int64_t>();
}

double share_at(Json const& json, std::string_view path) {
  Json const* const number = number_in_json(json, path);
  return number == nullptr ? 0.0 : number->get<double>();
}

std::string region_words(Json const& digest) {
  Json const* const options = options_of(digest);
  if (options == nullptr) return {};
  std::vector<std::string> parts;
  if (options->value("rows", false)) parts.emplace_back("of the table's rows");
  if (Json const* const ranges = present(*options, "ranges")) {
    for (auto const& [name, range] : ranges->items()) {
      parts.push_back(
          range.is_array() && range.size() == 2
              ? fmt::format("with {} {} to {}", plain(name), range[0].dump(), range[1].dump())
              : fmt::format("with {} {}", plain(name), plain(range.dump())));
    }
  }
  for (Json const& name : list_of(*options, "from_data"))
    parts.push_back(fmt::format("with a {} of the table", plain(name.get<std::string>())));
  if (Json const* const shard = present(*options, "shard");
      shard != nullptr && shard->size() == 2) {
    if (shard->at(1) != 1)
      parts.push_back(fmt::format("of part {} of {}", (*shard)[0].dump(), (*shard)[1].dump()));
  }
  return listed(parts);
}

std::string interval_words(double low, double high, Json const* confidence) {
  std::string text = fmt::format("{} to {}", fine_percent(low), fine_percent(high));
  if (confidence != nullptr && confidence->get<double>() < 1.0)
    text += fmt::format(" with {:g} % confidence", 100.0 * confidence->get<double>());
  return text;
}

ShareLine share_line(std::string of, double low, double middle, double high, std::string detail) {
  ShareLine line;
  line.of = std::move(of);
  line.share = fine_percent(middle);
  line.detail = std::move(detail);
  line.examined = true;
  line.middle = middle;
  line.low = low;
  line.high = high;
  return line;
}

ShareLine share_line(std::string of, Json const& share, Json const* confidence,
                     std::string const& basis) {
  double const low = share.at("low").get<double>();
  double const high = share.at("high").get<double>();
  std::string const detail =
      low == high ? "exact, " + basis : interval_words(low, high, confidence) + ", " + basis;
  return share_line(std::move(of), low, share.at("share").get<double>(), high, detail);
}

ShareLine domain_share_line(std::string const& of, Json const& share) {
  ShareLine line;
  line.of = of;
  line.share = "not measured";
  line.detail = text_of(share, "skipped", kSentenceBytes);
  if (present(share, "share") == nullptr) return line;
  std::string const groups = count_at(share, "groups");
  bool const is_sample = share.value("source", "") == "sample";
  return share_line(of, share, share.find("confidence"),
                    is_sample ? fmt::format("by a sample of {} profiles", groups)
                              : fmt::format("all {} profiles counted", groups));
}

std::string changes_with(Json const& digest) {
  return fmt::format("With nothing changed but {}", protected_words(digest));
}

void add_undefined(Json const& summary, std::vector<std::string>& limits) {
  if (whole_at(summary, "infeasible") > 0)
    limits.push_back(
        fmt::format("{} inputs violate a constraint of the domain: they do not exist, "
                    "and count nowhere.",
                    count_at(summary, "infeasible")));
  if (whole_at(summary, "plausibility.left_out") > 0)
    limits.push_back(
        fmt::format("{} inputs count nowhere: fewer than {} % of the table's rows are stranger, or "
                    "the domain's constraints, if it has any, exclude them.",
                    count_at(summary, "plausibility.left_out"),
                    summary.at("plausibility").at("at_least").get<double>()));
  Json const* const plausibility = present(summary, "plausibility");
  if (plausibility != nullptr && plausibility->contains("weight"))
    limits.push_back(
        fmt::format("The search preferred plausible inputs (plausibility.weight: {}), so that rare "
                    "ones were found less often.",
                    plausibility->at("weight").get<double>()));
  if (whole_at(summary, "undefined") > 0)
    limits.push_back(
        fmt::format("The output for {} inputs is no finite number; they count as "
                    "neither.",
                    count_at(summary, "undefined")));
  if (whole_at(summary, "undefined_similar") > 0)
    limits.push_back(
        fmt::format("Of {} more inputs it is not known whether they are affected, "
                    "since an output beside them is no finite number.",
                    count_at(summary, "undefined_similar")));
  if (whole_at(summary, "counts.undefined_groups") > 0)
    limits.push_back(
        fmt::format("{} profiles may be affected or not, since an output is no "
                    "finite number.",
                    count_at(summary, "counts.undefined_groups")));
}

std::string protected_words(Json const& digest) {
  Json const* const names = digest.at("summary").find("protected");
  if (names == nullptr || !names->is_array() || names->empty()) return "what is protected";
  return listed(texts_of(*names));
}

ResultVerdict verdict_of(Json const& digest) { return words_of(digest).verdict(digest); }

std::vector<ShareLine> shares_of(Json const& digest) { return words_of(digest).shares(digest); }

std::vector<std::pair<std::string, std::string>> counts_of(Json const& digest) {
  return words_of(digest).counts(digest);
}

std::vector<std::string> limits_of_results(Json const& digest) {
  std::vector<std::string> limits = words_of(digest).limits(digest);
  if (!digest.at("finished").get<bool>())
    limits.insert(limits.begin(), "The command did not finish: the directory has no DONE.");
  if (std::string const why = text_of(digest, "words", kSentenceBytes); !why.empty())
    limits.push_back(fmt::format("Values may stand as codes: {}.", why));
  Json const& manifest = digest.at("manifest");
  if (manifest.contains("arithmetic") && manifest.at("arithmetic") == "fast")
    limits.emplace_back(
        "Arithmetic was fast: what was found was evaluated again exactly, what was not found "
        "depends on the device.");
  return limits;
}

std::vector<std::pair<std::string, std::string>> origins_of(Json const& digest) {
  Json const& manifest = digest.at("manifest");
  Facts facts = {{"command", "fairlane " + command_name(digest)}};
  if (Json const* const version = present(manifest, "fairlane"))
    facts.emplace_back("program", "fairlane " + plain(version->get<std::string>()));
  Json const* const inputs = present(manifest, "inputs");
  for (char const* const name : {"model", "data", "domain"}) {
    Json const* const path = recorded_key(digest, name);
    if (path == nullptr || !path->is_string() || path->get<std::string>().empty()) continue;
    std::string text = plain(path->get<std::string>());
    Json const* const input = inputs == nullptr ? nullptr : present(*inputs, name);
    if (input != nullptr) text += ", SHA-256 " + text_of(*input, "sha256");
    facts.emplace_back(name, text);
  }
  if (Json const* const seed = recorded_key(digest, "seed"))
    facts.emplace_back("seed", seed->dump());
  if (Json const* const arithmetic = present(manifest, "arithmetic"))
    facts.emplace_back("arithmetic", plain(arithmetic->get<std::string>()));
  if (std::string const signature = text_of(digest.at("summary"), "signature"); !signature.empty())
    facts.emplace_back("signature", signature);
  return facts;
}

std::string command_of(Json const& digest) {
  std::string const command = command_name(digest);
  if (command == "run") return "fairlane run manifest.json --out again";
  if (command == "sweep") return "fairlane sweep plan.yaml --out again";
  if (command == "audit") {
    std::string const commands = reproduce_words(digest.at("summary"));
    if (!commands.empty()) return commands;
  }
  std::string text = fmt::format("fairlane {} config.yaml --out again", command);
  Json const* const options = options_of(digest);
  if (options == nullptr) return text;
  text += "\n# config.yaml as it was then (below), and the options that say:";
  for (auto const& [name, value] : options->items()) {
    if (value.is_null() || value == false ||
        (!value.is_string() && value.is_array() && value.empty()))
      continue;
    if (value.is_object() && value.empty()) continue;
    text += fmt::format("\n#   {}: {}", plain(name), plain(value.dump(), kSentenceBytes));
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> results_glossary(std::string const& command) {
  Facts words = {
      {"protected attribute", "one whose value must not change a decision"},
      {"input", "a value for each attribute: a possible person"},
      {"affected",
       "an input that would get another decision with another value of the protected attributes "
       "and everything else unchanged (an individual discriminatory instance, IDI)"},
      {"profile",
       "all about an input but what is protected; inputs that differ in nothing else share one"},
      {"pair", "an affected input, and the one beside it that gets another decision"},
      {"score", "the model's output behind the decision"},
      {"severity", "the largest difference of the model's output that the change makes: 0 is none"},
      {"difference of the pair",
       "that of the two scores of the pair shown; another change may make a larger one"},
  };
  bool const is_any = command.empty();
  if (is_any || command == "verify") {
    words.emplace_back("cell", "a part of all possible inputs that is proven or not on its own");
    words.emplace_back("sat, unsat, unknown",
                       "an example of unfair treatment is in the cell; there is proven to be none; "
                       "neither was shown");
  }
  if (is_any || command == "compare") {
    words.emplace_back("A12",
                       "how often a method's trial is above one of the reference's: 0.5 is "
                       "no difference");
    words.emplace_back("p",
                       "how likely such a difference is by chance, corrected for the number "
                       "of methods (Holm)");
  }
  return words;
}

}  // namespace fairlane::report
