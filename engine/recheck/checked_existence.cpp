#include "engine/recheck/checked_existence.h"

#include <algorithm>
#include <utility>

namespace fairlane {
namespace {

constexpr double kFew = 64.0;  // groups that are looked at one by one

/// Attributes that a constraint speaks of.
std::vector<int> attributes_of(Constraint const& constraint) {
  std::vector<int> attributes = constraint.attributes;
  for (CodeCondition const& condition : constraint.when) attributes.push_back(condition.attribute);
  for (CodeCondition const& condition : constraint.then) attributes.push_back(condition.attribute);
  for (SumTerm const& term : constraint.terms) attributes.push_back(term.attribute);
  return attributes;
}

bool holds_everywhere(CodeCondition const& condition, std::int32_t low, std::int32_t high) {
  return std::ranges::any_of(condition.ranges, [&](CodeInterval const& range) {
    return range.from <= low && high <= range.to;
  });
}

bool holds_nowhere(CodeCondition const& condition, std::int32_t low, std::int32_t high) {
  return std::ranges::none_of(condition.ranges, [&](CodeInterval const& range) {
    return range.from <= high && low <= range.to;
  });
}

/// Whether no row of a constraint's combinations lies between codes.
bool has_no_row(Constraint const& constraint, std::vector<std::int32_t> const& low,
                std::vector<std::int32_t> const& high) {
  std::size_t const width = constraint.attributes.size();
  for (std::size_t at = 0; at < constraint.rows.size(); at += width) {
    bool inside = true;
    for (std::size_t i = 0; i < width && inside; ++i) {
      auto const a = static_cast<std::size_t>(constraint.attributes[i]);
      std::int32_t const code = constraint.rows[at + i];
      inside = low[a] <= code && code <= high[a];
    }
    if (inside) return false;
  }
  return true;
}

/// Whether a constraint leaves nobody between codes.
bool empties(Constraint const& constraint, std::vector<std::int32_t> const& low,
             std::vector<std::int32_t> const& high) {
  auto const at = [](std::vector<std::int32_t> const& codes, int attribute) {
    return codes[static_cast<std::size_t>(attribute)];
  };
  switch (constraint.kind) {
    case ConstraintKind::kImplication:
      return std::ranges::all_of(constraint.when,
                                 [&](CodeCondition const& one) {
                                   return holds_everywhere(one, at(low, one.attribute),
                                                           at(high, one.attribute));
                                 }) &&
             std::ranges::any_of(constraint.then, [&](CodeCondition const& one) {
               return holds_nowhere(one, at(low, one.attribute), at(high, one.attribute));
             });
    case ConstraintKind::kSum: {
      std::int64_t least = 0;
      std::int64_t most = 0;
      for (SumTerm const& term : constraint.terms) {
        std::int64_t const a = std::int64_t{term.factor} * at(low, term.attribute);
        std::int64_t const b = std::int64_t{term.factor} * at(high, term.attribute);
        least += std::min(a, b);
        most += std::max(a, b);
      }
      return least > constraint.most || most < constraint.least;
    }
    case ConstraintKind::kCombinations:
      break;
  }
  return has_no_row(constraint, low, high);
}

}  // namespace

CheckedExistence::CheckedExistence(BoxDomain const& domain, Domain const& words)
    : domain_(domain), words_(words), spoken_of_(domain.axes()) {
  for (Constraint const& constraint : words.constraints) {
    for (int const attribute : attributes_of(constraint)) {
      for (std::size_t a = 0; a < domain.axes(); ++a) {
        if (std::ranges::count(domain.axis(a).attributes, attribute) > 0) spoken_of_[a] = 1;
      }
    }
  }
}

CheckedExistence::Codes CheckedExistence::codes_of(std::span<AxisRange const> box,
                                                   int variant) const {
  std::vector<std::int32_t> entries;
  for (AxisRange const& range : box) entries.push_back(range.first);
  Codes codes;
  codes.low.resize(domain_.attributes());
  domain_.row(entries, variant, codes.low.data());
  codes.high = codes.low;
  for (std::size_t i = 0; i < box.size(); ++i) {
    ValueList const& list = domain_.axis(i);
    std::size_t const width = list.attributes.size();
    // A list of one attribute ascends: its ends are enough.
    std::int32_t const step = width == 1 ? std::max(box[i].size() - 1, 1) : 1;
    for (std::int32_t e = box[i].first; e <= box[i].last; e += step) {
      for (std::size_t k = 0; k < width; ++k) {
        auto const a = static_cast<std::size_t>(list.attributes[k]);
        std::int32_t const code = list.values[static_cast<std::size_t>(e) * width + k];
        codes.low[a] = std::min(codes.low[a], code);
        codes.high[a] = std::max(codes.high[a], code);
      }
    }
  }
  return codes;
}

bool CheckedExistence::is_empty(Codes const& codes) const {
  return std::ranges::any_of(words_.constraints, [&](Constraint const& constraint) {
    return empties(constraint, codes.low, codes.high);
  });
}

std::vector<int> CheckedExistence::possible(std::span<AxisRange const> box,
                                            std::span<int const> variants) const {
  std::vector<int> possible;
  for (int const v : variants) {
    if (!is_empty(codes_of(box, v))) possible.push_back(v);
  }
  return possible;
}

bool CheckedExistence::narrow(GroupBox& box, int variant) const {
  if (is_empty(codes_of(box, variant))) return false;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t a = 0; a < box.size(); ++a) {
      if (spoken_of_[a] == 0) continue;
      AxisRange const before = box[a];
      AxisRange left = before;
      auto const is_nobody = [&](std::int32_t entry) {
        box[a] = {entry, entry};
        return is_empty(codes_of(box, variant));
      };
      while (left.first <= left.last && is_nobody(left.first)) ++left.first;
      while (left.first <= left.last && is_nobody(left.last)) --left.last;
      if (left.first > left.last) return false;
      box[a] = left;
      changed = changed || left != before;
    }
  }
  return true;
}

Emptiness CheckedExistence::look_at_all(GroupBox const& box, int variant) const {
  Emptiness found = Emptiness::kEmpty;
  std::vector<std::int32_t> row(domain_.attributes());
  each_point(std::span<AxisRange const>(box), [&](std::vector<std::int32_t> const& entries) {
    domain_.row(entries, variant, row.data());
    if (domain_.excess(entries) == 0 && exists(row.data())) found = Emptiness::kPeopled;
    return found == Emptiness::kEmpty;
  });
  return found;
}

std::size_t CheckedExistence::axis_to_halve(GroupBox const& box) const {
  std::size_t best = box.size();
  auto const rank = [&](std::size_t a) { return std::pair(spoken_of_[a], box[a].size()); };
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (box[a].size() > 1 && (best == box.size() || rank(a) > rank(best))) best = a;
  }
  return best;
}

Emptiness CheckedExistence::look(GroupBox const& box, int variant, int effort) const {
  std::vector<GroupBox> open = {box};
  for (int looks = 0; !open.empty(); ++looks) {
    if (looks == effort) return Emptiness::kNotKnown;
    GroupBox part = std::move(open.back());
    open.pop_back();
    if (!domain_.keep_limits(part) || !narrow(part, variant)) continue;
    if (domain_.groups(part) <= kFew) {
      if (look_at_all(part, variant) == Emptiness::kPeopled) return Emptiness::kPeopled;
      continue;
    }
    std::size_t const axis = axis_to_halve(part);
    AxisRange const whole = part[axis];
    std::int32_t const middle = whole.first + (whole.last - whole.first) / 2;
    part[axis] = {middle + 1, whole.last};
    open.push_back(part);
    part[axis] = {whole.first, middle};
    open.push_back(std::move(part));
  }
  return Emptiness::kEmpty;
}

Emptiness CheckedExistence::look(GroupBox const& box, std::span<int const> variants,
                                 int effort) const {
  Emptiness all = Emptiness::kEmpty;
  for (int const v : variants) {
    Emptiness const one = look(box, v, effort);
    if (one == Emptiness::kPeopled) return one;
    if (one == Emptiness::kNotKnown) all = one;
  }
  return all;
}

}  // namespace fairlane
