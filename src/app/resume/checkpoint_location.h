// Finds, locks and prepares the directory of a run's checkpoints. It is inside the run's directory, or given by
// --checkpoint-dir. Two runs never share one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files/directory_lock.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// The absolute path, without a separator at its end.
std::filesystem::path whole_path(const std::filesystem::path& path);

// Collective; call it before any other function that uses checkpoints. Sets --checkpoint-dir to its absolute path. A
// resumed run takes it from its config.json unless the option is given.
// Throws AgreedError:
// - kUsage: it is inside --run-dir, or contains it;
// - kCannotCreate: RUN/checkpoint is a symbolic link or a file;
// - kInputMissing: the directory in config.json does not exist;
// - kConfiguration: the run's checkpoints are in another directory.
void settle_checkpoint_directory(Transport& transport, OptionValues& values);

// Returns --checkpoint-dir, or RUN/checkpoint without it.
std::filesystem::path checkpoint_directory(const OptionValues& values);
// Finds the checkpoints of a run for a command that only reads them. `given`: --checkpoint-dir, or "". Throws Error:
// kInputMissing (the directory given, or the one in config.json, does not exist), kConfiguration (it belongs to another
// run).
std::filesystem::path find_checkpoints_of(const std::filesystem::path& run, const std::string& given);

// The directory that a rank must access to write its part of a checkpoint: --checkpoint-dir if given, else --run-dir.
// option_to_access also names the option: "--run-dir DIR".
std::filesystem::path directory_to_access(const OptionValues& values);
std::string option_to_access(const OptionValues& values);

// Locks and prepares --checkpoint-dir on rank 0. Does nothing without that option.
class OwnedCheckpointDirectory {
 public:
  explicit OwnedCheckpointDirectory(const OptionValues& values);

  // If the directory exists, takes its lock. Throws Error(kCannotCreate): another run uses it, or it belongs to another
  // run.
  void lock_existing();
  // Creates the directory and takes its lock. `begins`: the run is not resumed. Checkpoints in the directory are then
  // refused, unless they belong to an earlier run in the same run directory and `overwrite` is set. Throws
  // Error(kCannotCreate).
  void create(bool begins, bool overwrite);
  // Removes the checkpoints of the run that is replaced, and those in the directory that its config.json names, if they
  // are its own. Call it before that config.json is removed.
  void clear() const;
  // Throws Error(kInputOutput) if the directory was replaced, as DirectoryLock::is_replaced says.
  void require_same() const;
  // Writes run.json, which names the run that owns the directory.
  void write_owner() const;

 private:
  bool is_mine(const std::string& owner) const;
  void refuse_other_run() const;
  [[noreturn]] void refuse(const std::string& why) const;

  const bool is_on_;
  const std::filesystem::path run_, directory_;
  std::optional<DirectoryLock> lock_;
};

// Throws Error(kInputOutput) if the directory of `lock` was replaced since. `what` names it, such as "--run-dir
// runs/a".
void require_same_directory(const DirectoryLock& lock, const std::string& what);

// A random text of 16 hexadecimal digits, to tell this job's files from those of others.
std::string make_token();
// Whether the file appears within 3 seconds. A network file system may show it late.
bool appears(const std::filesystem::path& file);

// Collective. Returns, on all ranks, the ranks that do not see rank 0's `directory`, ascending. Returns none if rank 0
// has no such directory. A rank that sees it late may be in the list.
std::vector<int> find_ranks_without_access(Transport& transport, const std::filesystem::path& directory);

// Removes the files that find_ranks_without_access left in `directory` a minute ago or earlier, when it was killed.
// Call it on rank 0 while it holds the directory's lock.
void remove_stale_marks(const OutputFolder& directory);

// "2 of 4 ranks do not see --run-dir DIR on rank 0's host a, first rank 2 on b". `hosts` is the host of every rank.
std::string describe_ranks_without_access(const std::vector<int>& without_access, const std::vector<std::string>& hosts,
                                          const std::string& directory);

}  // namespace eave
