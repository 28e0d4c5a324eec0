// Files inside a zip archive in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fairlane {

/// A zip archive, read only: entries that are stored or deflated, with sizes of 32 or 64 bits.
/// Encryption and archives in several parts are refused, and entries of one name.
/// Every call throws Error(kData) naming the archive and the entry.
/// Source: APPNOTE.TXT - .ZIP File Format Specification 6.3, PKWARE; RFC 1951 by zlib.
class ZipArchive {
 public:
  /// `source` names the archive in messages. `bytes` must outlive it.
  ZipArchive(std::string_view bytes, std::string const& source);

  bool has(std::string const& name) const { return entries_.count(name) != 0; }
  /// The contents of an entry, checked against its size and its CRC-32. No more memory is asked for
  /// than `limit`, nor than the bytes present can make.
  std::string read(std::string const& name, std::uint64_t limit) const;

 private:
  struct Entry {
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t crc = 0;
    std::uint64_t packed = 0;    // bytes in the archive
    std::uint64_t unpacked = 0;  // bytes of the file
    std::uint64_t header = 0;    // where its local header begins
  };
  struct Directory {
    std::uint64_t entries = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  Directory find_directory() const;
  void read_directory(Directory const& directory);
  std::string_view packed_bytes(Entry const& entry, std::string const& name) const;

  std::string_view bytes_;
  std::string source_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace fairlane
