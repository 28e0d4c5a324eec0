# fairlane_cuda: the objects of kernels/cuda where FAIRLANE_CUDA allows and a compiler is found.
# Sets FAIRLANE_HAS_CUDA and cuda_summary.
set(FAIRLANE_HAS_CUDA FALSE)
if(NOT FAIRLANE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "FAIRLANE_CUDA is '${FAIRLANE_CUDA}'; expected AUTO, ON or OFF")
endif()
if(FAIRLANE_GPUSIM AND FAIRLANE_CUDA STREQUAL OFF)
  message(FATAL_ERROR "FAIRLANE_GPUSIM=ON needs the CUDA backend, but FAIRLANE_CUDA is OFF")
endif()
if(FAIRLANE_CUDA STREQUAL OFF)
  set(cuda_summary "left out (FAIRLANE_CUDA=OFF)")
  return()
endif()
find_program(FAIRLANE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(FAIRLANE_NVCC)
if(NOT FAIRLANE_NVCC)
  if(FAIRLANE_CUDA STREQUAL ON)
    message(FATAL_ERROR "FAIRLANE_CUDA=ON, but no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda")
  endif()
  set(cuda_summary "left out: no CUDA compiler found")
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100-real;100-virtual"
  CACHE STRING "GPU architectures to compile for")
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER "${FAIRLANE_NVCC}")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know this flag of nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS kernels/cuda/*.cu kernels/cuda/*.cpp)
add_library(fairlane_cuda OBJECT ${cuda_sources})
set_target_properties(fairlane_cuda PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
# ptxas tells what every kernel takes; the launcher keeps it beside the object for
# tests/kernels/cuda/kernel_budget_test.py.
set(cuda_launcher "${PROJECT_SOURCE_DIR}/cmake/keep_ptxas_log.sh")
if(FAIRLANE_CCACHE)
  list(APPEND cuda_launcher "${FAIRLANE_CCACHE}")
endif()
set_target_properties(fairlane_cuda PROPERTIES CUDA_COMPILER_LAUNCHER "${cuda_launcher}")
target_compile_options(fairlane_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;--expt-relaxed-constexpr;-Xptxas=-v>")
if(FAIRLANE_GPUSIM)
  # The simulator reads the PTX of the shipped objects, and names the source's lines.
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "-real(;|$)" AND NOT CMAKE_CUDA_ARCHITECTURES MATCHES
     "(^|;)[0-9]+(-virtual)?(;|$)")
    message(FATAL_ERROR "FAIRLANE_GPUSIM=ON needs PTX, but CMAKE_CUDA_ARCHITECTURES is "
                        "'${CMAKE_CUDA_ARCHITECTURES}'; add 100-virtual, or set FAIRLANE_GPUSIM=OFF")
  endif()
  target_compile_options(fairlane_cuda PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=none;-lineinfo>")
endif()
set(architectures "")  # for people: 80, 90, 100 and later
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  string(REGEX REPLACE "-.*" "" number "${architecture}")
  list(REMOVE_ITEM architectures "${number}")
  if(NOT architecture MATCHES "-real$")
    string(APPEND number " and later")
  endif()
  list(APPEND architectures "${number}")
endforeach()
list(JOIN architectures ", " architectures)
target_compile_definitions(fairlane_cuda PRIVATE FAIRLANE_CUDA_ARCHITECTURES="${architectures}")
target_link_libraries(fairlane_cuda PUBLIC CUDA::cudart_static)

set(FAIRLANE_HAS_CUDA TRUE)
set(cuda_summary "${CMAKE_CUDA_COMPILER_VERSION} for ${architectures}")
