#include "engine/audit/audit_findings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/plausibility/plausibility_json.h"
#include "engine/plausibility/selection.h"
#include "engine/results/instances_reader.h"

namespace fairlane {
namespace {

constexpr std::size_t kSpareCandidates = 4;  // that are read for one that is kept

/// People to choose from, with what was found about them.
/// rows      [people][attributes]
/// severity  [people]
/// audit     [people] that has looked at them, and their number there
struct Candidates {
  std::vector<std::int32_t> rows;
  std::vector<double> severity;
  std::vector<std::pair<RowAudit const*, std::size_t>> audit;

  void add(std::int32_t const* row, std::size_t width, RowAudit const& from, std::size_t number) {
    rows.insert(rows.end(), row, row + width);
    severity.push_back(from.severity[number]);
    audit.emplace_back(&from, number);
  }
  std::size_t size() const { return audit.size(); }
};

/// Of `count` things every so many, so that no more than `most` are taken.
std::size_t stride_for(std::size_t count, std::size_t most) {
  return std::max<std::size_t>(1, (count + most - 1) / most);
}

/// The affected ones, spread evenly.
void add_affected(std::vector<std::int32_t> const& rows, std::size_t width, RowAudit const& audit,
                  Candidates& candidates) {
  std::vector<std::size_t> affected;
  for (std::size_t i = 0; i < audit.is_affected.size(); ++i) {
    if (audit.is_affected[i] != 0) affected.push_back(i);
  }
  for (std::size_t i = 0; i < affected.size(); i += stride_for(affected.size(), kMostCandidates))
    candidates.add(&rows[affected[i] * width], width, audit, affected[i]);
}

Json decision_json(Domain const& domain, std::int32_t label, float score) {
  return {{"class", label}, {"word", domain.label_word(label)}, {"score", score}};
}

}  // namespace

std::vector<std::int32_t> found_people(std::string const& dir, RunConfig const& config,
                                       TestSubject const& subject) {
  auto const width = static_cast<std::size_t>(subject.domain().size());
  InstanceFile file(dir, config.output.format, InstanceColumns(subject, config.output));
  std::int64_t count = 0;
  for (InstanceFileFacts const& facts : file.files()) count += facts.rows;
  // Several of a group are taken for one.
  auto const stride = static_cast<std::int64_t>(
      stride_for(static_cast<std::size_t>(count), kSpareCandidates * kMostCandidates));
  std::vector<std::int32_t> people;
  std::set<std::vector<std::int32_t>> groups;
  std::int64_t number = 0;
  InstanceBlock block;
  auto const take = [&](std::int64_t, InstanceRecord const& record) {
    if (number++ % stride != 0 || groups.size() == kMostCandidates) return;
    std::vector<std::int32_t> group(record.row, record.row + width);
    for (std::int32_t const a : subject.selected()) group[static_cast<std::size_t>(a)] = 0;
    if (groups.insert(std::move(group)).second)
      people.insert(people.end(), record.row, record.row + width);
  };
  auto const fail = [&](std::int64_t where, char const* what) {
    throw Error(ExitCode::kBug, file.place(where) + ": " + what);
  };
  while (file.next(block)) file.parse(block, take, fail);
  return people;
}

Json shown_findings(TestSubject const& subject, Backend& backend, std::int32_t favourable,
                    PlausibilityModel const& model, RowAudit const& rows,
                    std::vector<std::int32_t> const& found, std::atomic<bool> const* stop) {
  Domain const& domain = subject.domain();
  auto const width = static_cast<std::size_t>(domain.size());
  RowAudit beyond;
  if (!found.empty()) beyond = audit_rows(subject, backend, found, favourable, stop);
  Candidates candidates;
  add_affected(subject.data()->rows, width, rows, candidates);
  add_affected(found, width, beyond, candidates);
  Json findings = Json::array();
  if (candidates.size() == 0) return findings;
  std::vector<Plausibility> const plausibility = model.score(candidates.rows);
  for (std::size_t const chosen : choose_different(model, candidates.rows, candidates.severity,
                                                   plausibility, kShownFindings)) {
    auto const& [audit, i] = candidates.audit[chosen];
    std::int32_t const* const row = &candidates.rows[chosen * width];
    bool const is_row = audit == &rows;
    Json finding = {{"source", is_row ? "row" : "search"}, {"line", nullptr}};
    if (is_row) finding["line"] = subject.data()->lines[i];
    for (std::size_t a = 0; a < width; ++a) {
      Attribute const& attribute = domain.attributes[a];
      finding["codes"][attribute.name] = row[a];
      finding["words"][attribute.name] = attribute.word(row[a]);
    }
    finding["changed"] = Json::array();
    auto const& other = audit->variants[static_cast<std::size_t>(audit->other_variant[i])].values;
    for (std::size_t s = 0; s < subject.selected().size(); ++s) {
      auto const a = static_cast<std::size_t>(subject.selected()[s]);
      if (other[s] == row[a]) continue;
      Attribute const& attribute = domain.attributes[a];
      finding["changed"].push_back({{"attribute", attribute.name},
                                    {"from", attribute.word(row[a])},
                                    {"to", attribute.word(other[s])}});
    }
    finding["decision"] = decision_json(domain, audit->own_label[i], audit->own_score[i]);
    finding["other"] = decision_json(domain, audit->other_label[i], audit->other_score[i]);
    finding["severity"] = audit->severity[i];
    finding["plausibility"] = plausibility_json(plausibility[chosen]);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace fairlane
