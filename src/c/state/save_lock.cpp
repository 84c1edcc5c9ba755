#include "c/state/save_lock.h"

#include <unistd.h>

#include "base/files/input_file.h"
#include "base/host.h"
#include "eave/check.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Whether an eave.Run or another averager of this process has the lock.
bool is_own(const fs::path& lock) {
  std::error_code error;
  if (!fs::is_regular_file(lock, error)) return false;
  try {
    const std::optional<LockOwner> owner = read_lock_owner(read_file(lock, 1024));
    return owner && owner->pid == ::getpid() && owner->machine == machine_name() &&
           owner->started == start_of_process(::getpid());
  } catch (const Error&) {
    return false;  // it has just been removed, or is none
  }
}

std::unique_ptr<DirectoryLock> take(const fs::path& directory, std::chrono::seconds patience) {
  if (is_own(directory / kRunLock)) return nullptr;
  return std::make_unique<DirectoryLock>(OutputFolder(directory), kRunLock, "save to " + directory.string(), patience);
}

}  // namespace

void SaveLock::hold(const fs::path& checkpoints, std::chrono::seconds patience) {
  const fs::path place = fs::absolute(checkpoints).lexically_normal();
  if (locks_.contains(place)) return;
  const std::unique_ptr<DirectoryLock> run = take(place.parent_path(), patience);
  if (std::unique_ptr<DirectoryLock> own = take(place, patience)) locks_.emplace(place, std::move(own));
}

}  // namespace eave
