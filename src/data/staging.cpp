#include "data/staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& to, const std::string& what) {
  throw Error(ExitCode::kCannotCreate, "--stage-to " + to.string() + ": " + what +
                                           "; name a directory with room on a disk of each host, or leave it out");
}

// Held by the rank of a host that copies. The system frees it when the process ends.
class StagingLock {
 public:
  explicit StagingLock(const fs::path& to) {
    const fs::path path = to / "eave-stage.lock";
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file_ < 0) refuse(to, std::string("cannot write there: ") + std::strerror(errno));
    while (::flock(file_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const std::string reason = std::strerror(errno);
      ::close(file_);
      refuse(to, "cannot lock " + path.string() + ": " + reason);
    }
  }
  StagingLock(const StagingLock&) = delete;
  StagingLock& operator=(const StagingLock&) = delete;
  ~StagingLock() { ::close(file_); }

 private:
  int file_ = -1;
};

bool is_copied(const fs::path& original, const fs::path& copy) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(copy, error)) &&
         fs::file_size(copy, error) == fs::file_size(original) &&
         fs::last_write_time(copy, error) == fs::last_write_time(original);
}

// A copy that finds no room ends with what the system's way of copying makes of that, often "Input/output error".
void require_room(const fs::path& original, const fs::path& to) {
  const std::uintmax_t needed = fs::file_size(original), free = fs::space(to).available;
  if (free < needed)
    refuse(to, "no room for " + original.string() + ", which has " + std::to_string(needed) + " bytes and " +
                   std::to_string(free) + " are free");
}

// Under its name only when it is whole.
void copy_whole(const fs::path& original, const fs::path& copy, const fs::path& to) {
  fs::path partial = copy;
  partial += ".partial";
  fs::remove(partial);
  require_room(original, to);
  fs::copy_file(original, partial);
  fs::last_write_time(partial, fs::last_write_time(original));
  fs::rename(partial, copy);
}

}  // namespace

fs::path stage_files(const fs::path& from, const std::vector<std::string>& names, const fs::path& to) {
  try {
    fs::create_directories(to);
    const fs::path original = fs::canonical(from);
    const fs::path folder = to / (original.filename().string() + "-" + hash_of(original.string()).text().substr(0, 8));
    const StagingLock lock(to);
    for (const std::string& name : names) {
      fs::create_directories((folder / name).parent_path());
      if (!is_copied(original / name, folder / name)) copy_whole(original / name, folder / name, to);
    }
    return folder;
  } catch (const fs::filesystem_error& error) {
    refuse(to, error.what());
  }
}

}  // namespace eave
