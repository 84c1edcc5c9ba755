// Messages of several lines. A name in a message may contain a line end. So code that prints an Error treats it as one
// line, unless its line ends are known to be eave's own.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"

namespace eave {

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
