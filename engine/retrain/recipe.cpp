#include "engine/retrain/recipe.h"

#include <cmath>
#include <string>

#include "base/error.h"

namespace fairlane {
namespace {

constexpr double kStrengthFactor = 3.0;

constexpr Recipe kRecipes[] = {
    {.name = "consistency",
     .help =
         "a term of the loss makes the members of similar sets agree, on rows, on random inputs "
         "and on the IDIs that were found: each candidate three times as strongly",
     .kind = RecipeKind::kConsistency,
     .candidates = 4},
    {.name = "eidig",
     .help = "IDIs are added to the rows, labelled by vote; Zhang, Zhang and Zhang, ISSTA 2021. "
             "Theirs are drawn with replacement and labelled by the mean of probabilities "
             "(retrain.vote: soft)",
     .kind = RecipeKind::kAddedRows},
    {.name = "aequitas",
     .help =
         "ever more IDIs are added, 2^i to 2^(i+1) percent of the rows, until the share of IDIs "
         "no longer falls; Udeshi, Arora and Chattopadhyay, ASE 2018, algorithm 5",
     .kind = RecipeKind::kGrowingRows,
     .candidates = 7},
    {.name = "unaware",
     .help = "the network does not see the protected attributes: no IDI is left, whatever other "
             "attributes tell of them",
     .kind = RecipeKind::kUnaware},
};

}  // namespace

std::span<Recipe const> recipes() { return kRecipes; }

Recipe const& find_recipe(std::string_view name) {
  for (Recipe const& recipe : kRecipes) {
    if (name == recipe.name) return recipe;
  }
  throw Error(ExitCode::kBug, "no recipe " + std::string(name));
}

double candidate_strength(double first, int number) {
  return first * std::pow(kStrengthFactor, number);
}

}  // namespace fairlane
