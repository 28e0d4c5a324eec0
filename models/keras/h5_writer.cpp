#include "models/keras/h5_writer.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr char const* kKerasVersion = "2.15.0";
constexpr char const* kBackend = "tensorflow";

/// What HDF5 has opened; closed by the destructor.
class H5Object {
 public:
  using Close = herr_t (*)(hid_t);
  H5Object(hid_t id, Close close, std::string const& path) : id_(id), close_(close) {
    if (id_ < 0) {
      throw Error(ExitCode::kDisk,
                  fmt::format("{}: HDF5 cannot write it", escaped(path, kLongestPath)));
    }
  }
  ~H5Object() { close_(id_); }
  H5Object(H5Object const&) = delete;
  H5Object& operator=(H5Object const&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

/// Keras's word for an activation; null where it is a layer of its own, or has none.
char const* keras_word(DenseLayer const& layer) {
  switch (layer.activation) {
    case Activation::kLeakyRelu:
    case Activation::kGeluTanh:
      return nullptr;
    case Activation::kElu:
      return layer.alpha == 1.0F ? "elu" : nullptr;
    case Activation::kSilu:
      return "swish";
    default:
      return activation_name(layer.activation);
  }
}

/// Keras's class for an activation that is a layer of its own; null where there is none.
char const* keras_class(DenseLayer const& layer) {
  if (layer.activation == Activation::kLeakyRelu) return "LeakyReLU";
  return layer.activation == Activation::kElu && layer.alpha != 1.0F ? "ELU" : nullptr;
}

std::string layer_name(std::size_t l) { return fmt::format("dense_{}", l + 1); }
std::string activation_layer_name(std::size_t l) { return fmt::format("activation_{}", l + 1); }

std::string model_config(Network const& network) {
  // A layer of its own: Keras 3 takes a Dense layer's batch_input_shape for the shape of a row.
  Json layers = Json::array();
  layers.push_back({{"class_name", "InputLayer"},
                    {"config",
                     {{"batch_input_shape", Json::array({nullptr, network.layers.front().inputs})},
                      {"dtype", "float32"},
                      {"sparse", false},
                      {"ragged", false},
                      {"name", "inputs"}}}});
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    DenseLayer const& layer = network.layers[l];
    char const* const word = keras_word(layer);
    Json config = {{"name", layer_name(l)},
                   {"trainable", true},
                   {"dtype", "float32"},
                   {"units", layer.outputs},
                   {"activation", word != nullptr ? word : "linear"},
                   {"use_bias", true}};
    layers.push_back({{"class_name", "Dense"}, {"config", std::move(config)}});
    if (char const* const name = keras_class(layer); name != nullptr) {
      layers.push_back({{"class_name", name},
                        {"config",
                         {{"name", activation_layer_name(l)},
                          {"trainable", true},
                          {"dtype", "float32"},
                          {"alpha", layer.alpha}}}});
    }
  }
  Json const config = {{"class_name", "Sequential"},
                       {"config", {{"name", "sequential"}, {"layers", std::move(layers)}}}};
  return config.dump();
}

/// A file being written.
class H5Model {
 public:
  explicit H5Model(std::string const& path) : path_(path), file_(create(path), H5Fclose, path) {}

  void group(std::string const& name) {
    H5Object const list(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, path_);
    check(H5Pset_obj_track_times(list, false));
    H5Object const group(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), H5Gclose,
                         path_);
  }
  void text(std::string const& object, char const* name, std::string const& value) {
    H5Object const space(H5Screate(H5S_SCALAR), H5Sclose, path_);
    attribute(object, name, {value}, space);
  }
  void texts(std::string const& object, char const* name, std::vector<std::string> const& values) {
    hsize_t const size = values.size();
    H5Object const space(H5Screate_simple(1, &size, nullptr), H5Sclose, path_);
    attribute(object, name, values, space);
  }
  /// An empty list, as h5py writes one.
  void no_texts(std::string const& object, char const* name) {
    hsize_t const size = 0;
    H5Object const space(H5Screate_simple(1, &size, nullptr), H5Sclose, path_);
    H5Object const id(H5Acreate_by_name(file_, object.c_str(), name, H5T_IEEE_F64LE, space,
                                        H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                      H5Aclose, path_);
  }
  void floats(std::string const& name, std::vector<hsize_t> const& shape,
              std::vector<float> const& values) {
    H5Object const space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                         H5Sclose, path_);
    H5Object const list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path_);
    check(H5Pset_obj_track_times(list, false));
    H5Object const set(
        H5Dcreate2(file_, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT),
        H5Dclose, path_);
    check(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  }
  void flush() { check(H5Fflush(file_, H5F_SCOPE_GLOBAL)); }

 private:
  static hid_t create(std::string const& path) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // it writes to stderr otherwise
    hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file >= 0) return file;
    throw Error(ExitCode::kOutput,
                fmt::format("{}: cannot be created", escaped(path, kLongestPath)));
  }
  void check(herr_t status) const {
    if (status >= 0) return;
    throw Error(ExitCode::kDisk,
                fmt::format("{}: HDF5 cannot write it", escaped(path_, kLongestPath)));
  }
  /// Strings of one width, as h5py writes numpy's bytes.
  void attribute(std::string const& object, char const* name,
                 std::vector<std::string> const& values, hid_t space) {
    std::size_t width = 1;
    for (std::string const& value : values) width = std::max(width, value.size());
    H5Object const type(H5Tcopy(H5T_C_S1), H5Tclose, path_);
    check(H5Tset_size(type, width));
    check(H5Tset_strpad(type, H5T_STR_NULLPAD));
    H5Object const id(H5Acreate_by_name(file_, object.c_str(), name, type, space, H5P_DEFAULT,
                                        H5P_DEFAULT, H5P_DEFAULT),
                      H5Aclose, path_);
    std::string flat;
    for (std::string const& value : values) flat += value + std::string(width - value.size(), '\0');
    check(H5Awrite(id, type, flat.data()));
  }

  std::string path_;
  H5Object file_;
};

}  // namespace

bool has_keras_form(Network const& network) {
  return std::ranges::all_of(network.layers, [](DenseLayer const& layer) {
    return keras_word(layer) != nullptr || keras_class(layer) != nullptr;
  });
}

void write_keras_h5(Network const& network, std::string const& path) {
  if (!has_keras_form(network))
    throw Error(ExitCode::kBug, "a network with an activation that Keras 2 has no word for");
  H5Model file(path);
  file.text("/", "keras_version", kKerasVersion);
  file.text("/", "backend", kBackend);
  file.text("/", "model_config", model_config(network));
  std::string const root = "/model_weights";
  file.group(root);
  std::vector<std::string> names;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    names.push_back(layer_name(l));
    if (keras_class(network.layers[l]) != nullptr) names.push_back(activation_layer_name(l));
  }
  file.texts(root, "layer_names", names);
  file.text(root, "keras_version", kKerasVersion);
  file.text(root, "backend", kBackend);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    DenseLayer const& layer = network.layers[l];
    std::string const name = layer_name(l);
    std::string const group = root + "/" + name;
    file.group(group);
    file.texts(group, "weight_names", {name + "/kernel:0", name + "/bias:0"});
    file.group(group + "/" + name);
    file.floats(group + "/" + name + "/kernel:0",
                {static_cast<hsize_t>(layer.inputs), static_cast<hsize_t>(layer.outputs)},
                layer.weights);
    file.floats(group + "/" + name + "/bias:0", {static_cast<hsize_t>(layer.outputs)}, layer.bias);
    if (keras_class(layer) == nullptr) continue;
    std::string const own = root + "/" + activation_layer_name(l);
    file.group(own);
    file.no_texts(own, "weight_names");
  }
  file.flush();
}

}  // namespace fairlane
