# Warnings are errors in CI alone: no preset asks for it, a build that is told nothing does not, and test/gpu/run turns it
# off even where the build folder was made by CI. Compilers to come have warnings that those of today have not.
foreach(preset cpu cuda asan tsan fuzz)
  execute_process(COMMAND ${CMAKE_COMMAND} -N --preset ${preset} WORKING_DIRECTORY ${SOURCES} OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(said MATCHES "EAVE_WERROR=\"?(ON|TRUE|1|YES)")
    message(SEND_ERROR "preset ${preset} makes warnings errors, for users too")
  endif()
endforeach()

# What a user's environment may hold by chance turns nothing on; what .ci/run exports does.
file(STRINGS ${SOURCES}/CMakeLists.txt option REGEX "^option.EAVE_WERROR ")
set(script ${CMAKE_CURRENT_BINARY_DIR}/warnings_option.cmake)
file(WRITE ${script} "${option}\nmessage(\"so it is: \${EAVE_WERROR}\")\n")
foreach(environment "WERROR=ON;CI=true;EAVE_WERROR=ON/OFF" "WERROR_IN_CI_OF_EAVE=ON/ON")
  string(REGEX REPLACE "/.*" "" variables "${environment}")
  string(REGEX REPLACE ".*/" "" expected "${environment}")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=WERROR_IN_CI_OF_EAVE ${variables} ${CMAKE_COMMAND} -P ${script}
                  ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "so it is: ${expected}\n")
    message(SEND_ERROR "CMakeLists.txt: with ${variables} EAVE_WERROR is to be ${expected}:\n${said}")
  endif()
endforeach()
file(REMOVE ${script})

execute_process(COMMAND ${SOURCES}/test/gpu/run --dry-run --only build OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "configuring[^\n]* -DEAVE_WERROR=OFF")
  message(SEND_ERROR "test/gpu/run configures without -DEAVE_WERROR=OFF:\n${said}")
endif()

file(GLOB files ${SOURCES}/.ci/*)
set(text)
foreach(file ${files})
  file(READ ${file} more)
  string(APPEND text "${more}")
endforeach()
foreach(words "export WERROR_IN_CI_OF_EAVE=ON" "--preset cuda -DEAVE_WERROR=ON" "test/run --quick --werror")
  string(FIND "${text}" "${words}" at)
  if(at EQUAL -1)
    message(SEND_ERROR ".ci: no '${words}', so CI would pass over warnings")
  endif()
endforeach()
