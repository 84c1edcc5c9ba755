# cmake -DPAGE=<page.html> -DSTYLE=<files> -DSCRIPT=<files> -DGLOSSARY=<glossary.md> -DOUTPUT=<file.cpp> -P embed.cmake
#
# Puts the files of STYLE and SCRIPT (separated by |) where the page has /*EAVE_STYLE*/ and /*EAVE_SCRIPT*/, and the rows
# of GLOSSARY's table, as pairs of texts, where it has /*EAVE_GLOSSARY*/. Writes a source that defines
# std::string_view eave::page_template(): the bytes of that page.
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

# The rows "| word | meaning |" of a Markdown table as JavaScript: ["word","meaning"], without the signs for bold and code.
function(read_glossary variable)
  file(STRINGS ${GLOSSARY} rows REGEX "^[|] [*][*]" ENCODING UTF-8)
  set(pairs "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "[*][*]|`" "" row "${row}")
    string(REPLACE "\\|" "\t" row "${row}")  # in a cell, | is written as \|
    string(REPLACE "\"" "\\\"" row "${row}")
    string(REGEX REPLACE "^[|] (.*) [|] (.*) [|]$" "[\"\\1\",\"\\2\"]," row "${row}")
    string(REPLACE "\t" "|" row "${row}")
    string(APPEND pairs "${row}\n")
  endforeach()
  if(pairs STREQUAL "")
    message(FATAL_ERROR "${GLOSSARY} has no table of words")
  endif()
  set(${variable} "${pairs}" PARENT_SCOPE)
endfunction()

file(READ ${PAGE} page)
fill("/*EAVE_STYLE*/" "${STYLE}")
fill("/*EAVE_SCRIPT*/" "${SCRIPT}")
read_glossary(glossary)
string(REPLACE "/*EAVE_GLOSSARY*/" "${glossary}" page "${page}")
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
