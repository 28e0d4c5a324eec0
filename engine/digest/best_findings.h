// The best of any number of findings, in bounded memory.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/results/instances_reader.h"

namespace fairlane::digest {

/// One finding, copied from its file.
/// row     [attributes]
/// pair    [selected] protected values of the counterpart; empty where the file has none
/// number  its place in the files, ascending
struct KeptFinding {
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> pair;
  std::int32_t label = 0;
  std::int32_t pair_label = 0;
  float score = 0.0F;
  float pair_score = 0.0F;
  std::int64_t number = 0;
};

KeptFinding kept_finding(InstanceColumns const& columns, std::int64_t number,
                         InstanceRecord const& record);

/// Where a finding stands among others: the least is best.
/// key     decides
/// next    decides where keys are equal
/// number  of the finding, which decides otherwise
struct FindingRank {
  double key = 0.0;
  double next = 0.0;
  std::int64_t number = 0;

  auto operator<=>(FindingRank const&) const = default;
};

inline constexpr FindingRank kNoCeiling = {std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<std::int64_t>::max()};

/// What the members of a similar set have in common: one row in which protected values are 0.
using Profile = std::vector<std::int32_t>;
/// row       [attributes]
/// selected  protected attributes
Profile profile_of(std::span<std::int32_t const> row, std::span<int const> selected);
std::uint64_t hash_of(Profile const& profile);
/// The hash of a row's profile.
/// row       [attributes]
/// selected  protected attributes, ascending
std::uint64_t hash_of_profile(std::span<std::int32_t const> row, std::span<int const> selected);

/// Of each profile its best finding, and of these at most so many, the best. What is kept does not
/// depend on the order in which findings come.
class BestFindings {
 public:
  /// most     that are kept, at least one
  /// ceiling  findings that are no better are left out from the beginning
  explicit BestFindings(std::size_t most, FindingRank const& ceiling = kNoCeiling)
      : most_(most), ceiling_(ceiling) {}

  std::size_t size() const { return kept_.size(); }
  /// A finding that is no better is none of the best, whatever comes.
  FindingRank const& limit() const {
    return order_.size() < most_ ? ceiling_ : order_.rbegin()->rank;
  }
  void add(FindingRank const& rank, Profile profile, KeptFinding finding);
  void add(BestFindings&& others);
  /// Best first.
  std::vector<KeptFinding> take();
  bool has(Profile const& profile) const { return kept_.contains(profile); }

 private:
  struct ProfileHash {
    std::size_t operator()(Profile const& profile) const { return hash_of(profile); }
  };
  struct Kept {
    FindingRank rank;
    KeptFinding finding;
  };
  using Table = std::unordered_map<Profile, Kept, ProfileHash>;
  /// A rank, and whose it is.
  struct Place {
    FindingRank rank;
    Table::value_type* kept = nullptr;
    bool operator<(Place const& other) const { return rank < other.rank; }
  };

  std::size_t most_;
  FindingRank ceiling_;
  Table kept_;
  std::set<Place> order_;
};

}  // namespace fairlane::digest
