// Messages of several lines. A name may hold a line end, so everything that prints an Error takes it for one line,
// unless its line ends are known to be eave's own.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"

namespace eave {

// The mark of an exception whose what() holds no line end but eave's own, and nothing else that a terminal obeys.
class HasOwnLines {
 public:
  virtual ~HasOwnLines() = default;
};

// An Error of several lines, each of which is made printable by itself.
class LinesError : public Error, public HasOwnLines {
 public:
  LinesError(ExitCode code, const std::vector<std::string>& lines);
};

// The message as people and other ranks get it: printable, and of several lines only if it was made so.
std::string message_of(const std::exception& error);
std::vector<std::string> message_lines_of(const std::exception& error);

// Another error with the message of `error`, and `before` at the front of its first line.
LinesError with_front(const std::string& before, const Error& error, ExitCode code);

// Printable lines with a line end between any two.
std::string joined_lines(const std::vector<std::string>& lines);

// The inverse.
std::vector<std::string> lines_in(const std::string& text);

}  // namespace eave
