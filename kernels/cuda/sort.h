// Sorts words on the device.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/device/device.h"

namespace fairlane {

/// Asks for the temporary memory that sort_words wants.
cudaError_t sort_bytes(std::int64_t n, int bits, std::size_t& bytes);

/// See Device::sort. temporary [bytes] as sort_bytes says
cudaError_t sort_words(void* temporary, std::size_t bytes, KeyedWords& sorted, KeyedWords& spare,
                       std::int64_t n, int bits, cudaStream_t stream);

}  // namespace fairlane
