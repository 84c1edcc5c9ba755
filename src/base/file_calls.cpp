#include "base/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace eave {
namespace {

class SystemFileCalls final : public FileCalls {
 public:
  int create(const std::string& path, Existing existing) override {
    const int how = existing == Existing::kRefuse ? O_EXCL : O_TRUNC;
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644);
  }
  std::ptrdiff_t write(int file, std::string_view bytes) override { return ::write(file, bytes.data(), bytes.size()); }
  int flush(int file) override { return ::fsync(file); }
  int close(int file) override { return ::close(file); }
  int open_directory(const std::string& path) override {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  int make_directory(const std::string& path) override { return ::mkdir(path.c_str(), 0755); }
  int rename(const std::string& from, const std::string& to) override { return ::rename(from.c_str(), to.c_str()); }
  int remove(const std::string& path) override { return ::remove(path.c_str()); }
};

}  // namespace

FileCalls& system_file_calls() {
  static SystemFileCalls calls;
  return calls;
}

}  // namespace eave
