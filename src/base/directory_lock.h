// One owner at a time for a directory that results are written to.
//
// The owner holds flock(2) on DIR/<name>, which the kernel frees however the process ends, and the file says who it is.
// The lock is right where flock is: on local file systems, and on NFS as Linux mounts it by default (version 4, or 3
// with its lock service), where it reaches across hosts. Where locks stay on their host (mounted nolock or local_lock)
// the file itself is what others see: its owner touches it every 10 s, and after 60 s without it counts as dead. Then
// only two starts at the same moment, on two hosts, can both get in.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/output_path.h"

namespace eave {

// Who holds a lock, as its file tells.
struct LockOwner {
  std::string host;
  std::string machine;  // of its boot and its name space of processes: the same where `pid` means the same process
  long long pid = 0;
  long long started = 0;  // of the process, in the kernel's ticks: a number of a process is used again
  long long since = 0;    // when the lock was taken, in seconds since 1970

  std::string describe() const;  // "host a, pid 17, for 4 min"
};

// Nothing for what is no such text, also where its values are no names and numbers.
std::optional<LockOwner> read_lock_owner(const std::string& text);

class DirectoryLock {
 public:
  // Takes DIR/<name>; the directory exists. Throws Error: kCannotCreate naming the owner (host, pid, how long) when
  // another has it for `patience` from now, or when the file cannot be created or is another's (a link, a pipe, a file
  // with a second name); kInputOutput when it cannot be written.
  // `what` begins the message, such as "--run-dir runs/a". The patience unless given: a job that a launcher has
  // reported as failed may have a rank that is not quite gone.
  DirectoryLock(const OutputFolder& directory, const std::string& name, const std::string& what,
                std::chrono::seconds patience = std::chrono::seconds(1));
  // Removes the file.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // The owner whose lock was found and taken over: it ended without freeing it.
  const std::optional<LockOwner>& former() const { return former_; }

 private:
  class File;
  class Touching;
  bool take(const std::string& what);  // once; false: former() has it

  const OutputPath path_;
  std::string text_;  // of the file: who has it
  std::unique_ptr<File> file_;
  std::optional<LockOwner> former_;
  std::unique_ptr<Touching> touching_;
};

}  // namespace eave
