// How the wide route cuts its work: lanes and rows of a chunk, memory, and the shape of each
// product's blocks.
#pragma once

#include "kernels/device/kernel_list.h"

namespace fairlane {

/// Memory that the wide route takes beside its weights, in bytes: enough rows to fill the largest
/// device.
inline constexpr std::int64_t kWideWorkspace = std::int64_t{256} << 20;

/// Rows that a scorer is asked for at once, where there are so many: enough for a child process to
/// reach its rate.
inline constexpr std::int64_t kScorerRows = std::int64_t{1} << 17;

/// What a chunk holds in the workspace, in floats. Every lane has `members` inputs, all of whose
/// logits are kept; rows, the inputs of all lanes, pass through the layers in parts.
/// per_lane  of each lane: codes and sums of the shared prefix, all members' logits, scratch of
///           their accumulation
/// per_row   of each row: its other codes, and two layers' activations
struct WideNeeds {
  std::int64_t per_lane = 0;
  std::int64_t per_row = 0;
};

/// terms: rows of scratch per output
WideNeeds wide_needs(Subject const& subject, int members, int terms);

/// The same of backpropagation, whose rows keep all their activations; there is nothing per lane.
WideNeeds wide_gradient_needs(Subject const& subject);

/// lanes  of a chunk, a multiple of four
/// rows   that pass through the network together, a multiple of four
struct WideChunk {
  int lanes = 0;
  int rows = 0;
};

/// Cuts `lanes` lanes with `members` rows each for a workspace of that many floats, which holds at
/// least wide_floor.
WideChunk wide_chunk(WideNeeds needs, std::int64_t lanes, int members, std::int64_t floats);

/// Floats of the least workspace for a subject, and of the one that takes `bytes` where they are
/// more.
std::int64_t wide_floor(Subject const& subject);
std::int64_t wide_floats(Subject const& subject, std::int64_t bytes);

/// The blocks that run a product: large tiles where they fill the device and outputs fill them.
BlockKernel choose_blocks(Dense const& product, DeviceLimits const& limits);

}  // namespace fairlane
