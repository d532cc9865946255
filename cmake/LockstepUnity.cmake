# lockstep_unity(TARGET [ALONE file-or-folder ...]): compiles the sources of each folder of the target together, in a
# third of the time, but for those ALONE, given from the target's folder: files with a file-local name that another of
# their folder has too, and kernels. Call it when all sources are known.
#
# -DLOCKSTEP_UNITY=OFF (preset debug) compiles each file by itself: quicker where one file changes again and again, and
# the check that each includes what it uses.
option(LOCKSTEP_UNITY "Compile the files of a folder together" ON)

function(lockstep_unity target)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(NOT LOCKSTEP_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH folder)
    if(NOT name IN_LIST ARG_ALONE AND NOT folder IN_LIST ARG_ALONE)
      string(MAKE_C_IDENTIFIER "${target}_${folder}" group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()
