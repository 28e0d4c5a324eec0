#include "kernels/cpu/open_walk.h"

#include <algorithm>
#include <limits>

#include "kernels/core/bits.h"

namespace fairlane {
namespace {

/// A logit of a label.
constexpr float certain_logit(int label) {
  return label == 1 ? std::numeric_limits<float>::max() : std::numeric_limits<float>::lowest();
}

}  // namespace

OpenWalk::OpenWalk(PackedSubject const& subject, WalkPlan const& plan, NearOrder const& order,
                   LaneKernels const& kernels, PackBounds const& bounds, Walker::Look look)
    : subject_(subject.get()),
      walk_(plan.get()),
      layout_(plan.counters()),
      order_(order),
      kernels_(kernels),
      scratch_(subject_, kernels.walk_lanes * kernels.walk_members),
      sums_((subject_.columns - walk_.first) * subject_.network.layer[0].forward.outputs,
            kernels.walk_lanes),
      logits_(walk_.members * subject_.network.outputs(), kTallyLanes),
      terms_(4 * subject_.network.outputs(), kTallyLanes),
      words_(1 + label_planes(subject_.network.outputs()), subject_.variants),
      evaluated_(subject_) {
  evaluated_.rows = {};  // of the whole first layer
  enclose_tail();
  lay_out_parts(look.parts);
  for (std::size_t i = 0; i < parts_.size(); ++i)
    open_.emplace_back(subject_.network, bounds, kernels, look.detailed);
  mixed_.resize(static_cast<std::size_t>(walk_.groups));
}

/// Bounds of the tail's inputs.
void OpenWalk::enclose_tail() {
  auto const inputs = static_cast<std::size_t>(subject_.inputs);
  low_.resize(inputs);
  high_.resize(inputs);
  for (int l = 0; l < subject_.columns - walk_.first; ++l) {
    WalkLevel const& level = walk_.level[l];
    if (level.value == nullptr) continue;
    for (int i = 0; i < level.width; ++i) {
      auto const k = static_cast<std::size_t>(level.first + i);
      low_[k] = high_[k] = level.value[i];
      for (int e = 1; e < level.size; ++e) {
        low_[k] = std::min(low_[k], level.value[e * level.width + i]);
        high_[k] = std::max(high_[k], level.value[e * level.width + i]);
      }
    }
  }
}

/// Parts the first level that has several values.
void OpenWalk::lay_out_parts(int parts) {
  int const levels = subject_.columns - walk_.first;
  while (parted_ + 1 < levels && walk_.level[parted_].size == 1) ++parted_;
  WalkLevel const& level = walk_.level[parted_];
  int const n = std::clamp(parts, 1, level.size);
  parts_.resize(static_cast<std::size_t>(n));
  for (int p = 0; p < n; ++p) {
    Part& part = parts_[static_cast<std::size_t>(p)];
    int const begin = level.size * p / n;
    int const end = level.size * (p + 1) / n;
    part.first = begin * level.stride;
    part.last = end * level.stride;
    if (level.value == nullptr) continue;
    float const* value = level.value + begin * level.width;
    part.low.assign(value, value + level.width);
    part.high = part.low;
    for (int e = begin + 1; e < end; ++e) {
      value += level.width;
      for (int i = 0; i < level.width; ++i) {
        auto const at = static_cast<std::size_t>(i);
        part.low[at] = std::min(part.low[at], value[i]);
        part.high[at] = std::max(part.high[at], value[i]);
      }
    }
  }
  groups_apart_ = std::all_of(walk_.variant_member, walk_.variant_member + subject_.variants,
                              [&](int offset) { return offset < level.stride; });
}

std::int64_t OpenWalk::count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
                             std::uint64_t* counters) {
  std::int64_t const end = first + count;
  std::int64_t const period = order_.period();
  out_ = {first, head_words(count), mixed, counters};
  for (std::int64_t base = first / period * period; base < end; base += period) {
    load_far(base);
    for (std::size_t i = 0; i < order_.heads().size(); ++i) {
      std::int64_t const head = base + order_.heads()[i];
      if (head >= first && head < end) add(head, i);
    }
    if (lanes_ > 0) finish_box();
  }
  tally();
  return skipped_;
}

void OpenWalk::run(std::int64_t head, std::int64_t count) {
  std::int64_t const period = order_.period();
  std::int64_t const base = head / period * period;
  auto const places = static_cast<std::int64_t>(order_.heads().size());
  count = std::min(count, places);
  std::int64_t const lanes = kernels_.walk_lanes;
  std::int64_t const place = std::min(head - base, places - count) / lanes * lanes;
  std::vector<std::uint64_t> mixed(
      static_cast<std::size_t>(walk_.groups * head_words(order_.period())));
  std::vector<std::uint64_t> counters(static_cast<std::size_t>(layout_.size()));
  out_ = {base, head_words(order_.period()), mixed.data(), counters.data()};
  load_far(base);
  for (std::int64_t i = place; i < place + count; ++i) {
    auto const at = static_cast<std::size_t>(i);
    add(base + order_.heads()[at], at);
  }
  if (lanes_ > 0) finish_box();
  tally();
}

void OpenWalk::load_far(std::int64_t base) {
  order_.far_values(base, far_);
  for (std::size_t i = 0; i < far_.size(); ++i) {
    int const k = order_.far_inputs()[i];
    low_[static_cast<std::size_t>(k)] = high_[static_cast<std::size_t>(k)] = far_[i];
    std::fill_n(input(k), kernels_.walk_lanes, far_[i]);
  }
}

void OpenWalk::add(std::int64_t head, std::size_t place) {
  place_[static_cast<std::size_t>(lanes_)] = place;
  head_[static_cast<std::size_t>(filled_ + lanes_)] = head;
  if (++lanes_ == kernels_.walk_lanes) finish_box();
}

/// Counts the box's heads, or lets them be counted together with others.
void OpenWalk::finish_box() {
  load_near();
  look();
  int const heads = lanes_;
  lanes_ = 0;
  if (auto const label = common_label()) {
    skipped_ += heads * walk_.groups;
    count_uniform(heads, *label);
    return;
  }
  std::optional<int> known;  // label of all parts that have one
  bool differ = false;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part const& part = parts_[p];
    if (!part.label) {
      evaluate(p);
      differ = differ || !part.is_bounded;
    } else if (groups_apart_) {
      fill(part);
      skipped_ += static_cast<std::int64_t>(heads) * (part.last - part.first) / subject_.variants;
    } else {
      differ = differ || (known && *known != *part.label);
      known = part.label;
    }
  }
  if (known) {
    // Groups have members in several parts: all have one label, or what is known is not enough.
    bool const uniform =
        !differ && std::all_of(parts_.begin(), parts_.end(), [&](Part const& part) {
          return part.label || have_label(part, *known);
        });
    if (uniform) {
      count_uniform(heads, *known);
      return;
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].label) evaluate(p);
    }
  }
  valid_ |= low_bits(heads) << filled_;
  filled_ += kernels_.walk_lanes;
  if (filled_ == kTallyLanes) tally();
}

/// Lanes beyond the box's heads repeat the first one.
void OpenWalk::load_near() {
  auto const lanes = static_cast<std::size_t>(kernels_.walk_lanes);
  for (auto i = static_cast<std::size_t>(lanes_); i < lanes; ++i) place_[i] = place_[0];
  for (std::size_t j = 0; j < order_.near_inputs().size(); ++j) {
    int const k = order_.near_inputs()[j];
    float const* const values = order_.near_values(j);
    float* const in = input(k);
    float low = values[place_[0]];
    float high = low;
    for (std::size_t i = 0; i < lanes; ++i) {
      float const x = values[place_[i]];
      in[i] = x;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    low_[static_cast<std::size_t>(k)] = low;
    high_[static_cast<std::size_t>(k)] = high;
  }
}

void OpenWalk::look() {
  auto const first = static_cast<std::ptrdiff_t>(walk_.level[parted_].first);
  bool const labels = subject_.network.outputs() == 1;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    std::copy(part.low.begin(), part.low.end(), low_.begin() + first);
    std::copy(part.high.begin(), part.high.end(), high_.begin() + first);
    part.is_bounded = open_[p].enclose(low_.data(), high_.data());
    part.label = part.is_bounded && labels ? open_[p].label(subject_.threshold) : std::nullopt;
  }
}

/// The label of all parts, where it is proven.
std::optional<int> OpenWalk::common_label() const {
  auto const label = parts_[0].label;
  for (Part const& part : parts_) {
    if (part.label != label) return std::nullopt;
  }
  return label;
}

void OpenWalk::evaluate(std::size_t part) {
  Part const& p = parts_[part];
  evaluated_.network = p.is_bounded ? open_[part].get() : subject_.network;
  kernels_.walk_logits(evaluated_, walk_, p.first, p.last, scratch_.get(), sums_.data(),
                       logits_.data() + filled_);
}

/// Logits of a part whose groups are known to have one label: none of them is looked at further.
void OpenWalk::fill(Part const& part) {
  for (int m = part.first; m < part.last; ++m)
    std::fill_n(logits_.row(m) + filled_, kernels_.walk_lanes, certain_logit(*part.label));
}

/// Whether all that is evaluated of a part, and proven finite, has this label.
bool OpenWalk::have_label(Part const& part, int label) const {
  for (int m = part.first; m < part.last; ++m) {
    float const* const logits = logits_.row(m) + filled_;
    int ones = 0;
    for (int i = 0; i < kernels_.walk_lanes; ++i) ones += logits[i] > subject_.threshold ? 1 : 0;
    if (ones != (label == 1 ? kernels_.walk_lanes : 0)) return false;
  }
  return true;
}

void OpenWalk::count_uniform(int heads, int label) {
  if (label == 0) return;
  for (int v = 0; v < layout_.variants; ++v)
    out_.counters[layout_.positive(v)] +=
        static_cast<std::uint64_t>(heads) * static_cast<std::uint64_t>(walk_.groups);
}

/// Counts the heads that are evaluated.
void OpenWalk::tally() {
  if (filled_ == 0) return;
  std::fill(mixed_.begin(), mixed_.end(), 0);
  kernels_.walk_tally(subject_, walk_, valid_, logits_.data(), terms_.data(), words_.data(),
                      mixed_.data(), out_.counters);
  for (std::size_t g = 0; g < mixed_.size(); ++g) {
    std::uint64_t* const row = out_.mixed + static_cast<std::int64_t>(g) * out_.words;
    for (std::uint64_t rest = mixed_[g]; rest != 0; rest &= rest - 1) {
      std::int64_t const head = head_[static_cast<std::size_t>(lowest_bit(rest))] - out_.first;
      row[head / kHeadsPerWord] |= std::uint64_t{1} << (head % kHeadsPerWord);
    }
  }
  filled_ = 0;
  valid_ = 0;
}

}  // namespace fairlane
