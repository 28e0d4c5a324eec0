// Damaged files: every reader either accepts what is left or throws one Error of one line. Run
// under sanitizers for full effect.
#include <algorithm>
#include <iterator>
#include <random>

#include "models/data/csv.h"
#include "models/data/dataset.h"
#include "models/data/decode_table.h"
#include "models/data/domain.h"
#include "models/data/domain_yaml.h"
#include "models/data/encode_table.h"
#include "models/keras/archive.h"
#include "models/keras/h5.h"
#include "models/network.h"
#include "models/network_file.h"
#include "models/onnx/onnx.h"
#include "models/safetensors.h"
#include "models/tensorflow/bundle.h"
#include "models/tensorflow/checkpoint.h"
#include "tests/benchmarks.h"
#include "tests/models/expect_error.h"
#include "tests/models/keras/archive_writer.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/models/tensorflow/checkpoint_writer.h"

namespace fairlane {
namespace {

constexpr unsigned kMutationSeed = 20240;

// Cuts the text short, or changes, removes or repeats a few bytes of it.
std::string mutate(std::string text, std::mt19937& random, bool keep_length) {
  auto const below = [&](std::size_t n) {
    return static_cast<std::size_t>(random()) % std::max<std::size_t>(n, 1);
  };
  if (below(8) == 0) return text.substr(0, below(text.size()));
  for (std::size_t changes = 1 + below(6); changes > 0; --changes) {
    std::size_t const at = below(text.size());
    switch (below(keep_length ? 3 : 6)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 2:
        for (std::size_t i = at; i < std::min(at + 4, text.size()); ++i)
          text[i] = static_cast<char>(random() % 2 == 0 ? 0 : 255);
        break;
      case 3:
        text.erase(at, below(9));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), below(30)));
        break;
      default:
        text[at] = "[]{},:\"'\n\r-&*!#%0 \t."[below(21)];
        break;
    }
  }
  return text;
}

// Reads `count` damaged copies; returns how many were refused.
int refused(std::string const& good, int count, bool keep_length,
            std::function<void(std::string const&)> const& read) {
  int result = 0;
  for (int i = 0; i < count; ++i) {
    std::mt19937 random(kMutationSeed + static_cast<unsigned>(i));
    std::string const bad = mutate(good, random, keep_length);
    try {
      read(bad);
    } catch (Error const& error) {
      ++result;
      for (char const* c = error.what(); *c != '\0'; ++c) {
        EXPECT_GE(static_cast<unsigned char>(*c), 0x20) << "mutation " << i << ": " << error.what();
      }
    } catch (std::exception const& error) {
      ADD_FAILURE() << "mutation " << i << " of seed " << kMutationSeed << ": " << error.what();
    }
  }
  return result;
}

std::string const kDomain =
    "name: d\nlabel: y\nlabels: {no: 0, yes: 1}\nraw: {separator: \";\", missing: [\"?\"], label: "
    "z}\n"
    "attributes:\n"
    "  - {name: age, low: 1, high: 4, protected: true, bins: [1, 2.5, 3, 7, 10]}\n"
    "  - {name: job, categories: [\"a, b\", c], column: work, missing: mode}\n";

TEST(Mutation, DomainYaml) {
  EXPECT_GT(refused(kDomain, 3000, false,
                    [](std::string const& text) {
                      Domain const domain = parse_domain_yaml(text, "x");
                      EXPECT_EQ(parse_domain_yaml(format_domain_yaml(domain), "y").size(),
                                domain.size());
                    }),
            1000);
}

TEST(Mutation, Csv) {
  Domain const domain = parse_domain_yaml(kDomain, "d");
  EXPECT_GT(refused("y,age,job\n0,1,c\n1,4,\"a, b\"\n0,3.0,1\n", 5000, false,
                    [&](std::string const& text) { parse_csv(text, "x", domain); }),
            1000);
}

TEST(Mutation, RawTable) {
  Domain const domain = parse_domain_yaml(kDomain, "d");
  std::string const good = "z;age;work\nyes;1.5;c\nno;4;\"a, b\"\nno;3.0;?\n";
  EXPECT_EQ(parse_raw_table(good, "x", domain).data.count(), 3);
  EXPECT_GT(refused(good, 5000, false,
                    [&](std::string const& text) { parse_raw_table(text, "x", domain); }),
            1000);
}

TEST(Mutation, DecodedTable) {
  Domain const domain = parse_domain_yaml(kDomain, "d");
  EXPECT_GT(refused("y,age,job,pair_age\n0,1,1,2\n1,4,0,3\n0,3.0,1,1\n", 5000, false,
                    [&](std::string const& text) {
                      decode_table(text, "x", domain, [](std::string_view) {});
                    }),
            1000);
}

TEST(Mutation, Safetensors) {
  TemporaryFolder const folder;
  Network network;
  network.layers.push_back(
      {"a", 2, 3, Activation::kLeakyRelu, 0.1F, std::vector<float>(6, 1.0F), {1, 2, 3}});
  network.layers.push_back({"b", 3, 1, Activation::kSigmoid, 0.0F, {1, 2, 3}, {0}});
  write_safetensors(network, folder.file("n"));
  std::string const good = slurp(folder.file("n"));
  for (bool const keep_length : {true, false}) {
    EXPECT_GT(refused(good, 5000, keep_length,
                      [](std::string const& bytes) { parse_safetensors(bytes, "x"); }),
              1000);
  }
}

// Writes a small model, so that most bytes are structure.
std::string small_h5(TemporaryFolder const& folder, TextKind kind, bool latest) {
  std::string const path = folder.file("good.h5");
  {
    H5Writer writer(path, latest);
    writer.text("/", "model_config",
                R"({"class_name": "Sequential", "config": [{"class_name": "Dense", "config":)"
                R"( {"name": "d", "units": 1, "activation": "sigmoid"}}]})",
                kind);
    writer.group("/model_weights");
    writer.list("/model_weights", "layer_names", {"d"}, kind);
    writer.floats("/model_weights/d/d/kernel:0", {2, 1}, {1.0, 2.0});
    writer.floats("/model_weights/d/d/bias:0", {1}, {0.5});
    writer.list("/model_weights/d", "weight_names", {"d/kernel:0", "d/bias:0"}, kind);
  }
  return slurp(path);
}

TEST(Mutation, KerasH5) {
  TemporaryFolder const folder;
  for (TextKind const kind : {TextKind::kFixed, TextKind::kVariable}) {
    for (bool const latest : {false, true}) {
      std::string const good = small_h5(folder, kind, latest);
      EXPECT_GT(
          refused(good, 1000, true,
                  [&](std::string const& bytes) { load_network(folder.write("bad.h5", bytes)); }),
          100);
    }
  }
}

// 2 -> 3 -> 2.
Network small_network() {
  Network network;
  network.layers.push_back({"a", 2, 3, Activation::kRelu, 0.0F, {1, 2, 3, 4, 5, 6}, {1, 2, 3}});
  network.layers.push_back({"b", 3, 2, Activation::kSoftmax, 0.0F, {1, 2, 3, 4, 5, 6}, {0, 1}});
  return network;
}

TEST(Mutation, Onnx) {
  std::string const good = onnx_of(small_network(), true);
  for (bool const keep_length : {true, false}) {
    EXPECT_GT(
        refused(good, 5000, keep_length, [](std::string const& bytes) { parse_onnx(bytes, "x"); }),
        1000);
  }
  OnnxWriter writer({-1, 2});  // what small_network() does not use
  writer.floats("w", {2, 1}, {1, 2}).floats("s", {2}, {3, 4}).initializer(onnx_integers("i", {-1}));
  writer.node("Cast", {}, {onnx_integer("to", 1)}).node("BatchNormalization", {"s", "s", "s", "s"});
  writer.node("Div", {"s"}).node("MatMul", {"w"}).node("Reshape", {"i"}).node("Sigmoid");
  EXPECT_GT(refused(writer.bytes(), 5000, false,
                    [](std::string const& bytes) { parse_onnx(bytes, "x"); }),
            1000);
}

// Writes a small Keras archive.
std::string small_archive(TemporaryFolder const& folder, ZipStyle style) {
  std::string const weights =
      keras_weights(folder, {{"dense", "d", {{{2, 1}, {1.0, 2.0}}, {{1}, {0.5}}}}});
  return keras_archive(
      R"({"class_name": "Sequential", "config": [{"class_name": "Dense", "config":)"
      R"( {"name": "d", "units": 1, "activation": "sigmoid"}}]})",
      weights, style);
}

TEST(Mutation, KerasArchive) {
  TemporaryFolder const folder;
  for (ZipStyle const style : {ZipStyle{false, false}, ZipStyle{true, true}}) {
    EXPECT_GT(refused(small_archive(folder, style), 1500, false,
                      [](std::string const& bytes) { parse_keras_archive(bytes, "x"); }),
              500);
  }
}

TEST(Mutation, TfCheckpoint) {
  TfCheckpointWriter const writer = tf_checkpoint_of(small_network());
  TfCheckpointFiles const good = {
      "i", writer.index(), "d", writer.data(), "m", tf_meta({"MatMul", "Relu", "Add"})};
  parse_tf_checkpoint(good);
  EXPECT_GT(refused(good.index, 2000, false,
                    [&](std::string const& bytes) {
                      TfCheckpointFiles files = good;
                      files.index = bytes;
                      parse_tf_checkpoint(files);
                    }),
            1500);  // every block has a CRC
  // Behind a CRC that matches: a block that is damaged before it is framed.
  EXPECT_GT(refused(leveldb_block(writer.entries()), 5000, false,
                    [&](std::string const& bytes) {
                      TfCheckpointFiles files = good;
                      files.index = leveldb_table_of({{"zzz", bytes}});
                      parse_tf_checkpoint(files);
                    }),
            1000);
  EXPECT_GT(refused(good.data, 500, true,
                    [&](std::string const& bytes) {
                      TfCheckpointFiles files = good;
                      files.data = bytes;
                      parse_tf_checkpoint(files);
                    }),
            100);
  EXPECT_GT(refused(*good.meta, 1000, false,
                    [&](std::string const& bytes) {
                      TfCheckpointFiles files = good;
                      files.meta = bytes;
                      parse_tf_checkpoint(files);
                    }),
            50);
}

// A file cut short anywhere is refused, or what it lost did not matter.
TEST(Mutation, EveryTruncation) {
  TemporaryFolder const folder;
  auto const cut_everywhere = [](std::string const& good,
                                 std::function<void(std::string const&)> const& read) {
    read(good);
    int failed = 0;
    for (std::size_t size = 0; size < good.size(); ++size) {
      try {
        read(good.substr(0, size));
      } catch (Error const&) {
        ++failed;
      }
    }
    EXPECT_GE(failed + 64, static_cast<int>(good.size()));  // the operator set stands at the end
  };
  cut_everywhere(onnx_of(small_network(), false),
                 [](std::string const& bytes) { parse_onnx(bytes, "x"); });
  cut_everywhere(small_archive(folder, {true, false}),
                 [](std::string const& bytes) { parse_keras_archive(bytes, "x"); });
  cut_everywhere(tf_checkpoint_of(small_network()).index(),
                 [](std::string const& bytes) { parse_tf_index(bytes, "x"); });
}

TEST(Mutation, BenchmarkNetwork) {
  FL_NEED_BENCHMARKS(dir);
  TemporaryFolder const folder;
  EXPECT_GT(
      refused(slurp(dir / "models" / "fairify" / "AC-8.h5"), 500, true,
              [&](std::string const& bytes) { read_keras_h5(folder.write("bad.h5", bytes)); }),
      50);
}

}  // namespace
}  // namespace fairlane
