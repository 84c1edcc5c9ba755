# pip builds a wheel anew each time: with ccache, if it is there, from what the last build has left.
find_program(EAVE_CCACHE ccache)
foreach(language C CXX)
  if(EAVE_CCACHE AND NOT CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${EAVE_CCACHE})
  endif()
endforeach()
