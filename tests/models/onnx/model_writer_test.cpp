// What write_onnx() writes, read back by the reader, which knows files of other programs.
#include "models/onnx/model_writer.h"

#include <gtest/gtest.h>

#include "models/onnx/onnx.h"
#include "tests/models/expect_error.h"
#include "tests/models/made_network.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

TEST(OnnxModelFile, IsReadBackBitForBit) {
  TemporaryFolder const folder;
  std::string const path = folder.file("model.onnx");
  for (HiddenActivation const& one : kHiddenActivations) {
    for (int const outputs : {1, 3}) {
      Network const network = network_with(one.activation, one.alpha, outputs);
      write_onnx(network, path);
      std::string const bytes = slurp(path);
      expect_same_network(read_onnx(path), network);
      write_onnx(network, path);
      EXPECT_EQ(slurp(path), bytes);
    }
  }
}

TEST(OnnxModelFile, IsRefusedWhereItCannotBe) {
  TemporaryFolder const folder;
  expect_error(ExitCode::kDisk, {"nowhere/model.onnx", "cannot be created"}, [&] {
    write_onnx(network_with(Activation::kRelu, 0.0F, 1), folder.file("nowhere/model.onnx"));
  });
}

}  // namespace
}  // namespace fairlane
