# What `cmake --install` and cpack put where.
include(CMakePackageConfigHelpers)

set(lockstep_package ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)

target_link_options(lockstep PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/lockstep.map)
if(NOT LOCKSTEP_SANITIZE)
  target_link_options(lockstep PRIVATE LINKER:--no-undefined)  # a forgotten file shows here, not in a user's program
endif()
set_property(TARGET lockstep APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/lockstep.map)

# The programs' own install rule stands in launcher/.
install(TARGETS lockstep EXPORT LockstepTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${lockstep_package})

# Public headers: those that mark something LOCKSTEP_API, and what they include.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/engine/*.h ${PROJECT_SOURCE_DIR}/collectives/*.h ${PROJECT_SOURCE_DIR}/runtime/*.h)
set(marked "")
foreach(header IN LISTS headers)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} marks REGEX LOCKSTEP_API LIMIT_COUNT 1)
  if(marks)
    list(APPEND marked ${header})
  endif()
endforeach()
lockstep_reached_headers(public_headers ${PROJECT_SOURCE_DIR} ${marked})
foreach(header IN LISTS public_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/${folder})
endforeach()
install(FILES ${lockstep_made_headers}/engine/interface_id.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/engine)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/LockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/LockstepConfig.cmake
  INSTALL_DESTINATION ${lockstep_package} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfig.cmake ${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
        DESTINATION ${lockstep_package})

set(lockstep_documents ${CMAKE_INSTALL_DATADIR}/doc/lockstep)
install(DIRECTORY docs/ DESTINATION ${lockstep_documents})
install(FILES LICENSE DESTINATION ${lockstep_documents})

# A tarball that runs where it is unpacked: lockstep-VERSION-ARCHITECTURE.tar.gz
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_FILE_NAME lockstep-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
