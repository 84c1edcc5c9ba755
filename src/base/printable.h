// The one filter for text that goes to a terminal. Texts come from files, file names and other programs, and a terminal
// would obey some of their characters.
#pragma once

#include <string>
#include <string_view>

namespace eave {

// Replaces these by '?', and keeps all other characters:
// - control characters (C0, DEL, C1)
// - line and paragraph separators, characters without width, and characters that change the direction of writing
//   (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF)
// - bytes that are not UTF-8
std::string printable(std::string_view text);

// The same, but keeps line ends; for texts of several lines.
std::string printable_lines(std::string_view text);

}  // namespace eave
