# fairlane_torch: the plug-in of models/torch/plugin and bench/torch where FAIRLANE_TORCH allows and
# LibTorch is found. Sets torch_summary.
if(NOT FAIRLANE_TORCH MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "FAIRLANE_TORCH is '${FAIRLANE_TORCH}'; expected AUTO, ON or OFF")
endif()
if(FAIRLANE_TORCH STREQUAL OFF)
  set(torch_summary "left out (FAIRLANE_TORCH=OFF)")
  return()
endif()
set(torch_probe "${PROJECT_BINARY_DIR}/torch_probe")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/torch_probe" -B "${torch_probe}" --fresh
          -G "${CMAKE_GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}"
          "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
          "-DCMAKE_BUILD_TYPE=Release" "-DCMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH}"
          "-DTorch_DIR=${Torch_DIR}"
  RESULT_VARIABLE torch_result OUTPUT_FILE "${torch_probe}.log" ERROR_FILE "${torch_probe}.log")
if(NOT torch_result EQUAL 0)
  set(torch_problem "find_package(Torch) fails, see ${torch_probe}.log")
  if(FAIRLANE_TORCH STREQUAL ON)
    message(FATAL_ERROR "FAIRLANE_TORCH=ON, but ${torch_problem}; "
                        "install it (scripts/setup --torch) or set CMAKE_PREFIX_PATH")
  endif()
  set(torch_summary "left out: ${torch_problem}")
  return()
endif()
include("${torch_probe}/torch.cmake")

file(GLOB torch_sources CONFIGURE_DEPENDS models/torch/plugin/*.cpp bench/torch/*.cpp)
add_library(fairlane_torch MODULE ${torch_sources})
fairlane_unite(fairlane_torch)
set_target_properties(fairlane_torch PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")  # beside the command
target_include_directories(fairlane_torch SYSTEM PRIVATE ${torch_includes})
separate_arguments(torch_flags)
target_compile_options(fairlane_torch PRIVATE ${torch_flags})
# Nothing names a symbol of the GPU's part, which registers itself when it is loaded.
target_link_libraries(fairlane_torch PRIVATE -Wl,--no-as-needed ${torch_libraries}
  Threads::Threads ${CMAKE_DL_LIBS})
set(torch_summary "${torch_version}")

# OpenCV's random forest votes on the labels of IDIs.
find_path(opencv_includes opencv2/ml.hpp PATH_SUFFIXES opencv4)
find_library(opencv_core opencv_core)
find_library(opencv_ml opencv_ml)
mark_as_advanced(opencv_includes opencv_core opencv_ml)
if(opencv_includes AND opencv_core AND opencv_ml)
  target_compile_definitions(fairlane_torch PRIVATE FAIRLANE_OPENCV)
  target_include_directories(fairlane_torch SYSTEM PRIVATE "${opencv_includes}")
  target_link_libraries(fairlane_torch PRIVATE "${opencv_ml}" "${opencv_core}")
  string(APPEND torch_summary ", with OpenCV")
else()
  get_target_property(torch_used fairlane_torch SOURCES)
  list(FILTER torch_used EXCLUDE REGEX "/plugin/forest\\.cpp$")
  set_target_properties(fairlane_torch PROPERTIES SOURCES "${torch_used}")
  string(APPEND torch_summary ", without OpenCV (libopencv-ml-dev): nobody votes on labels")
endif()
