#include "engine/digest/best_findings.h"

#include <iterator>
#include <utility>

#include "kernels/core/lattice.h"

namespace fairlane::digest {

KeptFinding kept_finding(InstanceColumns const& columns, std::int64_t number,
                         InstanceRecord const& record) {
  KeptFinding finding;
  finding.row.assign(record.row, record.row + columns.attributes());
  if (columns.has_labels()) finding.pair.assign(record.pair, record.pair + columns.selected());
  finding.label = record.label;
  finding.pair_label = record.pair_label;
  finding.score = record.score;
  finding.pair_score = record.pair_score;
  finding.number = number;
  return finding;
}

Profile profile_of(std::span<std::int32_t const> row, std::span<int const> selected) {
  Profile profile(row.begin(), row.end());
  for (int const a : selected) profile[static_cast<std::size_t>(a)] = 0;
  return profile;
}

std::uint64_t hash_of(Profile const& profile) { return hash_of_profile(profile, {}); }

std::uint64_t hash_of_profile(std::span<std::int32_t const> row, std::span<int const> selected) {
  std::uint64_t hash = row.size();
  auto next = selected.begin();
  for (std::size_t a = 0; a < row.size(); ++a) {
    bool const is_selected = next != selected.end() && *next == static_cast<int>(a);
    if (is_selected) ++next;
    hash = hash_word(hash, is_selected ? 0U : static_cast<std::uint32_t>(row[a]));
  }
  return hash;
}

void BestFindings::add(FindingRank const& rank, Profile profile, KeptFinding finding) {
  if (!(rank < limit())) return;
  auto const [place, is_new] = kept_.try_emplace(std::move(profile));
  Kept& kept = place->second;
  if (!is_new) {
    if (!(rank < kept.rank)) return;
    order_.erase({kept.rank, nullptr});
  }
  kept = {rank, std::move(finding)};
  order_.insert({rank, &*place});
  if (order_.size() <= most_) return;
  auto const worst = std::prev(order_.end());
  kept_.erase(kept_.find(worst->kept->first));
  order_.erase(worst);
}

void BestFindings::add(BestFindings&& others) {
  while (!others.order_.empty()) {
    auto const first = others.order_.begin();
    auto taken = others.kept_.extract(others.kept_.find(first->kept->first));
    others.order_.erase(first);
    FindingRank const rank = taken.mapped().rank;
    if (!(rank < limit())) break;  // nor are those that follow
    add(rank, std::move(taken.key()), std::move(taken.mapped().finding));
  }
}

std::vector<KeptFinding> BestFindings::take() {
  std::vector<KeptFinding> findings;
  for (Place const& place : order_) findings.push_back(std::move(place.kept->second.finding));
  order_.clear();
  kept_.clear();
  return findings;
}

}  // namespace fairlane::digest
