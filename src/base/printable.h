// The one filter for what a terminal is shown. Texts come from files, names of files and other programs; a terminal
// would obey some of their characters.
#pragma once

#include <string>
#include <string_view>

namespace eave {

// '?' for each control character (C0, DEL, C1), line or paragraph separator, character that turns the direction of
// writing or has no width (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF), and byte that is no
// UTF-8. Other characters stay.
std::string printable(std::string_view text);

// The same, and line ends stay: for texts of several lines.
std::string printable_lines(std::string_view text);

}  // namespace eave
