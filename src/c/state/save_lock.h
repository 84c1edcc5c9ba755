// Lets one job at a time save checkpoints in a directory, and only if this job goes on from those that are there.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "base/files/directory_lock.h"

namespace eave {

// A directory that stays the same when the process changes its working directory, or somebody changes a link in its
// path.
class FixedPlace {
 public:
  FixedPlace() = default;
  FixedPlace(const std::filesystem::path& path);                            // NOLINT(google-explicit-constructor)
  operator const std::filesystem::path&() const noexcept { return path_; }  // NOLINT(google-explicit-constructor)

 private:
  std::filesystem::path path_;  // empty: none
};

// Rank 0 of a job takes the lock of a directory at its first save, and keeps it until this object ends. It is the lock
// that `eave train --checkpoint-dir` takes.
class SaveLock {
 public:
  // `checkpoints`: the folder "checkpoint" of a run directory. Both must exist. Does nothing if this process has the
  // lock already, for another averager too. Throws Error(kCannotCreate), which names the other job (host, pid), if
  // another job saves there or has its run in the run directory, and still does after `patience`.
  void hold(const std::filesystem::path& checkpoints, std::chrono::seconds patience = kPatience);

  // Call it while the lock is held, before a checkpoint of `step` is written. If the directory has checkpoints of this
  // or a later step, which saving would remove, and the owner of this lock has neither loaded from there nor saved
  // there before, it throws Error(kUsage). If another one of this process has, it only warns.
  void require_own(const std::filesystem::path& checkpoints, std::int64_t step);
  // Call it when the owner has loaded a checkpoint from there.
  void take_as_own(const std::filesystem::path& checkpoints);

 private:
  // If rank 0 was killed, workers of its data loader share the lock until they notice, after at most 5 s.
  static constexpr std::chrono::seconds kPatience{7};

  std::map<std::filesystem::path, std::unique_ptr<DirectoryLock>> locks_;
  std::vector<std::filesystem::path> own_;  // directories from which the owner has loaded, or in which it has saved
};

}  // namespace eave
