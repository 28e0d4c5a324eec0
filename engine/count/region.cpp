#include "engine/count/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

/// Bounds of every attribute within the region, and the lists made of them.
class RegionLists {
 public:
  RegionLists(TestSubject const& subject, Region const& region)
      : subject_(subject),
        low_(subject.view().low.begin(), subject.view().low.end()),
        high_(subject.view().high.begin(), subject.view().high.end()),
        listed_(low_.size(), false),
        narrowed_(low_.size(), false) {
    for (std::int32_t const s : subject.selected()) listed_[static_cast<std::size_t>(s)] = true;
    for (AttributeRange const& range : region.ranges) narrow(range);
    if (region.rows && !region.from_data.empty()) {
      throw Error(ExitCode::kUsage,
                  "--tuple: --rows takes the combinations of all attributes from the data; "
                  "expected one of the two");
    }
  }

  /// Every attribute that is not under test in one of the lists.
  std::vector<ValueList> lists(Region const& region) {
    if (region.rows) {
      auto const rest = unlisted();
      if (!rest.empty()) list_combinations("--rows", rest);
    }
    for (auto const& names : region.from_data) list_from_data(names);
    for (int const a : unlisted()) list_range(static_cast<std::size_t>(a));
    return std::move(lists_);
  }

  std::vector<std::int64_t> rows() const { return rows_within("--rows", unlisted()); }

 private:
  std::size_t attribute_named(char const* flag, std::string const& name) const {
    int const found = subject_.domain().find(name);
    if (found < 0) {
      std::vector<std::string> names;
      for (auto const& attribute : subject_.domain().attributes) names.push_back(attribute.name);
      throw Error(ExitCode::kUsage,
                  fmt::format("{}: {} is no attribute of {}{}", flag, in_quotes(name),
                              escaped(subject_.domain().source), did_you_mean(name, names)));
    }
    auto const a = static_cast<std::size_t>(found);
    if (listed_[a]) {
      bool const tested = std::find(subject_.selected().begin(), subject_.selected().end(),
                                    found) != subject_.selected().end();
      throw Error(ExitCode::kUsage,
                  fmt::format("{}: {} is {}", flag, in_quotes(name),
                              tested ? "under test; restrict its values with `protected: {" + name +
                                           ": [...]}` instead"
                                     : "named twice, expected every attribute at most once"));
    }
    return a;
  }

  void narrow(AttributeRange const& range) {
    std::size_t const a = attribute_named("--range", range.attribute);
    if (range.low < low_[a] || range.high > high_[a] || range.low > range.high) {
      throw Error(ExitCode::kUsage, fmt::format("--range: {}={}..{} is no part of {}, {}..{}",
                                                escaped(range.attribute), range.low, range.high,
                                                narrowed_[a] ? "what an earlier --range leaves"
                                                             : "the attribute's values",
                                                low_[a], high_[a]));
    }
    low_[a] = range.low;
    high_[a] = range.high;
    narrowed_[a] = true;
  }

  Dataset const& data(char const* flag) const {
    if (subject_.data() == nullptr) {
      throw Error(ExitCode::kUsage,
                  fmt::format("{} needs rows, and the configuration names no `data`", flag));
    }
    return *subject_.data();
  }

  std::vector<int> unlisted() const {
    std::vector<int> rest;
    for (std::size_t a = 0; a < listed_.size(); ++a) {
      if (!listed_[a]) rest.push_back(static_cast<int>(a));
    }
    return rest;
  }

  void list_from_data(std::vector<std::string> const& names) {
    std::vector<int> attributes;
    for (auto const& name : names) {
      int const a = static_cast<int>(attribute_named("--tuple", name));
      if (std::find(attributes.begin(), attributes.end(), a) == attributes.end())
        attributes.push_back(a);
    }
    list_combinations("--tuple", attributes);
  }

  /// The data's rows whose values of these attributes lie within the ranges.
  std::vector<std::int64_t> rows_within(char const* flag,
                                        std::vector<int> const& attributes) const {
    Dataset const& rows = data(flag);
    std::vector<std::int64_t> found;
    for (std::int64_t r = 0; r < rows.count(); ++r) {
      bool const inside = std::all_of(attributes.begin(), attributes.end(), [&](int a) {
        std::int32_t const value = rows.rows[static_cast<std::size_t>(r * rows.attributes + a)];
        auto const i = static_cast<std::size_t>(a);
        return value >= low_[i] && value <= high_[i];
      });
      if (inside) found.push_back(r);
    }
    if (found.empty()) {
      throw Error(ExitCode::kUsage, fmt::format("{}: no row of {} lies within the given ranges",
                                                flag, escaped(rows.source)));
    }
    return found;
  }

  void list_combinations(char const* flag, std::vector<int> attributes) {
    std::sort(attributes.begin(), attributes.end());
    Dataset const& rows = data(flag);
    std::set<std::vector<std::int32_t>> found;
    for (std::int64_t const r : rows_within(flag, attributes)) {
      std::vector<std::int32_t> values;
      for (int const a : attributes)
        values.push_back(rows.rows[static_cast<std::size_t>(r * rows.attributes + a)]);
      found.insert(std::move(values));
    }
    ValueList list;
    for (int const a : attributes) listed_[static_cast<std::size_t>(a)] = true;
    list.attributes = std::move(attributes);
    for (auto const& values : found)
      list.values.insert(list.values.end(), values.begin(), values.end());
    lists_.push_back(std::move(list));
  }

  void list_range(std::size_t a) {
    ValueList list;
    list.attributes = {static_cast<int>(a)};
    auto const& view = subject_.view();
    for (std::int64_t i = 0; i < view.code_count(a); ++i) {
      std::int32_t const value = view.code_at(a, i);
      if (value >= low_[a] && value <= high_[a]) list.values.push_back(value);
    }
    if (list.values.empty()) {
      Attribute const& attribute = subject_.domain().attributes[a];
      throw Error(ExitCode::kUsage,
                  fmt::format("--range: {}={}..{} holds none of the attribute's values, {}",
                              escaped(attribute.name), low_[a], high_[a], attribute.codes_text()));
    }
    lists_.push_back(std::move(list));
  }

  TestSubject const& subject_;
  std::vector<std::int32_t> low_;
  std::vector<std::int32_t> high_;
  std::vector<bool> listed_;    // in a list, or under test
  std::vector<bool> narrowed_;  // by a --range
  std::vector<ValueList> lists_;
};

}  // namespace

Json recorded_region(Region const& region) {
  Json json;
  json["ranges"] = Json::object();
  for (auto const& range : region.ranges) json["ranges"][range.attribute] = {range.low, range.high};
  json["from_data"] = region.from_data;
  json["rows"] = region.rows;
  return json;
}

std::vector<ValueList> region_lists(TestSubject const& subject, Region const& region) {
  return RegionLists(subject, region).lists(region);
}

Workload walk_workload(double groups, std::int64_t variants, double at_once) {
  return {groups, groups * static_cast<double>(variants), groups / at_once, std::nullopt};
}

std::vector<std::int64_t> rows_within(TestSubject const& subject, Region const& region) {
  return RegionLists(subject, region).rows();
}

}  // namespace fairlane
