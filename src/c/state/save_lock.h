// Lets one job at a time save checkpoints in a directory.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "base/files/directory_lock.h"

namespace eave {

// Rank 0 of a job takes the lock of a directory at its first save, and keeps it until this object ends. It is the lock
// that `eave train --checkpoint-dir` takes.
class SaveLock {
 public:
  // `checkpoints`: the folder "checkpoint" of a run directory. Both must exist. Does nothing if this process has the
  // lock already, for another averager too. Throws Error(kCannotCreate), which names the other job (host, pid), if
  // another job saves there or has its run in the run directory, and still does after `patience`.
  void hold(const std::filesystem::path& checkpoints, std::chrono::seconds patience = kPatience);

 private:
  // If rank 0 was killed, workers of its data loader share the lock until they notice, after at most 5 s.
  static constexpr std::chrono::seconds kPatience{7};

  std::map<std::filesystem::path, std::unique_ptr<DirectoryLock>> locks_;
};

}  // namespace eave
