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

// Writes to standard output as the bytes come, whole characters only. As everywhere in eave, bytes that are no UTF-8,
// control characters and those without width become '?'. Line ends and tabs stay, and carriage returns are left out.
class TextPrinter {
 public:
  // Throws OutputLost if the output cannot be written.
  void add(std::string_view bytes);
  void finish();  // ends the text: a cut character becomes one '?'

 private:
  void print(std::string_view text);
  std::string held_;  // the beginning of a character whose other bytes have not come
};

}  // namespace eave
