// A network and its domain as tensors, split at the first layer into attributes under test and free
// ones.
//
// Lanes are the last dimension, so that a layer is one product over every lane and every variant.
// The similar set shares the first layer: one product over the free attributes, plus a column for
// each combination of the tested ones.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "models/torch/plugin_api.h"

namespace fairlane {

/// Inputs on their way through a search.
/// free  [free attributes][lanes] float32 codes
/// own   [lanes] int64 variant
struct TorchLanes {
  torch::Tensor free;
  torch::Tensor own;

  std::int64_t count() const { return own.numel(); }
  TorchLanes at(torch::Tensor const& index) const {
    return {free.index_select(1, index), own.index_select(0, index)};
  }
  TorchLanes slice(std::int64_t first, std::int64_t last) const {
    return {free.slice(1, first, last), own.slice(0, first, last)};
  }
};

/// What a search asks of a network.
class LockstepSubject {
 public:
  /// Throws std::invalid_argument when keys do not fit 63 bits.
  LockstepSubject(TorchSubject const& subject, torch::Device device);

  torch::Device device() const { return low_.device(); }
  std::int64_t attributes() const { return attributes_; }
  std::int64_t variants() const { return variants_; }
  /// Units of the widest layer.
  std::int64_t widest() const;
  /// [free][1] bounds, and [free] the strides of keys.
  torch::Tensor const& low() const { return low_; }
  torch::Tensor const& high() const { return high_; }
  torch::Tensor const& strides() const { return strides_; }
  /// Keys are below this.
  std::int64_t key_limit() const { return key_limit_; }

  /// row [count][attributes], variant [count]
  TorchLanes lanes(std::int64_t count, std::int32_t const* row, std::int32_t const* variant) const;
  /// [lanes] int64, distinct for distinct inputs; the variant is the lowest digit.
  torch::Tensor keys(TorchLanes const& lanes) const;
  /// row [attributes] of a key.
  void decode(std::int64_t key, std::int32_t* row) const;

  /// [outputs][variants][lanes] logits of every variant of every lane.
  torch::Tensor logits(torch::Tensor const& free) const;
  /// Labels of logits [outputs][...]: [...] bool with one output, otherwise int64.
  torch::Tensor labels(torch::Tensor const& logits) const;
  /// [lanes] bool: two variants have different labels.
  torch::Tensor discriminates(torch::Tensor const& logits) const;
  /// [lanes] int64: the variant with the largest squared output difference, the first one of
  /// equals; own if all are equal.
  torch::Tensor farthest(torch::Tensor const& logits, torch::Tensor const& own) const;
  /// [free][2 * lanes]: gradients at each lane's own variant, then at its partner's, by the chain
  /// rule written out over layers: what autograd computes, in half of its time.
  torch::Tensor gradients(TorchSearch const& search, TorchLanes const& lanes,
                          torch::Tensor const& partner) const;

 private:
  struct Layer {
    TorchActivation activation;
    float alpha;
    torch::Tensor weight;  // [outputs][inputs]
    torch::Tensor bias;    // [outputs][1]
    torch::Tensor back;    // [inputs][outputs]
  };
  void activate(Layer const& layer, torch::Tensor& values) const;
  torch::Tensor slope(Layer const& layer, torch::Tensor const& gradient,
                      torch::Tensor const& values) const;
  /// [outputs][n] logits from the first layer's sums [units][n], which are overwritten.
  torch::Tensor tail(torch::Tensor sums) const;
  torch::Tensor probabilities(torch::Tensor const& logits) const;
  torch::Tensor logit_gradient(std::int32_t kind, torch::Tensor const& logits) const;
  torch::Tensor differences(torch::Tensor const& sums, float step) const;

  std::int64_t attributes_;
  std::int64_t variants_;
  std::int64_t key_limit_ = 1;
  float threshold_;
  std::vector<std::int32_t> bounds_low_;     // [attributes]
  std::vector<std::int64_t> free_;           // [free] attributes
  std::vector<std::int64_t> free_strides_;   // [free]
  std::vector<std::int32_t> selected_;       // [selected]
  std::vector<std::int32_t> variant_value_;  // [variants][selected]
  std::vector<Layer> layers_;                // the first one has only the free attributes
  torch::Tensor offsets_;  // [units of the first layer][variants]: tested attributes and bias
  torch::Tensor low_;
  torch::Tensor high_;
  torch::Tensor strides_;
};

}  // namespace fairlane
