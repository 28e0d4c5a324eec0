// Boxes on devices: the bits of the host, and the same decisions.
#include "kernels/device/boxes/device_boxes.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/cpu_boxes.h"
#include "kernels/device/device_backend.h"
#include "tests/engine/verify/deciders/decided_boxes.h"
#include "tests/kernels/boxes/batch_bounds.h"
#include "tests/kernels/device/test_device.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

RandomSubject::Shape box_shape(Activation activation, std::uint32_t seed) {
  RandomSubject::Shape shape;
  shape.activation = activation;
  shape.seed = seed;
  shape.encoded = seed % 2 == 0;
  shape.widths = seed % 3 == 0   ? std::vector<int>{9, 7, 5, 1}
                 : seed % 3 == 1 ? std::vector<int>{13, 3}
                                 : std::vector<int>{17, 11, 1};
  return shape;
}

/// A box of a network's inputs.
std::vector<Interval> some_inputs(RandomSubject& subject, int inputs) {
  std::vector<Interval> box;
  for (int k = 0; k < inputs; ++k) {
    std::int32_t const low = subject.uniform(-3, 3);
    box.push_back({low * 0.37, (low + subject.uniform(0, 4)) * 0.37});
  }
  return box;
}

TEST(DeviceBoxes, HaveTheBitsOfTheHost) {
  TestDevice device;
  std::mutex lock;
  int compared = 0;
  for (Activation const activation :
       {Activation::kRelu, Activation::kLeakyRelu, Activation::kLinear}) {
    for (std::uint32_t seed = 1; seed <= unless_simulated(6U, 3U); ++seed) {
      SCOPED_TRACE("activation " + std::to_string(static_cast<int>(activation)) + ", seed " +
                   std::to_string(seed));
      RandomSubject subject(box_shape(activation, seed));
      BoundNetwork const network(subject.view.network);
      // More than a batch, and blocks that are not full.
      std::int64_t const lanes = 2 * kBoxBlock;
      int const boxes = unless_simulated(150, 70);
      auto const on_host = make_cpu_box_batch(network, "");
      auto const on_device = make_device_box_batch(network, device, lock, lanes);
      ASSERT_EQ(on_device->memory().lanes(), lanes);
      std::vector<std::vector<Interval>> inputs;
      for (int i = 0; i < boxes; ++i) inputs.push_back(some_inputs(subject, network.get().inputs));
      auto const expected = bounds_of(*on_host, network.get(), inputs, 0.25);
      auto const found = bounds_of(*on_device, network.get(), inputs, 0.25);
      EXPECT_EQ(found.least, expected.least);
      EXPECT_EQ(found.most, expected.most);
      EXPECT_EQ(found.all, expected.all);
      EXPECT_EQ(found.of_most, expected.of_most);
      EXPECT_FALSE(found.of_most.empty());
      compared += static_cast<int>(found.all.size());
    }
  }
  EXPECT_GT(compared, 10'000);
}

TEST(DeviceBoxes, ProbeTheSamePoints) {
  TestDevice device;
  std::mutex lock;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    RandomSubject subject(box_shape(Activation::kLeakyRelu, seed));
    BoundNetwork const network(subject.view.network);
    auto const on_host = make_cpu_box_batch(network, "portable");  // a lane
    auto const on_device = make_device_box_batch(network, device, lock, 2 * kBoxBlock);
    constexpr int kPoints = 40;
    int const pair = static_cast<int>(network.pairs().size()) - 1;
    std::vector<std::vector<Interval>> points;
    for (int i = 0; i < kPoints; ++i) {
      points.push_back(some_inputs(subject, network.get().inputs));
      for (int k = 0; k < network.get().inputs; ++k) {
        BoxMemory const& memory = on_device->memory();
        memory.at(memory.get().low, k, i) = points.back()[static_cast<std::size_t>(k)].low;
      }
    }
    on_device->probe(pair, kPoints, true);
    BoxMemory const& found = on_device->memory();
    BoxMemory const& expected = on_host->memory();
    for (int i = 0; i < kPoints; ++i) {
      for (int k = 0; k < network.get().inputs; ++k) {
        expected.at(expected.get().low, k, 0) =
            points[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)].low;
      }
      on_host->probe(pair, 1, true);
      EXPECT_EQ(found.at(found.get().least, 0, i), expected.at(expected.get().least, 0, 0));
      for (int k = 0; k < network.get().inputs; ++k) {
        EXPECT_EQ(found.at(found.get().below, k, i), expected.at(expected.get().below, k, 0));
      }
    }
  }
}

TEST(DeviceBoxes, AreDecidedAsOnTheHost) {
  int open = 0;
  for (std::uint32_t seed = 1; seed <= unless_simulated(8U, 4U); ++seed) {
    SCOPED_TRACE(seed);
    RandomSubject const subject(box_shape(Activation::kRelu, seed));
    auto const cpu = make_cpu_backend(subject.view, {});
    DeviceOptions options;
    options.lanes = kBoxBlock;
    auto const device = make_device_backend(subject.view, make_test_devices(2), options);
    auto const expected = decided_boxes(subject.view, *cpu);
    EXPECT_EQ(decided_boxes(subject.view, *device), expected);
    open += static_cast<int>(expected.size());
  }
  EXPECT_GT(open, unless_simulated(100, 50));
}

TEST(DeviceBoxes, AreCountedAsOnTheHost) {
  std::size_t counted = 0;
  for (std::uint32_t seed = 1; seed <= unless_simulated(8U, 3U); ++seed) {
    SCOPED_TRACE(seed);
    RandomSubject::Shape shape;
    shape.attributes = 10;
    shape.range = 12;
    shape.counts = {2};
    shape.widths = seed % 2 == 0 ? std::vector<int>{5, 5, 1} : std::vector<int>{12, 1};
    shape.seed = seed;
    RandomSubject const subject(shape);
    auto const cpu = make_cpu_backend(subject.view, {});
    DeviceOptions options;
    options.lanes = 4 * kBoxBlock;
    auto const device = make_device_backend(subject.view, make_test_devices(1), options);
    auto const expected = counted_boxes(subject.view, *cpu);
    EXPECT_EQ(counted_boxes(subject.view, *device), expected);
    counted += expected.size();
  }
  EXPECT_GT(counted, unless_simulated(10'000U, 3'000U));
}

TEST(DeviceBoxes, TakeWhatMemoryThereIs) {
  RandomSubject const subject(box_shape(Activation::kRelu, 1));
  BoundNetwork const network(subject.view.network);
  auto const boxes_in = [&](std::uint64_t bytes) {
    DeviceFaults faults;
    faults.memory = bytes;
    TestDevice device(small_limits(), faults);
    std::mutex lock;
    return make_device_box_batch(network, device, lock, 1 << 12)->memory().lanes();
  };
  EXPECT_EQ(boxes_in(std::uint64_t{1} << 32), 1 << 12);
  int const some = boxes_in(std::uint64_t{1} << 20);
  EXPECT_GE(some, kBoxBlock);
  EXPECT_LT(some, 1 << 12);
  expect_error(ExitCode::kMemory, {}, [&] { boxes_in(1 << 10); });
}

TEST(DeviceBoxes, OfSmoothNetworksAreRefused) {
  TestDevice device;
  std::mutex lock;
  RandomSubject const subject(box_shape(Activation::kTanh, 1));
  BoundNetwork const network(subject.view.network);
  expect_error(ExitCode::kUnavailable, {"smooth activations", "expected relu"},
               [&] { make_device_box_batch(network, device, lock, kBoxBlock); });
}

}  // namespace
}  // namespace fairlane
