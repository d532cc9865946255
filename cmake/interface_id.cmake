# cmake -Droot=SOURCE -Dversion=0.1.0 -Doutput=FILE -P interface_id.cmake: writes engine/interface_id.h, where it changed.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/LockstepHeaders.cmake)

lockstep_reached_headers(headers ${root} engine/plugin.h)
list(SORT headers)
set(texts "")
foreach(header IN LISTS headers)
  file(SHA256 ${root}/${header} hash)
  string(APPEND texts "${header} ${hash}\n")
endforeach()
string(SHA256 fingerprint "${texts}")
string(SUBSTRING ${fingerprint} 0 16 fingerprint)
configure_file(${root}/engine/interface_id.h.in ${output} @ONLY)
