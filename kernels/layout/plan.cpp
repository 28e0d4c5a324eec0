#include "kernels/layout/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/error.h"
#include "kernels/core/feasibility.h"
#include "kernels/core/labels.h"

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
  // A tile of w outputs takes about max(w, kLatency) cycles per input (two packs, two fma ports);
  // fewer tiles load less.
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
  pack_constraints(view);
  encode_columns(view);
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
    auto const codes = view.codes_of(i);
    lists_.emplace_back(codes.begin(), codes.end());
    low_.push_back(codes.empty() ? view.low[i] : 0);
    high_.push_back(codes.empty() ? view.high[i] : static_cast<std::int32_t>(codes.size()) - 1);
    if (is_selected[i] != 0) {
      subject_.prefix = std::min(subject_.prefix, c);
      continue;
    }
    group_columns_.push_back(c);
    if (view.immutable.empty() || view.immutable[i] == 0) movable_.push_back(c);
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
  subject_.threshold = view.threshold;
  subject_.scores = view.scores;
}

void PackedSubject::pack_constraints(SubjectView const& view) {
  std::vector<ConstrainedColumn> columns;
  for (std::size_t a = 0; a < column_of_.size(); ++a) {
    auto const c = static_cast<std::size_t>(column_of_[a]);
    auto const selected =
        std::find(selected_column_.begin(), selected_column_.end(), column_of_[a]);
    bool const is_selected = selected != selected_column_.end();
    columns.push_back({column_of_[a],
                       is_selected ? static_cast<int>(selected - selected_column_.begin()) : -1,
                       low_[c], high_[c], lists_[c]});
  }
  constraints_ =
      PackedConstraints(view.constraints, view.finding_constraints, view.finding_slack, columns);
  subject_.feasible = constraints_.get();
}

bool PackedSubject::exists(std::int32_t const* row) const {
  return subject_.feasible.rules == 0 ||
         Feasible<ScalarPack>::own(subject_, places_of(row).data(), 1);
}

bool PackedSubject::may_be_finding(std::int32_t const* row) const {
  return subject_.feasible.finding_rules == 0 ||
         Feasible<ScalarPack>::finding(subject_, places_of(row).data(), 1);
}

std::vector<std::int32_t> PackedSubject::places_of(std::int32_t const* row) const {
  std::vector<std::int32_t> places;
  for (int c = 0; c < subject_.columns; ++c)
    places.push_back(place_of(c, row[attribute_of_[static_cast<std::size_t>(c)]]));
  return places;
}

float* PackedSubject::keep(std::int64_t count) {
  storage_.push_back(std::make_unique<float[]>(static_cast<std::size_t>(count)));
  return storage_.back().get();
}

void PackedSubject::encode_columns(SubjectView const& view) {
  std::vector<int> first_input;  // [attributes] in the network
  int inputs = 0;
  bool plain = true;
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    first_input.push_back(inputs);
    inputs += view.encoding(a).width;
    plain = plain && view.encoding(a).kind == EncodingKind::kIdentity && view.codes_of(a).empty();
  }
  subject_.inputs = inputs;
  int next = 0;
  for (int c = 0; c < subject_.columns; ++c) {
    auto const i = static_cast<std::size_t>(c);
    auto const a = static_cast<std::size_t>(attribute_of_[i]);
    EncodingView const from = view.encoding(a);
    if (c == subject_.prefix) subject_.input_prefix = next;
    model_input_.push_back(first_input[a]);
    for (int k = 0; k < from.width; ++k) source_input_.push_back(first_input[a] + k);
    ColumnEncoding to{from.kind,
                      from.dropped,
                      next,
                      from.width,
                      low_[i],
                      high_[i],
                      static_cast<float>(from.slope)};
    auto const table = from.table;
    if (!table.empty()) {
      float* const copy = keep(static_cast<std::int64_t>(table.size()));
      std::copy(table.begin(), table.end(), copy);
      to.table = copy;
    } else if (!lists_[i].empty() && from.kind == EncodingKind::kIdentity) {
      to.kind = EncodingKind::kTable;  // of the codes
      float* const codes = keep(static_cast<std::int64_t>(lists_[i].size()));
      std::transform(lists_[i].begin(), lists_[i].end(), codes,
                     [](std::int32_t code) { return static_cast<float>(code); });
      to.table = codes;
    } else if (!lists_[i].empty() && from.kind == EncodingKind::kAffine) {
      to.kind = EncodingKind::kTable;
    }
    next += from.width;
    encodings_.push_back(to);
  }
  if (subject_.prefix == subject_.columns) subject_.input_prefix = next;
  if (plain) encodings_.clear();
  subject_.encoding = plain ? nullptr : encodings_.data();
  for (int const c : selected_column_) {
    int const width = plain ? 1 : encodings_[static_cast<std::size_t>(c)].width;
    for (int k = 0; k < width; ++k) selected_input_.push_back(subject_.input_of(c) + k);
  }
  subject_.selected_input = selected_input_.data();
  subject_.selected_inputs = static_cast<int>(selected_input_.size());
}

void PackedSubject::encode(std::int32_t const* row, float* inputs) const {
  for (int c = 0; c < subject_.columns; ++c) {
    auto const i = static_cast<std::size_t>(c);
    std::int32_t const place = place_of(c, row[attribute_of_[i]]);
    encode_column<ScalarPack>(encodings_.empty() ? ColumnEncoding{} : encodings_[i], place,
                              inputs + model_input_[i], 1);
  }
}

void PackedSubject::append_inputs(int column, std::int32_t place,
                                  std::vector<float>& inputs) const {
  std::size_t const at = inputs.size();
  auto const encoding =
      encodings_.empty() ? ColumnEncoding{} : encodings_[static_cast<std::size_t>(column)];
  inputs.resize(at + static_cast<std::size_t>(encoding.width));
  encode_column<ScalarPack>(encoding, place, inputs.data() + at, 1);
}

float const* PackedSubject::rises_of(ColumnEncoding const& encoding, LayerView const& layer,
                                     int first_input) {
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  std::int32_t const codes = encoding.high - encoding.low + 1;
  float* const rises = keep(std::int64_t{codes} * layer.outputs + kRowFloats);  // read by packs
  std::vector<float> from(static_cast<std::size_t>(encoding.width));
  std::vector<float> to(from.size());
  for (std::int32_t row = 0; row < codes; ++row) {
    std::int32_t const start =
        std::max(0, std::min(row, codes - 2));  // of the last step at the end
    encode_column<ScalarPack>(encoding, encoding.low + start, from.data(), 1);
    encode_column<ScalarPack>(encoding, encoding.low + std::min(start + 1, codes - 1), to.data(),
                              1);
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = 0.0;
      for (std::size_t k = 0; k < from.size(); ++k) {
        auto const weight =
            layer.weights[(static_cast<std::size_t>(first_input) + k) * outputs + o];
        sum += (static_cast<double>(to[k]) - static_cast<double>(from[k])) *
               static_cast<double>(weight);
      }
      rises[static_cast<std::size_t>(row) * outputs + o] = static_cast<float>(sum);
    }
  }
  return rises;
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
  variant_value_.reserve(static_cast<std::size_t>(variants) * selected_input_.size());
  variant_code_.reserve(static_cast<std::size_t>(variants) * values_.size());
  for (int v = 0; v < variants; ++v) {
    int stride = variants;
    int rest = v;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      auto const& list = values_[i];
      stride /= static_cast<int>(list.size());
      int const column = selected_column_[i];
      variant_code_.push_back(place_of(column, list[static_cast<std::size_t>(rest / stride)]));
      append_inputs(column, variant_code_.back(), variant_value_);
      rest %= stride;
    }
  }
  subject_.variant_value = variant_value_.data();
  subject_.variant_code = variant_code_.data();
  int const bits = std::bit_width(static_cast<unsigned>(std::max(view.outputs(), 2) - 1));
  outputs_are_finite_ = outputs_stay_finite(view);
  subject_.finite = outputs_are_finite_ && !is_constrained();
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
    EncodingView const encoding = view.encoding(a);
    auto const width = static_cast<std::size_t>(encoding.width);
    bool const plain = encoding.kind == EncodingKind::kIdentity;
    bound.resize(bound.size() + width, plain ? std::max(std::abs(static_cast<double>(view.low[a])),
                                                        std::abs(static_cast<double>(view.high[a])))
                                       : encoding.table.empty() ? 1.0
                                                                : 0.0);
    for (std::size_t i = 0; i < encoding.table.size(); ++i) {
      double& largest = bound[bound.size() - width + i % width];
      largest = std::max(largest, std::abs(static_cast<double>(encoding.table[i])));
    }
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
          next[o] = sum;  // a gated one's result is no larger, either
          break;
      }
      if (!(next[o] < kSafe)) return false;
    }
    bound = std::move(next);
  }
  return true;
}

std::vector<float> PackedSubject::slopes(SubjectView const& view, LayerView const& layer) {
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  std::vector<float> rows(static_cast<std::size_t>(subject_.columns) * outputs, 0.0F);
  for (int c = 0; c < subject_.columns; ++c) {
    auto const i = static_cast<std::size_t>(c);
    ColumnEncoding& encoding = encodings_[i];
    int const input = source_input_[static_cast<std::size_t>(encoding.first)];
    if (encoding.steps()) {
      bool const moves = std::binary_search(movable_.begin(), movable_.end(), c);
      if (moves) encoding.rise = rises_of(encoding, layer, input);
      continue;
    }
    double const slope = view.encoding(static_cast<std::size_t>(attribute_of_[i])).slope;
    float const* const weights = layer.weights.data() + static_cast<std::size_t>(input) * outputs;
    for (std::size_t o = 0; o < outputs; ++o)
      rows[i * outputs + o] = static_cast<float>(slope * static_cast<double>(weights[o]));
  }
  return rows;
}

std::int32_t PackedSubject::place_in(std::vector<std::int32_t> const& list, std::int32_t code) {
  auto const found = std::lower_bound(list.begin(), list.end(), code);
  return found == list.end() || *found != code ? 0
                                               : static_cast<std::int32_t>(found - list.begin());
}

void PackedSubject::set_variant_order(std::vector<int> order) {
  variant_order_ = std::move(order);
  subject_.variant_order = variant_order_.data();
}

void PackedSubject::pack_rows(LayerView const& layer) {
  RowWeights& rows = subject_.rows;
  rows.terms = subject_.inputs;
  for (auto const& encoding : encodings_) {
    if (encoding.kind == EncodingKind::kOneHot) rows.terms -= encoding.width - 1;
  }
  if (rows.terms == subject_.inputs) return;
  auto const units = static_cast<std::size_t>(layer.outputs);
  rows.stride = (layer.outputs + kRowFloats - 1L) / kRowFloats * kRowFloats;
  std::int64_t const floats = (subject_.inputs + 3L) * rows.stride;
  void* memory = keep(floats);
  auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
  constexpr std::size_t kLine = kRowFloats * sizeof(float);
  auto* row = static_cast<float*>(std::align(kLine, bytes - kLine, memory, bytes));
  rows.weights = row;
  for (int const source : source_input_) {
    std::copy_n(layer.weights.begin() + source * std::ptrdiff_t{layer.outputs}, units, row);
    row += rows.stride;
  }
  std::copy_n(layer.bias.begin(), units, row + rows.stride);
}

void PackedSubject::pack_network(SubjectView const& view, int tile_outputs, int tile_multiple) {
  auto& net = subject_.network;
  net.layers = static_cast<int>(view.network.size());
  layers_.resize(view.network.size());
  net.max_width = view.network.front().inputs;
  net.sum_width = view.network.front().inputs;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    auto const& from = view.network[l];
    auto& to = layers_[l];
    std::int64_t const count = static_cast<std::int64_t>(from.inputs) * from.outputs;
    std::vector<float> permuted(static_cast<std::size_t>(count));
    for (int k = 0; k < from.inputs; ++k) {
      int const source = l == 0 ? source_input_[static_cast<std::size_t>(k)] : k;
      std::copy_n(from.weights.begin() + static_cast<std::int64_t>(source) * from.outputs,
                  from.outputs, permuted.begin() + static_cast<std::int64_t>(k) * from.outputs);
    }
    int const back_outputs = l == 0 ? subject_.columns : from.inputs;
    float* forward = keep(count);
    float* backward = keep(std::int64_t{from.outputs} * back_outputs);
    float* bias = keep(from.outputs);
    float* zero = keep(back_outputs);
    int const forward_tile = best_tile(from.outputs, tile_outputs, tile_multiple);
    int const backward_tile = best_tile(back_outputs, tile_outputs, tile_multiple);
    pack_tiles(permuted.data(), from.inputs, from.outputs, from.outputs, 1, forward_tile, forward);
    if (l == 0 && !encodings_.empty()) permuted = slopes(view, from);
    pack_tiles(permuted.data(), from.outputs, back_outputs, 1, from.outputs, backward_tile,
               backward);
    std::copy(from.bias.begin(), from.bias.end(), bias);
    to.forward = {from.inputs, from.outputs, forward_tile, forward, bias};
    to.backward = {from.outputs, back_outputs, backward_tile, backward, zero};
    to.activation = from.activation;
    to.alpha = from.alpha;
    net.max_width = std::max(net.max_width, from.outputs);
    net.sum_width += from.outputs;
    forward_macs_ += count;
  }
  pack_rows(view.network.front());
  shared_macs_ = static_cast<std::int64_t>(subject_.input_prefix) * view.network.front().outputs;
  net.layer = layers_.data();
}

void PackedSubject::lay_out_keys() {
  int const n = subject_.columns;
  keys_.word.assign(static_cast<std::size_t>(n), -1);
  keys_.stride.assign(static_cast<std::size_t>(n), 0);
  // The last column is the least significant digit of its word; a word holds as many columns as fit
  // kNarrowKeyBits together with the variant, so that one word serves every domain below
  // 2^kNarrowKeyBits.
  std::uint64_t const room =
      ((1ULL << kNarrowKeyBits) - 1) / static_cast<std::uint64_t>(subject_.variants);
  std::uint64_t stride = 1;
  int word = 0;
  for (std::size_t i = group_columns_.size(); i-- > 0;) {
    auto const c = static_cast<std::size_t>(group_columns_[i]);
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
  for (int const column : group_columns_) {
    auto const c = static_cast<std::size_t>(column);
    auto const a = static_cast<std::size_t>(attribute_of_[c]);
    key[keys_.word[c]] +=
        static_cast<std::uint64_t>(std::int64_t{place_of(column, row[a])} - low_[c]) *
        keys_.stride[c];
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
