#include "engine/report/junit.h"

#include <fmt/format.h>

#include "engine/report/audit_words.h"
#include "engine/report/html_parts.h"
#include "engine/report/policy_words.h"

namespace fairlane {
namespace report {
namespace {

/// The tests of an audit and how they ended.
struct Tests {
  std::string xml;
  int all = 0;
  int failed = 0;
  int skipped = 0;

  void add(std::string const& name, std::string const& outcome, std::string const& output) {
    ++all;
    xml += fmt::format(
        "    <testcase classname=\"fairlane.audit\" name=\"{}\" time=\"0\">\n{}"
        "      <system-out>{}</system-out>\n    </testcase>\n",
        html_text(name), outcome, html_text(output));
  }
  std::string failure(std::string const& message) {
    ++failed;
    return fmt::format("      <failure type=\"limit\" message=\"{0}\">{0}</failure>\n",
                       html_text(message));
  }
  std::string skip(std::string const& message) {
    ++skipped;
    return fmt::format("      <skipped message=\"{}\"/>\n", html_text(message));
  }
};

std::string shares_text(Json const& set) {
  std::string text;
  for (ShareLine const& line : share_lines(set)) {
    text += fmt::format("{}: {}{}\n", line.of, line.share,
                        line.detail.empty() ? "" : " (" + line.detail + ")");
  }
  for (Json const& rule : list_of(set, "rules"))
    text += fmt::format("where {}: {}\n", text_of(rule, "text", kSentenceBytes), rule_words(rule));
  return text;
}

/// How a set's test ends, by its own share: nothing where it passes.
std::string outcome(Tests& tests, Json const& set, Json const& policy) {
  auto const of = policy.at("share").get<std::string>();
  std::string const whom = policy_share_words(of);
  std::string const limit = share_words(policy.at("above"));
  switch (limit_state(set, of, policy.at("above").get<double>())) {
    case LimitState::kUnexamined:
      return tests.skip("the share of " + whom + " was not examined");
    case LimitState::kUndecided:
      return tests.skip(fmt::format("undecided: {} of {} are affected, which may be above {}",
                                    measured_words(set, of), whom, limit));
    case LimitState::kExceeded:
      return tests.failure(fmt::format("{} of {} are affected, expected at most {}",
                                       measured_words(set, of), whom, limit));
    case LimitState::kKept:
      break;
  }
  return {};
}

Tests tests_of(Json const& audit) {
  Tests tests;
  Json const* const policy = present(audit, "policy");
  for (Json const& set : audit.at("sets")) {
    std::string name = set_words(set);
    if (policy != nullptr) {
      name += fmt::format(": at most {} of {}", share_words(policy->at("above")),
                          policy_share_words(policy->at("share").get<std::string>()));
    }
    std::string const end = policy == nullptr ? std::string() : outcome(tests, set, *policy);
    tests.add(name, end, shares_text(set));
  }
  return tests;
}

}  // namespace
}  // namespace report

std::string report_junit(Json const& audit) {
  using namespace report;
  Tests const tests = tests_of(audit);
  Json const* const timing = present(audit, "timing");
  std::string const counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\"",
                  tests.all, tests.failed, tests.skipped,
                  timing == nullptr ? 0.0 : timing->at("total_seconds").get<double>());
  std::string properties;
  for (auto const& [name, value] : facts_of(audit)) {
    properties += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", html_text(name),
                              html_text(value));
  }
  std::string const verdict =
      verdict_words(audit) + ". " +
      plain(audit.at("verdict").at("text").get<std::string>(), std::string::npos);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"fairlane audit\" {0}>\n  <testsuite name=\"{1}\" {0}>\n"
      "    <properties>\n{2}    </properties>\n{3}    <system-out>{4}</system-out>\n"
      "  </testsuite>\n</testsuites>\n",
      counts, html_text(fmt::format("{} on {}", text_of(audit, "model"), text_of(audit, "table"))),
      properties, tests.xml, html_text(verdict));
}

}  // namespace fairlane
