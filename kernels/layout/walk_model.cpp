#include "kernels/layout/walk_model.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace fairlane {

namespace {

constexpr int kFewWalkWarps = 4;  // below that, too few loads are under way

/// Outputs of the next layer from which it pays to look for a unit's closing.
constexpr int kWorthClosing = 12;

/// What it costs to load a tile of heads, in members.
constexpr int kLoadMembers = 8;

int rounded(int count, int to) { return (count + to - 1) / to * to; }

/// Lays arrays out one after the other, each from a whole vector on.
class Places {
 public:
  explicit Places(std::vector<float>& memory) : memory_(memory) {}

  int take(int floats) {
    auto const at = static_cast<int>(memory_.size());
    memory_.resize(memory_.size() + static_cast<std::size_t>(rounded(floats, kVectorFloats)));
    return at;
  }
  template <class T>
  int add(std::vector<T> const& values) {
    static_assert(sizeof(T) % sizeof(float) == 0);
    int const at = take(static_cast<int>(values.size() * sizeof(T) / sizeof(float)));
    if (!values.empty())
      std::memcpy(&memory_[static_cast<std::size_t>(at)], values.data(), values.size() * sizeof(T));
    return at;
  }
  float& at(int place) { return memory_[static_cast<std::size_t>(place)]; }

 private:
  std::vector<float>& memory_;
};

WalkLayer pack_layer(PackedNetwork const& net, int number, Places& places) {
  PackedLayer const& from = net.layer[number];
  PackedDense const& dense = from.forward;
  WalkLayer layer{};
  layer.activation = from.activation;
  layer.alpha = from.alpha;
  layer.inputs = dense.inputs;
  layer.outputs = dense.outputs;
  int const tiles = number == 0 ? 1 : (dense.outputs + kWidestSums - 1) / kWidestSums;
  layer.tile = (dense.outputs + tiles - 1) / tiles;
  layer.row = rounded(layer.tile, number == 0 ? kPrefixUnits : kVectorFloats);
  bool const hidden = number + 1 < net.layers;
  layer.closes = hidden && from.activation == Activation::kRelu &&
                 net.layer[number + 1].forward.outputs >= kWorthClosing;
  layer.weights = places.take(tiles * layer.inputs * layer.row);
  layer.bias = places.take(tiles * layer.row);
  // Units that only fill a vector up are closed.
  for (int o = dense.outputs; number == 0 && o < layer.row; ++o) places.at(layer.bias + o) = -1.0F;
  for (int o = 0; o < dense.outputs; ++o) {
    int const tile = o / layer.tile;
    int const column = o - tile * layer.tile;
    places.at(layer.bias + tile * layer.row + column) = dense.bias[o];
    for (int k = 0; k < dense.inputs; ++k)
      places.at(layer.weights + (tile * layer.inputs + k) * layer.row + column) =
          weight_of(dense, k, o);
  }
  return layer;
}

/// Members of the walk in the order of their groups, variant by variant, and what they have behind
/// the shared inputs.
class Members {
 public:
  Members(Subject const& subject, Walk const& walk) : subject_(subject), walk_(walk) {}

  /// Value of an input of a member; null where heads have their own.
  float const* value(int index, int input) const {
    for (int l = 0;; ++l) {
      WalkLevel const& level = walk_.level[l];
      if (input >= level.first + level.width) continue;
      if (level.value == nullptr) return nullptr;
      int const digit = member(index) / level.stride % level.size;
      return level.value + digit * level.width + input - level.first;
    }
  }

 private:
  int member(int index) const {
    return walk_.group_member[index / subject_.variants] +
           walk_.variant_member[index % subject_.variants];
  }

  Subject const& subject_;
  Walk const& walk_;
};

}  // namespace

PackedWalk::PackedWalk(PackedSubject const& subject, WalkPlan const& plan) {
  Subject const& s = subject.get();
  Walk const& walk = plan.get();
  PackedNetwork const& net = s.network;
  Places places(memory);
  std::vector<WalkLayer> layers;
  for (int l = 0; l < net.layers; ++l) layers.push_back(pack_layer(net, l, places));

  Members const members(s, walk);
  std::vector<int> owns;
  std::vector<int> own_of(static_cast<std::size_t>(s.inputs), -1);
  for (int k = walk.first_input; k < s.inputs; ++k) {
    if (members.value(0, k) != nullptr) continue;
    own_of[static_cast<std::size_t>(k)] = static_cast<int>(owns.size());
    owns.push_back(k);
  }
  std::vector<WalkTerm> terms;
  std::vector<int> chunks{0};
  for (int first = 0; first < walk.members; first += kWalkMembers) {
    std::size_t const begin = terms.size();
    for (int k = walk.first_input; k < s.inputs; ++k) {
      WalkTerm term{};
      term.input = k * layers.front().row;
      term.own = own_of[static_cast<std::size_t>(k)];
      bool adds = term.own >= 0 || (k + 1 == s.inputs && terms.size() == begin);
      for (int j = 0; j < kWalkMembers && term.own < 0; ++j) {
        term.value[j] = *members.value(std::min(first + j, walk.members - 1), k);
        adds = adds || term.value[j] != 0.0F;
      }
      if (adds) terms.push_back(term);
    }
    chunks.push_back(static_cast<int>(terms.size()));
  }
  model.layers = net.layers;
  model.layer = places.add(layers);
  model.chunk = places.add(chunks);
  model.term = places.add(terms);
  model.owns = static_cast<int>(owns.size());
  model.own = places.add(owns);
  model.floats = static_cast<int>(memory.size());

  // Heads are read where activations come to lie later: inputs, and codes where they are encoded.
  int const read = s.inputs + (s.encoding == nullptr ? 0 : s.columns);
  model.rows_a = (read + kWalkMembers - 1) / kWalkMembers;
  int* in = &model.rows_a;
  int* other = &model.rows_b;
  bool const straight = net.layers > 1 && layers.front().activation == Activation::kRelu;
  for (int l = straight ? 1 : 0; l < net.layers; ++l) {
    WalkLayer const& layer = layers[static_cast<std::size_t>(l)];
    if (l > (straight ? 1 : 0) && layer.outputs > layer.tile) std::swap(in, other);
    *in = std::max(*in, layer.outputs);
    model.widest = std::max(model.widest, layer.outputs);
  }
}

WalkShape make_walk_shape(PackedWalk const& packed, WalkPlan const& plan,
                          DeviceLimits const& limits, std::int64_t heads) {
  WalkShape shape;
  Subject const& s = plan.subject().get();
  Walk const& walk = plan.get();
  WalkLayer first;
  std::memcpy(&first, &packed.memory[static_cast<std::size_t>(packed.model.layer)], sizeof first);
  shape.lanes = limits.warp_lanes;
  shape.counters = plan.counters().size();
  shape.counter_floats = rounded(shape.counters, kVectorFloats);
  int const scratch = lay_out_walk(s, packed.model, first, shape.lanes).floats;
  constexpr std::int64_t kFloat = sizeof(float);
  std::int64_t const whole = (std::int64_t{packed.model.floats} + shape.counter_floats) * kFloat;
  std::int64_t const each = scratch * kFloat;
  auto const fit = static_cast<int>(
      std::clamp<std::int64_t>((limits.shared_per_block - whole) / each, 0, kMostWalkWarps));
  // As many for each of a multiprocessor's schedulers.
  shape.warps = fit / kFewWalkWarps * kFewWalkWarps;
  if (shape.warps == 0) return shape;
  shape.shared_bytes = static_cast<int>(whole + shape.warps * each);

  // Small pieces keep all warps busy to the end, but each loads its heads.
  std::int64_t const tiles = head_words(heads) * kHeadsPerWord / shape.lanes;
  std::int64_t const slots = std::int64_t{shape.warps} * limits.multiprocessors;
  int const unit = std::lcm(s.variants, kWalkMembers);
  int const units = (walk.members + unit - 1) / unit;
  std::int64_t least = 0;
  for (int part = 1; part <= units; ++part) {
    std::int64_t const parts = (units + part - 1) / part;
    std::int64_t const rounds = (tiles * parts + slots - 1) / slots;
    std::int64_t const cost = rounds * (part * unit + kLoadMembers);
    if (least > 0 && cost > least) continue;
    least = cost;
    shape.parts = static_cast<int>(parts);
    shape.part_members = part * unit;
  }
  shape.pieces = static_cast<int>(tiles * shape.parts);
  shape.blocks = static_cast<int>(std::min<std::int64_t>(
      limits.multiprocessors, (shape.pieces + shape.warps - 1) / shape.warps));
  return shape;
}

}  // namespace fairlane
