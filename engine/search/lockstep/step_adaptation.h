// What AEQUITAS has learnt: how likely a local step is to take each attribute, and to go down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/search/method.h"
#include "kernels/core/adaptive_steps.h"

namespace fairlane {

/// The probabilities of local steps and how they follow the steps' success. One step at a time it
/// is the authors' rule:
///   directions: an IDI below, or none above, makes down likelier by 0.001 per code of the step,
///   anything else less attributes: an IDI makes the attribute likelier by 0.001, anything else
///   less; then all are normalised
/// Many steps at once add up: directions by the net count, attributes in shares of at most a few
/// steps, each normalised, so that however many there are the outcome is about that of as many
/// single steps. Integers and IEEE double, + - * / on the host alone: the same everywhere.
/// Source: Udeshi, Arora and Chattopadhyay, ASE 2018, algorithm 2.
class StepAdaptation {
 public:
  /// movable: attributes that may change, in kernel order. step: codes of a local step.
  StepAdaptation(MethodSpec const& method, int movable, std::int32_t step);

  /// Learns from the events [movable][2][2] of some steps, see event_of().
  void learn(std::span<std::uint64_t const> events);
  /// Valid until the next learn().
  StepOdds odds() const { return {up_to_.data(), down_.data()}; }

  /// Probability of direction -1 for each attribute, in parts of kDirectionOdds.
  std::vector<std::int32_t> const& down() const { return down_; }
  /// Probability of each attribute.
  std::vector<double> const& share() const { return share_; }
  /// Takes what down() and share() were.
  void restore(std::vector<std::int32_t> down, std::vector<double> share);

 private:
  void learn_directions(std::span<std::uint64_t const> events);
  void learn_attributes(std::span<std::uint64_t const> events);
  void cumulate();

  bool adapts_directions_;
  bool adapts_attributes_;
  std::int32_t step_;
  std::vector<std::int32_t> down_;
  std::vector<double> share_;
  std::vector<std::int32_t> up_to_;  // cumulated share_, in parts of kAttributeOdds
};

}  // namespace fairlane
