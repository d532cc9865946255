# The part of UCX that is used (ucp and, below it, ucs). Its own CMake package says where its build put it, not where it
# lies. Defines UCX::ucp.
include(FindPackageHandleStandardArgs)
find_path(UCX_INCLUDE_DIR ucp/api/ucp.h)
find_library(UCX_ucp_LIBRARY ucp)
find_library(UCX_ucs_LIBRARY ucs)
if(UCX_INCLUDE_DIR AND EXISTS ${UCX_INCLUDE_DIR}/ucp/api/ucp_version.h)
  file(STRINGS ${UCX_INCLUDE_DIR}/ucp/api/ucp_version.h line REGEX "define UCP_API_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" UCX_VERSION "${line}")
endif()
find_package_handle_standard_args(UCX REQUIRED_VARS UCX_ucp_LIBRARY UCX_ucs_LIBRARY UCX_INCLUDE_DIR VERSION_VAR UCX_VERSION)
if(UCX_FOUND AND NOT TARGET UCX::ucp)
  add_library(UCX::ucp UNKNOWN IMPORTED)
  set_target_properties(UCX::ucp PROPERTIES
    IMPORTED_LOCATION ${UCX_ucp_LIBRARY} INTERFACE_LINK_LIBRARIES ${UCX_ucs_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${UCX_INCLUDE_DIR})
endif()
mark_as_advanced(UCX_INCLUDE_DIR UCX_ucp_LIBRARY UCX_ucs_LIBRARY)
