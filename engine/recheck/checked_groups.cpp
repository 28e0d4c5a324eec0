#include "engine/recheck/checked_groups.h"

#include <algorithm>
#include <utility>

namespace fairlane {

CheckedGroups::CheckedGroups(BoxDomain const& domain, CheckedNeighbours const& neighbours,
                             VerifyQuery const& query, OutcomeOfRow outcome_of, double few)
    : domain_(domain),
      neighbours_(neighbours),
      query_(query),
      outcome_of_(std::move(outcome_of)),
      few_(few) {}

bool CheckedGroups::are_few(std::span<AxisRange const> box) const {
  return domain_.groups(box) == 1.0 || domain_.groups(neighbours_.beside(box)) <= few_;
}

void CheckedGroups::evaluate(std::vector<std::int32_t> const& entries,
                             std::span<int const> variants, CheckedExistence const* existence,
                             std::vector<Member>& members) const {
  std::vector<std::int32_t> row(domain_.attributes());
  members.resize(variants.size());
  for (std::size_t v = 0; v < variants.size(); ++v) {
    domain_.row(entries, variants[v], row.data());
    members[v] = {outcome_of_(row.data()), existence == nullptr || existence->exists(row.data())};
  }
}

bool CheckedGroups::agree(std::span<Member const> own, std::span<Member const> other,
                          std::span<int const> variants) const {
  auto const splits = [&](Member const& upper, Member const& lower) {
    return query_.margin > 0.0 && upper.outcome.lead > query_.least_upper() &&
           lower.outcome.lead <= query_.most_lower();
  };
  for (std::size_t a = 0; a < own.size(); ++a) {
    for (std::size_t e = 0; e < other.size(); ++e) {
      if (!own[a].there || !other[e].there) continue;
      bool const differ = own[a].outcome.label != other[e].outcome.label ||
                          splits(own[a], other[e]) || splits(other[e], own[a]);
      if (differ && query_.compares(variants[a], variants[e])) return false;
    }
  }
  return true;
}

bool CheckedGroups::are_fair(std::span<AxisRange const> box, std::span<int const> variants,
                             CheckedExistence const* existence) const {
  auto const defined = [](std::span<Member const> members) {
    return std::ranges::all_of(members,
                               [](Member const& m) { return m.outcome.label >= 0 || !m.there; });
  };
  std::vector<Member> own;
  std::vector<Member> other;
  bool fair = true;
  each_point(box, [&](std::vector<std::int32_t> const& entries) {
    if (domain_.excess(entries) > 0) return true;
    evaluate(entries, variants, existence, own);
    fair = defined(own) && agree(own, own, variants);
    if (!fair || !neighbours_.relaxed()) return fair;
    GroupBox point;
    for (std::int32_t const entry : entries) point.push_back({entry, entry});
    each_point(std::span<AxisRange const>(neighbours_.beside(point)),
               [&](std::vector<std::int32_t> const& beside) {
                 if (domain_.excess(beside) > 0) return true;
                 evaluate(beside, variants, existence, other);
                 fair = defined(other) && agree(own, other, variants);
                 return fair;
               });
    return fair;
  });
  return fair;
}

}  // namespace fairlane
