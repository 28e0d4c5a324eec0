// CRC-32C, as LevelDB and TensorFlow store it.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlane {

/// CRC-32C (Castagnoli) of bytes. Source: RFC 3720, B.4.
std::uint32_t crc32c(std::string_view bytes);

/// Rotated and offset, so that the CRC of data that holds CRCs stays random. Source: LevelDB,
/// util/crc32c.h.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace fairlane
