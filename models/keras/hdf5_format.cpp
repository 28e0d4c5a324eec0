#include "models/keras/hdf5_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace fairlane::hdf5 {
namespace {

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);

// Bounds on what a header or a group may hold: far above what Keras writes, they end cycles in
// corrupt files.
constexpr std::size_t kMaxBlocks = 4096;
constexpr std::size_t kMaxMessages = std::size_t{1} << 16;
constexpr std::size_t kMaxTreeNodes = std::size_t{1} << 16;
constexpr std::size_t kMaxRank = 32;
constexpr std::size_t kMaxHeapObjects = std::size_t{1}
                                        << 20;  // of all heaps: corrupt ones may overlap

constexpr char const* kResave = "save the model again with Keras's model.save('NAME.h5')";

std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

std::string_view before_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

}  // namespace

Format::Format(std::string_view bytes) : bytes_(bytes) {
  if (bytes.substr(0, kSignature.size()) != kSignature) {
    throw Malformed{fmt::format("is not HDF5: it begins with {}, expected {}",
                                in_quotes(bytes.substr(0, kSignature.size())),
                                in_quotes(kSignature))};
  }
  ByteCursor cursor(bytes, "the superblock");
  cursor.skip(kSignature.size());
  unsigned const version = cursor.u8();
  if (version > 3) throw Malformed{fmt::format("superblock version is {}, expected 0..3", version)};
  if (version < 2) cursor.skip(4);  // versions of other parts, reserved
  address_bytes_ = cursor.u8();
  length_bytes_ = cursor.u8();
  auto const is_width = [](std::size_t width) { return width == 4 || width == 8; };
  if (!is_width(address_bytes_) || !is_width(length_bytes_)) {
    throw Malformed{fmt::format("addresses and lengths have {} and {} bytes, expected 4 or 8",
                                address_bytes_, length_bytes_)};
  }
  // Old superblocks: reserved, sizes of tree nodes, flags, one more size in version 1. New ones:
  // flags.
  cursor.skip(version == 0 ? 9 : version == 1 ? 13 : 1);
  std::uint64_t const base = address(cursor);
  if (base != 0) throw Malformed{"has a user block before the data, which is not supported"};
  address(cursor);  // free space, or extension of the superblock
  std::uint64_t const end = address(cursor);
  if (end > bytes.size()) {
    throw Malformed{
        fmt::format("is truncated: {} bytes are present, {} are declared", bytes.size(), end)};
  }
  if (version < 2) {
    address(cursor);  // driver information
    address(cursor);  // name of the root group
  }
  root_ = address(cursor);
}

bool Format::is_undefined(std::uint64_t address) const {
  return address == (address_bytes_ == 8 ? ~std::uint64_t{0} : std::uint64_t{0xFFFFFFFF});
}

std::string_view Format::from(std::uint64_t address, char const* title) const {
  if (address >= bytes_.size()) {
    throw Malformed{
        fmt::format("{} is at byte {}, beyond the end at {}", title, address, bytes_.size())};
  }
  return bytes_.substr(static_cast<std::size_t>(address));
}

void Format::messages_v1(std::string_view block, std::vector<Message>& out) const {
  constexpr std::size_t kPrefix = 8;
  ByteCursor cursor(block, "an object header");
  while (cursor.left() >= kPrefix && out.size() < kMaxMessages) {
    std::uint16_t const type = cursor.u16();
    std::uint16_t const size = cursor.u16();
    bool const shared = (cursor.u8() & 2U) != 0;
    cursor.skip(3);
    out.push_back({static_cast<MessageType>(type), shared, cursor.take(size)});
  }
}

void Format::messages_v2(std::string_view block, bool ordered, std::vector<Message>& out) const {
  std::size_t const prefix = ordered ? 6 : 4;
  ByteCursor cursor(block, "an object header");
  while (cursor.left() >= prefix && out.size() < kMaxMessages) {
    std::uint8_t const type = cursor.u8();
    std::uint16_t const size = cursor.u16();
    bool const shared = (cursor.u8() & 2U) != 0;
    if (ordered) cursor.skip(2);
    out.push_back({static_cast<MessageType>(type), shared, cursor.take(size)});
  }
}

std::vector<Message> Format::header(std::uint64_t address) const {
  std::vector<Message> messages;
  std::string_view const bytes = from(address, "an object header");
  ByteCursor cursor(bytes, "an object header");
  bool const is_v2 = bytes.substr(0, 4) == "OHDR";
  bool ordered = false;
  if (is_v2) {
    cursor.skip(4);
    if (unsigned const version = cursor.u8(); version != 2) {
      throw Malformed{fmt::format("object header version is {}, expected 2", version)};
    }
    unsigned const flags = cursor.u8();
    ordered = (flags & 4U) != 0;
    if ((flags & 0x20U) != 0) cursor.skip(16);  // times
    if ((flags & 0x10U) != 0) cursor.skip(4);   // when attributes move to dense storage
    messages_v2(cursor.take(cursor.number(std::size_t{1} << (flags & 3U))), ordered, messages);
  } else {
    if (unsigned const version = cursor.u8(); version != 1) {
      throw Malformed{fmt::format("object header version is {}, expected 1 or 2", version)};
    }
    cursor.skip(7);  // reserved, number of messages, references
    std::uint32_t const size = cursor.u32();
    cursor.skip(4);
    messages_v1(cursor.take(size), messages);
  }
  std::size_t blocks = 1;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].type != MessageType::kContinuation) continue;
    if (++blocks > kMaxBlocks || messages.size() >= kMaxMessages) {
      throw Malformed{"an object header goes on without end"};
    }
    ByteCursor where(messages[i].body, "a continuation of an object header");
    std::uint64_t const at = this->address(where);
    std::uint64_t const size = length(where);
    ByteCursor block(from(at, "a continuation of an object header"),
                     "a continuation of an object header");
    std::string_view const part = block.take(size);
    if (!is_v2) {
      messages_v1(part, messages);
      continue;
    }
    constexpr std::size_t kFrame = 8;  // signature and checksum
    ByteCursor framed(part, "a continuation of an object header");
    framed.expect("OCHK");
    messages_v2(part.size() < kFrame ? std::string_view() : part.substr(4, part.size() - kFrame),
                ordered, messages);
  }
  return messages;
}

std::optional<std::uint64_t> Format::member(std::uint64_t group, std::string_view name) const {
  bool dense = false;
  for (Message const& message : header(group)) {
    std::optional<std::uint64_t> found;
    if (message.type == MessageType::kSymbolTable) {
      found = table_member(message.body, name);
    } else if (message.type == MessageType::kLink) {
      found = linked_member(message.body, name);
    } else if (message.type == MessageType::kLinkInfo) {
      ByteCursor cursor(message.body, "a group's link information");
      cursor.skip(1);
      if ((cursor.u8() & 1U) != 0) cursor.skip(8);
      dense = dense || !is_undefined(address(cursor));
    }
    if (found) return found;
  }
  if (dense)
    throw Malformed{fmt::format(
        "a group on this path is in dense storage, which is not supported; {}", kResave)};
  return std::nullopt;
}

std::optional<std::uint64_t> Format::linked_member(std::string_view body,
                                                   std::string_view name) const {
  ByteCursor cursor(body, "a link");
  if (unsigned const version = cursor.u8(); version != 1) {
    throw Malformed{fmt::format("link version is {}, expected 1", version)};
  }
  unsigned const flags = cursor.u8();
  bool const hard = (flags & 8U) == 0 || cursor.u8() == 0;
  if ((flags & 4U) != 0) cursor.skip(8);     // creation order
  if ((flags & 0x10U) != 0) cursor.skip(1);  // character set
  std::uint64_t const size = cursor.number(std::size_t{1} << (flags & 3U));
  if (cursor.take(size) != name) return std::nullopt;
  if (!hard)
    throw Malformed{fmt::format("member {} is a link, which is not supported", in_quotes(name))};
  return address(cursor);
}

std::optional<std::uint64_t> Format::table_member(std::string_view body,
                                                  std::string_view name) const {
  ByteCursor table(body, "a symbol table");
  std::uint64_t const tree_at = address(table);
  std::uint64_t const heap_at = address(table);

  ByteCursor heap(from(heap_at, "a local heap"), "a local heap");
  heap.expect("HEAP");
  heap.skip(4);
  std::uint64_t const names_size = length(heap);
  length(heap);  // free list
  ByteCursor names_from(from(address(heap), "a local heap"), "a local heap");
  std::string_view const names = names_from.take(names_size);

  // A node and the level that its parent calls for.
  struct Pending {
    std::uint64_t address;
    int level;
  };
  std::vector<Pending> pending = {{tree_at, -1}};
  for (std::size_t visited = 0; !pending.empty(); ++visited) {
    if (visited >= kMaxTreeNodes) throw Malformed{"a group's tree goes on without end"};
    Pending const next = pending.back();
    pending.pop_back();
    ByteCursor tree(from(next.address, "a group's tree"), "a group's tree");
    tree.expect("TREE");
    unsigned const type = tree.u8();
    int const level = tree.u8();
    unsigned const used = tree.u16();
    if (type != 0 || (next.level >= 0 && level != next.level))
      throw Malformed{"a group's tree is malformed"};
    address(tree);
    address(tree);  // siblings
    for (unsigned i = 0; i < used; ++i) {
      length(tree);  // the key: names are compared below
      std::uint64_t const child = address(tree);
      if (level > 0) {
        if (pending.size() >= kMaxTreeNodes) throw Malformed{"a group's tree goes on without end"};
        pending.push_back({child, level - 1});
        continue;
      }
      if (++visited >= kMaxTreeNodes) throw Malformed{"a group's tree goes on without end"};
      ByteCursor node(from(child, "a symbol table node"), "a symbol table node");
      node.expect("SNOD");
      node.skip(2);
      unsigned const symbols = node.u16();
      for (unsigned k = 0; k < symbols; ++k) {
        std::uint64_t const name_at = address(node);
        std::uint64_t const object = address(node);
        std::uint32_t const cache = node.u32();
        node.skip(20);
        if (name_at >= names.size()) throw Malformed{"a member's name lies outside its heap"};
        if (before_nul(names.substr(static_cast<std::size_t>(name_at), name.size() + 1)) != name)
          continue;
        if (cache == 2)
          throw Malformed{
              fmt::format("member {} is a link, which is not supported", in_quotes(name))};
        return object;
      }
    }
  }
  return std::nullopt;
}

std::vector<std::uint64_t> Format::dataspace(std::string_view body) const {
  ByteCursor cursor(body, "a dataspace");
  unsigned const version = cursor.u8();
  if (version != 1 && version != 2)
    throw Malformed{fmt::format("dataspace version is {}, expected 1 or 2", version)};
  std::size_t const rank = cursor.u8();
  cursor.skip(1);
  bool const is_null = version == 2 && cursor.u8() == 2;
  if (version == 1) cursor.skip(5);
  if (rank > kMaxRank)
    throw Malformed{fmt::format("has {} dimensions, expected at most {}", rank, kMaxRank)};
  if (is_null) return {0};
  std::vector<std::uint64_t> shape(rank);
  for (auto& size : shape) size = length(cursor);
  return shape;
}

Datatype datatype(std::string_view body) {
  ByteCursor cursor(body, "a datatype");
  unsigned const head = cursor.u8();
  std::uint64_t const bits = cursor.number(3);
  Datatype type;
  type.size = cursor.u32();
  constexpr unsigned kFloatClass = 1;
  constexpr unsigned kStringClass = 3;
  constexpr unsigned kVariableClass = 9;
  if ((head & 15U) == kStringClass) {
    type.kind = Datatype::Kind::kString;
  } else if ((head & 15U) == kVariableClass) {
    if ((bits & 15U) == 1) type.kind = Datatype::Kind::kVariableString;
  } else if ((head & 15U) == kFloatClass) {
    unsigned const offset = cursor.u16();
    unsigned const precision = cursor.u16();
    unsigned const exponent_at = cursor.u8();
    unsigned const exponent_bits = cursor.u8();
    unsigned const mantissa_at = cursor.u8();
    unsigned const mantissa_bits = cursor.u8();
    std::uint32_t const bias = cursor.u32();
    bool const implied_one = (bits >> 4 & 3U) == 2;
    bool const little_or_big = (bits & 0x40U) == 0;
    std::uint64_t const sign_at = bits >> 8 & 0xFFU;
    // Width and place of the fields of IEEE half, single and double precision.
    struct Ieee {
      unsigned size, exponent, mantissa;
    };
    for (Ieee const ieee : {Ieee{2, 5, 10}, Ieee{4, 8, 23}, Ieee{8, 11, 52}}) {
      if (type.size == ieee.size && offset == 0 && precision == 8 * ieee.size &&
          exponent_at == ieee.mantissa && exponent_bits == ieee.exponent && mantissa_at == 0 &&
          mantissa_bits == ieee.mantissa && implied_one &&
          bias == (1U << (ieee.exponent - 1)) - 1 && sign_at == 8 * ieee.size - 1 &&
          little_or_big) {
        type.kind = Datatype::Kind::kFloat;
      }
    }
    type.big_endian = (bits & 1U) != 0;
  }
  return type;
}

std::optional<Attribute> Format::attribute(std::uint64_t object, std::string_view name) const {
  bool dense = false;
  for (Message const& message : header(object)) {
    if (message.type == MessageType::kAttributeInfo) {
      ByteCursor cursor(message.body, "attribute information");
      cursor.skip(1);
      if ((cursor.u8() & 1U) != 0) cursor.skip(2);
      dense = dense || !is_undefined(address(cursor));
    }
    if (message.type != MessageType::kAttribute) continue;
    if (message.shared) throw Malformed{"has a shared attribute, which is not supported"};
    ByteCursor cursor(message.body, "an attribute");
    unsigned const version = cursor.u8();
    if (version < 1 || version > 3)
      throw Malformed{fmt::format("attribute version is {}, expected 1..3", version)};
    unsigned const flags = cursor.u8();
    std::size_t const name_size = cursor.u16();
    std::size_t const type_size = cursor.u16();
    std::size_t const space_size = cursor.u16();
    if (version == 3) cursor.skip(1);  // character set of the name
    auto const part = [&](std::size_t size) {
      return cursor.take(version == 1 ? padded(size) : size).substr(0, size);
    };
    if (before_nul(part(name_size)) != name) continue;
    if (version > 1 && flags != 0)
      throw Malformed{fmt::format("attribute {} has a shared type", in_quotes(name))};
    Attribute attribute;
    attribute.type = datatype(part(type_size));
    attribute.shape = dataspace(part(space_size));
    attribute.data = cursor.rest();
    return attribute;
  }
  if (dense)
    throw Malformed{
        fmt::format("has attributes in dense storage, which is not supported; {}", kResave)};
  return std::nullopt;
}

std::string_view Format::contents(std::string_view layout) const {
  ByteCursor cursor(layout, "a data layout");
  unsigned const version = cursor.u8();
  if (version != 3 && version != 4)
    throw Malformed{fmt::format("data layout version is {}, expected 3 or 4", version)};
  unsigned const kind = cursor.u8();
  if (kind == 0) return cursor.take(cursor.u16());
  if (kind != 1)
    throw Malformed{fmt::format("is chunked or virtual, expected data in one piece; {}", kResave)};
  std::uint64_t const at = address(cursor);
  std::uint64_t const size = length(cursor);
  if (is_undefined(at)) throw Malformed{"has no data: it was never written"};
  ByteCursor data(from(at, "data"), "data");
  return data.take(size);
}

Format::Heap Format::read_heap(std::uint64_t at) const {
  ByteCursor start(from(at, "a global heap"), "a global heap");
  start.expect("GCOL");
  start.skip(4);
  std::uint64_t const size = length(start);
  std::size_t const prefix = 8 + length_bytes_;
  ByteCursor whole(from(at, "a global heap"), "a global heap");
  ByteCursor heap(whole.take(size), "a global heap");
  heap.skip(prefix);
  Heap objects;
  while (heap.left() >= prefix) {
    std::uint16_t const index = heap.u16();
    heap.skip(6);  // references, reserved
    std::uint64_t const bytes = length(heap);
    if (index == 0) break;  // free space up to the end
    if (++heap_objects_ > kMaxHeapObjects) throw Malformed{"global heaps go on without end"};
    std::string_view const object = heap.take(bytes);
    heap.skip(std::min(padded(object.size()) - object.size(), heap.left()));
    objects.emplace(index, object);
  }
  return objects;
}

std::string_view Format::variable_string(std::string_view element) const {
  ByteCursor cursor(element, "a string");
  std::uint32_t const size = cursor.u32();
  std::uint64_t const at = address(cursor);
  std::uint32_t const index = cursor.u32();
  if (size == 0) return {};
  auto heap = heaps_.find(at);
  if (heap == heaps_.end()) heap = heaps_.emplace(at, read_heap(at)).first;
  auto const object =
      index > 0xFFFF ? heap->second.end() : heap->second.find(static_cast<std::uint16_t>(index));
  if (object == heap->second.end())
    throw Malformed{fmt::format("a string is object {} of a heap without it", index)};
  if (size > object->second.size()) {
    throw Malformed{
        fmt::format("a string has {} bytes, but its heap object {}", size, object->second.size())};
  }
  return before_nul(object->second.substr(0, size));
}

}  // namespace fairlane::hdf5
