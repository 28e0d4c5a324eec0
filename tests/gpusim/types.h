// Types of PTX.
#pragma once

#include <cstdint>
#include <string>

namespace fairlane::gpusim {

enum class Type : std::uint8_t {
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF32,
  kF64,
  kNone
};

/// Bytes of a value; 0 for predicates.
int size_of(Type type);
bool is_signed(Type type);
bool is_float(Type type);
/// The type that PTX calls so, without the dot; kNone where there is none.
Type type_named(std::string const& name);

}  // namespace fairlane::gpusim
