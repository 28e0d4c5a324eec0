// Local explanations by a weighted linear model (LIME, tabular).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/search/genetic/lime_model.h"

namespace fairlane {

/// Where samples of an attribute come from. scale: standard deviation, 1 where there is none
struct ColumnScale {
  double mean = 0.0;
  double scale = 1.0;
};

/// Of the table's columns [attributes]; without a table, of the domain's codes, each once.
std::vector<ColumnScale> column_scales(TestSubject const& subject);

/// Coefficients [columns] of a weighted ridge regression with a free intercept: those that minimise
/// sum w (y - a - b x)^2 + penalty b^2.
/// rows     [count][columns]
/// targets  [count]
/// weights  [count], none negative; where all are 0, so are the coefficients
std::vector<double> ridge(std::span<double const> rows, std::span<double const> targets,
                          std::span<double const> weights, double penalty);

/// Place of an attribute among the coefficients by size, from 0; of equal ones the first is before.
int rank_of(std::span<double const> coefficients, std::size_t attribute);

/// Explains a model at inputs. Every explanation is a pure function of the input, its number and
/// the run's seed. Any thread, unless the model is for one.
///
/// The samples are independent normal numbers with the columns' means and scales, wherever the
/// input lies; the input is the first of them. Distances are taken in scaled columns, and a sample
/// at distance d weighs exp(-d^2 / (2 w^2)), w = 0.75 sqrt(attributes). The linear model of label
/// 1's probability has a ridge penalty of 1.
/// Source: Ribeiro, Singh and Guestrin, "Why should I trust you?", KDD 2016; as their package for
/// tables does with discretize_continuous off.
class LimeExplainer {
 public:
  /// subject: outlives this
  LimeExplainer(TestSubject const& subject, int samples, std::uint64_t run_seed);

  bool single_thread() const { return model_.single_thread(); }
  /// Coefficients [attributes] of the linear model, in scaled columns. Throws Error where a scorer
  /// does.
  std::vector<double> explain(std::int32_t const* row, std::uint32_t number) const;
  /// rows [samples][attributes] that explain() asks the model about.
  std::vector<double> samples(std::int32_t const* row, std::uint32_t number) const;

 private:
  void draw(std::uint32_t number, std::uint32_t sample, double* row) const;

  LimeModel model_;
  std::vector<ColumnScale> scales_;
  std::size_t samples_;
  std::uint64_t run_seed_;
};

}  // namespace fairlane
