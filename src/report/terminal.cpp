#include "report/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace eave {
namespace {

int columns_of(int descriptor) {
  constexpr int kUnknownWidth = 80;
  if (::isatty(descriptor) == 0) return 0;
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUnknownWidth;
}

}  // namespace

int terminal_columns(bool by_launcher) {
  const int own = columns_of(STDERR_FILENO);
  if (own > 0 || !by_launcher) return own;
  const std::string launcher = "/proc/" + std::to_string(::getppid()) + "/fd/2";
  const int descriptor = ::open(launcher.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  const int columns = columns_of(descriptor);
  ::close(descriptor);
  return columns;
}

}  // namespace eave
