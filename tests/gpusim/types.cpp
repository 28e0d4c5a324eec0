#include "tests/gpusim/types.h"

#include <map>

namespace fairlane::gpusim {

int size_of(Type type) {
  switch (type) {
    case Type::kB8:
    case Type::kU8:
    case Type::kS8:
      return 1;
    case Type::kB16:
    case Type::kU16:
    case Type::kS16:
      return 2;
    case Type::kB32:
    case Type::kU32:
    case Type::kS32:
    case Type::kF32:
      return 4;
    case Type::kB64:
    case Type::kU64:
    case Type::kS64:
    case Type::kF64:
      return 8;
      return 16;
    case Type::kPred:
    case Type::kNone:
      return 0;
  }
  return 0;
}

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}

bool is_float(Type type) { return type == Type::kF32 || type == Type::kF64; }

Type type_named(std::string const& name) {
  static std::map<std::string, Type> const names = {
      {"pred", Type::kPred}, {"b8", Type::kB8},   {"b16", Type::kB16}, {"b32", Type::kB32},
      {"b64", Type::kB64},   {"u8", Type::kU8},   {"u16", Type::kU16}, {"u32", Type::kU32},
      {"u64", Type::kU64},   {"s8", Type::kS8},   {"s16", Type::kS16}, {"s32", Type::kS32},
      {"s64", Type::kS64},   {"f32", Type::kF32}, {"f64", Type::kF64}};
  auto const at = names.find(name);
  return at == names.end() ? Type::kNone : at->second;
}

}  // namespace fairlane::gpusim
