#include "app/commands/text_printer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/printable.h"

namespace eave {
namespace {

// The bytes of a character of UTF-8, by its first byte; 1 for a byte that begins none.
std::size_t length_from(std::uint8_t first) {
  if (first >= 0xF0 && first <= 0xF4) return 4;
  if (first >= 0xE0) return first < 0xF0 ? 3 : 1;
  return first >= 0xC2 ? 2 : 1;
}

// They hold until another character ends them, so they may turn what a terminal shows afterwards: U+202A to U+202E, and
// U+2066 to U+2069.
bool turns_direction(std::string_view character) {
  return (character >= "\xE2\x80\xAA" && character <= "\xE2\x80\xAE") ||
         (character >= "\xE2\x81\xA6" && character <= "\xE2\x81\xA9");
}

// The first character of `text`, or its first byte if that begins no whole character.
std::string_view first_character(std::string_view text) {
  const std::string_view all = text.substr(0, length_from(static_cast<std::uint8_t>(text.front())));
  const bool is_whole = std::ranges::all_of(all.substr(1), [](char byte) { return (byte & 0xC0) == 0x80; });
  return is_whole ? all : text.substr(0, 1);
}

// The text to print for a character. printable replaces each byte that is no UTF-8 by one '?', so one '?' for several
// bytes means a control character of two bytes (U+0080 to U+009F) or a character without width.
std::string shown_character(std::string_view character, bool is_on_terminal) {
  if (character == "\n" || character == "\t") return std::string(character);
  const std::string shown = printable(character);
  const bool lacks_width = shown == "?" && character.size() > 2;
  const bool is_soft_hyphen = character == "\xC2\xAD", is_arabic_mark = character == "\xD8\x9C";
  if (is_soft_hyphen || is_arabic_mark || (lacks_width && !(is_on_terminal && turns_direction(character))))
    return std::string(character);
  return shown;
}

}  // namespace

std::size_t whole_characters(std::string_view text) {
  const std::size_t most = std::min<std::size_t>(text.size(), 3);  // bytes of a cut character
  for (std::size_t back = 1; back <= most; ++back) {
    const auto byte = static_cast<std::uint8_t>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    return length_from(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

void TextPrinter::add(std::string_view bytes) {
  held_ += bytes;
  const std::size_t whole = whole_characters(held_);
  print(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
}

void TextPrinter::finish() {
  if (!held_.empty()) print("?");
  held_.clear();
}

void TextPrinter::print(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    if (character != "\r") shown += shown_character(character, is_on_terminal_);
    text.remove_prefix(character.size());
  }
  std::fputs(shown.c_str(), stdout);
  require_output_written();
}

bool has_reader_left() {
  pollfd state{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
}

void require_output_written() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || has_reader_left()) throw OutputLost();
}

}  // namespace eave
