// The directory of a run's checkpoints: inside the run's own, or --checkpoint-dir, which no other run may share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/directory_lock.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// Collective, before all else that looks at checkpoints: sets --checkpoint-dir to its absolute path. A run that goes on
// has that of its config.json unless another is given. Throws AgreedError: kUsage (it lies in --run-dir), kCannotCreate
// (RUN/checkpoint is a symbolic link), kInputMissing (that of config.json is not there), kConfiguration (the run's
// checkpoints lie in another directory).
void settle_checkpoint_directory(Transport& transport, OptionValues& values);

// --checkpoint-dir, or RUN/checkpoint.
std::filesystem::path checkpoint_directory(const OptionValues& values);
// The directory of the checkpoints of a run that a command reads. `given`: "", or --checkpoint-dir. Throws Error:
// kInputMissing (that of config.json, or the given one, is not there), kConfiguration (it is another run's).
std::filesystem::path find_checkpoints_of(const std::filesystem::path& run, const std::string& given);

// The directory that ranks must see to write their parts: of --checkpoint-dir itself, else of --run-dir. "--run-dir
// DIR".
std::filesystem::path directory_to_see(const OptionValues& values);
std::string option_to_see(const OptionValues& values);

// Rank 0's hold on --checkpoint-dir. Does nothing without that option.
class CheckpointHome {
 public:
  explicit CheckpointHome(const OptionValues& values);

  // If it is there already: takes its lock. Throws Error(kCannotCreate): another run is in it, or it is another run's.
  void enter();
  // Makes it, and takes its lock. `begins`: the run does not go on; then checkpoints there are refused unless they are
  // of an earlier run in the same directory that `overwrite` replaces. Throws Error(kCannotCreate).
  void make(bool begins, bool overwrite);
  // Removes checkpoints of the run that is replaced, also those in another directory, if they are that run's. Before
  // its config.json goes.
  void clear() const;
  // Writes down whose it is.
  void sign() const;

 private:
  bool is_mine(const std::string& owner) const;
  void refuse_other_run() const;
  [[noreturn]] void refuse(const std::string& why) const;

  const bool is_on_;
  const std::filesystem::path run_, directory_;
  std::optional<DirectoryLock> lock_;
};

}  // namespace eave
