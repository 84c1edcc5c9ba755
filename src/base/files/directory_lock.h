// Gives a directory that results are written to one owner at a time.
//
// The owner holds flock(2) on DIR/<name>, and the file says who it is. The kernel frees the lock however the process
// ends.
//
// The lock works wherever flock does: on local file systems, and on NFS as Linux mounts it by default (version 4, or 3
// with its lock service), where it reaches across hosts.
//
// If locks stay on their host (NFS mounted with nolock or local_lock), other hosts see only the file itself. So its
// owner touches it every 10 s, and counts as dead after 60 s without a touch. In that case two starts at the same
// moment, on two hosts, can both get the lock.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/files/output_path.h"

namespace eave {

// The owner of a lock, as its file describes it.
struct LockOwner {
  std::string host;
  // Names the host's boot and process name space. A `pid` means the same process only if this is equal.
  std::string machine;
  long long pid = 0;
  // When the process started, in the kernel's ticks: the system uses a pid again.
  long long started = 0;
  long long since = 0;  // when the lock was taken, in seconds since 1970

  std::string describe() const;  // "host a, pid 17, for 4 min"
};

// Returns nothing if `text` is not the text of a lock, or its values are not names and numbers.
std::optional<LockOwner> read_lock_owner(const std::string& text);

// Nothing if no living process holds the lock in this file. The owner is empty if the file is no text of a lock, or was
// just removed. Judges by the file and the process table alone, so it never takes the lock.
std::optional<LockOwner> living_owner(const std::filesystem::path& lock);

// The owner that this file names, if it was a process of this host and lives no more. Nothing if there is no such file.
std::optional<LockOwner> dead_owner(const std::filesystem::path& lock);

class DirectoryLock {
 public:
  // Takes the lock DIR/<name>. The directory must exist. `what` begins the messages, such as "--run-dir runs/a".
  //
  // Waits for `patience` if another process holds the lock. The default gives the ranks of a job that its launcher has
  // reported as failed time to end. If the owner was on another machine, it may be dead: then waits until it touches
  // the file, or has not done so for a minute, and calls `tell` with a message for people before. Throws Error:
  // - kCannotCreate, naming the owner (host, pid, how long), if the other process still holds the lock
  // - kCannotCreate if the file cannot be created, or is a link, a pipe or a file with a second name
  // - kInputOutput if the file cannot be written.
  using Tell = std::function<void(const std::string&)>;
  static constexpr std::chrono::seconds kPatience{1};
  DirectoryLock(const OutputFolder& directory, const std::string& name, const std::string& what,
                std::chrono::seconds patience = kPatience, const Tell& tell = {});
  // Removes the file, if it is still this lock's.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // Whether the path now leads to another directory, or another process has this lock. False if nothing is there.
  bool is_replaced() const;
  // The former owner, if it ended without freeing its lock and this lock took over.
  const std::optional<LockOwner>& former() const { return former_; }

 private:
  class File;
  class Touching;
  class Silence;
  bool take(const std::string& what, Silence& silence);  // tries once; returns false if former() holds the lock

  const OutputPath path_;
  std::string text_;  // content of the file: the owner
  std::unique_ptr<File> file_;
  Descriptor folder_;  // stays open, so that the system cannot give its number to another directory
  std::optional<LockOwner> former_;
  std::unique_ptr<Touching> touching_;
};

}  // namespace eave
