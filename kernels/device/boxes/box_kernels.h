// The kernels of boxes on a device: a thread a box.
#pragma once

#include "kernels/boxes/box_narrowing.h"
#include "kernels/boxes/box_probing.h"
#include "kernels/boxes/box_spilling.h"

namespace fairlane {

/// Blocks of kBoxBlock boxes in a device's memory, and the network.
/// boxes  arrays of the first block (lay_out_boxes)
struct BoxBlocks {
  BoxNetwork network;
  BoxLanes boxes;
  long of_block;  // values, and of its working memory
  long work_of_block;

  /// The arrays of box i.
  FL_HD BoxLanes at(std::int64_t i) const {
    long const block = i / kBoxBlock;
    long const lane = i % kBoxBlock;
    return boxes.moved(block * of_block + lane, block * work_of_block + lane);
  }
};

/// BoxKernels::bound.
struct BoundBoxes {
  BoxBlocks blocks;

  FL_HD void operator()(std::int64_t i) const {
    BoxSpilling<BlockBoxPack>::bound(blocks.network, blocks.at(i));
  }
};

/// BoxKernels::narrow.
struct NarrowBoxes {
  BoxBlocks blocks;
  double threshold;

  FL_HD void operator()(std::int64_t i) const {
    BoxNarrowing<BlockBoxPack>::narrow(blocks.network, threshold, blocks.at(i));
  }
};

/// BoxKernels::probe.
struct ProbeBoxes {
  BoxBlocks blocks;
  bool slopes;

  FL_HD void operator()(std::int64_t i) const {
    BoxProbing<BlockBoxPack>::probe(blocks.network, blocks.at(i), slopes);
  }
};

}  // namespace fairlane
