// A model of which something can be proven.
#pragma once

#include <memory>

#include "engine/subject/subject.h"
#include "engine/verify/deciders/box_decider.h"
#include "models/trees/trees.h"

namespace fairlane {

/// A network or an ensemble of trees, as boxes need it. The subject outlives it.
class ProvableModel {
 public:
  /// Throws Error(kUnavailable) for any other model, and where one is too large.
  explicit ProvableModel(TestSubject const& subject);
  ProvableModel(ProvableModel const&) = delete;
  ProvableModel& operator=(ProvableModel const&) = delete;
  ~ProvableModel();

  /// Kinds of pairs of labels that are looked at by themselves.
  std::size_t class_pairs() const;
  /// Throws Error(kUnavailable) where a margin is not defined.
  void check_margin(TestSubject const& subject) const;
  /// By how much what is compared may be off where every output may be off by `margin`.
  double margin(double margin) const;
  /// Whether a device can bound it.
  bool takes_devices() const;
  /// All outlive it. Throws as Backend::make_box_batch does.
  std::unique_ptr<BoxDecider> make_decider(BoxDomain const& domain, Backend& backend,
                                           VerifyQuery const& query) const;

 private:
  std::unique_ptr<BoundNetwork> network_;
  std::shared_ptr<Scorer> scorer_;  // an ensemble's
  TreeEnsemble const* trees_ = nullptr;
};

}  // namespace fairlane
