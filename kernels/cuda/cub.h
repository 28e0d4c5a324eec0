// Lists the marked indices of a range, and sorts words, on the device.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/device/device.h"

namespace fairlane {

/// Asks for the temporary memory that compact_flags wants for that many flags.
cudaError_t compact_bytes(std::int64_t most, std::size_t& bytes);

/// list [..] the indices of the range whose flag is not zero, ascending; count: how many.
/// range.count is not `count`.
/// temporary [bytes] as compact_bytes says
cudaError_t compact_flags(void* temporary, std::size_t bytes, std::uint8_t const* flags,
                          Range range, std::int32_t* list, std::int32_t* count,
                          cudaStream_t stream);

/// Asks for the temporary memory that sort_words wants.
cudaError_t sort_bytes(std::int64_t n, int bits, std::size_t& bytes);

/// See Device::sort. temporary [bytes] as sort_bytes says
cudaError_t sort_words(void* temporary, std::size_t bytes, KeyedWords& sorted, KeyedWords& spare,
                       std::int64_t n, int bits, cudaStream_t stream);

}  // namespace fairlane
