# add_family(<family> <Kind> <header> <words…>)
#
# A family is a set of interchangeable members: one file each, <word>.cpp (dashes become underscores), which defines
#     <Kind> eave::describe_<family>_<word>();
# This function compiles the files and generates the table behind
#     const std::vector<eave::<Kind>>& eave::<family>_kinds();
# declared in <header>; and void eave::add_<family>_kind(<Kind>), by which a program's plug-ins extend it. The sources come back in <family>_sources. Leaving a word out leaves the member out.
function(add_family family kind header)
  set(sources)
  set(declarations)
  set(calls)
  foreach(word ${ARGN})
    string(REPLACE "-" "_" symbol ${word})
    list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/${symbol}.cpp)
    string(APPEND declarations "${kind} describe_${family}_${symbol}();\n")
    string(APPEND calls "      describe_${family}_${symbol}(),\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${family}_family.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT "// Generated from the CMake list of the family; do not edit.
#include \"${header}\"

namespace eave {

${declarations}
namespace {
std::vector<${kind}>& ${family}_table() {
  static std::vector<${kind}> kinds = {
${calls}  };
  return kinds;
}
}  // namespace

const std::vector<${kind}>& ${family}_kinds() { return ${family}_table(); }
void add_${family}_kind(${kind} kind) { ${family}_table().push_back(static_cast<${kind}&&>(kind)); }

}  // namespace eave
")
  set(${family}_sources ${sources} ${table} PARENT_SCOPE)
endfunction()
