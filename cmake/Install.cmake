# cmake --install: headers, both libraries (shared and static), CMake package, pkg-config, the command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS lathe lathe_static lathe_runtime lathe_runtime_static EXPORT latheTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Beside the libraries, where these look for them; their build needs no more than that they are there.
foreach(component ${LATHE_COMPONENT_TARGETS})
  install(TARGETS ${component} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lathe)
endforeach()
if(TARGET lathe_cli)
  install(TARGETS lathe_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lathe)
install(EXPORT latheTargets NAMESPACE lathe:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/latheConfig.cmake.in ${PROJECT_BINARY_DIR}/latheConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/latheConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/latheConfig.cmake ${PROJECT_BINARY_DIR}/latheConfigVersion.cmake DESTINATION ${package})

# From the .pc files back to the prefix, so that an installation may be moved.
file(RELATIVE_PATH LATHE_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(name lathe lathe_runtime)
  set(LATHE_PC_NAME ${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lathe.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
