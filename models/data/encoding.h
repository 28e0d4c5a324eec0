// How a domain file says that an attribute's codes enter the network.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/views.h"

namespace fairlane {

struct Attribute;

/// The encoding of an attribute, as its domain file states it.
/// mean, std    kAffine: the input is (code - mean) / std, computed in double and rounded once to
/// float32
/// drop_first   kOneHot: the lowest code has no column
/// rows         kTable: [codes][columns] the inputs of every code
struct Encoding {
  EncodingKind kind = EncodingKind::kIdentity;
  double mean = 0.0;
  double std = 1.0;
  bool drop_first = false;
  std::vector<std::vector<float>> rows = {};

  /// As a person reads it: "affine (mean 38.6, std 13.7)".
  std::string text() const;
};

/// Codes of an attribute up to which affine and table encodings are tabulated.
inline constexpr int kMaxTableCodes = 1 << 22;

/// Columns that an attribute with resolved bounds has in the network's input.
int encoded_width(Attribute const& attribute);

/// The encoding as kernels take it. table: filled where there is one; the view points into it.
/// Throws Error(kConfig) for too many codes, or a value that is not finite in float32.
EncodingView encoding_view(Attribute const& attribute, std::vector<float>& table);

}  // namespace fairlane
