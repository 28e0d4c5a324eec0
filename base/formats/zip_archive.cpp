#include "base/formats/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/formats/byte_cursor.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::string_view kLocalHeader("PK\x03\x04", 4);
constexpr std::string_view kDirectoryEntry("PK\x01\x02", 4);
constexpr std::string_view kEnd("PK\x05\x06", 4);
constexpr std::string_view kEnd64("PK\x06\x06", 4);
constexpr std::string_view kEnd64Locator("PK\x06\x07", 4);
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kMaxComment = 0xFFFF;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kEncrypted = 1;   // a flag
constexpr std::uint16_t kZip64Extra = 1;  // a kind of extra field
constexpr std::size_t kMaxEntries = std::size_t{1} << 16;
constexpr std::uint64_t kMostPerByte =
    1032;  // that deflate can make of one byte, and a little more

std::string_view from(std::string_view bytes, std::uint64_t offset, char const* title) {
  if (offset > bytes.size()) {
    throw Malformed{
        fmt::format("{} is at byte {}, beyond the end at {}", title, offset, bytes.size())};
  }
  return bytes.substr(static_cast<std::size_t>(offset));
}

// Unpacks to exactly `size` bytes.
std::string inflated(std::string_view packed, std::uint64_t size) {
  std::string out(static_cast<std::size_t>(size), '\0');
  z_stream stream{};
  constexpr int kRaw = -15;  // no header, the largest window
  if (inflateInit2(&stream, kRaw) != Z_OK) throw Malformed{"cannot be unpacked: zlib failed"};
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  std::size_t read = 0;
  std::size_t written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    std::size_t const in = std::min(kMost, packed.size() - read);
    std::size_t const room = std::min(kMost, out.size() - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || written != out.size()) {
    throw Malformed{fmt::format("cannot be unpacked to the {} bytes that are declared", size)};
  }
  return out;
}

}  // namespace

ZipArchive::ZipArchive(std::string_view bytes, std::string const& source)
    : bytes_(bytes), source_(escaped(source, 4096)) {
  try {
    read_directory(find_directory());
  } catch (Malformed const& malformed) {
    throw Error(ExitCode::kData, fmt::format("{}: {}", source_, malformed.what));
  }
}

ZipArchive::Directory ZipArchive::find_directory() const {
  // The record stands at the end, before a comment.
  std::size_t const begin = bytes_.size() - std::min(bytes_.size(), kEndBytes + kMaxComment);
  std::size_t const found = bytes_.substr(begin).rfind(kEnd);
  if (found == std::string_view::npos) {
    throw Malformed{"is no complete zip archive: it does not end with a directory"};
  }
  std::size_t const end = begin + found;
  ByteCursor record(bytes_.substr(end), "the end of the directory");
  record.skip(kEnd.size());
  std::uint16_t const disk = record.u16();
  std::uint16_t const first_disk = record.u16();
  record.skip(2);
  Directory directory;
  directory.entries = record.u16();
  directory.size = record.u32();
  directory.offset = record.u32();
  record.skip(record.u16());  // the comment
  bool const wide =
      directory.entries == 0xFFFF || directory.size == 0xFFFFFFFF || directory.offset == 0xFFFFFFFF;
  if (wide && end >= kLocatorBytes) {
    ByteCursor locator(bytes_.substr(end - kLocatorBytes), "the zip64 locator");
    locator.expect(kEnd64Locator);
    locator.skip(4);
    ByteCursor large(from(bytes_, locator.u64(), "the zip64 directory's end"),
                     "the zip64 directory's end");
    large.expect(kEnd64);
    large.skip(8 + 2 + 2 + 4 + 4 + 8);  // its size, versions, disks, entries on this disk
    directory.entries = large.u64();
    directory.size = large.u64();
    directory.offset = large.u64();
  }
  if (disk != first_disk || (disk != 0 && disk != 0xFFFF)) {
    throw Malformed{"is one part of several, which is not supported"};
  }
  return directory;
}

void ZipArchive::read_directory(Directory const& directory) {
  if (directory.entries > kMaxEntries) {
    throw Malformed{
        fmt::format("has {} entries, expected at most {}", directory.entries, kMaxEntries)};
  }
  ByteCursor whole(from(bytes_, directory.offset, "the directory"), "the directory");
  ByteCursor cursor(whole.take(directory.size), "the directory");
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    cursor.expect(kDirectoryEntry);
    cursor.skip(4);  // versions
    Entry entry;
    entry.flags = cursor.u16();
    entry.method = cursor.u16();
    cursor.skip(4);  // time
    entry.crc = cursor.u32();
    entry.packed = cursor.u32();
    entry.unpacked = cursor.u32();
    std::uint16_t const name_size = cursor.u16();
    std::uint16_t const extra_size = cursor.u16();
    std::uint16_t const comment_size = cursor.u16();
    cursor.skip(8);  // disk, attributes
    entry.header = cursor.u32();
    std::string const name(cursor.take(name_size));
    ByteCursor extra(cursor.take(extra_size), "an extra field");
    while (extra.left() >= 4) {
      std::uint16_t const kind = extra.u16();
      ByteCursor field(extra.take(extra.u16()), "an extra field");
      if (kind != kZip64Extra) continue;
      for (std::uint64_t* const size : {&entry.unpacked, &entry.packed, &entry.header}) {
        if (*size == 0xFFFFFFFF) *size = field.u64();
      }
    }
    cursor.skip(comment_size);
    if (!entries_.emplace(name, entry).second) {
      throw Malformed{fmt::format("has two entries {}", in_quotes(name))};
    }
  }
}

std::string_view ZipArchive::packed_bytes(Entry const& entry, std::string const& name) const {
  ByteCursor cursor(from(bytes_, entry.header, "its header"), "its header");
  cursor.expect(kLocalHeader);
  cursor.skip(22);  // version, flags, method, time, CRC, sizes: the directory has them, too
  std::uint16_t const name_size = cursor.u16();
  std::uint16_t const extra_size = cursor.u16();
  if (cursor.take(name_size) != name) throw Malformed{"has another name in its header"};
  cursor.skip(extra_size);
  return cursor.take(entry.packed);
}

std::string ZipArchive::read(std::string const& name, std::uint64_t limit) const try {
  auto const found = entries_.find(name);
  if (found == entries_.end()) throw Malformed{"no such entry"};
  Entry const& entry = found->second;
  if ((entry.flags & kEncrypted) != 0) throw Malformed{"is encrypted, which is not supported"};
  if (entry.method != kStored && entry.method != kDeflated) {
    throw Malformed{fmt::format("is packed by method {}, expected {} (stored) or {} (deflated)",
                                entry.method, kStored, kDeflated)};
  }
  if (entry.unpacked > limit) {
    throw Malformed{fmt::format("is {} bytes long, expected at most {}", entry.unpacked, limit)};
  }
  std::string_view const packed = packed_bytes(entry, name);
  bool const plausible = entry.method == kStored ? entry.unpacked == packed.size()
                                                 : entry.unpacked / kMostPerByte <= packed.size();
  if (!plausible) {
    throw Malformed{fmt::format("declares {} bytes, which {} packed bytes cannot hold",
                                entry.unpacked, packed.size())};
  }
  std::string contents =
      entry.method == kStored ? std::string(packed) : inflated(packed, entry.unpacked);
  auto const crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<Bytef const*>(contents.data()), contents.size()));
  if (crc != entry.crc) {
    throw Malformed{
        fmt::format("is damaged: its CRC-32 is {:08x}, expected {:08x}", crc, entry.crc)};
  }
  return contents;
} catch (Malformed const& malformed) {
  throw Error(ExitCode::kData, fmt::format("{}:{}: {}", source_, escaped(name), malformed.what));
}

}  // namespace fairlane
