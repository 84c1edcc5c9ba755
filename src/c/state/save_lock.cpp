#include "c/state/save_lock.h"

#include <unistd.h>

#include <mutex>
#include <set>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/host.h"
#include "checkpoint/checkpoint_directory.h"
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

// The directories from which this process has loaded, or in which it has saved.
class OwnPlaces {
 public:
  bool has(const fs::path& checkpoints) {
    const std::lock_guard lock(mutex_);
    return places_.contains(FixedPlace(checkpoints));
  }
  void add(const fs::path& checkpoints) {
    const std::lock_guard lock(mutex_);
    places_.insert(FixedPlace(checkpoints));
  }

 private:
  std::mutex mutex_;
  std::set<fs::path> places_;
};

OwnPlaces own_places;

[[noreturn]] void refuse_to_lose(const fs::path& checkpoints, std::int64_t newest, std::int64_t step) {
  const auto name = [&](std::int64_t of) { return checkpoint_path("", of).string(); };
  throw Error(ExitCode::kUsage,
              "save to " + checkpoints.string() + ": it has " + name(newest) +
                  ", which this job has not loaded, and saving step " + std::to_string(step) +
                  " would remove it; load it before the first step to go on from it, save to another directory, or "
                  "remove " +
                  (newest == step ? name(step) : name(step) + " and later ones"));
}

}  // namespace

FixedPlace::FixedPlace(const fs::path& path) : path_(path) {
  if (path.empty()) return;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return;
  const fs::path real = fs::weakly_canonical(absolute, error);
  path_ = error ? absolute : real;
}

void SaveLock::require_own(const fs::path& checkpoints, std::int64_t step) {
  if (own_places.has(checkpoints)) return;
  put_back_replaced_checkpoints(checkpoints, system_file_calls());
  const std::vector<std::int64_t> steps = committed_steps(checkpoints);
  if (!steps.empty() && steps.back() >= step) refuse_to_lose(checkpoints, steps.back(), step);
  own_places.add(checkpoints);
}

void SaveLock::take_as_own(const fs::path& checkpoints) { own_places.add(checkpoints); }

void SaveLock::hold(const fs::path& checkpoints, std::chrono::seconds patience) {
  const fs::path place = fs::absolute(checkpoints).lexically_normal();
  if (locks_.contains(place)) return;
  const std::unique_ptr<DirectoryLock> run = take(place.parent_path(), patience);
  if (std::unique_ptr<DirectoryLock> own = take(place, patience)) locks_.emplace(place, std::move(own));
}

}  // namespace eave
