#include "engine/verify/boxes/cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/data/csv.h"

namespace fairlane {
namespace {

std::vector<AxisRange> pieces_of(AxisRange const& range, std::int64_t size) {
  std::vector<AxisRange> pieces;
  std::int64_t const run = size == 0 ? range.size() : size;
  for (std::int64_t first = range.first; first <= range.last; first += run) {
    std::int64_t const last = std::min<std::int64_t>(first + run - 1, range.last);
    pieces.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)});
  }
  return pieces;
}

}  // namespace

Cells::Cells(SubjectView const& view, BoxDomain const& domain, std::int64_t size)
    : view_(view), domain_(domain) {
  GroupBox const region = domain.whole();
  for (std::size_t a = 0; a < domain.axes(); ++a)
    digits_.push_back({-1, a, domain.axis(a).attributes.front(), pieces_of(region[a], size)});
  for (std::size_t s = 0; s < view.selected.size(); ++s) {
    auto const last = static_cast<std::int32_t>(view.values[s].size()) - 1;
    digits_.push_back({static_cast<int>(s), 0, view.selected[s], pieces_of({0, last}, size)});
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

Dataset read_cell_bounds(std::string const& path, Domain const& domain) {
  Domain ends;
  ends.source = domain.source;
  for (Attribute const& attribute : domain.attributes) {
    for (char const* end : {"_low", "_high"}) {
      Attribute column = attribute;
      column.name += end;
      ends.attributes.push_back(std::move(column));
    }
  }
  return read_csv(path, ends, Labels::kUnused);
}

Cells::Cells(SubjectView const& view, BoxDomain const& domain, Dataset const& bounds,
             Domain const& named)
    : view_(view), domain_(domain), count_(bounds.count()) {
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    if (domain.axis(a).attributes.size() > 1) {
      throw Error(ExitCode::kUsage,
                  fmt::format("--cells {}: its boxes are ranges of each attribute; leave --tuple "
                              "and --rows out",
                              in_quotes(bounds.source)));
    }
  }
  for (std::int64_t row = 0; row < count_; ++row) listed_.push_back(listed(bounds, named, row));
}

Cells::Listed Cells::listed(Dataset const& bounds, Domain const& named, std::int64_t row) {
  auto const range = [&](int attribute) {
    auto const at = static_cast<std::size_t>(row * bounds.attributes + 2 * attribute);
    return AxisRange{bounds.rows[at], bounds.rows[at + 1]};
  };
  auto const problem = [&](int attribute) {
    AxisRange const ends = range(attribute);
    Attribute const& whose = named.attributes[static_cast<std::size_t>(attribute)];
    return Error(ExitCode::kData,
                 fmt::format("{}:{}: {} from {} to {} has no value of the region, expected {}",
                             escaped(bounds.source), bounds.lines[static_cast<std::size_t>(row)],
                             in_quotes(whose.name), ends.first, ends.last, whose.codes_text()));
  };
  Listed cell;
  GroupBox const region = domain_.whole();
  cell.values.resize(domain_.attributes());
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    ValueList const& list = domain_.axis(a);
    int const attribute = list.attributes.front();
    AxisRange const ends = range(attribute);
    auto const from = list.values.begin() + region[a].first;
    auto const to = list.values.begin() + region[a].last + 1;
    auto const first = std::lower_bound(from, to, ends.first);
    auto const last = std::upper_bound(from, to, ends.last);
    if (first >= last) throw problem(attribute);
    cell.values[static_cast<std::size_t>(attribute)] = {*first, *(last - 1)};
    cell.box.push_back({static_cast<std::int32_t>(first - list.values.begin()),
                        static_cast<std::int32_t>(last - list.values.begin()) - 1});
  }
  // Variants are numbered in mixed radix, the last attribute under test fastest.
  std::vector<int> variants = {0};
  for (std::size_t s = 0; s < view_.selected.size(); ++s) {
    AxisRange const ends = range(view_.selected[s]);
    auto const& values = view_.values[s];
    std::vector<int> longer;
    AxisRange found{ends.last, ends.first};
    for (int const v : variants) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] < ends.first || values[i] > ends.last) continue;
        found = {std::min(found.first, values[i]), std::max(found.last, values[i])};
        longer.push_back(v * static_cast<int>(values.size()) + static_cast<int>(i));
      }
    }
    if (longer.empty()) throw problem(view_.selected[s]);
    cell.values[static_cast<std::size_t>(view_.selected[s])] = found;
    variants = std::move(longer);
  }
  auto const known = std::ranges::find(variant_lists_, variants);
  cell.variants = static_cast<std::int32_t>(known - variant_lists_.begin());
  if (known == variant_lists_.end()) variant_lists_.push_back(std::move(variants));
  return cell;
}

GroupBox Cells::box(std::int64_t cell) const {
  if (!listed_.empty()) return listed_[static_cast<std::size_t>(cell)].box;
  GroupBox box = domain_.whole();
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    if (digits_[d].selected < 0)
      box[digits_[d].axis] = digits_[d].pieces[static_cast<std::size_t>(digit(cell, d))];
  }
  return box;
}

std::int32_t Cells::variants(std::int64_t cell) const {
  if (!listed_.empty()) return listed_[static_cast<std::size_t>(cell)].variants;
  std::int64_t list = 0;
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    if (digits_[d].selected >= 0)
      list = list * static_cast<std::int64_t>(digits_[d].pieces.size()) + digit(cell, d);
  }
  return static_cast<std::int32_t>(list);
}

std::vector<AxisRange> Cells::values(std::int64_t cell) const {
  if (!listed_.empty()) return listed_[static_cast<std::size_t>(cell)].values;
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
