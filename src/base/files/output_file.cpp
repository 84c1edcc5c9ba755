#include "base/files/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/files/file_errors.h"
#include "base/files/user_path.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class SystemFileCalls final : public FileCalls {
 public:
  int create(const OutputPath& path, Existing existing) override {
    constexpr int kTurns = 3;  // another process may create the name again meanwhile
    for (int turn = 1;; ++turn) {
      Descriptor file = open_output(path, O_WRONLY | O_CREAT | O_EXCL);
      if (file.is_open() || errno != EEXIST || existing == Existing::kRefuse || turn == kTurns) return file.release();
      if (remove_output(path) != 0 && errno != ENOENT) return -1;
    }
  }
  std::ptrdiff_t write(int file, std::string_view bytes) override { return ::write(file, bytes.data(), bytes.size()); }
  int flush(int file) override { return ::fsync(file); }
  int close(int file) override { return ::close(file); }
  int open_directory(const OutputFolder& folder) override { return open_folder(folder, O_RDONLY).release(); }
  int make_directory(const OutputPath& path) override { return make_folder(path); }
  int rename(const OutputPath& from, const OutputPath& to) override { return rename_output(from, to); }
  int remove(const OutputPath& path) override { return remove_output(path); }
};

[[noreturn]] void fail(ExitCode code, const std::string& what, const OutputPath& path) {
  const int reason = errno;
  throw Error(code, what + " " + path.string() + ": " + why_not_written(reason, path));
}

fs::path absolute_path(const char* variable) {
  const char* const text = std::getenv(variable);
  const fs::path path = text != nullptr ? text : "";
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

FileCalls& system_file_calls() {
  static SystemFileCalls calls;
  return calls;
}

OutputFile::OutputFile(const OutputPath& path, FileCalls::Existing existing, FileCalls& calls)
    : path_(path), calls_(calls) {
  file_ = uninterrupted([&] { return calls_.create(path_, existing); });
  if (file_ < 0) fail(ExitCode::kCannotCreate, "cannot create", path_);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) calls_.close(file_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t count = uninterrupted([&] { return calls_.write(file_, bytes); });
    if (count == 0) errno = ENOSPC;  // write reported no error and took nothing
    if (count <= 0) fail(ExitCode::kInputOutput, "cannot write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Does not flush again after a failure, because the system may have dropped data that it could not write. Does not
// close again after an interrupted close, because the descriptor is already gone.
void OutputFile::finish() {
  if (uninterrupted([&] { return calls_.flush(file_); }) != 0) fail(ExitCode::kInputOutput, "cannot flush", path_);
  if (calls_.close(std::exchange(file_, -1)) != 0 && errno != EINTR) {
    fail(ExitCode::kInputOutput, "cannot close", path_);
  }
}

void flush_directory(const OutputFolder& folder, FileCalls& calls) {
  const int directory = uninterrupted([&] { return calls.open_directory(folder); });
  if (directory < 0) fail(ExitCode::kInputOutput, "cannot open", folder.entry());
  const bool is_flushed = uninterrupted([&] { return calls.flush(directory); }) == 0 || errno == EINVAL;
  const int reason = errno;
  calls.close(directory);
  errno = reason;
  if (!is_flushed) fail(ExitCode::kInputOutput, "cannot flush", folder.entry());
}

void make_directory(const OutputFolder& folder, FileCalls& calls) {
  const OutputPath path = folder.entry();
  if (uninterrupted([&] { return calls.make_directory(path); }) == 0) return;
  const int reason = errno;
  if (reason == EEXIST && open_folder(folder, O_PATH).is_open()) return;
  errno = reason;
  fail(ExitCode::kCannotCreate, "cannot create", path);
}

void rename_file(const OutputPath& from, const OutputPath& to, FileCalls& calls) {
  if (uninterrupted([&] { return calls.rename(from, to); }) == 0) return;
  fail(ExitCode::kCannotCreate, "cannot create", to);
}

bool remove_tree(const OutputPath& path, FileCalls& calls) noexcept {
  try {
    const OutputFolder inside = path.folder().below(path.name());
    int error = 0;
    for (const std::string& name : names_in(inside, error)) {
      if (!remove_tree(inside / name, calls)) return false;
    }
    return uninterrupted([&] { return calls.remove(path); }) == 0 || errno == ENOENT;
  } catch (...) {
    return false;
  }
}

void write_file_atomically(const OutputPath& path, const std::string& content, FileCalls& calls) {
  write_file_atomically(path, std::vector<std::string_view>{content}, calls);
}

void write_file_atomically(const OutputPath& path, const std::vector<std::string_view>& pieces, FileCalls& calls) {
  if (path.is_of_person()) return write_named_file(path.path(), pieces);
  const OutputPath beside = path.with(".partial");
  OutputFile file(beside, FileCalls::Existing::kReplace, calls);
  try {
    for (const std::string_view piece : pieces) file.write(piece);
    file.finish();
    rename_file(beside, path, calls);
  } catch (const Error&) {
    remove_tree(beside, calls);
    throw;
  }
  flush_directory(path.folder(), calls);
}

fs::path cache_folder(const std::string& name) {
  fs::path cache = absolute_path("XDG_CACHE_HOME");
  if (const fs::path home = absolute_path("HOME"); cache.empty() && !home.empty()) cache = home / ".cache";
  return cache.empty() ? cache : cache / "eave" / name;
}

void make_cache_folder(const fs::path& folder) {
  const fs::path above = folder.parent_path();
  for (const fs::path& each : {above.parent_path(), above, folder}) make_directory(OutputFolder(each));
}

}  // namespace eave
