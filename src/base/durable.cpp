#include "base/durable.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr int kMostInterruptions = 1000;  // in a row; more is no signal but a file system that does not work

[[noreturn]] void fail(ExitCode code, const std::string& what, const fs::path& path) {
  throw Error(code, what + " " + path.string() + ": " + std::strerror(errno));
}

template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  for (int i = 0; result < 0 && errno == EINTR && i < kMostInterruptions; ++i) result = call();
  return result;
}

}  // namespace

OutputFile::OutputFile(const fs::path& path, FileCalls::Existing existing, FileCalls& calls)
    : path_(path), calls_(calls) {
  file_ = uninterrupted([&] { return calls_.create(path_.string(), existing); });
  if (file_ < 0) fail(ExitCode::kCannotCreate, "cannot create", path_);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) calls_.close(file_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t count = uninterrupted([&] { return calls_.write(file_, bytes); });
    if (count == 0) errno = ENOSPC;  // nothing was refused, and nothing taken
    if (count <= 0) fail(ExitCode::kInputOutput, "cannot write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Not flushed again after a failure: the system may have dropped what it could not write. After an interrupted close
// the descriptor is gone all the same.
void OutputFile::finish() {
  if (uninterrupted([&] { return calls_.flush(file_); }) != 0) fail(ExitCode::kInputOutput, "cannot flush", path_);
  if (calls_.close(std::exchange(file_, -1)) != 0 && errno != EINTR) {
    fail(ExitCode::kInputOutput, "cannot close", path_);
  }
}

void flush_directory(const fs::path& path, FileCalls& calls) {
  const int directory = uninterrupted([&] { return calls.open_directory(path.string()); });
  if (directory < 0) fail(ExitCode::kInputOutput, "cannot open", path);
  const bool is_flushed = uninterrupted([&] { return calls.flush(directory); }) == 0 || errno == EINVAL;
  const int reason = errno;
  calls.close(directory);
  errno = reason;
  if (!is_flushed) fail(ExitCode::kInputOutput, "cannot flush", path);
}

void make_directory(const fs::path& path, FileCalls& calls) {
  if (uninterrupted([&] { return calls.make_directory(path.string()); }) == 0) return;
  const int reason = errno;
  std::error_code error;
  if (reason == EEXIST && fs::is_directory(fs::symlink_status(path, error))) return;
  errno = reason;
  fail(ExitCode::kCannotCreate, "cannot create", path);
}

void rename_file(const fs::path& from, const fs::path& to, FileCalls& calls) {
  if (uninterrupted([&] { return calls.rename(from.string(), to.string()); }) == 0) return;
  fail(ExitCode::kCannotCreate, "cannot create", to);
}

bool remove_tree(const fs::path& path, FileCalls& calls) noexcept {
  try {
    std::error_code error;
    if (fs::is_directory(fs::symlink_status(path, error))) {
      std::vector<fs::path> inside;
      for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) inside.push_back(entry.path());
      for (const fs::path& each : inside) {
        if (!remove_tree(each, calls)) return false;
      }
    }
    return uninterrupted([&] { return calls.remove(path.string()); }) == 0 || errno == ENOENT;
  } catch (...) {
    return false;
  }
}

}  // namespace eave
