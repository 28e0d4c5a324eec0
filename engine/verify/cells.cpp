#include "engine/verify/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fairlane {
namespace {

std::vector<AxisRange> pieces_of(std::int64_t values, std::int64_t size) {
  std::vector<AxisRange> pieces;
  std::int64_t const run = size == 0 ? values : size;
  for (std::int64_t first = 0; first < values; first += run) {
    pieces.push_back({static_cast<std::int32_t>(first),
                      static_cast<std::int32_t>(std::min(first + run, values)) - 1});
  }
  return pieces;
}

}  // namespace

Cells::Cells(SubjectView const& view, BoxDomain const& domain, std::int64_t size)
    : view_(view), domain_(domain) {
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    digits_.push_back(
        {-1, a, domain.axis(a).attributes.front(), pieces_of(domain.axis(a).size(), size)});
  }
  for (std::size_t s = 0; s < view.selected.size(); ++s) {
    auto const values = static_cast<std::int64_t>(view.values[s].size());
    digits_.push_back({static_cast<int>(s), 0, view.selected[s], pieces_of(values, size)});
  }
  std::ranges::sort(digits_, {}, &Digit::order);
  double product = 1.0;
  for (Digit const& digit : digits_) product *= static_cast<double>(digit.pieces.size());
  if (product > kMostCells) {
    throw Error(ExitCode::kUsage,
                fmt::format("--cells fairify:{} makes {:.3g} cells, expected at most {:.3g}; take "
                            "larger cells, or a part of the domain (--range)",
                            size, product, kMostCells));
  }
  strides_.resize(digits_.size());
  for (std::size_t d = digits_.size(); d-- > 0;) {
    strides_[d] = count_;
    count_ *= static_cast<std::int64_t>(digits_[d].pieces.size());
  }
  // The variants of every combination of pieces of the attributes under test.
  std::size_t lists = 1;
  for (Digit const& digit : digits_) {
    if (digit.selected >= 0) lists *= digit.pieces.size();
  }
  variant_lists_.resize(lists);
  for (int v = 0; v < domain.variants(); ++v) {
    std::size_t list = 0;
    std::int64_t rest = v;
    std::vector<std::int32_t> place(view.selected.size());
    for (std::size_t s = place.size(); s-- > 0;) {
      auto const values = static_cast<std::int64_t>(view.values[s].size());
      place[s] = static_cast<std::int32_t>(rest % values);
      rest /= values;
    }
    for (Digit const& digit : digits_) {
      if (digit.selected < 0) continue;
      std::int32_t const at = place[static_cast<std::size_t>(digit.selected)];
      std::size_t piece = 0;
      while (digit.pieces[piece].last < at) ++piece;
      list = list * digit.pieces.size() + piece;
    }
    variant_lists_[list].push_back(v);
  }
}

GroupBox Cells::box(std::int64_t cell) const {
  GroupBox box = domain_.whole();
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    if (digits_[d].selected < 0)
      box[digits_[d].axis] = digits_[d].pieces[static_cast<std::size_t>(digit(cell, d))];
  }
  return box;
}

std::int32_t Cells::variants(std::int64_t cell) const {
  std::int64_t list = 0;
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    if (digits_[d].selected >= 0)
      list = list * static_cast<std::int64_t>(digits_[d].pieces.size()) + digit(cell, d);
  }
  return static_cast<std::int32_t>(list);
}

std::vector<AxisRange> Cells::values(std::int64_t cell) const {
  std::vector<AxisRange> values(domain_.attributes());
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    AxisRange const piece = digits_[d].pieces[static_cast<std::size_t>(digit(cell, d))];
    if (digits_[d].selected >= 0) {
      auto const s = static_cast<std::size_t>(digits_[d].selected);
      auto const& list = view_.values[s];
      values[static_cast<std::size_t>(view_.selected[s])] = {
          list[static_cast<std::size_t>(piece.first)], list[static_cast<std::size_t>(piece.last)]};
      continue;
    }
    ValueList const& list = domain_.axis(digits_[d].axis);
    std::size_t const width = list.attributes.size();
    for (std::size_t i = 0; i < width; ++i) {
      AxisRange range;
      for (std::int32_t e = piece.first; e <= piece.last; ++e) {
        std::int32_t const value = list.values[static_cast<std::size_t>(e) * width + i];
        range = e == piece.first
                    ? AxisRange{value, value}
                    : AxisRange{std::min(range.first, value), std::max(range.last, value)};
      }
      values[static_cast<std::size_t>(list.attributes[i])] = range;
    }
  }
  return values;
}

}  // namespace fairlane
