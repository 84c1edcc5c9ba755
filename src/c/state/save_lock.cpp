#include "c/state/save_lock.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/host.h"
#include "c/stderr_message.h"
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

bool is_same_place(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return one == other || fs::equivalent(one, other, error);
}

// The newest step that this process knows in each directory in which it has saved, or from which it has loaded.
class KnownSteps {
 public:
  void set(const fs::path& place, std::int64_t step) {
    const std::lock_guard lock(mutex_);
    steps_[place] = step;
  }
  bool has(const fs::path& place, std::int64_t step) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        steps_, [&](const auto& known) { return is_same_place(known.first, place) && step <= known.second; });
  }

 private:
  std::mutex mutex_;
  std::map<fs::path, std::int64_t> steps_;
};

KnownSteps known_steps;

std::string name_of(std::int64_t step) { return checkpoint_path("", step).string(); }

[[noreturn]] void refuse_to_lose(const fs::path& checkpoints, std::int64_t newest, std::int64_t step) {
  throw Error(ExitCode::kUsage,
              "save to " + checkpoints.string() + ": it has " + name_of(newest) +
                  ", which this job has not loaded, and saving step " + std::to_string(step) +
                  " would remove it; load it before the first step to go on from it, save to another directory, or "
                  "remove " +
                  (newest == step ? name_of(step) : name_of(step) + " and later ones"));
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
  const fs::path place = FixedPlace(checkpoints);
  if (std::ranges::none_of(own_, [&](const fs::path& own) { return is_same_place(own, place); })) {
    put_back_replaced_checkpoints(checkpoints, system_file_calls());
    const std::vector<std::int64_t> steps = committed_steps(checkpoints);
    const bool loses_some = !steps.empty() && steps.back() >= step;
    if (loses_some && !known_steps.has(place, steps.back())) refuse_to_lose(checkpoints, steps.back(), step);
    if (loses_some)
      warn("saving step " + std::to_string(step) + " to " + checkpoints.string() + " removes " + name_of(steps.back()) +
           ", which an earlier averager of this program saved or loaded");
    own_.push_back(place);
  }
  known_steps.set(place, step);
}

void SaveLock::take_as_own(const fs::path& checkpoints) {
  const fs::path place = FixedPlace(checkpoints);
  own_.push_back(place);
  if (const std::vector<std::int64_t> steps = committed_steps(checkpoints); !steps.empty())
    known_steps.set(place, steps.back());
}

void SaveLock::hold(const fs::path& checkpoints, std::chrono::seconds patience) {
  const fs::path place = fs::absolute(checkpoints).lexically_normal();
  if (locks_.contains(place)) return;
  const std::unique_ptr<DirectoryLock> run = take(place.parent_path(), patience);
  if (std::unique_ptr<DirectoryLock> own = take(place, patience)) locks_.emplace(place, std::move(own));
}

}  // namespace eave
