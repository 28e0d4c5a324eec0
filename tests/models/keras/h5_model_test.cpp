// What write_keras_h5() writes, read back by the reader, which knows files of real Keras.
#include <gtest/gtest.h>

#include <string>

#include "models/keras/h5.h"
#include "models/keras/h5_writer.h"
#include "tests/models/expect_error.h"
#include "tests/models/made_network.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

TEST(KerasModelFile, IsReadBackBitForBit) {
  TemporaryFolder const folder;
  for (HiddenActivation const& one : kHiddenActivations) {
    for (int const outputs : {1, 3}) {
      Network const network = network_with(one.activation, one.alpha, outputs);
      ASSERT_EQ(has_keras_form(network), one.activation != Activation::kGeluTanh);
      if (!has_keras_form(network)) continue;
      std::string const path = folder.file("model.h5");
      write_keras_h5(network, path);
      Network const read = read_keras_h5(path);
      expect_same_network(read, network);
    }
  }
}

TEST(KerasModelFile, HasTheSameBytesAgain) {
  TemporaryFolder const folder;
  Network const network = network_with(Activation::kLeakyRelu, 0.01F, 1);
  write_keras_h5(network, folder.file("a.h5"));
  write_keras_h5(network, folder.file("b.h5"));
  EXPECT_EQ(slurp(folder.file("a.h5")), slurp(folder.file("b.h5")));
}

TEST(KerasModelFile, IsRefusedWhereItCannotBe) {
  TemporaryFolder const folder;
  EXPECT_FALSE(has_keras_form(network_with(Activation::kGeluTanh, 0.0F, 1)));
  expect_error(ExitCode::kOutput, {"nowhere/model.h5", "cannot be created"}, [&] {
    write_keras_h5(network_with(Activation::kRelu, 0.0F, 1), folder.file("nowhere/model.h5"));
  });
}

}  // namespace
}  // namespace fairlane
