// The record of visited inputs as the CPU's blocks and backend see it: one
// table or another, by the width of a group's key, behind a few calls a round.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/cpu/visit_table.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// The inputs of a block's lanes, [count] each: group keys whose words lie
/// `stride` apart, variants, and the visits' seeds and iterations. home:
/// scratch
struct LaneVisits {
  int count = 0;
  long stride = 0;
  std::uint64_t const* group = nullptr;
  std::uint32_t const* variant = nullptr;
  std::uint32_t const* seed = nullptr;
  std::uint32_t const* iteration = nullptr;
  Phase phase = Phase::kGlobal;
  std::uint64_t* home = nullptr;

  std::uint64_t finder(long lane) const { return Finder::pack(phase, seed[lane], iteration[lane]); }
};

/// Visited inputs of all blocks.
class CpuRecord {
 public:
  virtual ~CpuRecord() = default;
  virtual bool holds_labels() const = 0;
  virtual std::uint64_t size() const = 0;
  /// IDIs among them.
  virtual std::uint64_t hits() const = 0;
  virtual std::uint64_t bytes() const = 0;
  /// Hands out all entries; no round at the same time.
  virtual void collect(VisitSink const& sink) const = 0;
  /// As VisitRecord::collect_findings, where no input occurs twice.
  virtual std::optional<FindingCounts> collect_findings(FindingQuery const& query, int threads,
                                                        TakeRecords const& take) const = 0;
  virtual void reserve(double inputs) = 0;

  /// A block's use of the record in a round. Blocks while another thread makes
  /// room.
  class Round {
   public:
    virtual ~Round() = default;
    /// Whether new inputs can be recorded.
    virtual bool writable() const = 0;
    /// Looks all lanes up, counting these visits.
    /// hit, labels  [count] of the lanes whose group is known, out
    /// answers      the others, and those whose group is known though they were
    /// not visited
    virtual void find(LaneKernels const& kernels, LaneVisits const& visits, std::int32_t* hit,
                      std::uint32_t* labels, VisitAnswers& answers) = 0;
    /// Looks all lanes up, counting these visits, and lists those that were not
    /// visited as unknown.
    virtual void list_unseen(LaneVisits const& visits, VisitAnswers& answers) = 0;
    /// Records listed lanes that were not visited.
    /// list, flags  [n] lanes and their VisitFlag bits
    /// labels       [count] packed labels of the lanes' groups
    virtual void insert(LaneVisits const& visits, std::int32_t const* list, int n,
                        std::uint32_t const* labels, std::uint32_t const* flags,
                        VisitAnswers const& answers) = 0;
  };
  /// With room for `inserts` new inputs where it is writable.
  virtual std::unique_ptr<Round> round(std::uint64_t inserts) = 0;
};

/// The record that suits a subject's keys. variants, label_bits, limit_bytes,
/// threads: see VisitTable. Throws Error(kMemory).
std::unique_ptr<CpuRecord> make_cpu_record(PackedSubject const& subject, std::uint64_t limit_bytes,
                                           int threads);

}  // namespace fairlane
