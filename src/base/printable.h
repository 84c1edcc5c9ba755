// The one filter for text that goes to a terminal, and the messages of errors that pass it. Texts come from files, file
// names and other programs, and a terminal would obey some of their characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "eave/check.h"

namespace eave {

// Replaces these by '?', and keeps all other characters:
// - control characters (C0, DEL, C1)
// - line and paragraph separators, characters without width, and characters that change the direction of writing
//   (U+061C, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF)
// - bytes that are not UTF-8
std::string printable(std::string_view text);

// The same, but keeps line ends; for texts of several lines.
std::string printable_lines(std::string_view text);

// Messages of several lines. A name in a message may contain a line end. So code that prints an Error treats it as one
// line, unless its line ends are known to be eave's own.

// Marks an exception whose what() has no line ends but eave's own, and no other characters that a terminal obeys.
class HasOwnLines {
 public:
  virtual ~HasOwnLines() = default;
};

// An Error of several lines. Each line is made printable separately.
class LinesError : public Error, public HasOwnLines {
 public:
  LinesError(ExitCode code, const std::vector<std::string>& lines);
};

// The message as people and other ranks see it: printable, and of several lines only for HasOwnLines.
std::string message_of(const std::exception& error);
std::vector<std::string> message_lines_of(const std::exception& error);

// Returns an error with the message of `error`, and `before` in front of its first line.
LinesError with_front(const std::string& before, const Error& error, ExitCode code);

// Joins lines, made printable, by line ends.
std::string joined_lines(const std::vector<std::string>& lines);

// The inverse of joined_lines.
std::vector<std::string> lines_in(const std::string& text);

}  // namespace eave
