// Tensors of a TensorFlow checkpoint (V2): NAME.index, a LevelDB table, and NAME.data-*.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairlane {

/// A tensor's entry in the index (BundleEntryProto).
struct TfEntry {
  std::int64_t type = 0;  // DataType
  std::vector<std::int64_t> shape;
  std::int64_t shard = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // bytes
  std::uint32_t crc = 0;   // masked CRC-32C of the bytes
  bool sliced = false;     // kept in pieces
};

/// The index, by name of the tensor. `source` names it in messages.
/// Throws Error(kData): malformed, compressed, a CRC that does not match, more than one data file.
/// Source: LevelDB, table_format.md; tensorflow/core/protobuf/tensor_bundle.proto.
std::map<std::string, TfEntry> parse_tf_index(std::string_view bytes, std::string const& source);

/// A float32 tensor's values out of the bytes of the data file, which `source` names.
/// Throws Error(kData): outside the file, of another type, or not of its CRC.
std::vector<float> read_tf_tensor(std::string_view data, TfEntry const& entry,
                                  std::string const& name, std::string const& source);

}  // namespace fairlane
