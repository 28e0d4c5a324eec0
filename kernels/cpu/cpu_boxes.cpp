#include "kernels/cpu/cpu_boxes.h"

namespace fairlane {
namespace {

class CpuBoxes final : public BoxBatch {
 public:
  CpuBoxes(BoundNetwork const& network, BoxKernels const& kernels)
      : network_(network),
        kernels_(kernels),
        memory_(network.get(), kernels.lanes, kernels.lanes, true) {}

  BoxMemory& memory() override { return memory_; }
  void bound(int pair, int count) override {
    BoxLanes const& b = memory_.get();
    repeat(b.low, network_.get().inputs, count);
    repeat(b.high, network_.get().inputs, count);
    repeat(b.sum_low, network_.get().units, count);
    repeat(b.sum_high, network_.get().units, count);
    repeat(b.wanted, 1, count);
    for (int lane = count; lane < memory_.lanes(); ++lane) memory_.at(b.share, 0, lane) = 0.0;
    kernels_.bound(network_.get(pair), b);
  }
  void narrow(int pair, double threshold, int) override {
    kernels_.narrow(network_.get(pair), threshold, memory_.get());
  }
  void probe(int pair, int count, bool slopes) override {
    repeat(memory_.get().low, network_.get().inputs, count);
    kernels_.probe(network_.get(pair), memory_.get(), slopes);
  }

 private:
  /// Makes the lanes that are left over do what the last box does, so that they ask for no work of
  /// their own.
  void repeat(double* rows, int n, int count) const {
    for (int lane = count; lane < memory_.lanes(); ++lane) {
      for (int i = 0; i < n; ++i) memory_.at(rows, i, lane) = memory_.at(rows, i, count - 1);
    }
  }

  BoundNetwork const& network_;
  BoxKernels const& kernels_;
  BoxMemory memory_;
};

}  // namespace

std::unique_ptr<BoxBatch> make_cpu_box_batch(BoundNetwork const& network, char const* isa) {
  return std::make_unique<CpuBoxes>(network, box_kernels(isa));
}

}  // namespace fairlane
