#include <fmt/format.h>

#include <cmath>

#include "models/network.h"
#include "models/network_file.h"
#include "tests/benchmarks.h"
#include "tests/models/expect_error.h"
#include "tests/models/keras/h5_writer.h"
#include "tests/models/keras/sequential.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

// What differs between the ways in which a model is saved.
struct Style {
  TextKind config = TextKind::kVariable;
  TextKind names = TextKind::kFixed;
  bool cut_names = false;  // layer_names0, layer_names1
  bool latest = false;     // the newest file format
  bool use_bias = true;    // of the first layer
  bool chunked = false;
  bool root_weights = false;  // no model_weights group
  hid_t type = H5T_IEEE_F32LE;
  double first_weight = 0.25;
  hsize_t kernel_rows = 3;
};

std::vector<double> ramp(hsize_t count, double first) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + 0.5 * static_cast<double>(i);
  return values;
}

// Two layers, 3 -> 2 -> 1, named "first" and "second", with this model_config.
std::string save(TemporaryFolder const& folder, std::string const& config,
                 Style const& style = {}) {
  std::string const path = folder.file("model.h5");
  H5Writer writer(path, style.latest);
  writer.text("/", "model_config", config, style.config);
  std::string const root = style.root_weights ? "" : "/model_weights";
  if (!style.root_weights) writer.group(root);
  std::string const top = style.root_weights ? "/" : root;
  if (style.cut_names) {
    writer.list(top, "layer_names0", {"first"}, style.names);
    writer.list(top, "layer_names1", {"second"}, style.names);
  } else {
    writer.list(top, "layer_names", {"first", "second"}, style.names);
  }
  hsize_t const rows = style.kernel_rows;
  writer.floats(root + "/first/first/kernel:0", {rows, 2}, ramp(rows * 2, style.first_weight),
                style.type, style.chunked);
  std::vector<std::string> weights = {"first/kernel:0"};
  if (style.use_bias) {
    writer.floats(root + "/first/first/bias:0", {2}, {1.0, -1.0}, style.type);
    weights.push_back("first/bias:0");
  }
  writer.list(root + "/first", "weight_names", weights, style.names);
  writer.floats(root + "/second/second/kernel:0", {2, 1}, {2.0, -4.0}, style.type);
  writer.floats(root + "/second/second/bias:0", {1}, {0.125}, style.type);
  writer.list(root + "/second", "weight_names", {"second/kernel:0", "second/bias:0"}, style.names);
  return path;
}

std::string layer(std::string const& class_name, std::string const& name,
                  std::string const& rest = "") {
  return fmt::format(R"({{"class_name": "{}", "config": {{"name": "{}"{}{}}}}})", class_name, name,
                     rest.empty() ? "" : ", ", rest);
}

std::string first(std::string const& rest = R"("activation": "relu")") {
  return layer("Dense", "first", R"("units": 2, )" + rest);
}
std::string second(std::string const& rest = R"("activation": "sigmoid")") {
  return layer("Dense", "second", R"("units": 1, )" + rest);
}

void expect_expected_weights(Network const& network) {
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.inputs(), 3);
  EXPECT_EQ(network.outputs(), 1);
  EXPECT_EQ(network.layers[0].name, "first");
  EXPECT_EQ(network.layers[0].weights,
            (std::vector<float>{0.25F, 0.75F, 1.25F, 1.75F, 2.25F, 2.75F}));
  EXPECT_EQ(network.layers[0].bias, (std::vector<float>{1.0F, -1.0F}));
  EXPECT_EQ(network.layers[1].weights, (std::vector<float>{2.0F, -4.0F}));
  EXPECT_EQ(network.layers[1].bias, (std::vector<float>{0.125F}));
  EXPECT_EQ(network.layers[0].activation, Activation::kRelu);
  EXPECT_EQ(network.layers[1].activation, Activation::kSigmoid);
  EXPECT_EQ(network.parameters(), 11);
}

TEST(KerasH5, ReadsEveryWayOfStoringNames) {
  TemporaryFolder const folder;
  for (TextKind const config : {TextKind::kFixed, TextKind::kVariable}) {
    for (TextKind const names : {TextKind::kFixed, TextKind::kVariable}) {
      for (bool const cut : {false, true}) {
        for (bool const latest : {false, true}) {
          Style style;
          style.config = config;
          style.names = names;
          style.cut_names = cut;
          style.latest = latest;
          expect_expected_weights(
              load_network(save(folder, sequential({first(), second()}), style)));
        }
      }
    }
  }
}

TEST(KerasH5, ReadsEveryFloatTypeThatFloat32Holds) {
  TemporaryFolder const folder;
  for (hid_t const type : {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    Style style;
    style.type = type;
    expect_expected_weights(load_network(save(folder, sequential({first(), second()}), style)));
  }
  Style inexact;
  inexact.type = H5T_IEEE_F64LE;
  inexact.first_weight = 0.1;
  std::string const path = save(folder, sequential({first(), second()}), inexact);
  expect_error(ExitCode::kData,
               {"/model_weights/first/first/kernel:0", "float64", "0.1", "float32"},
               [&] { load_network(path); });
  Style integers;
  integers.type = H5T_STD_I32LE;
  expect_error(ExitCode::kData, {"kernel:0", "expected float32"}, [&] {
    load_network(save(folder, sequential({first(), second()}), integers));
  });
}

TEST(KerasH5, IgnoresLayersWithoutEffect) {
  TemporaryFolder const folder;
  std::string const config = sequential(
      {layer("InputLayer", "in", R"("batch_input_shape": [null, 3])"), layer("Flatten", "flat"),
       first(), layer("Dropout", "drop", R"("rate": 0.5)"), second()});
  expect_expected_weights(load_network(save(folder, config)));
  std::string const list =
      fmt::format(R"({{"class_name": "Sequential", "config": [{}, {}]}})", first(), second());
  expect_expected_weights(load_network(save(folder, list)));
  Style style;
  style.root_weights = true;
  expect_expected_weights(load_network(save(folder, sequential({first(), second()}), style)));
}

TEST(KerasH5, WithoutBiasTheBiasIsZero) {
  TemporaryFolder const folder;
  Style style;
  style.use_bias = false;
  std::string const config =
      sequential({first(R"("activation": "relu", "use_bias": false)"), second()});
  EXPECT_EQ(load_network(save(folder, config, style)).layers[0].bias,
            (std::vector<float>{0.0F, 0.0F}));
  expect_error(ExitCode::kData, {"/model_weights/first", "no bias"}, [&] {
    load_network(save(folder, sequential({first(), second()}), style));
  });
  expect_error(ExitCode::kData, {"/model_weights/first", "use_bias is false"},
               [&] { load_network(save(folder, config)); });
}

// One way to write an activation of the first layer, and what it means.
struct ActivationCase {
  std::string inside;  // the Dense layer's own activation
  std::string after;   // a layer that follows
  Activation expected;
  float alpha;
};

TEST(KerasH5, ReadsEveryWayOfWritingActivations) {
  TemporaryFolder const folder;
  auto const own = [](std::string const& value) { return R"("activation": )" + value; };
  std::vector<ActivationCase> const cases = {
      {own("null"), "", Activation::kLinear, 0.0F},
      {own(R"("linear")"), "", Activation::kLinear, 0.0F},
      {own(R"("tanh")"), "", Activation::kTanh, 0.0F},
      {own(R"("sigmoid")"), "", Activation::kSigmoid, 0.0F},
      {own(R"("elu")"), "", Activation::kElu, 1.0F},
      {own(R"("leaky_relu")"), "", Activation::kLeakyRelu, 0.2F},
      {own(R"({"class_name": "LeakyReLU", "config": {"alpha": 0.5}})"), "", Activation::kLeakyRelu,
       0.5F},
      {own("null"), layer("Activation", "a", own(R"("tanh")")), Activation::kTanh, 0.0F},
      {own("null"),
       layer("ReLU", "a", R"("max_value": null, "negative_slope": 0.0, "threshold": 0.0)"),
       Activation::kRelu, 0.0F},
      {own("null"), layer("ReLU", "a", R"("negative_slope": 0.25)"), Activation::kLeakyRelu, 0.25F},
      {own("null"), layer("LeakyReLU", "a"), Activation::kLeakyRelu, 0.3F},
      {own("null"), layer("LeakyReLU", "a", R"("alpha": 0.125)"), Activation::kLeakyRelu, 0.125F},
      {own("null"), layer("LeakyReLU", "a", R"("negative_slope": 0.0625)"), Activation::kLeakyRelu,
       0.0625F},
      {own("null"), layer("ELU", "a", R"("alpha": 2.0)"), Activation::kElu, 2.0F},
      {own(R"("silu")"), "", Activation::kSilu, 0.0F},
      {own(R"("swish")"), "", Activation::kSilu, 0.0F},
      {own(R"("gelu")"), "", Activation::kGelu, 0.0F},
      {own("null"), layer("Activation", "a", own(R"("silu")")), Activation::kSilu, 0.0F},
      {own("null"), layer("Addons>GELU", "a", R"("approximate": true)"), Activation::kGeluTanh,
       0.0F},
      {own("null"), layer("Addons>GELU", "a", R"("approximate": false)"), Activation::kGelu, 0.0F},
  };
  for (auto const& c : cases) {
    std::vector<std::string> layers = {first(c.inside)};
    if (!c.after.empty()) layers.push_back(c.after);
    layers.push_back(second());
    Network const network = load_network(save(folder, sequential(layers)));
    EXPECT_EQ(network.layers[0].activation, c.expected) << c.inside << c.after;
    EXPECT_EQ(network.layers[0].alpha, c.alpha) << c.inside << c.after;
  }
}

TEST(KerasH5, RejectsWhatItDoesNotCompute) {
  TemporaryFolder const folder;
  auto const expect = [&](std::vector<std::string> const& layers,
                          std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { load_network(save(folder, sequential(layers))); });
  };
  expect({first(), layer("BatchNormalization", "norm"), second()},
         {"layer_names does not list 'norm'"});
  expect({layer("Conv2D", "conv"), first(), second()}, {"model_config", "'conv'", "Conv2D"});
  expect({first(R"("activation": "mish")"), second()}, {"'first'", "'mish'", "leaky_relu"});
  expect({first("\"activation\": null"), layer("Addons>GELU", "g"), second()},
         {"'g'", "approximate is null"});
  expect({first(R"("activation": {"class_name": "function", "config": "relu"})"), second()},
         {"'first'", "'function'"});
  expect({first("\"activation\": null"), layer("ReLU", "r", R"("max_value": 6.0)"), second()},
         {"'r'", "max_value 6"});
  expect({first("\"activation\": null"), layer("ReLU", "r", R"("threshold": 1.0)"), second()},
         {"'r'", "threshold 1"});
  expect({first(), layer("Activation", "a", R"("activation": "tanh")"), second()},
         {"'a'", "tanh", "relu"});
  expect({layer("ReLU", "r"), first(), second()}, {"'r'", "before the first Dense"});
  expect({first(R"("activation": "softmax")"), second()}, {"layer 0 'first'", "softmax"});
  expect({first(), second(R"("activation": "relu")")}, {"layer 1 'second'", "relu"});
  expect({layer("InputLayer", "in", R"("batch_input_shape": [null, 8, 3])"), first(), second()},
         {"batch_input_shape"});
  expect({first(R"("activation": "relu", "batch_input_shape": [null, 4])"), second()},
         {"kernel:0", "[3, 2]", "[4, 2]"});
  expect({layer("Dense", "first", R"("units": 3)"), second()}, {"kernel:0", "[3, 2]"});
  expect({layer("Dense", "first", R"("units": -1)"), second()}, {"units is -1"});
  expect({first()}, {"layer 0 'first'", "2 outputs"});
  expect({first(), first()}, {"'first'", "same name"});
  expect({first(), layer("Dense", "secnd", R"("units": 1)")},
         {"'secnd'", "did you mean 'second'?"});
  expect({layer("Dropout", "d")}, {"no Dense layer"});
}

std::string node(std::string const& layer_text, std::string const& inbound) {
  return layer_text.substr(0, layer_text.size() - 1) + R"(, "inbound_nodes": )" + inbound + "}";
}

std::string functional(std::vector<std::string> const& layers, std::string const& in,
                       std::string const& out) {
  return fmt::format(
      R"({{"class_name": "Functional", "config": {{"name": "f", "layers": [{}], "input_layers": {},
                     "output_layers": {}}}}})",
      fmt::join(layers, ", "), in, out);
}

TEST(KerasH5, ReadsLinearFunctionalChains) {
  TemporaryFolder const folder;
  std::string const input = node(layer("InputLayer", "in", R"("batch_shape": [null, 3])"), "[]");
  std::string const second_2 = node(second(), R"([[["first", 0, 0, {}]]])");
  std::string const first_2 = node(first(), R"([[["in", 0, 0, {}]]])");
  // The order in the file is not the order of the chain.
  expect_expected_weights(
      load_network(save(folder, functional({input, second_2, first_2}, R"([["in", 0, 0]])",
                                           R"([["second", 0, 0]])"))));
  auto const keras_3 = [](std::string const& from) {
    return fmt::format(R"([{{"args": [{{"class_name": "__keras_tensor__",)"
                       R"( "config": {{"keras_history": ["{}", 0, 0]}}}}], "kwargs": {{}}}}])",
                       from);
  };
  expect_expected_weights(load_network(save(
      folder, functional({input, node(first(), keras_3("in")), node(second(), keras_3("first"))},
                         R"(["in", 0, 0])", R"(["second", 0, 0])"))));

  auto const expect = [&](std::vector<std::string> const& layers,
                          std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] {
      load_network(save(folder, functional(layers, R"([["in", 0, 0]])", R"([["second", 0, 0]])")));
    });
  };
  expect({input, first_2, node(second(), R"([[["first", 0, 0, {}], ["in", 0, 0, {}]]])")},
         {"'second'", "several inputs"});
  expect({input, first_2, node(second(), R"([[["in", 0, 0, {}]]])")},
         {"'second'", "already feeds 'first'"});
  expect({input, node(first(), R"([[["second", 0, 0, {}]]])"), second_2}, {"not one chain"});
  expect({input, first_2, node(second(), "[]")}, {"'second'", "not connected"});
}

TEST(KerasH5, AnInputForEachColumnNamesIt) {
  TemporaryFolder const folder;
  auto const column = [](std::string const& name, std::string const& shape = "[null, 1]") {
    return node(layer("InputLayer", name, R"("batch_shape": )" + shape), "[]");
  };
  auto const join = [](std::string const& inbound, std::string const& axis = "-1") {
    return node(layer("Concatenate", "join", R"("axis": )" + axis), inbound);
  };
  std::string const first_2 = node(first(), R"([[["join", 0, 0, {}]]])");
  std::string const second_2 = node(second(), R"([[["first", 0, 0, {}]]])");
  std::string const in_2 = R"([["sex", 0, 0], ["age", 0, 0], ["job", 0, 0]])";
  std::string const joined_2 = R"([[["age", 0, 0, {}], ["sex", 0, 0, {}], ["job", 0, 0, {}]]])";
  auto const load = [&](std::vector<std::string> const& layers) {
    return load_network(save(folder, functional(layers, in_2, R"([["second", 0, 0]])")));
  };
  std::vector<std::string> const names = {"age", "sex", "job"};
  Network const network =
      load({column("job"), column("sex"), column("age"), join(joined_2), first_2, second_2});
  expect_expected_weights(network);
  EXPECT_EQ(network.features, names) << "in the order in which they are joined";

  auto const tensor = [](std::string const& name) {
    return R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")" + name +
           R"(", 0, 0]}})";
  };
  std::string const joined_3 = R"([{"args": [[)" + tensor("age") + ", " + tensor("sex") + ", " +
                               tensor("job") + R"(]], "kwargs": {}}])";
  EXPECT_EQ(load({column("job"), column("sex"), column("age"), join(joined_3), first_2, second_2})
                .features,
            names);

  auto const expect = [&](std::vector<std::string> const& layers,
                          std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { load(layers); });
  };
  expect(
      {column("job", "[null, 2]"), column("sex"), column("age"), join(joined_2), first_2, second_2},
      {"'join'", "several inputs"});
  expect({column("job"), column("sex"), column("age"), join(joined_2, "0"), first_2, second_2},
         {"'join'", "several inputs"});
  expect({column("job"), column("sex"), column("age"),
          join(R"([[["age", 0, 0, {}], ["sex", 0, 0, {}]]])"), first_2, second_2},
         {"'join'", "several inputs"});
}

// Its factor is part of the layer behind it.
TEST(KerasH5, SeluIsEluAndAFactor) {
  TemporaryFolder const folder;
  for (auto const& layers : std::vector<std::vector<std::string>>{
           {first(R"("activation": "selu")"), second()},
           {first(R"("activation": null)"), layer("Activation", "a", R"("activation": "selu")"),
            second()}}) {
    Network const network = load_network(save(folder, sequential(layers)));
    EXPECT_EQ(network.layers[0].activation, Activation::kElu);
    EXPECT_EQ(network.layers[0].alpha, 1.67326324F);
    EXPECT_EQ(network.layers[1].weights,
              (std::vector<float>{2.0F * 1.05070098F, -4.0F * 1.05070098F}));
    EXPECT_EQ(network.layers[1].bias, (std::vector<float>{0.125F}));
  }
}

TEST(KerasH5, NamesWhatIsWrongWithTheFile) {
  TemporaryFolder const folder;
  std::string const good = sequential({first(), second()});
  expect_error(ExitCode::kData, {"model.h5:model_config", "malformed JSON"},
               [&] { load_network(save(folder, "{\"class_name\": \n")); });
  expect_error(ExitCode::kData, {"'class_name' occurs twice"}, [&] {
    load_network(save(folder, R"({"class_name": "Sequential", "class_name": "x"})"));
  });
  expect_error(ExitCode::kData, {"nested more than"},
               [&] { load_network(save(folder, std::string(9000, '['))); });
  Style nan;
  nan.first_weight = std::nan("");
  expect_error(ExitCode::kData, {"layer 0 'first'", "kernel[0] is nan"},
               [&] { load_network(save(folder, good, nan)); });
  Style infinite;
  infinite.first_weight = HUGE_VAL;
  expect_error(ExitCode::kData, {"kernel[0] is inf"},
               [&] { load_network(save(folder, good, infinite)); });
  Style chunked;
  chunked.chunked = true;
  expect_error(ExitCode::kData, {"/model_weights/first/first/kernel:0", "chunked"},
               [&] { load_network(save(folder, good, chunked)); });
  {
    H5Writer writer(folder.file("weights.h5"));
    writer.list("/", "layer_names", {"first"}, TextKind::kFixed);
  }
  expect_error(ExitCode::kData, {"weights without model_config"},
               [&] { load_network(folder.file("weights.h5")); });
  {
    H5Writer writer(folder.file("none.h5"));
    writer.text("/", "model_config", good, TextKind::kFixed);
  }
  expect_error(ExitCode::kData, {"no group model_weights"},
               [&] { load_network(folder.file("none.h5")); });
  {
    H5Writer writer(folder.file("link.h5"));
    writer.text("/", "model_config", good, TextKind::kFixed);
    writer.soft_link("/elsewhere", "/model_weights");
  }
  expect_error(ExitCode::kData, {"'model_weights' is a link"},
               [&] { load_network(folder.file("link.h5")); });
  std::string const bytes = slurp(save(folder, good));
  for (std::size_t const size : {9U, 96U, 500U, 1000U}) {
    std::string const cut = folder.write("cut.h5", bytes.substr(0, size));
    expect_error(ExitCode::kData, {"cut.h5"}, [&] { load_network(cut); });
  }
}

// Reads a dataset of floats with the HDF5 library.
std::vector<float> library_floats(hid_t file, std::string const& path) {
  hid_t const set = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  hid_t const space = H5Dget_space(set);
  std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0)
      << path;
  H5Sclose(space);
  H5Dclose(set);
  return values;
}

TEST(KerasH5, BenchmarkNetworksEqualWhatTheHdf5LibraryReads) {
  FL_NEED_BENCHMARKS(dir);
  int count = 0;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(dir / "models")) {
    if (entry.path().extension() != ".h5") continue;
    ++count;
    Network const network = load_network(entry.path().string());
    hid_t const file = H5Fopen(entry.path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    ASSERT_GE(file, 0) << entry.path();
    for (DenseLayer const& dense : network.layers) {
      std::string const prefix = "/model_weights/" + dense.name + "/" + dense.name;
      EXPECT_EQ(dense.weights, library_floats(file, prefix + "/kernel:0"))
          << entry.path() << dense.name;
      EXPECT_EQ(dense.bias, library_floats(file, prefix + "/bias:0")) << entry.path() << dense.name;
    }
    H5Fclose(file);
    EXPECT_EQ(network.layers.back().activation, Activation::kSigmoid);
    EXPECT_EQ(network.outputs(), 1);
  }
  EXPECT_GE(count, 17);
  EXPECT_EQ(load_network((dir / "models" / "census.h5").string()).inputs(), 12);
}

}  // namespace
}  // namespace fairlane
