// The few things that a Keras model needs from an HDF5 file.
//
// This reads the file format itself. libhdf5 1.10 crashes or loops on about one in 300 files with a
// few flipped bytes, which no check from outside can prevent; what Keras writes is a small part of
// the format.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace fairlane {

/// A tensor as stored, converted to float32.
/// shape   [rank] sizes, slowest first
/// values  [product of shape] row-major
struct Hdf5Tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

/// An HDF5 file in memory, read only: groups, attributes that are strings, and datasets of floats
/// in one piece. Paths are absolute within the file, such as "/model_weights/dense". Chunked,
/// compressed, external and linked data are refused.
/// Every call throws Error(kData) naming the file and the path inside it when the file is
/// malformed.
/// Source: HDF5 File Format Specification 3.0, The HDF Group; superblocks 0, 2 and 3, as HDF5 1.0
/// to 1.14 write them.
class Hdf5File {
 public:
  /// Throws Error(kNoInput) when the file cannot be read.
  explicit Hdf5File(std::string const& path);
  /// Same, from memory; `source` names it in messages.
  Hdf5File(std::string bytes, std::string const& source);
  ~Hdf5File();
  Hdf5File(Hdf5File const&) = delete;
  Hdf5File& operator=(Hdf5File const&) = delete;

  std::string const& source() const { return source_; }
  bool has(std::string const& path) const;
  bool has_group(std::string const& path) const;
  /// Strings of an attribute, of fixed or variable length, one or a list; nothing when the
  /// attribute is absent.
  std::optional<std::vector<std::string>> strings(std::string const& object,
                                                  std::string const& attribute) const;
  /// A dataset of float32, float16, or float64 whose values float32 holds exactly.
  Hdf5Tensor tensor(std::string const& path) const;
  /// What is wrong at a path inside the file, for throwing.
  Error error(std::string const& path, std::string const& what) const;

 private:
  struct Impl;
  std::string source_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlane
