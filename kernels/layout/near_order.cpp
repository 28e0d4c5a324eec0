#include "kernels/layout/near_order.h"

#include <algorithm>
#include <cmath>

namespace fairlane {
namespace {

constexpr std::int64_t kLeastPeriod = 512;  // or the last tiles of each are a part of the time

}  // namespace

NearOrder::NearOrder(WalkPlan const& plan, int lanes, std::int64_t most_period) {
  lay_out_factors(plan);
  first_ = factors_.size();
  while (first_ > 0 && period_ < kLeastPeriod && period_ * factors_[first_ - 1].size <= most_period)
    period_ *= factors_[--first_].size;
  std::size_t along = factors_.size();
  int width = 1;
  choose_strips(lanes, along, width);
  place(along, width);
  list_near();
}

void NearOrder::lay_out_factors(WalkPlan const& plan) {
  Walk const& walk = plan.get();
  PackedSubject const& subject = plan.subject();
  Subject const& s = subject.get();
  PackedDense const& first = s.network.layer[0].forward;
  std::int64_t stride = walk.heads;
  for (int f = 0; f < walk.factors; ++f) {
    WalkFactor const& from = walk.factor[f];
    Factor factor;
    factor.size = from.size;
    stride /= from.size;
    factor.stride = stride;
    for (int c = 0; c < from.columns; ++c) {
      for (int k = s.input_of(from.column[c]); k < s.input_of(from.column[c] + 1); ++k)
        factor.input.push_back(k);
    }
    for (std::int64_t e = 0; e < from.size; ++e) {
      for (int c = 0; c < from.columns; ++c)
        subject.append_inputs(from.column[c], from.value[e * from.columns + c], factor.values);
    }
    std::size_t const width = factor.input.size();
    for (std::size_t i = 0; i < width; ++i) {
      double change = 0.0;
      for (std::size_t at = width + i; at < factor.values.size(); at += width)
        change += std::abs(double{factor.values[at]} - double{factor.values[at - width]});
      double weight = 0.0;
      for (int o = 0; o < first.outputs; ++o)
        weight += std::abs(weight_of(first, factor.input[i], o));
      if (from.size > 1) factor.step += weight * change / static_cast<double>(from.size - 1);
    }
    factors_.push_back(std::move(factor));
  }
}

void NearOrder::choose_strips(int lanes, std::size_t& along, int& width) const {
  double least = 0.0;
  for (std::size_t a = first_; a < factors_.size(); ++a) {
    std::vector<Factor const*> others;
    for (std::size_t f = first_; f < factors_.size(); ++f) {
      if (f != a) others.push_back(&factors_[f]);
    }
    std::sort(others.begin(), others.end(),
              [](Factor const* x, Factor const* y) { return x->step < y->step; });
    auto const size = static_cast<double>(factors_[a].size);
    for (int w = 1; w <= std::min<std::int64_t>(lanes, factors_[a].size); ++w) {
      double const strip = size / std::ceil(size / w);
      double rows = lanes / strip;
      if (rows != std::floor(rows)) rows = std::ceil(rows) + 0.5;  // and parts of two
      double span = (strip - 1.0) * factors_[a].step;
      for (Factor const* other : others) {
        if (rows <= 1.0) break;
        auto const entries = static_cast<double>(other->size);
        span += (std::min(rows, entries) - 1.0) * other->step;
        rows /= entries;
      }
      if (along < factors_.size() && span >= least) continue;
      least = span;
      along = a;
      width = w;
    }
  }
}

void NearOrder::place(std::size_t along, int width) {
  if (along == factors_.size()) {
    heads_.push_back(0);
    return;
  }
  // Heads of all combinations of the others, a step from one to the next: each factor goes up and
  // down in turns while those before it change once.
  std::vector<std::size_t> others;
  for (std::size_t f = first_; f < factors_.size(); ++f) {
    if (f != along) others.push_back(f);
  }
  std::sort(others.begin(), others.end(),
            [&](std::size_t x, std::size_t y) { return factors_[x].step > factors_[y].step; });
  std::vector<std::int64_t> rows{0};
  for (std::size_t const f : others) {
    std::vector<std::int64_t> next;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::int64_t e = 0; e < factors_[f].size; ++e) {
        std::int64_t const entry = r % 2 == 0 ? e : factors_[f].size - 1 - e;
        next.push_back(rows[r] + entry * factors_[f].stride);
      }
    }
    rows.swap(next);
  }
  Factor const& strip = factors_[along];
  std::int64_t const strips = (strip.size + width - 1) / width;
  for (std::int64_t i = 0; i < strips; ++i) {
    for (std::int64_t const row : rows) {
      for (std::int64_t e = strip.size * i / strips; e < strip.size * (i + 1) / strips; ++e)
        heads_.push_back(static_cast<int>(row + e * strip.stride));
    }
    std::reverse(rows.begin(), rows.end());
  }
}

void NearOrder::list_near() {
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    Factor const& factor = factors_[f];
    if (f < first_) {
      far_inputs_.insert(far_inputs_.end(), factor.input.begin(), factor.input.end());
      continue;
    }
    std::size_t const width = factor.input.size();
    for (std::size_t i = 0; i < width; ++i) {
      near_inputs_.push_back(factor.input[i]);
      for (int const head : heads_) {
        auto const entry = static_cast<std::size_t>(head / factor.stride % factor.size);
        near_values_.push_back(factor.values[entry * width + i]);
      }
    }
  }
}

void NearOrder::far_values(std::int64_t head, std::vector<float>& values) const {
  values.clear();
  for (std::size_t f = 0; f < first_; ++f) {
    Factor const& factor = factors_[f];
    auto const width = static_cast<std::ptrdiff_t>(factor.input.size());
    auto const* const entry = factor.values.data() + head / factor.stride % factor.size * width;
    values.insert(values.end(), entry, entry + width);
  }
}

}  // namespace fairlane
