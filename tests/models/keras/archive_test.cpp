#include <fmt/format.h>

#include <cmath>

#include "base/formats/zip_archive.h"
#include "models/network.h"
#include "models/network_file.h"
#include "tests/models/expect_error.h"
#include "tests/models/keras/archive_writer.h"
#include "tests/models/keras/sequential.h"

namespace fairlane {
namespace {

std::string keras3_layer(std::string const& class_name, std::string const& name,
                         std::string const& rest = "") {
  return fmt::format(
      R"({{"module": "keras.layers", "class_name": "{}", "config": {{"name": "{}"{}{}}}}})",
      class_name, name, rest.empty() ? "" : ", ", rest);
}

std::string const kFirst = keras3_layer("Dense", "in", R"("units": 2, "activation": "relu")");
std::string const kSecond = keras3_layer("Dense", "out", R"("units": 1, "activation": "sigmoid")");

// Weights of two Dense layers, 2 -> 2 -> 1.
std::string weights(TemporaryFolder const& folder, std::vector<KerasGroup> const& more = {},
                    std::string const& root = "/layers") {
  std::vector<KerasGroup> groups = {{"dense", "in", {{{2, 2}, {1, 2, 3, 4}}, {{2}, {0.5, -0.5}}}},
                                    {"dense_1", "out", {{{2, 1}, {1, -1}}, {{1}, {0.25}}}}};
  groups.insert(groups.end(), more.begin(), more.end());
  return keras_weights(folder, groups, root);
}

Network read(TemporaryFolder const& folder, std::string const& config,
             std::string const& weight_bytes, ZipStyle style = {}) {
  return load_network(folder.write("m.keras", keras_archive(config, weight_bytes, style)));
}

TEST(KerasArchive, ReadsEveryWayOfPacking) {
  TemporaryFolder const folder;
  for (bool const deflate : {false, true}) {
    for (bool const zip64 : {false, true}) {
      for (char const* root : {"/layers", "/_layer_checkpoint_dependencies"}) {
        Network const network = read(folder, sequential({kFirst, kSecond}),
                                     weights(folder, {}, root), {deflate, zip64});
        ASSERT_EQ(network.layers.size(), 2U);
        EXPECT_EQ(network.layers[0].name, "in");
        EXPECT_EQ(network.layers[0].weights, (std::vector<float>{1, 2, 3, 4}));
        EXPECT_EQ(network.layers[0].bias, (std::vector<float>{0.5F, -0.5F}));
        EXPECT_EQ(network.layers[0].activation, Activation::kRelu);
        EXPECT_EQ(network.layers[1].weights, (std::vector<float>{1, -1}));
        EXPECT_EQ(network.layers[1].bias, std::vector<float>{0.25F});
        EXPECT_EQ(network.layers[1].activation, Activation::kSigmoid);
        EXPECT_EQ(network.format, "Keras archive 3.4.1");
      }
    }
  }
}

TEST(KerasArchive, FoldsScalings) {
  TemporaryFolder const folder;
  std::string const bytes =
      weights(folder, {{"normalization", "norm", {{{2}, {1, 2}}, {{2}, {4, 16}}, {{}, {7}}}},
                       {"batch_normalization",
                        "bn",
                        {{{2}, {2, 4}}, {{2}, {1, 1}}, {{2}, {0, 3}}, {{2}, {3, 15}}}}});
  Network const network = read(
      folder,
      sequential(
          {keras3_layer("Rescaling", "r", R"("scale": 2.0, "offset": [1.0, 3.0])"),
           keras3_layer("Normalization", "norm", R"("axis": [-1], "mean": null, "variance": null)"),
           kFirst, keras3_layer("BatchNormalization", "bn", R"("epsilon": 1.0)"), kSecond}),
      bytes);
  ASSERT_EQ(network.layers.size(), 2U);
  // x -> x + 0, x -> 0.5 x + 0.25: what rescaling and normalization make together.
  EXPECT_EQ(network.layers[0].weights, (std::vector<float>{1, 2, 1.5F, 2}));
  EXPECT_EQ(network.layers[0].bias, (std::vector<float>{0.5F + 0.75F, -0.5F + 1.0F}));
  // gamma / sqrt(variance + 1) is 1 and 1, beta - mean is 1 and -2.
  EXPECT_EQ(network.layers[1].weights, (std::vector<float>{1, -1}));
  EXPECT_EQ(network.layers[1].bias, std::vector<float>{0.25F + 1.0F + 2.0F});
  // Constants of the configuration, the other way round.
  Network const inverse =
      read(folder,
           sequential({keras3_layer("Normalization", "n",
                                    R"("mean": [[5.0]], "variance": 4.0, "invert": true)"),
                       kFirst, kSecond}),
           weights(folder));
  EXPECT_EQ(inverse.layers[0].weights, (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(inverse.layers[0].bias, (std::vector<float>{20.5F, 29.5F}));
}

TEST(KerasArchive, NamesWhatIsWrong) {
  TemporaryFolder const folder;
  std::string const good = sequential({kFirst, kSecond});
  auto const expect = [&](std::string const& config, std::string const& bytes,
                          std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { read(folder, config, bytes); });
  };
  expect(sequential({kFirst, keras3_layer("Conv1D", "c"), kSecond}), weights(folder),
         {"m.keras:config.json", "'c'", "Conv1D"});
  expect(sequential({keras3_layer("Dense", "other", R"("units": 2)"), kSecond}), weights(folder),
         {"m.keras:model.weights.h5:/layers/dense/vars", "'in'", "'other'"});
  expect(sequential({kFirst, kSecond, keras3_layer("Dense", "third", R"("units": 1)")}),
         weights(folder), {"/layers/dense_2/vars", "no such group", "'third'"});
  expect(sequential({kFirst, keras3_layer("Dense", "out", R"("units": 3)")}), weights(folder),
         {"/layers/dense_1/vars/0", "[2, 1]", "[2, 3]"});
  expect(sequential({kFirst, keras3_layer("Dense", "out", R"("units": 1, "use_bias": false)")}),
         weights(folder), {"/layers/dense_1/vars/1", "too many"});
  expect(sequential({kFirst, kSecond, keras3_layer("Rescaling", "r", R"("scale": 2.0)")}),
         weights(folder), {"'r'", "no dense layer"});
  expect(sequential({keras3_layer("Normalization", "n", R"("axis": 0)"), kFirst, kSecond}),
         weights(folder), {"'n'", "axis 0"});
  expect(sequential({keras3_layer("Normalization", "n", R"("mean": 1.0)"), kFirst, kSecond}),
         weights(folder), {"'n'", "mean and variance"});
  expect(good, "no HDF5", {"m.keras:model.weights.h5", "is not HDF5"});
  expect("{", weights(folder), {"m.keras:config.json", "malformed JSON"});
  expect_error(ExitCode::kData, {"x.zip", "without config.json", "model.save('NAME.keras')"},
               [&] { load_network(folder.write("x.zip", ZipWriter().add("a", "b").bytes())); });
  weights(folder);  // leaves weights.h5
  expect_error(ExitCode::kData,
               {"weights.h5", "without their configuration", "model.save('NAME.keras')"},
               [&] { load_network(folder.file("weights.h5")); });
}

TEST(ZipArchive, RefusesWhatIsDamagedOrTooLarge) {
  std::string const text(100000, 'a');
  for (bool const zip64 : {false, true}) {
    std::string const good = ZipWriter({true, zip64}).add("a", text).add("b", "short").bytes();
    EXPECT_LT(good.size(), 1000U);
    ZipArchive const archive(good, "z");
    EXPECT_EQ(archive.read("a", 100000), text);
    EXPECT_EQ(archive.read("b", 5), "short");
    EXPECT_FALSE(archive.has("c"));
    expect_error(ExitCode::kData, {"z:a", "100000 bytes", "at most 99999"},
                 [&] { archive.read("a", 99999); });
    expect_error(ExitCode::kData, {"z:c", "no such entry"}, [&] { archive.read("c", 1); });
  }
  auto const expect = [](std::string const& bytes, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts,
                 [&] { ZipArchive(bytes, "z").read("a", std::uint64_t{1} << 40); });
  };
  std::string const stored = ZipWriter().add("a", "hello").bytes();
  auto const changed = [](std::string bytes, std::string const& from, std::string const& to) {
    std::size_t const at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    return bytes.replace(at, from.size(), to);
  };
  expect(changed(stored, "hello", "jello"), {"z:a", "CRC-32"});
  expect(stored.substr(0, stored.size() - 1), {"z", "the end of the directory"});
  expect(stored.substr(0, 20), {"z", "no complete zip archive"});
  expect(ZipWriter().add("a", "1").add("a", "2").bytes(), {"two entries 'a'"});
  // A directory entry that declares four gigabytes of a few bytes.
  std::string bomb = ZipWriter({true, false}).add("a", "hello").bytes();
  std::size_t const entry = bomb.find(std::string("PK\x01\x02", 4));
  bomb.replace(entry + 24, 4, "\xFE\xFF\xFF\xFF");
  expect(bomb, {"z:a", "4294967294 bytes", "cannot hold"});
  std::string longer = ZipWriter({true, false}).add("a", "hello").bytes();
  longer[entry + 24] = 6;
  expect(longer, {"z:a", "cannot be unpacked to the 6 bytes"});
  std::string locked = stored;
  locked[stored.find(std::string("PK\x01\x02", 4)) + 8] = 1;
  expect(locked, {"z:a", "encrypted"});
}

}  // namespace
}  // namespace fairlane
