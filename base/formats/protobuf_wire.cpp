#include "base/formats/protobuf_wire.h"

#include <fmt/format.h>

#include <bit>

namespace fairlane {
namespace {

using Kind = ProtobufField::Kind;

Malformed wrong_kind(ProtobufField const& field, char const* expected) {
  return Malformed{fmt::format("field {} is no {}", field.number, expected)};
}

double widened(std::uint64_t bits, std::size_t width) {
  if (width == 8) return std::bit_cast<double>(bits);
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

}  // namespace

std::string_view ProtobufField::content() const {
  if (kind != Kind::kBytes) throw wrong_kind(*this, "text or message");
  return bytes;
}

std::int64_t ProtobufField::integer() const {
  if (kind != Kind::kVarint) throw wrong_kind(*this, "integer");
  return static_cast<std::int64_t>(value);
}

float ProtobufField::float32() const {
  if (kind != Kind::kFixed32) throw wrong_kind(*this, "float");
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (cursor_.left() == 0) return std::nullopt;
  std::uint64_t const tag = cursor_.varint();
  if (tag >> 3 == 0 || tag >> 32 != 0) {
    throw Malformed{fmt::format("field number is {}, expected 1..{}", tag >> 3, (1U << 29) - 1)};
  }
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7U) {
    case 0:
      field.kind = Kind::kVarint;
      field.value = cursor_.varint();
      break;
    case 1:
      field.kind = Kind::kFixed64;
      field.value = cursor_.u64();
      break;
    case 2:
      field.kind = Kind::kBytes;
      field.bytes = cursor_.take(cursor_.varint());
      break;
    case 5:
      field.kind = Kind::kFixed32;
      field.value = cursor_.u32();
      break;
    default:
      throw Malformed{
          fmt::format("field {} has wire type {}, expected 0, 1, 2 or 5", field.number, tag & 7U)};
  }
  return field;
}

void append_integers(ProtobufField const& field, std::vector<std::int64_t>& out) {
  if (field.kind != Kind::kBytes) {
    out.push_back(field.integer());
    return;
  }
  ByteCursor packed(field.bytes, "a list of integers");
  while (packed.left() > 0) out.push_back(static_cast<std::int64_t>(packed.varint()));
}

void append_floats(ProtobufField const& field, std::size_t width, std::vector<double>& out) {
  Kind const single = width == 8 ? Kind::kFixed64 : Kind::kFixed32;
  if (field.kind == single) {
    out.push_back(widened(field.value, width));
    return;
  }
  if (field.kind != Kind::kBytes) throw wrong_kind(field, "list of floats");
  ByteCursor packed(field.bytes, "a list of floats");
  out.reserve(out.size() + packed.left() / width);
  while (packed.left() > 0) out.push_back(widened(packed.number(width), width));
}

}  // namespace fairlane
