# Warnings are errors in CI alone: no preset asks for it, a build that is told nothing does not, and test/gpu/run turns it
# off even where the build folder was made by CI. Compilers to come have warnings that those of today have not.
foreach(preset cpu cuda asan tsan fuzz)
  execute_process(COMMAND ${CMAKE_COMMAND} -N --preset ${preset} WORKING_DIRECTORY ${SOURCES} OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(said MATCHES "EAVE_WERROR=\"?(ON|TRUE|1|YES)")
    message(SEND_ERROR "preset ${preset} makes warnings errors, for users too")
  endif()
endforeach()

file(READ ${SOURCES}/CMakeLists.txt text)
string(FIND "${text}" [[unless said, as the environment's WERROR" "$ENV{WERROR}")]] at)
if(at EQUAL -1)
  message(SEND_ERROR "CMakeLists.txt: EAVE_WERROR is to be what the environment says, off without a word")
endif()

execute_process(COMMAND ${SOURCES}/test/gpu/run --dry-run --only build OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "configuring[^\n]* -DEAVE_WERROR=OFF")
  message(SEND_ERROR "test/gpu/run configures without -DEAVE_WERROR=OFF:\n${said}")
endif()

file(READ ${SOURCES}/.ci/run text)
foreach(words "export WERROR=ON" "--preset cuda -DEAVE_WERROR=ON" "test/run --quick --werror")
  string(FIND "${text}" "${words}" at)
  if(at EQUAL -1)
    message(SEND_ERROR ".ci/run: no '${words}', so CI would pass over warnings")
  endif()
endforeach()
