// Rows that are tested on all blocks of a backend.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/threads/thread_pool.h"
#include "kernels/backend.h"

namespace fairlane {

/// Tests rows of one phase, and has the backend record them.
class GrftTester {
 public:
  GrftTester(Backend& backend, Phase phase) : backend_(backend), phase_(phase) {}

  /// Returns when all are tested. Throws Error.
  /// numbers  [n] of the seeds or origins, under which the visits are recorded
  /// rows     [n][attributes]
  /// hits     [n] out: 1 for an IDI
  void test(ThreadPool& pool, std::span<std::uint32_t const> numbers, std::int32_t const* rows,
            std::uint8_t* hits);

 private:
  Backend& backend_;
  Phase phase_;
  int lanes_ = 0;                                   // that the blocks were made for
  std::vector<std::unique_ptr<LaneBlock>> blocks_;  // [threads], once there is need
};

}  // namespace fairlane
