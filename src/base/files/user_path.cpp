#include "base/files/user_path.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "base/files/file_errors.h"
#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Returns "" if there is no such user, or the user has no home directory.
std::string recorded_home(const std::string& user) {
  std::vector<char> space(1 << 14);
  passwd entry{};
  passwd* found = nullptr;
  if (user.empty()) {
    ::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found);
  } else {
    ::getpwnam_r(user.c_str(), &entry, space.data(), space.size(), &found);
  }
  return found && found->pw_dir ? found->pw_dir : "";
}

std::string home_of(const std::string& user) {
  const char* const home = user.empty() ? std::getenv("HOME") : nullptr;
  return home && *home != '\0' ? home : recorded_home(user);
}

bool begins_with_variable(const std::string& text) {
  return text.size() > 1 && text[0] == '$' &&
         (text[1] == '{' || text[1] == '_' || std::isalpha(static_cast<unsigned char>(text[1])));
}

constexpr int kMostLinks = 40;  // the limit of Linux

// Returns the descriptor that /dev/stdout, /dev/fd/7 or /proc/self/fd/7 names. Opening such a name anew would write a
// file from its beginning.
std::optional<int> stream_in(const fs::path& path) {
  const std::string text = path.lexically_normal().string();
  if (text == "/dev/stdin") return STDIN_FILENO;
  if (text == "/dev/stdout") return STDOUT_FILENO;
  if (text == "/dev/stderr") return STDERR_FILENO;
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!text.starts_with(folder)) continue;
    if (const auto number = parse_number<int>(std::string_view(text).substr(folder.size()))) return number;
  }
  return std::nullopt;
}

struct Target {
  std::optional<int> stream;
  fs::path path;
  fs::file_type type = fs::file_type::not_found;  // of the file at `path`
};

Target find_target(fs::path path) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (const auto stream = stream_in(path)) return {stream, path};
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::is_symlink(status)) return {std::nullopt, path, status.type()};
    const fs::path next = fs::read_symlink(path, error);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  throw Error(ExitCode::kCannotCreate,
              "cannot create " + path.string() + ": it is a loop of symbolic links; name another file");
}

void write_all(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted([&] { return ::write(file, bytes.data(), bytes.size()); });
    if (count == 0) errno = ENOSPC;
    if (count <= 0) throw Error(ExitCode::kInputOutput, "cannot write " + path.string() + ": " + words_of_error(errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

Descriptor open_target(const Target& target) {
  if (!target.stream) return open_named(target.path, O_WRONLY);
  // Text that was printed earlier must come first.
  std::fflush(nullptr);
  return Descriptor(::fcntl(*target.stream, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

Reading<std::string> read_path(const std::string& text) {
  const std::string literally = "; if that is the real name, give ./" + text;
  if (begins_with_variable(text))
    return {std::nullopt, "a path without variables, which are not expanded here" + literally};
  if (!text.starts_with('~')) return {text};
  const std::size_t end = text.find('/');
  const std::string user = text.substr(1, end == std::string::npos ? end : end - 1);
  const std::string rest = end == std::string::npos ? "" : text.substr(end);
  const std::string home = home_of(user);
  if (!home.empty()) return {home == "/" && !rest.empty() ? rest : home + rest};
  const std::string reason = user.empty() ? "a path: HOME is not set, and no home directory is recorded for this user"
                                          : "a path: there is no user '" + user + "' with a home directory";
  return {std::nullopt, reason + literally};
}

std::string path_of_word(const std::string& text, const std::string& what) {
  const Reading<std::string> path = read_path(text);
  if (!path.value) throw Error(ExitCode::kUsage, what + " " + text + ": expected " + path.expected);
  return *path.value;
}

void write_named_file(const fs::path& path, const std::vector<std::string_view>& pieces) {
  const Target target = find_target(path);
  const auto refuse = [&](const std::string& why) -> void {
    throw Error(ExitCode::kCannotCreate, "cannot create " + path.string() + ": " + why);
  };
  if (target.type == fs::file_type::directory || !target.path.has_filename()) refuse("it is a directory; name a file");
  const bool is_file = target.type == fs::file_type::regular || target.type == fs::file_type::not_found ||
                       target.type == fs::file_type::none;
  if (!target.stream && is_file) return write_file_atomically(target.path, pieces);
  const Descriptor file = open_target(target);
  if (!file.is_open()) refuse(words_of_error(errno));
  for (const std::string_view piece : pieces) write_all(file.number(), piece, path);
}

std::string read_named_file(const fs::path& path, std::size_t limit_bytes) {
  const std::string kind = kind_instead_of_file(path);
  const std::optional<int> stream = stream_in(path);
  if (!stream && (kind.empty() || fs::is_directory(path))) return read_file(path, limit_bytes);
  const Descriptor file = stream ? Descriptor(::fcntl(*stream, F_DUPFD_CLOEXEC, 0)) : open_named(path, O_RDONLY);
  constexpr std::size_t kMostOfDevice = std::size_t{16} << 20;
  struct stat status {};
  const bool is_device = ::fstat(file.number(), &status) == 0 && S_ISCHR(status.st_mode);
  std::string content;
  std::array<char, 1 << 16> piece;
  while (const std::size_t count = read_some(file, piece.data(), piece.size(), path)) {
    content.append(piece.data(), count);
    if (is_device && content.size() > kMostOfDevice)
      throw Error(ExitCode::kBadData, path.string() + " is a device that has no end; give a file");
    if (content.size() > limit_bytes)
      throw Error(ExitCode::kBadData,
                  path.string() + " is larger than " + count_text(static_cast<std::int64_t>(limit_bytes), "byte"));
  }
  return content;
}

bool may_be_new(const fs::path& path) {
  const Target target = find_target(path);
  return target.stream || (target.type != fs::file_type::regular && target.type != fs::file_type::directory);
}

bool is_standard_output(const fs::path& path) { return find_target(path).stream == STDOUT_FILENO; }

}  // namespace eave
