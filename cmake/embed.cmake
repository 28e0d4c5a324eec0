# Files compiled into a target as byte arrays.
set(FAIRLANE_EMBED_DIR "${CMAKE_CURRENT_LIST_DIR}")

# fairlane_embed(target file symbol): adds `fairlane::embedded::symbol`, a std::span of the file's
# bytes, to target.
function(fairlane_embed target file symbol)
  set(source "${PROJECT_BINARY_DIR}/embedded/${symbol}.cpp")
  add_custom_command(OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" -DINPUT=${file} -DOUTPUT=${source} -DSYMBOL=${symbol}
            -P "${FAIRLANE_EMBED_DIR}/embed_file.cmake"
    DEPENDS "${file}" "${FAIRLANE_EMBED_DIR}/embed_file.cmake"
    COMMENT "Embedding ${file}" VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()

# fairlane_embed_folder(target folder): embeds every file under folder and defines
# fairlane::embedded_file (apps/demo/embedded.h), which finds one by its path inside the folder.
function(fairlane_embed_folder target folder)
  set(root "${PROJECT_SOURCE_DIR}/${folder}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${root}" "${root}/*")
  list(FILTER files EXCLUDE REGEX "(^|/)__pycache__/")
  set(declarations "")
  set(lookups "")
  foreach(name IN LISTS files)
    string(MAKE_C_IDENTIFIER "file_${name}" symbol)
    fairlane_embed(${target} "${root}/${name}" ${symbol})
    string(APPEND declarations "extern std::span<unsigned char const> const ${symbol};\n")
    string(APPEND lookups "  if (name == \"${name}\") return embedded::${symbol};\n")
  endforeach()
  configure_file("${FAIRLANE_EMBED_DIR}/embedded.cpp.in" "${PROJECT_BINARY_DIR}/embedded.cpp" @ONLY)
  target_sources(${target} PRIVATE "${PROJECT_BINARY_DIR}/embedded.cpp")
endfunction()
