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

// Tabs are no characters of messages, so printable_lines would replace them.
void TextPrinter::print(std::string_view text) {
  std::string kept;
  std::ranges::copy_if(text, std::back_inserter(kept), [](char letter) { return letter != '\r'; });
  for (std::size_t at = 0; at <= kept.size();) {
    const std::size_t tab = std::min(kept.find('\t', at), kept.size());
    std::fputs(printable_lines(kept.substr(at, tab - at)).c_str(), stdout);
    if (tab < kept.size()) std::fputc('\t', stdout);
    at = tab + 1;
  }
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
