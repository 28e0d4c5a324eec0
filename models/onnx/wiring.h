// Which node or initializer of an ONNX graph a value comes from, and what the constant ones are.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>

#include "models/onnx/graph.h"

namespace fairlane::onnx {

bool is_float(std::int64_t type);

/// Names of values, looked up. `model` must outlive it.
class Wiring {
 public:
  /// Throws Error(kData) for a value that is computed twice. `file_bytes` bounds what constant()
  /// decodes in all, so that a small file cannot use one large tensor any number of times.
  Wiring(Model const& model, std::size_t file_bytes);

  /// The node that computes a value; null when none does.
  Node const* producer(std::string_view name) const;
  /// An input of the graph that is no initializer (before IR version 4, those are inputs, too).
  Value const* input(std::string_view name) const;
  /// Whether a value is an initializer, or a Constant, or one of these converted or transposed.
  bool is_constant(std::string_view name) const;
  /// Its shape and values. Throws Error(kData), also where it is not constant.
  Constant constant(std::string_view name) const;
  /// p, where a node puts 1 - p beside it, as scikit-learn's converter does for two classes.
  std::optional<std::string_view> two_class_scores(Node const& node) const;

 private:
  Constant decoded(std::string_view tensor, std::string const& where) const;
  Constant of_constant(Node const& node) const;

  std::map<std::string_view, Initializer const*> initializers_;
  std::map<std::string_view, Node const*> producers_;
  std::map<std::string_view, Value const*> inputs_;
  mutable std::size_t left_;  // values that may still be decoded
};

}  // namespace fairlane::onnx
