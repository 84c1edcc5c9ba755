// What readers call a file that is not what they expected: the input is the file's beginning.
#include "base/content_kind.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text = eave::describe_content(eave::content_kind({bytes, size}), "get it again");
  for (const char letter : text) {
    if (letter < ' ' || letter > '~') __builtin_trap();  // a message is for terminals
  }
  return 0;
}
