#include "kernels/device/boxes/device_boxes.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "kernels/device/less_memory.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostBoxes = 1 << 12;
constexpr std::uint64_t kMemoryShare = 16;  // of the free memory

/// A network's pairs in a device's memory.
class NetworkCopy {
 public:
  NetworkCopy(BoundNetwork const& network, Device& device) : device_(device) {
    std::size_t const layers = static_cast<std::size_t>(network.get().layers);
    for (std::size_t p = 0; p < network.pairs().size(); ++p) {
      BoxNetwork copied = network.get(static_cast<int>(p));
      std::vector<BoxLayer> copies(copied.layer, copied.layer + layers);
      for (std::size_t l = 0; l < layers; ++l) {
        if (p > 0 && l + 1 < layers) {
          copies[l] = shared_[l];
        } else {
          copy_arrays(copies[l]);
        }
      }
      if (p == 0) shared_ = copies;
      copied.layer = copy(copies.data(), copies.size());
      networks_.push_back(copied);
    }
  }
  BoxNetwork const& get(int pair) const { return networks_[static_cast<std::size_t>(pair)]; }

 private:
  void copy_arrays(BoxLayer& layer) {
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    std::size_t const weights = static_cast<std::size_t>(layer.inputs) * outputs;
    layer.weights = copy(layer.weights, weights);
    layer.transposed = copy(layer.transposed, weights);
    layer.magnitudes = copy(layer.magnitudes, weights);
    layer.bias = copy(layer.bias, outputs);
    layer.bias_magnitudes = copy(layer.bias_magnitudes, outputs);
  }
  template <class T>
  T const* copy(T const* from, std::size_t count) {
    memory_.emplace_back(device_, count * sizeof(T));
    device_.upload(memory_.back().data(), from, count * sizeof(T));
    return reinterpret_cast<T const*>(memory_.back().data());
  }

  Device& device_;
  std::vector<DeviceArray<std::byte>> memory_;
  std::vector<BoxLayer> shared_;  // all layers but the last are the same for all pairs
  std::vector<BoxNetwork> networks_;
};

class DeviceBoxes final : public BoxBatch {
 public:
  DeviceBoxes(BoundNetwork const& network, Device& device, std::mutex& lock, std::int64_t lanes)
      : device_(device),
        lock_(lock),
        network_(network, device),
        memory_(network.get(), static_cast<int>(lanes), kBoxBlock, false),
        values_(device, memory_.values(static_cast<int>(lanes)).size()),
        work_(device,
              static_cast<std::size_t>(lanes) * static_cast<std::size_t>(box_work(network.get()))),
        boxes_(lay_out_boxes(network.get(), kBoxBlock, values_.data(), work_.data())) {}

  BoxMemory& memory() override { return memory_; }
  void bound(int pair, int count) override { run(BoundBoxes{blocks(pair)}, count); }
  void narrow(int pair, double threshold, int count) override {
    run(NarrowBoxes{blocks(pair), threshold}, count);
  }
  void probe(int pair, int count, bool slopes) override {
    run(ProbeBoxes{blocks(pair), slopes}, count);
  }

 private:
  BoxBlocks blocks(int pair) const {
    BoxNetwork const& n = network_.get(pair);
    return {n, boxes_, static_cast<long>(box_rows(n)) * kBoxBlock,
            static_cast<long>(box_work(n)) * kBoxBlock};
  }
  void run(LaneKernel const& kernel, int count) {
    std::span<double> const values = memory_.values(count);
    std::lock_guard const guard(lock_);
    device_.upload(values_.data(), values.data(), values.size_bytes());
    device_.run(kernel, {count, nullptr});
    device_.download(values.data(), values_.data(), values.size_bytes());
  }

  Device& device_;
  std::mutex& lock_;
  NetworkCopy network_;
  BoxMemory memory_;
  DeviceArray<double> values_;
  DeviceArray<double> work_;
  BoxLanes boxes_;
};

}  // namespace

std::unique_ptr<BoxBatch> make_device_box_batch(BoundNetwork const& network, Device& device,
                                                std::mutex& lock, std::int64_t lanes) {
  BoxNetwork const& n = network.get();
  if (!n.straight) {
    throw Error(ExitCode::kUnavailable,
                "boxes of a network with smooth activations are bounded on the CPU alone so far, "
                "expected relu, leaky-relu or linear layers");
  }
  std::lock_guard const guard(lock);
  auto const of_box = static_cast<std::uint64_t>(box_rows(n) + box_work(n)) * sizeof(double);
  std::uint64_t const room = device.properties().free_memory / kMemoryShare / of_box;
  auto const wanted = static_cast<std::uint64_t>(lanes > 0 ? lanes : kMostBoxes);
  auto const most = static_cast<std::int64_t>(std::min(wanted, room));
  return with_less_memory(std::max<std::int64_t>(most, kBoxBlock), kBoxBlock, [&](std::int64_t k) {
    return std::make_unique<DeviceBoxes>(network, device, lock, k / kBoxBlock * kBoxBlock);
  });
}

}  // namespace fairlane
