# add_family(<family> <Kind> <header> [EXTENSIBLE] <words…>)
#
# A family is a set of interchangeable members: one file each, <word>.cpp (dashes become underscores), in the folder of the
# list or in one of its folders; or the list generates it in its build folder. It defines
#     <Kind> eave::describe_<family>_<word>();
# This function compiles the files and generates the table behind
#     const std::vector<eave::<Kind>>& eave::<family>_kinds();
# declared in <header>. The sources come back in <family>_sources. Leaving a word out leaves the member out. EXTENSIBLE:
# void eave::add_<family>_kind(<Kind>) adds what is not known here, such as a plug-in's.
function(add_family family kind header)
  cmake_parse_arguments(PARSE_ARGV 3 ARG "EXTENSIBLE" "" "")
  set(sources)
  set(declarations)
  set(calls)
  set(words ${ARG_UNPARSED_ARGUMENTS})
  list(REMOVE_DUPLICATES words)
  if(NOT "${words}" STREQUAL "${ARG_UNPARSED_ARGUMENTS}")
    message(FATAL_ERROR "the list of ${family} in ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt has a word twice: "
      "${ARG_UNPARSED_ARGUMENTS}")
  endif()
  foreach(word ${words})
    string(REPLACE "-" "_" symbol ${word})
    file(GLOB source CONFIGURE_DEPENDS ${symbol}.cpp */${symbol}.cpp ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp)
    if(NOT source)
      message(FATAL_ERROR "${family} '${word}' has no file ${symbol}.cpp in ${CMAKE_CURRENT_SOURCE_DIR} or a folder there")
    endif()
    list(APPEND sources ${source})
    string(APPEND declarations "${kind} describe_${family}_${symbol}();\n")
    string(APPEND calls "      describe_${family}_${symbol}(),\n")
  endforeach()
  set(const "const ")
  set(add)
  if(ARG_EXTENSIBLE)
    set(const)
    set(add "void add_${family}_kind(${kind} kind) { ${family}_table().push_back(static_cast<${kind}&&>(kind)); }")
  endif()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${family}_family.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT "// Generated from the CMake list of the family; do not edit.
#include \"${header}\"

#include \"base/options/member_rules.h\"

namespace eave {

${declarations}
namespace {
${const}std::vector<${kind}>& ${family}_table() {
  static ${const}std::vector<${kind}> kinds = checked_members<${kind}>(\"${family}\", {
${calls}  });
  return kinds;
}
}  // namespace

const std::vector<${kind}>& ${family}_kinds() { return ${family}_table(); }
${add}

}  // namespace eave
")
  # Compiled alone: its path is that of the build directory, and would keep a compiler cache from finding the objects of
  # another one.
  set_source_files_properties(${table} DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/..
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${family}_sources ${sources} ${table} PARENT_SCOPE)
endfunction()
