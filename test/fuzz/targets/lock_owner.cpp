// The lock file that names the owner of a run directory.
#include "base/files/directory_lock.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (const auto owner = read_lock_owner(text_of(bytes))) {
    for (const char letter : owner->describe()) {
      if (letter < ' ' || letter > '~') std::abort();
    }
  }
}
