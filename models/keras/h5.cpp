// Keras models in HDF5: the layers from the attribute model_config, the weights from the group
// model_weights.
#include "models/keras/h5.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "models/keras/hdf5_file.h"
#include "models/keras/network.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxNameChunks = 4096;

// A list of names. Keras cuts lists that exceed HDF5's limit on attributes into name0, name1, ...
std::vector<std::string> read_names(Hdf5File const& file, std::string const& group,
                                    std::string const& attribute) {
  if (auto const names = file.strings(group, attribute)) return *names;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < kMaxNameChunks; ++i) {
    auto const part = file.strings(group, fmt::format("{}{}", attribute, i));
    if (!part) {
      if (i > 0) return all;
      break;
    }
    all.insert(all.end(), part->begin(), part->end());
  }
  throw file.error(group, fmt::format("has no attribute {}", attribute));
}

// "dense/kernel:0" -> "kernel"
std::string base_name(std::string const& weight) {
  std::string name = weight.substr(weight.rfind('/') + 1);
  return name.substr(0, name.find(':'));
}

// The group that holds one group per layer.
std::string weights_root(Hdf5File const& file) {
  if (file.has_group("/model_weights")) return "/model_weights";
  if (file.strings("/", "layer_names")) return "";
  throw file.error("/",
                   "has no group model_weights; save the whole model with model.save('NAME.h5')");
}

// Weights under their names, which each layer's group lists.
class NamedWeights : public KerasWeights {
 public:
  explicit NamedWeights(Hdf5File const& file)
      : file_(file),
        root_(weights_root(file)),
        layers_(read_names(file, root_.empty() ? "/" : root_, "layer_names")) {}

  Hdf5File const& file() const override { return file_; }

  std::vector<std::string> find(KerasLayer const& layer,
                                std::vector<std::string> const& names) const override {
    if (std::find(layers_.begin(), layers_.end(), layer.name) == layers_.end()) {
      throw file_.error(root_.empty() ? "/" : root_,
                        fmt::format("layer_names does not list {} of model_config{}",
                                    in_quotes(layer.name), did_you_mean(layer.name, layers_)));
    }
    std::string const group = fmt::format("{}/{}", root_, layer.name);
    if (!file_.has_group(group)) {
      throw file_.error(group, fmt::format("has no such group, expected the weights of layer {}",
                                           in_quotes(layer.name)));
    }
    std::vector<std::string> paths(names.size());
    for (std::string const& weight : read_names(file_, group, "weight_names")) {
      std::string const base = base_name(weight);
      if (base == "count" && layer.kind == KerasLayer::Kind::kNormalization) continue;  // of rows
      auto const at =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), base) - names.begin());
      if (at == names.size() || !paths[at].empty()) {
        bool const unused_bias = base == "bias" && !layer.use_bias;
        throw file_.error(group, unused_bias
                                     ? "weight_names lists a bias, but use_bias is false"
                                     : fmt::format("weight_names lists {}, expected one each of {}",
                                                   in_quotes(weight), fmt::join(names, ", ")));
      }
      paths[at] = fmt::format("{}/{}", group, weight);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (paths[i].empty()) {
        throw file_.error(group, fmt::format("weight_names lists no {}", names[i]));
      }
    }
    return paths;
  }

 private:
  Hdf5File const& file_;
  std::string root_;
  std::vector<std::string> layers_;
};

}  // namespace

Network read_keras_h5(std::string const& path) {
  Hdf5File const file(path);
  auto const text = file.strings("/", "model_config");
  if (!text) {
    if (file.has_group("/layers")) {
      throw file.error(
          "/",
          "holds weights without their configuration (save_weights); save the whole model with "
          "model.save('NAME.keras')");
    }
    bool const weights_only = file.strings("/", "layer_names").has_value();
    throw file.error(
        "/", weights_only
                 ? "holds weights without model_config (save_weights); save the whole model with "
                   "model.save('NAME.h5')"
                 : "has no attribute model_config; is it a Keras model?");
  }
  if (text->size() != 1)
    throw file.error("/", fmt::format("model_config has {} strings, expected 1", text->size()));
  KerasConfig const config =
      parse_keras_config(text->front(), escaped(path, 4096) + ":model_config");
  return build_keras_network(config, NamedWeights(file), path, "Keras HDF5");
}

}  // namespace fairlane
