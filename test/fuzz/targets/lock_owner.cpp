// The lock file that names the owner of a run directory.
#include "base/files/directory_lock.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (const auto owner = eave::read_lock_owner(eave::text_of({bytes, size}))) {
    for (const char letter : owner->describe()) {
      if (letter < ' ' || letter > '~') std::abort();
    }
  }
  return 0;
}
