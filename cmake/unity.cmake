# fairlane_unite(target): with FAIRLANE_UNITY, sources of one folder are compiled together, eight at
# a time, since most of a small file's time goes into headers that its neighbours include, too.
# Names in the anonymous namespaces of a folder therefore differ.
option(FAIRLANE_UNITY "Compile the sources of a folder together" ON)

function(fairlane_unite target)
  if(NOT FAIRLANE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" id)
    list(APPEND folder_${id} "${source}")
    list(LENGTH folder_${id} count)
    math(EXPR batch "(${count} - 1) / 8")
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${id}_${batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
