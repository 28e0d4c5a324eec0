#include "engine/verify/ensembles/box_trees.h"

#include <map>
#include <utility>

namespace fairlane {

BoxTrees::BoxTrees(BoxDomain const& domain, TreeEnsemble const& trees)
    : domain_(domain), trees_(trees) {
  struct Source {
    std::int32_t axis = kVariants;
    std::size_t place = 0;  // among the axis's inputs
  };
  std::vector<Source> sources(static_cast<std::size_t>(domain_.inputs()));
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    auto const& inputs = domain_.axis_inputs(a);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sources[static_cast<std::size_t>(inputs[i])] = {static_cast<std::int32_t>(a), i};
  }
  std::vector<Interval> inputs(sources.size());
  std::map<std::pair<std::int32_t, float>, std::int32_t> known;
  for (std::size_t n = 0; n < trees.feature.size(); ++n) {
    auto const feature = static_cast<std::size_t>(trees.feature[n]);
    auto const [at, is_new] =
        known.try_emplace({trees.feature[n], trees.threshold[n]}, conditions_.size());
    nodes_.push_back({at->second, trees.left[n], trees.right[n], 0, kNoCut});
    if (!is_new) continue;
    std::int32_t const axis = sources[feature].axis;
    std::size_t const place = sources[feature].place;
    auto const threshold = static_cast<double>(trees.threshold[n]);
    Condition condition{axis, 0, {}};
    if (axis == kVariants) {
      for (int v = 0; v < domain_.variants(); ++v) {
        domain_.enclose_variants({&v, 1}, inputs.data());
        condition.meets.push_back(inputs[feature].low <= threshold ? 1 : 0);
      }
    } else {
      auto const a = static_cast<std::size_t>(axis);
      auto const entries = static_cast<std::int32_t>(domain_.axis(a).size());
      auto const meets = [&](std::int32_t entry) {
        return domain_.values(a, entry)[place] <= threshold;
      };
      if (domain_.ordered(a)) {
        std::int32_t end = entries;
        while (condition.cut < end) {
          std::int32_t const middle = condition.cut + (end - condition.cut) / 2;
          if (meets(middle)) {
            condition.cut = middle + 1;
          } else {
            end = middle;
          }
        }
      } else {
        for (std::int32_t e = 0; e < entries; ++e) condition.meets.push_back(meets(e) ? 1 : 0);
      }
    }
    conditions_.push_back(std::move(condition));
  }
  for (Node& node : nodes_) {
    Condition const& of_node = condition(node.condition);
    node.axis = of_node.axis;
    if (of_node.meets.empty()) node.cut = of_node.cut;
  }
}

}  // namespace fairlane
