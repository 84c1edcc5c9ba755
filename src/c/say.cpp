#include "c/say.h"

#include <unistd.h>

#include "base/printable.h"

namespace eave {

void say(const std::string& line) {
  const std::string whole = printable(line) + "\n";
  if (write(STDERR_FILENO, whole.data(), whole.size()) < 0) return;
}

void warn(const std::string& text) { say("eave: warning: " + text); }

}  // namespace eave
