#include "models/tensorflow/bundle.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/formats/byte_cursor.h"
#include "base/formats/protobuf_wire.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kFooterBytes = 48;
constexpr std::uint64_t kMagic = 0xDB4775248B80FB57;  // of a LevelDB table
constexpr std::size_t kBlockTrailer = 5;              // kind of compression, CRC
constexpr std::size_t kMaxEntries = std::size_t{1} << 16;
constexpr std::size_t kMaxKeyBytes = std::size_t{1}
                                     << 26;  // of all: each may repeat the one before
constexpr std::size_t kMaxRank = 32;
constexpr std::int64_t kFloat = 1;  // DataType DT_FLOAT

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

Range read_range(ByteCursor& cursor) {
  std::uint64_t const offset = cursor.varint();
  return {offset, cursor.varint()};
}

std::string_view part(std::string_view bytes, Range range, char const* title) {
  if (range.offset > bytes.size() || range.size > bytes.size() - range.offset) {
    throw Malformed{fmt::format("{} takes {} bytes at {}, beyond the end at {}", title, range.size,
                                range.offset, bytes.size())};
  }
  return bytes.substr(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
}

std::string_view read_block(std::string_view file, Range range) {
  std::string_view const block = part(file, range, "a block");
  if (range.size > file.size() - kBlockTrailer) throw Malformed{"a block has no trailer"};
  std::string_view const trailer =
      part(file, {range.offset + range.size, kBlockTrailer}, "a block's trailer");
  std::uint32_t const stored = ByteCursor(trailer.substr(1), "a block's trailer").u32();
  std::uint32_t const found =
      masked_crc32c(file.substr(static_cast<std::size_t>(range.offset), block.size() + 1));
  if (found != stored) {
    throw Malformed{
        fmt::format("a block is damaged: its CRC-32C is {:08x}, expected {:08x}", found, stored)};
  }
  if (trailer[0] != 0) {
    throw Malformed{fmt::format("a block is compressed (kind {}), which is not supported",
                                static_cast<int>(static_cast<unsigned char>(trailer[0])))};
  }
  return block;
}

// Calls `each` with the keys and values of a block, in order. A key repeats a prefix of the one
// before.
template <class Each>
void for_each_entry(std::string_view block, Each const& each) {
  if (block.size() < 4) throw Malformed{"a block ends early"};
  std::uint32_t const restarts = ByteCursor(block.substr(block.size() - 4), "a block").u32();
  if (restarts > (block.size() - 4) / 4) throw Malformed{"a block ends early"};
  ByteCursor cursor(block.substr(0, block.size() - 4 - std::size_t{4} * restarts), "a block");
  std::string key;
  while (cursor.left() > 0) {
    std::uint64_t const shared = cursor.varint();
    std::uint64_t const fresh = cursor.varint();
    std::uint64_t const size = cursor.varint();
    if (shared > key.size()) throw Malformed{"a key repeats more than the one before it"};
    key.resize(static_cast<std::size_t>(shared));
    key += cursor.take(fresh);
    each(key, cursor.take(size));
  }
}

// TensorShapeProto
std::vector<std::int64_t> read_shape(std::string_view message) {
  std::vector<std::int64_t> shape;
  ProtobufReader reader(message);
  while (auto const field = reader.next()) {
    if (field->number != 2) continue;
    if (shape.size() >= kMaxRank)
      throw Malformed{fmt::format("has more than {} dimensions", kMaxRank)};
    std::int64_t size = 0;
    ProtobufReader dimension(field->content());
    while (auto const one = dimension.next()) {
      if (one->number == 1) size = one->integer();
    }
    shape.push_back(size);
  }
  return shape;
}

TfEntry read_entry(std::string_view message) {
  TfEntry entry;
  ProtobufReader reader(message);
  while (auto const field = reader.next()) {
    if (field->number == 1) entry.type = field->integer();
    if (field->number == 2) entry.shape = read_shape(field->content());
    if (field->number == 3) entry.shard = field->integer();
    if (field->number == 4) entry.offset = static_cast<std::uint64_t>(field->integer());
    if (field->number == 5) entry.size = static_cast<std::uint64_t>(field->integer());
    if (field->number == 6) entry.crc = std::bit_cast<std::uint32_t>(field->float32());
    if (field->number == 7) entry.sliced = true;
  }
  return entry;
}

// BundleHeaderProto
void check_header(std::string_view message) {
  std::int64_t shards = 0;
  std::int64_t endianness = 0;
  ProtobufReader reader(message);
  while (auto const field = reader.next()) {
    if (field->number == 1) shards = field->integer();
    if (field->number == 2) endianness = field->integer();
  }
  if (shards != 1) throw Malformed{fmt::format("has {} data files, expected 1", shards)};
  if (endianness != 0) throw Malformed{"is big-endian, which is not supported"};
}

}  // namespace

std::map<std::string, TfEntry> parse_tf_index(std::string_view bytes, std::string const& source) {
  std::map<std::string, TfEntry> entries;
  std::string place = escaped(source, 4096);
  try {
    if (bytes.size() < kFooterBytes ||
        ByteCursor(bytes.substr(bytes.size() - 8), "the footer").u64() != kMagic) {
      throw Malformed{"is no index of a TensorFlow checkpoint: it does not end as one"};
    }
    ByteCursor footer(bytes.substr(bytes.size() - kFooterBytes), "the footer");
    read_range(footer);  // of the meta index
    std::string_view const index = read_block(bytes, read_range(footer));
    bool has_header = false;
    std::size_t key_bytes = 0;
    std::size_t block_bytes = 0;
    for_each_entry(index, [&](std::string const&, std::string_view handle) {
      ByteCursor cursor(handle, "a block's handle");
      std::string_view const block = read_block(bytes, read_range(cursor));
      block_bytes += block.size();
      if (block_bytes > bytes.size()) throw Malformed{"its blocks overlap"};
      for_each_entry(block, [&](std::string const& key, std::string_view value) {
        key_bytes += key.size() + 1;
        if (entries.size() >= kMaxEntries || key_bytes > kMaxKeyBytes) {
          throw Malformed{"lists tensors without end"};
        }
        if (key.empty()) {
          check_header(value);
          has_header = true;
          return;
        }
        place = fmt::format("{}:{}", escaped(source, 4096), escaped(key));
        if (!entries.emplace(key, read_entry(value)).second) throw Malformed{"is listed twice"};
        place = escaped(source, 4096);
      });
    });
    if (!has_header) throw Malformed{"has no header"};
  } catch (Malformed const& malformed) {
    throw Error(ExitCode::kData, fmt::format("{}: {}", place, malformed.what));
  }
  return entries;
}

std::vector<float> read_tf_tensor(std::string_view data, TfEntry const& entry,
                                  std::string const& name, std::string const& source) try {
  if (entry.type != kFloat) {
    throw Malformed{fmt::format("has data type {}, expected {} (float32)", entry.type, kFloat)};
  }
  if (entry.sliced) throw Malformed{"is kept in slices, which is not supported"};
  std::string_view const bytes = part(data, {entry.offset, entry.size}, "it");
  std::uint64_t count = 1;
  for (std::int64_t const size : entry.shape) {
    if (size < 1 || count > bytes.size() / static_cast<std::uint64_t>(size)) {
      count = std::numeric_limits<std::uint64_t>::max() / 8;
      break;
    }
    count *= static_cast<std::uint64_t>(size);
  }
  if (count * sizeof(float) != bytes.size()) {
    throw Malformed{
        fmt::format("has shape [{}], but {} bytes", fmt::join(entry.shape, ", "), bytes.size())};
  }
  std::uint32_t const crc = masked_crc32c(bytes);
  if (crc != entry.crc) {
    throw Malformed{
        fmt::format("is damaged: its CRC-32C is {:08x}, expected {:08x}", crc, entry.crc)};
  }
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(count));
  ByteCursor cursor(bytes, "it");
  while (cursor.left() > 0) values.push_back(std::bit_cast<float>(cursor.u32()));
  return values;
} catch (Malformed const& malformed) {
  throw Error(ExitCode::kData,
              fmt::format("{}:{}: {}", escaped(source, 4096), escaped(name), malformed.what));
}

}  // namespace fairlane
