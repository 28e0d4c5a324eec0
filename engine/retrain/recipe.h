// What makes a model fairer: a row each.
#pragma once

#include <span>
#include <string_view>

namespace fairlane {

/// What a recipe changes from one candidate to the next.
enum class RecipeKind {
  kAddedRows,    // IDIs are added, retrain.share of the found ones more for each candidate
  kGrowingRows,  // ever more rows are added, until the share of IDIs no longer falls
  kConsistency,  // a term of the loss makes similar sets agree, ever stronger
  kUnaware       // the model does not see the protected attributes
};

/// candidates  models that are trained where the configuration does not say
struct Recipe {
  char const* name;
  char const* help;
  RecipeKind kind;
  int candidates = 1;
};

/// All recipes, in the order of the documentation.
std::span<Recipe const> recipes();
/// The recipe of this name. Throws Error(kBug).
Recipe const& find_recipe(std::string_view name);

/// Weight of the consistency term of candidate `number` (from 0), given the first one's.
double candidate_strength(double first, int number);

}  // namespace fairlane
