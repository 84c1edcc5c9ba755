#include "base/printable.h"

#include <cstddef>
#include <cstdint>

namespace eave {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

std::uint32_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

Character first_of(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF5   ? 4
                            : lead >= 0xE0 && lead < 0xF0 ? 3
                            : lead >= 0xC2 && lead < 0xE0 ? 2
                                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte_at(text, i) & 0x3FU);
  }
  const bool is_too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_none = (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF;
  return is_too_long || is_none ? Character{} : Character{code, bytes};
}

bool is_shown(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  const bool turns_or_hides = code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
                              (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
                              code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
                              (code >= 0xE0000 && code <= 0xE0FFF);
  return !turns_or_hides;
}

std::string filtered(std::string_view text, bool keeps_lines) {
  std::string shown;
  while (!text.empty()) {
    const Character character = first_of(text);
    const bool stays = character.bytes > 0 && (is_shown(character.code) || (keeps_lines && character.code == '\n'));
    const std::size_t bytes = character.bytes > 0 ? character.bytes : 1;
    stays ? shown.append(text.substr(0, bytes)) : shown.append("?");
    text.remove_prefix(bytes);
  }
  return shown;
}

}  // namespace

void fail_check(const char* statement, const char* file, int line, const std::string& detail) {
  throw Error(ExitCode::kInternal, std::string("internal error: ") + statement + " does not hold (" + detail + ") at " +
                                       file + ":" + std::to_string(line) + "; please report this");
}

std::string printable(std::string_view text) { return filtered(text, false); }

std::string printable_lines(std::string_view text) { return filtered(text, true); }

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
