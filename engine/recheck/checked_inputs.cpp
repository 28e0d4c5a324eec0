#include "engine/recheck/checked_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {

CheckedInputs::CheckedInputs(BoxDomain const& domain) : domain_(domain) {
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    bool rises = domain.axis_inputs(a).size() == 1;
    for (std::int32_t e = 1; rises && e < domain.axis(a).size(); ++e)
      rises = domain.values(a, e - 1)[0] <= domain.values(a, e)[0];
    rises_.push_back(rises ? 1 : 0);
  }
  std::vector<Interval> inputs(static_cast<std::size_t>(domain.inputs()));
  for (int v = 0; v < domain.variants(); ++v) {
    int const only[] = {v};
    domain.enclose_variants(only, inputs.data());
    for (int const k : domain.variant_inputs())
      variants_.push_back(inputs[static_cast<std::size_t>(k)].low);
  }
}

CheckedRange CheckedInputs::enclose(std::span<AxisRange const> box,
                                    std::span<int const> variants) const {
  auto const inputs = static_cast<std::size_t>(domain_.inputs());
  CheckedRange range{std::vector<double>(inputs), std::vector<double>(inputs)};
  for (std::size_t a = 0; a < box.size(); ++a) {
    auto const& of_axis = domain_.axis_inputs(a);
    for (std::size_t i = 0; i < of_axis.size(); ++i) {
      auto const k = static_cast<std::size_t>(of_axis[i]);
      range.low[k] = domain_.values(a, box[a].first)[i];
      range.high[k] = domain_.values(a, box[a].last)[i];
      if (rises_[a] != 0) continue;
      range.high[k] = range.low[k];
      for (std::int32_t e = box[a].first + 1; e <= box[a].last; ++e) {
        range.low[k] = std::min(range.low[k], domain_.values(a, e)[i]);
        range.high[k] = std::max(range.high[k], domain_.values(a, e)[i]);
      }
    }
  }
  auto const& of_variants = domain_.variant_inputs();
  for (std::size_t i = 0; i < of_variants.size(); ++i) {
    auto const k = static_cast<std::size_t>(of_variants[i]);
    range.low[k] = range.high[k] = of_variant(variants.front(), i);
    for (int const v : variants) {
      range.low[k] = std::min(range.low[k], of_variant(v, i));
      range.high[k] = std::max(range.high[k], of_variant(v, i));
    }
  }
  return range;
}

bool CheckedInputs::narrow(CheckedRange const& inputs, std::span<AxisRange> box) const {
  for (std::size_t a = 0; a < box.size(); ++a) {
    auto const& of_axis = domain_.axis_inputs(a);
    auto const is_out = [&](std::int32_t entry) {
      auto const values = domain_.values(a, entry);
      for (std::size_t i = 0; i < of_axis.size(); ++i) {
        auto const k = static_cast<std::size_t>(of_axis[i]);
        if (values[i] < inputs.low[k] || values[i] > inputs.high[k]) return true;
      }
      return false;
    };
    std::int32_t first = box[a].first;
    std::int32_t last = box[a].last;
    while (first <= last && is_out(first)) ++first;
    while (first <= last && is_out(last)) --last;
    if (first > last) return false;
    box[a] = {first, last};
  }
  return true;
}

void check_tables(BoxDomain const& domain, TestSubject const& subject) {
  auto const& attributes = subject.domain().attributes;
  std::vector<std::int32_t> row;
  for (Attribute const& attribute : attributes) row.push_back(attribute.code_at(0));
  std::vector<double> encoded;
  auto const compare = [&](std::vector<int> const& inputs, std::span<double const> values,
                           char const* whose, std::int64_t number) {
    encoded.clear();
    subject.domain().encode(row.data(), encoded);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto const k = static_cast<std::size_t>(inputs[i]);
      // Inputs are rounded once.
      auto const expected = static_cast<double>(static_cast<float>(encoded[k]));
      if (values[i] == expected) continue;
      throw Error(
          ExitCode::kBug,
          fmt::format("{}: input {} of {} {} is {}, expected {}; please report it",
                      escaped(subject.domain().source), k, whose, number, values[i], expected));
    }
  };
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    ValueList const& list = domain.axis(a);
    std::size_t const width = list.attributes.size();
    std::vector<std::int32_t> const before = row;
    for (std::int32_t e = 0; e < list.size(); ++e) {
      for (std::size_t i = 0; i < width; ++i) {
        row[static_cast<std::size_t>(list.attributes[i])] =
            list.values[static_cast<std::size_t>(e) * width + i];
      }
      compare(domain.axis_inputs(a), domain.values(a, e), "entry", e);
    }
    row = before;
  }
  CheckedInputs const inputs(domain);
  auto const& selected = subject.selected();
  auto const& values = subject.values();
  for (int v = 0; v < domain.variants(); ++v) {
    // Numbered in mixed radix, the last attribute under test fastest.
    auto rest = static_cast<std::size_t>(v);
    for (std::size_t s = selected.size(); s-- > 0;) {
      row[static_cast<std::size_t>(selected[s])] = values[s][rest % values[s].size()];
      rest /= values[s].size();
    }
    std::vector<double> of_variant;
    for (std::size_t i = 0; i < domain.variant_inputs().size(); ++i)
      of_variant.push_back(inputs.of_variant(v, i));
    compare(domain.variant_inputs(), of_variant, "variant", v);
  }
}

}  // namespace fairlane
