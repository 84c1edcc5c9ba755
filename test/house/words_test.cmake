# A word that stands twice in the list of a family, or that names an activation as well as another layer, ends CMake with a
# message. Otherwise the second member would replace the first without a word.
function(expect_refused text words)
  file(WRITE ${PLACE}/CMakeLists.txt "cmake_minimum_required(VERSION 3.24)\nproject(words NONE)\n"
    "include(${SOURCES}/src/family.cmake)\n${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${PLACE} -B ${PLACE}/build RESULT_VARIABLE code ERROR_VARIABLE said
                  OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  string(FIND "${said}" "${words}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(SEND_ERROR "${text}: CMake ended with ${code}, and does not say '${words}':\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${PLACE})
expect_refused("add_family(toy ToyKind toy.h one two one)" "has a word twice: one;two;one")
set(layers "set_property(GLOBAL PROPERTY eave_elementwise_words relu linear)
add_subdirectory(${SOURCES}/src/nn/layers layers)")
expect_refused("${layers}" "kernels/elementwise has the word 'linear', which is the name of another layer")
