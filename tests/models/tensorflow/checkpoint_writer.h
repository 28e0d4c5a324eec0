// Writes TensorFlow 1 checkpoints (NAME.index, NAME.data-00000-of-00001), independently of the
// reader under test but for the CRC, whose value the test of crc32c fixes.
#pragma once

#include <algorithm>
#include <map>

#include "base/crc32c.h"
#include "models/network.h"
#include "tests/base/formats/protobuf_writer.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// The entries of a LevelDB block with one restart; each key repeats a prefix of the one before.
inline std::string leveldb_block(std::map<std::string, std::string> const& entries) {
  std::string block;
  std::string before;
  for (auto const& [key, value] : entries) {
    std::size_t shared = 0;
    while (shared < std::min(before.size(), key.size()) && before[shared] == key[shared]) ++shared;
    block += varint(shared) + varint(key.size() - shared) + varint(value.size()) +
             key.substr(shared) + value;
    before = key;
  }
  return block + little_endian(0, 4) + little_endian(1, 4);
}

/// A LevelDB table of these blocks, each under its last key.
inline std::string leveldb_table_of(std::map<std::string, std::string> const& blocks) {
  std::string file;
  auto const add = [&](std::string block) {  // -> its handle
    std::string const handle = varint(file.size()) + varint(block.size());
    block += '\0';  // not compressed
    file += block + little_endian(masked_crc32c(block), 4);
    return handle;
  };
  std::map<std::string, std::string> index;
  for (auto const& [key, block] : blocks) index[key] = add(block);
  std::string footer = add(leveldb_block({}));  // the meta index
  footer += add(leveldb_block(index));
  footer.resize(40, '\0');
  return file + footer + little_endian(0xDB4775248B80FB57, 8);
}

/// block_entries   entries per data block
inline std::string leveldb_table(std::map<std::string, std::string> const& entries,
                                 std::size_t block_entries) {
  std::map<std::string, std::string> blocks;
  std::map<std::string, std::string> block;
  std::size_t left = entries.size();
  for (auto const& entry : entries) {
    block.insert(entry);
    if (--left != 0 && block.size() < block_entries) continue;
    blocks[entry.first] = leveldb_block(block);
    block.clear();
  }
  return leveldb_table_of(blocks);
}

/// A checkpoint under construction.
class TfCheckpointWriter {
 public:
  TfCheckpointWriter& floats(std::string const& name, std::vector<std::int64_t> const& shape,
                             std::vector<float> const& values) {
    std::string const bytes = float_bytes(values);
    return tensor(name, 1, shape, bytes, masked_crc32c(bytes));
  }
  TfCheckpointWriter& tensor(std::string const& name, std::int64_t type,
                             std::vector<std::int64_t> const& shape, std::string const& bytes,
                             std::uint32_t crc) {
    ProtobufWriter sizes;
    for (std::int64_t const size : shape) sizes.message(2, ProtobufWriter().number(1, size));
    entries_[name] = ProtobufWriter()
                         .number(1, type)
                         .message(2, sizes)
                         .number(4, static_cast<std::int64_t>(data_.size()))
                         .number(5, static_cast<std::int64_t>(bytes.size()))
                         .fixed32(6, crc)
                         .text();
    data_ += bytes;
    return *this;
  }
  std::map<std::string, std::string> entries(std::int64_t shards = 1) const {
    auto all = entries_;
    all[""] = ProtobufWriter().number(1, shards).bytes(3, "\x08\x01").text();  // the header
    return all;
  }
  std::string index(std::size_t block_entries = 4, std::int64_t shards = 1) const {
    return leveldb_table(entries(shards), block_entries);
  }
  std::string const& data() const { return data_; }
  /// Writes both files; returns NAME.
  std::string write(TemporaryFolder const& folder, std::string const& name) const {
    folder.write(name + ".index", index());
    folder.write(name + ".data-00000-of-00001", data_);
    return folder.file(name);
  }

 private:
  std::map<std::string, std::string> entries_;
  std::string data_;
};

/// NAME.meta of a graph with these operators.
inline std::string tf_meta(std::vector<std::string> const& operators) {
  ProtobufWriter graph;
  for (auto const& op : operators) {
    graph.message(1, ProtobufWriter().bytes(1, "n").bytes(2, op));
  }
  return ProtobufWriter().message(1, ProtobufWriter().bytes(1, "info")).message(2, graph).text();
}

/// A network as ADF's program saves it: linear/kernel, linear/bias, linear_1/kernel, ..., with an
/// optimizer's state beside them.
inline TfCheckpointWriter tf_checkpoint_of(Network const& network) {
  TfCheckpointWriter writer;
  writer.floats("beta1_power", {}, {0.5F});
  int k = 0;
  for (DenseLayer const& layer : network.layers) {
    std::string const scope = k == 0 ? "linear" : "linear_" + std::to_string(k);
    ++k;
    for (char const* slot : {"", "/Adam", "/Adam_1"}) {
      bool const state = *slot != '\0';
      auto const state_or = [&](std::vector<float> const& values) {
        return state ? std::vector<float>(values.size(), 7.0F) : values;
      };
      writer.floats(scope + "/kernel" + slot, {layer.inputs, layer.outputs},
                    state_or(layer.weights));
      writer.floats(scope + "/bias" + slot, {layer.outputs}, state_or(layer.bias));
    }
  }
  return writer;
}

}  // namespace fairlane
