// The description of a file's kind in error messages. The input is the beginning of the file.
#include "base/files/content_kind.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text = eave::describe_content(eave::content_kind({bytes, size}), "get it again");
  for (const char letter : text) {
    if (letter < ' ' || letter > '~') __builtin_trap();  // messages go to terminals
  }
  return 0;
}
