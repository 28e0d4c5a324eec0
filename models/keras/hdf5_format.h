// Structures of the HDF5 file format, decoded with every read checked against the bytes present.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/byte_cursor.h"

namespace fairlane::hdf5 {

using fairlane::ByteCursor;
using fairlane::Malformed;

/// Types of header messages, as the specification numbers them.
enum class MessageType : std::uint16_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0B,
  kAttribute = 0x0C,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};

/// One message of an object header; `body` points into the file.
struct Message {
  MessageType type;
  bool shared = false;  // the body only refers to another object
  std::string_view body;
};

/// An element type. Only strings and IEEE floats are told apart.
struct Datatype {
  enum class Kind { kString, kVariableString, kFloat, kOther };
  Kind kind = Kind::kOther;
  std::uint32_t size = 0;  // bytes of one element as stored
  bool big_endian = false;
};

/// An attribute. shape is empty for a scalar.
struct Attribute {
  Datatype type;
  std::vector<std::uint64_t> shape;
  std::string_view data;
};

/// A file's bytes with the widths of its addresses. All views point into `bytes`.
class Format {
 public:
  /// Reads the superblock.
  explicit Format(std::string_view bytes);

  std::uint64_t root() const { return root_; }
  std::vector<Message> header(std::uint64_t address) const;
  /// Address of a group's member; nothing when there is none of that name.
  std::optional<std::uint64_t> member(std::uint64_t group, std::string_view name) const;
  std::optional<Attribute> attribute(std::uint64_t object, std::string_view name) const;

  std::vector<std::uint64_t> dataspace(std::string_view body) const;
  /// The bytes of a dataset that is stored in one piece.
  std::string_view contents(std::string_view layout) const;
  /// A variable-length string: its element is the length, the heap's address and the index in it.
  std::string_view variable_string(std::string_view element) const;

 private:
  using Heap = std::map<std::uint16_t, std::string_view>;

  std::string_view from(std::uint64_t address, char const* title) const;
  std::uint64_t address(ByteCursor& cursor) const { return cursor.number(address_bytes_); }
  std::uint64_t length(ByteCursor& cursor) const { return cursor.number(length_bytes_); }
  bool is_undefined(std::uint64_t address) const;
  void messages_v1(std::string_view block, std::vector<Message>& out) const;
  void messages_v2(std::string_view block, bool ordered, std::vector<Message>& out) const;
  std::optional<std::uint64_t> linked_member(std::string_view body, std::string_view name) const;
  std::optional<std::uint64_t> table_member(std::string_view body, std::string_view name) const;
  Heap read_heap(std::uint64_t address) const;

  std::string_view bytes_;
  std::size_t address_bytes_ = 8;
  std::size_t length_bytes_ = 8;
  std::uint64_t root_ = 0;
  mutable std::size_t heap_objects_ = 0;
  mutable std::map<std::uint64_t, Heap> heaps_;  // global heaps read so far, by address
};

/// Decodes a datatype message.
Datatype datatype(std::string_view body);

}  // namespace fairlane::hdf5
