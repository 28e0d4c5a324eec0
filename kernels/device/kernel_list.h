// Every kernel of the device backend.
#pragma once

#include <variant>

#include "kernels/device/boxes/box_kernels.h"
#include "kernels/device/dense_blocks.h"
#include "kernels/device/k_means_kernels.h"
#include "kernels/device/record/findings_kernels.h"
#include "kernels/device/record/record_kernels.h"
#include "kernels/device/rounds/lattice_kernels.h"
#include "kernels/device/rounds/round_kernels.h"
#include "kernels/device/rounds/seek_kernels.h"
#include "kernels/device/walk/walk_kernels.h"
#include "kernels/device/wide_kernels.h"

namespace fairlane {

/// Kernels that do a lane's, a place's or a slot's work at every index.
using LaneKernel = std::variant<
    PlaceLanes, DrawLanes, MoveLanes, PackRows, RecordProbed, PairRows, AdvanceLanes, MarkOrigins,
    WeighLanes, MarkDue, DrawPartners, StepLanes, FindLanes, GatherRows, KeepStage, NextStage,
    RecordClassified, SettleLanes, StepByOdds, SettleByOdds, BeginMargin, RecordMargin, NewtonLanes,
    MarkStale, PairSides, RenewMargin, MoveMargin, SettleMargin, BeginLattice, PlanLattice, TryMove,
    SettleTrial, MarkTested, RehashSlots, MarkOwned, GatherSlots, MergeSlots, CountVisits,
    PickFindings, TakeColumn, PackRecords, LoadMembers, LoadRows, StoreScores, DropInfeasible,
    ProbeStored, ClassifyStored, ClassifySomeStored, MarginStored, PairMarginStored,
    TryPartnerStored, CountPartnerStored, DifferenceStored, StepGradients, LogitGradients,
    FinishDense, ActivateSums, MarkSuspects, ForgetLabels, LowerWeights, AssignRows, RaiseFarthest,
    NameFarthest, LoadWalkHeads, CopyMembers, BoundBoxes, NarrowBoxes, ProbeBoxes>;

/// Kernels that evaluate the network for a tile of lanes.
using TileKernel =
    std::variant<ProbeTiles, ClassifyTiles, ClassifySomeTiles, DrawPartnerTiles, MarginTiles,
                 PairMarginTiles, GradientTiles, DifferenceTiles, MemberTiles, TallyTiles>;

/// Kernels that take a window of lanes through rounds of a search.
using RoundKernel = std::variant<WeightedRounds<GradientTiles>, WeightedRounds<DifferenceTiles>,
                                 MarginRounds, LatticeRounds, SeekBySigns<GradientTiles>,
                                 SeekBySigns<DifferenceTiles>, SeekBoundary>;

/// Kernels that take a warp over a tile of a walk.
using WalkKernel = std::variant<WalkGroups>;

/// Kernels whose blocks of threads work together.
using BlockKernel = std::variant<LargeDense, SmallDense, NarrowDense>;

}  // namespace fairlane
