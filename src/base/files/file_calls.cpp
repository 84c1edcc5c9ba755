#include "base/files/file_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace eave {
namespace {

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

}  // namespace

FileCalls& system_file_calls() {
  static SystemFileCalls calls;
  return calls;
}

}  // namespace eave
