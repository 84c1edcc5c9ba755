#include "report/text/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace eave {
namespace {

int columns_of(int descriptor) {
  constexpr int kUnknownWidth = 80;
  if (::isatty(descriptor) == 0) return 0;
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUnknownWidth;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

}  // namespace

TerminalSize output_terminal() {
  const char* const kind = std::getenv("TERM");
  if (kind != nullptr && std::string_view(kind) == "dumb") return {};
  const int columns = columns_of(STDOUT_FILENO);
  if (columns == 0) return {};
  constexpr int kUnknownHeight = 24;
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return {columns, is_known ? size.ws_row : kUnknownHeight};
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMostNames ? text + " and " + std::to_string(names.size() - kMostNames) + " more" : text;
}

bool is_utf8_locale() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    for (const std::string_view end : {"UTF-8", "utf8", "utf-8", "UTF8"}) {
      if (locale.ends_with(end)) return true;
    }
    return false;
  }
  return false;
}

std::string loss_text(double loss) {
  if (!std::isfinite(loss)) return "not known";
  return format(std::abs(loss) < 1e12 ? "%.4f" : "%.6g", loss);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::clamp(seconds + 0.5, 0.0, 1e15));
  return whole >= 3600 ? format("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60)
                       : format("%ld:%02ld", whole / 60, whole % 60);
}

std::size_t count_characters(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t characters = count_characters(text);
  return text + std::string(width - std::min(width, characters), ' ');
}

std::string first_characters(const std::string& text, int columns) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && columns-- == 0) return text.substr(0, i);
  }
  return text;
}

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
