#include "kernels/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "kernels/core/error.h"

namespace fairlane {

namespace {

/// Copies W [inputs][outputs] into tiles of `tile` outputs: tile after tile, [inputs][width].
void pack_tiles(float const* weights, int inputs, int outputs, long row_stride, long column_stride,
                int tile, float* packed) {
  for (int o = 0; o < outputs; o += tile) {
    int const width = std::min(tile, outputs - o);
    for (int k = 0; k < inputs; ++k) {
      for (int j = 0; j < width; ++j) *packed++ = weights[k * row_stride + (o + j) * column_stride];
    }
  }
}

}  // namespace

int best_tile(int outputs, int widest, int multiple) {
  // A tile of w outputs takes about max(w, kLatency) cycles per input (two packs, two fma ports); fewer tiles load less.
  constexpr int kLatency = 4;
  constexpr double kPerTile = 0.25;
  int best = 1;
  double best_cost = 1e300;
  for (int tile = 1; tile <= widest; ++tile) {
    if (tile % multiple != 0 && tile < outputs) continue;
    double cost = 0.0;
    for (int o = 0; o < outputs; o += tile)
      cost += std::max(std::min(tile, outputs - o), kLatency) + kPerTile;
    if (cost < best_cost) {
      best_cost = cost;
      best = tile;
    }
  }
  return best;
}

PackedSubject::PackedSubject(SubjectView const& view, int tile_outputs, int tile_multiple) {
  int const outputs = view.outputs();
  if (outputs > kMaxOutputs) {
    throw Error(ExitCode::kUnavailable, "model: " + std::to_string(outputs) + " outputs, at most " +
                                            std::to_string(kMaxOutputs) + " classes are supported");
  }
  order_columns(view);
  list_variants(view);
  if (view.scorer == nullptr) pack_network(view, tile_outputs, tile_multiple);
  subject_.network.classes = outputs;
  lay_out_keys();
}

void PackedSubject::order_columns(SubjectView const& view) {
  int const n = static_cast<int>(view.low.size());
  std::vector<char> is_selected(static_cast<std::size_t>(n), 0);
  for (int a : view.selected) is_selected[static_cast<std::size_t>(a)] = 1;
  auto const last = [&](int a) {
    auto const i = static_cast<std::size_t>(a);
    return view.flagged[i] != 0 || is_selected[i] != 0;
  };
  for (bool const tail : {false, true}) {
    for (int a = 0; a < n; ++a) {
      if (last(a) == tail) attribute_of_.push_back(a);
    }
  }
  column_of_.resize(static_cast<std::size_t>(n));
  subject_.columns = n;
  subject_.prefix = n;
  for (int c = 0; c < n; ++c) {
    int const a = attribute_of_[static_cast<std::size_t>(c)];
    auto const i = static_cast<std::size_t>(a);
    column_of_[i] = c;
    low_.push_back(view.low[i]);
    high_.push_back(view.high[i]);
    if (is_selected[i] != 0) {
      subject_.prefix = std::min(subject_.prefix, c);
    } else {
      movable_.push_back(c);
    }
  }
  // Selected columns in dataset order: product order, the last attribute fastest.
  for (std::size_t i = 0; i < view.selected.size(); ++i) {
    int const a = view.selected[i];
    selected_attribute_.push_back(a);
    selected_column_.push_back(column_of_[static_cast<std::size_t>(a)]);
    values_.emplace_back(view.values[i].begin(), view.values[i].end());
  }
  subject_.low = low_.data();
  subject_.high = high_.data();
  subject_.movable = movable_.data();
  subject_.movable_count = static_cast<int>(movable_.size());
  subject_.selected_column = selected_column_.data();
  subject_.selected = static_cast<int>(selected_column_.size());
  subject_.cut = view.cut;
  subject_.scores = view.scores;
}

void PackedSubject::list_variants(SubjectView const& view) {
  double product = 1.0;
  for (auto const& v : values_) product *= static_cast<double>(v.size());
  if (product > kMaxVariants) {
    throw Error(ExitCode::kUnavailable,
                "protected: " + std::to_string(static_cast<std::int64_t>(product)) +
                    " combinations of protected values, at most " + std::to_string(kMaxVariants) +
                    " are supported");
  }
  int const variants = static_cast<int>(product);
  subject_.variants = variants;
  variant_value_.reserve(static_cast<std::size_t>(variants) * values_.size());
  for (int v = 0; v < variants; ++v) {
    int stride = variants;
    int rest = v;
    for (auto const& list : values_) {
      stride /= static_cast<int>(list.size());
      variant_value_.push_back(static_cast<float>(list[static_cast<std::size_t>(rest / stride)]));
      rest %= stride;
    }
  }
  subject_.variant_value = variant_value_.data();
  int const bits = std::bit_width(static_cast<unsigned>(std::max(view.outputs(), 2) - 1));
  subject_.finite = outputs_stay_finite(view);
  bool const fits = static_cast<std::int64_t>(bits) * variants <= kPackedLabelBits;
  subject_.label_bits = subject_.finite && fits ? bits : 0;
  // Partners of a scorer are those of a network that gives the same finite scores.
  subject_.tries_partners = view.scorer != nullptr ? !fits : subject_.label_bits == 0;
  std::vector<int> order(static_cast<std::size_t>(variants));
  // Ends first, then the halves between them: far apart values separate labels soonest.
  std::vector<char> used(order.size(), 0);
  std::size_t at = 0;
  for (int step = std::max(variants - 1, 1); at < order.size(); step = std::max(step / 2, 1)) {
    for (int v = 0; v < variants; v += step) {
      if (used[static_cast<std::size_t>(v)] != 0) continue;
      used[static_cast<std::size_t>(v)] = 1;
      order[at++] = v;
    }
  }
  set_variant_order(std::move(order));
}

bool PackedSubject::outputs_stay_finite(SubjectView const& view) const {
  if (view.scorer != nullptr) return false;  // nobody knows what it may say
  // Bounds of magnitude, layer by layer in double, far enough below float's largest number that no
  // partial sum can reach it.
  constexpr double kSafe = 1.0e37;
  std::vector<double> bound;
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    bound.push_back(std::max(std::abs(static_cast<double>(view.low[a])),
                             std::abs(static_cast<double>(view.high[a]))));
  }
  for (auto const& layer : view.network) {
    std::vector<double> next(static_cast<std::size_t>(layer.outputs));
    for (std::size_t o = 0; o < next.size(); ++o) {
      double sum = std::abs(static_cast<double>(layer.bias[o]));
      for (std::size_t k = 0; k < bound.size(); ++k) {
        sum += bound[k] * std::abs(static_cast<double>(layer.weights[k * next.size() + o]));
      }
      if (!(sum < kSafe)) return false;
      double const alpha = std::abs(static_cast<double>(layer.alpha));
      switch (layer.activation) {
        case Activation::kTanh:
        case Activation::kSigmoid:
          next[o] = 1.0;
          break;
        case Activation::kElu:
          next[o] = std::max(sum, alpha);
          break;
        case Activation::kLeakyRelu:
          next[o] = sum * std::max(1.0, alpha);
          break;
        default:
          next[o] = sum;
          break;
      }
      if (!(next[o] < kSafe)) return false;
    }
    bound = std::move(next);
  }
  return true;
}

void PackedSubject::set_variant_order(std::vector<int> order) {
  variant_order_ = std::move(order);
  subject_.variant_order = variant_order_.data();
}

void PackedSubject::pack_network(SubjectView const& view, int tile_outputs, int tile_multiple) {
  auto& net = subject_.network;
  net.layers = static_cast<int>(view.network.size());
  layers_.resize(view.network.size());
  net.max_width = view.network.front().inputs;
  net.sum_width = view.network.front().inputs;
  auto const keep = [this](std::int64_t count) {
    storage_.push_back(std::make_unique<float[]>(static_cast<std::size_t>(count)));
    return storage_.back().get();
  };
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    auto const& from = view.network[l];
    auto& to = layers_[l];
    std::int64_t const count = static_cast<std::int64_t>(from.inputs) * from.outputs;
    std::vector<float> permuted(static_cast<std::size_t>(count));
    for (int k = 0; k < from.inputs; ++k) {
      int const source = l == 0 ? attribute_of_[static_cast<std::size_t>(k)] : k;
      std::copy_n(from.weights.begin() + static_cast<std::int64_t>(source) * from.outputs,
                  from.outputs, permuted.begin() + static_cast<std::int64_t>(k) * from.outputs);
    }
    float* forward = keep(count);
    float* backward = keep(count);
    float* bias = keep(from.outputs);
    float* zero = keep(from.inputs);
    int const forward_tile = best_tile(from.outputs, tile_outputs, tile_multiple);
    int const backward_tile = best_tile(from.inputs, tile_outputs, tile_multiple);
    pack_tiles(permuted.data(), from.inputs, from.outputs, from.outputs, 1, forward_tile, forward);
    pack_tiles(permuted.data(), from.outputs, from.inputs, 1, from.outputs, backward_tile,
               backward);
    std::copy(from.bias.begin(), from.bias.end(), bias);
    to.forward = {from.inputs, from.outputs, forward_tile, forward, bias};
    to.backward = {from.outputs, from.inputs, backward_tile, backward, zero};
    to.activation = from.activation;
    to.alpha = from.alpha;
    net.max_width = std::max(net.max_width, from.outputs);
    net.sum_width += from.outputs;
    forward_macs_ += count;
  }
  shared_macs_ = static_cast<std::int64_t>(subject_.prefix) * view.network.front().outputs;
  net.layer = layers_.data();
}

void PackedSubject::lay_out_keys() {
  int const n = subject_.columns;
  keys_.word.assign(static_cast<std::size_t>(n), -1);
  keys_.stride.assign(static_cast<std::size_t>(n), 0);
  // The last column is the least significant digit of its word; a word holds as many columns as fit kNarrowKeyBits
  // together with the variant, so that one word serves every domain below 2^kNarrowKeyBits.
  std::uint64_t const room =
      ((1ULL << kNarrowKeyBits) - 1) / static_cast<std::uint64_t>(subject_.variants);
  std::uint64_t stride = 1;
  int word = 0;
  for (int i = subject_.movable_count - 1; i >= 0; --i) {
    auto const c = static_cast<std::size_t>(movable_[static_cast<std::size_t>(i)]);
    auto const count =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(high_[c]) - low_[c] + 1);
    if (count > room / stride) {
      ++word;
      stride = 1;
    }
    keys_.word[c] = word;
    keys_.stride[c] = stride;
    stride *= count;
    keys_.groups *= static_cast<double>(count);
  }
  keys_.words = word + 1;
  keys_.narrow_groups = keys_.words == 1 ? stride : 0;
}

void PackedSubject::set_variant(int variant, std::int32_t* row) const {
  for (std::size_t i = 0; i < selected_attribute_.size(); ++i)
    row[selected_attribute_[i]] = variant_value(variant, static_cast<int>(i));
}

void PackedSubject::group_key(std::int32_t const* row, std::uint64_t* key) const {
  std::fill_n(key, keys_.words, 0);
  for (int const column : movable_) {
    auto const c = static_cast<std::size_t>(column);
    auto const a = static_cast<std::size_t>(attribute_of_[c]);
    key[keys_.word[c]] +=
        static_cast<std::uint64_t>(std::int64_t{row[a]} - low_[c]) * keys_.stride[c];
  }
}

int PackedSubject::variant_of(std::int32_t const* row) const {
  int variant = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    auto const& list = values_[i];
    auto const found = std::lower_bound(list.begin(), list.end(), row[selected_attribute_[i]]);
    if (found == list.end() || *found != row[selected_attribute_[i]]) return -1;
    variant = variant * static_cast<int>(list.size()) + static_cast<int>(found - list.begin());
  }
  return variant;
}

}  // namespace fairlane
