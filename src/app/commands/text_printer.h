// Prints text that comes in pieces of bytes.
#pragma once

#include <string>
#include <string_view>

namespace eave {

// The number of bytes at the beginning of `text` before a character of UTF-8 that its end cuts; all if none is cut.
std::size_t whole_characters(std::string_view text);

// Standard output takes nothing more: its reader has left, or the disk is full. The end of main says what follows.
struct OutputLost {};

// Whether standard output is a pipe or socket whose reader has closed it.
bool has_reader_left();

// Throws OutputLost unless all that was printed on standard output is written, and may still be read.
void require_output_written();

// Writes to standard output as the bytes come, whole characters only. Bytes that are no UTF-8, and control characters,
// become '?'. Line ends and tabs stay, and carriage returns are left out. Characters without width stay too, because
// Persian, Hindi and joined emoji need them; on a terminal, those that turn the direction of writing become '?'.
class TextPrinter {
 public:
  explicit TextPrinter(bool is_on_terminal) : is_on_terminal_(is_on_terminal) {}
  // Throws OutputLost if the output cannot be written.
  void add(std::string_view bytes);
  void finish();  // ends the text: a cut character becomes one '?'

 private:
  void print(std::string_view text);
  const bool is_on_terminal_;
  std::string held_;  // the beginning of a character whose other bytes have not come
};

}  // namespace eave
