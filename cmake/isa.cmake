# fairlane_isa: one object per instruction set, kernels/cpu/isa_NAME.cpp, each with its own flags.
# An object library, so that tests/isa_symbols_test.py can look at what leaks out of each.
set(isa_flags_portable "")
set(isa_flags_neon "")
# Unless told otherwise, Highway wants AES together with AVX2, and -march=haswell has no AES.
set(isa_flags_avx2 -march=haswell -DHWY_DISABLE_PCLMUL_AES)
set(isa_flags_avx512 -march=skylake-avx512 -mprefer-vector-width=512)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(isa_candidates portable avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(isa_candidates portable neon)
else()
  set(isa_candidates portable)
endif()

# Sanitizers take minutes for each: one is enough to watch threads, two to watch what packs touch.
if(FAIRLANE_SANITIZE STREQUAL thread)
  set(isa_candidates portable)
elseif(FAIRLANE_SANITIZE)
  list(REMOVE_ITEM isa_candidates avx512)
endif()

set(isa_names "")
add_library(fairlane_isa OBJECT)
file(GLOB isa_files CONFIGURE_DEPENDS kernels/cpu/isa_*.cpp)
foreach(file IN LISTS isa_files)
  string(REGEX REPLACE ".*/isa_(.*)\\.cpp$" "\\1" name "${file}")
  if(NOT DEFINED isa_flags_${name})
    message(FATAL_ERROR "${file}: no flags for '${name}' in cmake/isa.cmake")
  endif()
  if(name IN_LIST isa_candidates)
    list(APPEND isa_names ${name})
    if(NOT name STREQUAL portable)
      list(APPEND isa_flags_${name} ${unrolled_options})
    endif()
    target_sources(fairlane_isa PRIVATE "${file}")
    set_property(SOURCE kernels/cpu/select_kernels.cpp APPEND PROPERTY
      COMPILE_DEFINITIONS FAIRLANE_ISA_${name})
    set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS "${isa_flags_${name}}")
  endif()
endforeach()
target_compile_options(fairlane_isa PRIVATE ${hot_options})
target_link_libraries(fairlane_isa PRIVATE hwy::hwy Threads::Threads)
