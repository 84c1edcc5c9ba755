#include "base/message.h"

#include <cstddef>

#include "base/printable.h"

namespace eave {

LinesError::LinesError(ExitCode code, const std::vector<std::string>& lines) : Error(code, joined_lines(lines)) {}

std::string message_of(const std::exception& error) {
  return dynamic_cast<const HasOwnLines*>(&error) == nullptr ? printable(error.what()) : error.what();
}

std::vector<std::string> message_lines_of(const std::exception& error) { return lines_in(message_of(error)); }

LinesError with_front(const std::string& before, const Error& error, ExitCode code) {
  std::vector<std::string> lines = message_lines_of(error);
  lines.front() = before + lines.front();
  return {code, lines};
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\n") + printable(lines[i]);
  return text;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace eave
