# What `cmake --install` and `cpack -G DEB` put where. The manual page and the completions are
# written by the command itself, at build time, so that they cannot differ from it.
if(FAIRLANE_SANITIZE)
  return()  # such a build is for tests only
endif()
include(GNUInstallDirs)

set(written "${PROJECT_BINARY_DIR}/share")
set(written_files "")
set(write_output "${PROJECT_SOURCE_DIR}/cmake/write_output.cmake")
function(fairlane_write name)  # the output of `fairlane ARGUMENTS...` -> share/NAME
  add_custom_command(OUTPUT "${written}/${name}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${written}/${name}" -P "${write_output}"
            -- $<TARGET_FILE:fairlane> ${ARGN}
    DEPENDS fairlane "${write_output}" COMMENT "Writing ${name}" VERBATIM)
  set(written_files ${written_files} "${written}/${name}" PARENT_SCOPE)
endfunction()
fairlane_write(fairlane.1 manual)
fairlane_write(fairlane.bash completion bash)
fairlane_write(_fairlane completion zsh)
fairlane_write(fairlane.fish completion fish)
add_custom_target(fairlane_documents ALL DEPENDS ${written_files})

install(TARGETS fairlane RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT fairlane)
install(FILES "${written}/fairlane.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT fairlane)
install(FILES "${written}/fairlane.bash"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
  RENAME fairlane COMPONENT fairlane)
install(FILES "${written}/fairlane.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT fairlane)
install(FILES "${written}/_fairlane"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT zsh)
# Where Debian's packages have them; nowhere else.
install(FILES "${written}/_fairlane" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions"
  COMPONENT zsh_debian EXCLUDE_FROM_ALL)
set(data "${CMAKE_INSTALL_DATADIR}/fairlane")
install(DIRECTORY configs DESTINATION "${data}" COMPONENT fairlane
  PATTERN "__pycache__" EXCLUDE PATTERN "*.py" EXCLUDE)
install(DIRECTORY models/adapters DESTINATION "${data}" COMPONENT fairlane
  PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY docs/schemas DESTINATION "${data}" COMPONENT fairlane)
install(FILES LICENSE CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT fairlane)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright
  COMPONENT zsh_debian EXCLUDE_FROM_ALL)
if(TARGET fairlane_torch)  # needs LibTorch, so that it is in no package
  install(TARGETS fairlane_torch LIBRARY DESTINATION lib/fairlane COMPONENT torch)
endif()
if(TARGET fairlane_parquet)  # likewise Apache Arrow
  install(TARGETS fairlane_parquet LIBRARY DESTINATION lib/fairlane COMPONENT parquet)
endif()
if(TARGET fairlane_mpi)  # needs the MPI of the cluster
  install(TARGETS fairlane_mpi LIBRARY DESTINATION lib/fairlane COMPONENT mpi)
endif()

set(CPACK_PACKAGE_NAME fairlane)
set(CPACK_PACKAGE_CONTACT "The Fairlane developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "test the individual fairness of tabular classifiers")
set(CPACK_PACKAGE_DESCRIPTION
  "Fairlane looks for people whose decision changes when nothing but a protected attribute\n\
(age, race, gender) does: in neural networks, ensembles of trees and programs.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL fairlane zsh_debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME fairlane)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # by dpkg-shlibdeps, of the package dpkg-dev
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3")  # for models/adapters
include(CPack)
