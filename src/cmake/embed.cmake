# cmake -DPAGE=<page.html> -DSTYLE=<files> -DSCRIPT=<files> -DOUTPUT=<file.cpp> -P embed.cmake
#
# Puts the files of STYLE and SCRIPT (separated by |) where the page has /*EAVE_STYLE*/ and /*EAVE_SCRIPT*/, and writes
# a source that defines std::string_view eave::page_template(): the bytes of that page.
function(fill placeholder files)
  string(REPLACE "|" ";" files "${files}")
  set(all "")
  foreach(name IN LISTS files)
    file(READ ${name} text)
    string(APPEND all "${text}")
  endforeach()
  string(REPLACE "${placeholder}" "${all}" page "${page}")
  set(page "${page}" PARENT_SCOPE)
endfunction()

file(READ ${PAGE} page)
fill("/*EAVE_STYLE*/" "${STYLE}")
fill("/*EAVE_SCRIPT*/" "${SCRIPT}")
string(HEX "${page}" bytes)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REPEAT "0x..," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "// Generated from page.html and what belongs to it; do not edit.
#include \"report/page/page.h\"

namespace eave {
namespace {

constexpr unsigned char kBytes[] = {
${bytes}};

}  // namespace

std::string_view page_template() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }

}  // namespace eave
")
