#include "kernels/device/device_subject.h"

#include <cstring>
#include <vector>

namespace fairlane {

namespace {

/// Lays arrays out one after the other, for a block of memory at an address that is known later.
class ArenaBuilder {
 public:
  template <class T>
  std::size_t add(T const* data, std::size_t count) {
    std::size_t const at =
        (bytes_.size() + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    bytes_.resize((at + count * sizeof(T) + kArenaAlignment - 1) / kArenaAlignment *
                  kArenaAlignment);
    if (count > 0) std::memcpy(bytes_.data() + at, data, count * sizeof(T));
    return at;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
T const* at(std::byte const* base, std::size_t offset) {
  return reinterpret_cast<T const*>(base + offset);
}

}  // namespace

DeviceSubject::DeviceSubject(PackedSubject const& packed, Device& device, bool with_weights) {
  Subject const& s = packed.get();
  auto const layers = static_cast<std::size_t>(s.network.layers);
  auto const columns = static_cast<std::size_t>(s.columns);
  auto const variants = static_cast<std::size_t>(s.variants);
  auto const selected = static_cast<std::size_t>(s.selected);

  ArenaBuilder arena;
  std::size_t const layer_at = arena.add(s.network.layer, layers);
  struct DenseAt {
    std::size_t weights;
    std::size_t bias;
  };
  std::vector<DenseAt> dense_at;
  for (std::size_t l = 0; l < layers; ++l) {
    for (PackedDense const* dense : {&s.network.layer[l].forward, &s.network.layer[l].backward}) {
      auto const inputs = static_cast<std::size_t>(dense->inputs);
      auto const outputs = static_cast<std::size_t>(with_weights ? dense->outputs : 0);
      std::size_t const weights = arena.add(dense->weights, inputs * outputs);
      dense_at.push_back({weights, arena.add(dense->bias, outputs)});
    }
  }
  std::size_t const selected_at = arena.add(s.selected_column, selected);
  auto const selected_inputs = static_cast<std::size_t>(s.selected_inputs);
  std::size_t const input_at = arena.add(s.selected_input, selected_inputs);
  std::size_t const value_at = arena.add(s.variant_value, variants * selected_inputs);
  std::size_t const code_at = arena.add(s.variant_code, variants * selected);
  struct EncodingAt {
    std::size_t table = 0;
    std::size_t rise = 0;
  };
  std::size_t const encoding_at = arena.add(s.encoding, s.encoding == nullptr ? 0 : columns);
  std::vector<EncodingAt> tables(s.encoding == nullptr ? 0 : columns);
  for (std::size_t c = 0; c < tables.size(); ++c) {
    auto const& e = s.encoding[c];
    auto const codes = static_cast<std::size_t>(e.high - e.low + 1);
    if (e.table != nullptr)
      tables[c].table = arena.add(e.table, codes * static_cast<std::size_t>(e.width));
    if (e.rise == nullptr) continue;  // always of a scorer, which has no first layer
    auto const units = static_cast<std::size_t>(s.network.layer[0].forward.outputs);
    tables[c].rise = arena.add(e.rise, codes * units);
  }
  std::size_t const low_at = arena.add(s.low, columns);
  std::size_t const high_at = arena.add(s.high, columns);
  std::size_t const movable_at = arena.add(s.movable, static_cast<std::size_t>(s.movable_count));
  std::size_t const order_at = arena.add(s.variant_order, variants);
  Feasibility const& feasible = s.feasible;
  std::size_t const rule_at =
      arena.add(feasible.rule, static_cast<std::size_t>(feasible.rules + feasible.finding_rules));
  std::size_t const term_at = arena.add(feasible.term, static_cast<std::size_t>(feasible.terms));
  std::size_t const table_at = arena.add(feasible.table, static_cast<std::size_t>(feasible.words));

  auto& bytes = arena.bytes();
  memory_ = DeviceArray<std::byte>(device, bytes.size());
  std::byte const* const base = memory_.data();
  auto* const layer = reinterpret_cast<PackedLayer*>(bytes.data() + layer_at);
  for (std::size_t l = 0; l < layers; ++l) {
    layer[l].forward.weights = at<float>(base, dense_at[2 * l].weights);
    layer[l].forward.bias = at<float>(base, dense_at[2 * l].bias);
    layer[l].backward.weights = at<float>(base, dense_at[2 * l + 1].weights);
    layer[l].backward.bias = at<float>(base, dense_at[2 * l + 1].bias);
  }
  auto* const encoding = reinterpret_cast<ColumnEncoding*>(bytes.data() + encoding_at);
  for (std::size_t c = 0; c < tables.size(); ++c) {
    if (encoding[c].table != nullptr) encoding[c].table = at<float>(base, tables[c].table);
    if (encoding[c].rise != nullptr) encoding[c].rise = at<float>(base, tables[c].rise);
  }
  device.upload(memory_.data(), bytes.data(), bytes.size());
  arena_.subject = s;
  arena_.subject.rows = {};  // no device pack adds rows
  arena_.base = base;
  arena_.bytes = static_cast<std::int64_t>(bytes.size());
  arena_.subject.network.layer = at<PackedLayer>(base, layer_at);
  arena_.subject.selected_column = at<int>(base, selected_at);
  arena_.subject.selected_input = at<int>(base, input_at);
  arena_.subject.variant_value = at<float>(base, value_at);
  arena_.subject.variant_code = at<std::int32_t>(base, code_at);
  if (s.encoding != nullptr) arena_.subject.encoding = at<ColumnEncoding>(base, encoding_at);
  arena_.subject.low = at<std::int32_t>(base, low_at);
  arena_.subject.high = at<std::int32_t>(base, high_at);
  arena_.subject.movable = at<int>(base, movable_at);
  arena_.subject.variant_order = at<int>(base, order_at);
  arena_.subject.feasible.rule = at<FeasibilityRule>(base, rule_at);
  arena_.subject.feasible.term = at<FeasibilityTerm>(base, term_at);
  arena_.subject.feasible.table = at<std::int32_t>(base, table_at);

  ArenaBuilder map;
  auto const& keys = packed.keys();
  std::size_t const attribute_at = map.add(packed.attribute_of().data(), columns);
  std::size_t const model_input_at = map.add(packed.model_input().data(), columns);
  std::size_t const word_at = map.add(keys.word.data(), columns);
  std::size_t const stride_at = map.add(keys.stride.data(), columns);
  std::vector<std::uint32_t> codes(columns);
  std::vector<std::uint32_t> variant_stride(columns);
  for (std::size_t c = 0; c < columns; ++c)
    codes[c] = static_cast<std::uint32_t>(std::int64_t{s.high[c]} - s.low[c] + 1);
  auto stride = static_cast<std::uint32_t>(s.variants);
  for (int i = 0; i < s.selected; ++i) {
    auto const c = static_cast<std::size_t>(s.selected_column[i]);
    codes[c] = static_cast<std::uint32_t>(packed.selected_values(i));
    variant_stride[c] = stride /= codes[c];
  }
  std::size_t const codes_at = map.add(codes.data(), columns);
  std::size_t const variant_stride_at = map.add(variant_stride.data(), columns);
  column_memory_ = DeviceArray<std::byte>(device, map.bytes().size());
  device.upload(column_memory_.data(), map.bytes().data(), map.bytes().size());
  columns_.attribute_of = at<int>(column_memory_.data(), attribute_at);
  columns_.model_input = at<int>(column_memory_.data(), model_input_at);
  columns_.word = at<int>(column_memory_.data(), word_at);
  columns_.key_stride = at<std::uint64_t>(column_memory_.data(), stride_at);
  columns_.codes = at<std::uint32_t>(column_memory_.data(), codes_at);
  columns_.variant_stride = at<std::uint32_t>(column_memory_.data(), variant_stride_at);
}

}  // namespace fairlane
