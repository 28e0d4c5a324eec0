// Whether two samples differ, by ranks: what a comparison of random searches is judged by.
#pragma once

#include <span>
#include <vector>

namespace fairlane {

/// The most values of a sample for mann_whitney().
inline constexpr std::size_t kMostRanked = 50;

/// Two-sided p-value of the Mann-Whitney U test, exact: the share of all ways to deal the pooled
/// values (ties share their mean rank) whose rank sum lies at least as far from its expectation. 1
/// where a sample is empty.
/// a, b  at most kMostRanked values each; infinite ones are ranked, NaN is none
/// Source: Mann and Whitney, Annals of Mathematical Statistics 18, 1947.
double mann_whitney(std::span<double const> a, std::span<double const> b);

/// The least p-value that mann_whitney() gives two samples of so many values each, 2 / C(2n, n); at
/// most 1.
double least_p(std::size_t n);

/// The least values per sample with which holm() can leave a p-value of a family of `tests` (of two
/// samples of that size each) at `level` or below. kMostRanked + 1 where none is enough.
std::size_t least_sample(std::size_t tests, double level);

/// Probability that a value of `a` is greater than one of `b`, ties counted half; 0.5 where a
/// sample is empty.
/// Source: Vargha and Delaney's A12, Journal of Educational and Behavioral Statistics 25, 2000.
double a12(std::span<double const> a, std::span<double const> b);

/// The p-values of a family of tests, each raised so that the chance of any false alarm among them
/// stays what it was.
/// Source: Holm, Scandinavian Journal of Statistics 6, 1979.
std::vector<double> holm(std::span<double const> p);

}  // namespace fairlane
