# engine/interface_id.h, which tells builds of the plug-in interface apart. lockstep_interface_id makes it;
# lockstep_made_headers is where it lies.
include(LockstepHeaders)

set(lockstep_made_headers ${PROJECT_BINARY_DIR}/made)
lockstep_reached_headers(headers ${PROJECT_SOURCE_DIR} engine/plugin.h)
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(
  OUTPUT ${lockstep_made_headers}/engine/interface_id.h
  COMMAND ${CMAKE_COMMAND} -Droot=${PROJECT_SOURCE_DIR} -Dversion=${PROJECT_VERSION}
    -Doutput=${lockstep_made_headers}/engine/interface_id.h -P ${PROJECT_SOURCE_DIR}/cmake/interface_id.cmake
  DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/engine/interface_id.h.in ${PROJECT_SOURCE_DIR}/cmake/interface_id.cmake
    ${PROJECT_SOURCE_DIR}/cmake/LockstepHeaders.cmake
  COMMENT "Making engine/interface_id.h"
  VERBATIM)
add_custom_target(lockstep_interface_id DEPENDS ${lockstep_made_headers}/engine/interface_id.h)
