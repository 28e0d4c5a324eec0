#include "models/keras/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/layer_chain.h"

namespace fairlane {
namespace {

constexpr double kLeastDeviation = 1e-7;  // Normalization divides by no less

// A tensor of this shape; -1 stands for any size.
Hdf5Tensor read_weight(Hdf5File const& file, std::string const& path,
                       std::vector<std::int64_t> const& expected) {
  Hdf5Tensor tensor = file.tensor(path);
  bool same = tensor.shape.size() == expected.size();
  for (std::size_t i = 0; same && i < expected.size(); ++i) {
    same = expected[i] < 0 || tensor.shape[i] == static_cast<std::size_t>(expected[i]);
  }
  if (!same) {
    std::string wanted;
    for (std::int64_t const size : expected) {
      wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ",
                            size < 0 ? "inputs" : fmt::format("{}", size));
    }
    throw file.error(
        path, fmt::format("has shape [{}], expected [{}]", fmt::join(tensor.shape, ", "), wanted));
  }
  return tensor;
}

std::vector<double> widened(std::vector<float> const& values) {
  return {values.begin(), values.end()};
}

class Builder {
 public:
  Builder(KerasWeights const& weights, LayerChain& layers) : weights_(weights), layers_(layers) {}

  void dense(KerasLayer const& layer) {
    std::vector<std::string> names = {"kernel"};
    if (layer.use_bias) names.emplace_back("bias");
    auto const paths = weights_.find(layer, names);
    Hdf5Tensor const kernel =
        read_weight(weights_.file(), paths[0], {layers_.width().value_or(-1), layer.units});
    std::vector<double> bias;
    if (layer.use_bias) {
      bias = widened(read_weight(weights_.file(), paths[1], {layer.units}).values);
    }
    layers_.dense(layer.name, static_cast<std::int64_t>(kernel.shape[0]), layer.units,
                  widened(kernel.values), std::move(bias), layer.where);
    activation(layer);
  }

  void activation(KerasLayer const& layer) {
    layers_.activation(layer.activation, layer.alpha, layer.where);
    if (layer.scale != 1.0F)
      layers_.scaling({static_cast<double>(layer.scale)}, {0.0}, layer.where);
  }

  void batch_normalization(KerasLayer const& layer) {
    std::vector<std::string> names;
    if (layer.scales) names.emplace_back("gamma");
    if (layer.centers) names.emplace_back("beta");
    names.insert(names.end(), {"moving_mean", "moving_variance"});
    auto parts = vectors(layer, names);
    std::size_t const size = parts.back().size();
    std::vector<double> const variance = parts[parts.size() - 1];
    std::vector<double> const mean = parts[parts.size() - 2];
    std::vector<double> scale = layer.scales ? parts[0] : std::vector<double>(size, 1.0);
    std::vector<double> shift =
        layer.centers ? parts[layer.scales ? 1 : 0] : std::vector<double>(size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      scale[i] /= std::sqrt(variance[i] + layer.epsilon);
      shift[i] -= mean[i] * scale[i];
    }
    layers_.scaling(std::move(scale), std::move(shift), layer.where);
  }

  void normalization(KerasLayer const& layer) {
    std::vector<double> mean = layer.first;
    std::vector<double> variance = layer.second;
    if (mean.empty()) {
      auto const parts = vectors(layer, {"mean", "variance"});
      mean = parts[0];
      variance = parts[1];
    }
    std::vector<double> scale;
    std::vector<double> shift;
    auto const at = [](std::vector<double> const& list, std::size_t i) {
      return list[list.size() == 1 ? 0 : i];
    };
    std::size_t const size = std::max(mean.size(), variance.size());
    if (std::min(mean.size(), variance.size()) != size && mean.size() != 1 &&
        variance.size() != 1) {
      throw Error(ExitCode::kData,
                  fmt::format("{}: has {} means and {} variances, expected as many", layer.where,
                              mean.size(), variance.size()));
    }
    for (std::size_t i = 0; i < size; ++i) {
      double const deviation = std::max(std::sqrt(at(variance, i)), kLeastDeviation);
      scale.push_back(layer.inverse ? deviation : 1.0 / deviation);
      shift.push_back(layer.inverse ? at(mean, i) : -at(mean, i) / deviation);
    }
    layers_.scaling(std::move(scale), std::move(shift), layer.where);
  }

 private:
  // Weights of one size, which the chain knows or the first one says.
  std::vector<std::vector<double>> vectors(KerasLayer const& layer,
                                           std::vector<std::string> const& names) const {
    std::vector<std::vector<double>> result;
    std::int64_t size = layers_.width().value_or(-1);
    for (std::string const& path : weights_.find(layer, names)) {
      result.push_back(widened(read_weight(weights_.file(), path, {size}).values));
      size = static_cast<std::int64_t>(result.back().size());
    }
    return result;
  }

  KerasWeights const& weights_;
  LayerChain& layers_;
};

}  // namespace

Network build_keras_network(KerasConfig const& config, KerasWeights const& weights,
                            std::string const& source, std::string format) {
  LayerChain layers;
  if (config.inputs) layers.expect_width(*config.inputs, escaped(source, 4096));
  Builder builder(weights, layers);
  for (KerasLayer const& layer : config.layers) {
    switch (layer.kind) {
      case KerasLayer::Kind::kDense:
        builder.dense(layer);
        break;
      case KerasLayer::Kind::kActivation:
        builder.activation(layer);
        break;
      case KerasLayer::Kind::kBatchNormalization:
        builder.batch_normalization(layer);
        break;
      case KerasLayer::Kind::kNormalization:
        builder.normalization(layer);
        break;
      case KerasLayer::Kind::kRescaling:
        layers.scaling(layer.first, layer.second, layer.where);
        break;
    }
  }
  Network network = std::move(layers).finish(source, std::move(format));
  network.features = config.features;
  return network;
}

}  // namespace fairlane
