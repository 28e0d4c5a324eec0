// The findings in the record of one device: counted, sorted and handed out in pieces that fit.
#pragma once

#include <vector>

#include "kernels/device/device.h"
#include "kernels/visits.h"

namespace fairlane {

/// Findings that a device sorts at once, at least those of one bucket.
inline constexpr std::uint64_t kFindingsAtOnce = 1 << 24;

/// Works on a record to which nothing is added meanwhile.
class DeviceFindings {
 public:
  /// Counts, and takes the memory for what follows. keys: of the host
  /// Throws Error(kMemory).
  DeviceFindings(Device& device, CountedVisits const& visits, RowKeys const& keys,
                 std::uint64_t at_once = kFindingsAtOnce);

  FindingCounts const& counts() const { return counts_; }
  /// Hands out every finding, ascending.
  void collect(TakeRecords const& take);

 private:
  /// Buckets [first, last), whose findings are sorted together.
  struct Piece {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t findings = 0;
  };
  void upload_keys(RowKeys const& keys);
  std::vector<std::uint64_t> count();
  void cut_pieces(std::vector<std::uint64_t> const& buckets, std::uint64_t at_once);
  /// Writes a piece's findings to packed_, ascending.
  void sort(Piece const& piece);

  Device& device_;
  CountedVisits visits_;
  std::vector<int> bits_;  // [words] of a key
  int shift_;              // of a key's first word to its bucket
  FindingCounts counts_;
  std::vector<Piece> pieces_;
  RowKeys keys_;  // on the device
  DeviceArray<std::byte> key_memory_;
  std::uint64_t most_ = 0;              // findings of the largest piece
  DeviceArray<std::uint64_t> records_;  // [words + 1][most]
  DeviceArray<std::uint64_t> columns_;  // [2 or 4][most] for sorting
  DeviceArray<std::uint64_t> packed_;   // [most][words + 1]
  DeviceArray<std::uint64_t> used_;     // [1]
};

}  // namespace fairlane
