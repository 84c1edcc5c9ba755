#include "base/files/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <thread>
#include <utility>

#include "base/files/file_errors.h"
#include "base/files/input_file.h"
#include "base/host.h"
#include "base/options/number_text.h"
#include "base/thread.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::chrono::seconds kBetweenTouches{10};
constexpr double kDeadAfterSeconds = 60;

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, what + ": " + why);
}

std::string describe_refusal(const std::optional<LockOwner>& owner) {
  return "another run " +
         (owner ? "is in it (" + owner->describe() + ")" : std::string("that has just begun is in it")) +
         "; wait for its end, or choose another directory";
}

std::string describe_silence(const LockOwner& owner) {
  return "the lock of a run on another machine is in it (" + owner.describe() +
         "); this run begins if that one gives no sign of life for 60 s";
}

LockOwner this_process() {
  return {host_name(), machine_name(), ::getpid(), start_of_process(::getpid()).value_or(0), std::time(nullptr)};
}

std::string text_of(const LockOwner& owner) {
  return "host " + owner.host + "\nmachine " + owner.machine + "\npid " + std::to_string(owner.pid) + "\nstarted " +
         std::to_string(owner.started) + "\nsince " + std::to_string(owner.since) + "\nformat 1\n";
}

// Locks from before 2026-11-26 have no such line.
void require_known_format(const std::string& text, const std::filesystem::path& path) {
  const std::size_t line = text.find("\nformat ");
  if (line == std::string::npos || text.substr(line) == "\nformat 1\n") return;
  throw Error(ExitCode::kBadData, path.string() +
                                      ": it is a lock of another format than this eave reads; if no run is in the "
                                      "directory any more, remove that file");
}

std::string content_of(int descriptor) {
  std::array<char, 1024> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// Measures by the clock of the file system, which may be that of another host: a file made now shows it.
double seconds_since_touched(const OutputPath& path, int descriptor) {
  const OutputPath beside = path.with("." + host_name() + "." + std::to_string(::getpid()));
  const Descriptor now = open_output(beside, O_WRONLY | O_CREAT | O_EXCL, 0600);
  struct stat theirs {
  }, ours{};
  const bool is_known = now.is_open() && ::fstat(now.number(), &ours) == 0 && ::fstat(descriptor, &theirs) == 0;
  if (now.is_open()) remove_output(beside);
  return is_known ? std::difftime(ours.st_mtime, theirs.st_mtime) : 0;
}

// Nothing if the file is no text of a lock, of another user, or was just removed.
std::optional<LockOwner> owner_in(const std::filesystem::path& lock) {
  try {
    return read_lock_owner(read_file(lock, 1024));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_owner(int descriptor, const std::string& text, const std::string& what) {
  if (::ftruncate(descriptor, 0) == 0 &&
      ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
    return;
  throw Error(ExitCode::kInputOutput, what + ": cannot write its lock: " + words_of_error(errno));
}

}  // namespace

std::string LockOwner::describe() const {
  const long long seconds = std::max<long long>(0, std::time(nullptr) - since);
  const std::string age = seconds < 120     ? std::to_string(seconds) + " s"
                          : seconds < 7200  ? std::to_string(seconds / 60) + " min"
                          : seconds < 86400 ? std::to_string(seconds / 3600) + " h"
                                            : count_text(seconds / 86400, "day");
  return "host " + host + ", pid " + std::to_string(pid) + ", for " + age;
}

std::optional<LockOwner> read_lock_owner(const std::string& text) {
  std::array<char, 256> host{}, machine{};
  LockOwner owner;
  int end = -1;
  const int count = std::sscanf(
      text.c_str(), "host %255[A-Za-z0-9._-]\nmachine %255[A-Za-z0-9._-]\npid %18lld\nstarted %18lld\nsince %18lld%n",
      host.data(), machine.data(), &owner.pid, &owner.started, &owner.since, &end);
  if (count != 5 || end < 0 || owner.pid <= 0 || owner.started < 0 || owner.since < 0) return std::nullopt;
  owner.host = host.data();
  owner.machine = machine.data();
  return owner;
}

std::optional<LockOwner> living_owner(const std::filesystem::path& lock) {
  std::error_code error;
  const auto touched = std::filesystem::last_write_time(lock, error);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  const std::chrono::duration<double> age = std::filesystem::file_time_type::clock::now() - touched;
  const LockOwner owner = owner_in(lock).value_or(LockOwner());  // if it is not known, its age decides
  const bool is_here = owner.machine == machine_name();
  const bool is_alive = is_here ? start_of_process(owner.pid) == owner.started : age.count() <= kDeadAfterSeconds;
  return is_alive ? std::optional(owner) : std::nullopt;
}

std::optional<LockOwner> dead_owner(const std::filesystem::path& lock) {
  const std::optional<LockOwner> owner = owner_in(lock);
  if (!owner || owner->machine != machine_name()) return std::nullopt;
  const std::optional<long long> start = start_of_process(owner->pid);  // hidden, perhaps, if another user's
  const bool is_dead =
      start ? *start != owner->started : ::kill(static_cast<pid_t>(owner->pid), 0) != 0 && errno == ESRCH;
  return is_dead ? owner : std::nullopt;
}

// Watches the lock of an owner on another machine, which touches the file while it lives.
class DirectoryLock::Silence {
 public:
  // How long it has not been touched: by the file's time, which may lie in the future, or since this object has seen
  // it.
  double seconds(const OutputPath& path, int descriptor) {
    struct stat status {};
    taken_since_.reset();
    if (::fstat(descriptor, &status) != 0) return 0;
    const auto now = std::chrono::steady_clock::now();
    const std::pair time(status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    if (time_ && *time_ != time) is_broken_ = true;
    if (time_ != time) since_ = now;
    time_ = time;
    return std::max(std::chrono::duration<double>(now - since_).count(), seconds_since_touched(path, descriptor));
  }
  void end() { is_broken_ = true; }
  // Others of this machine who wait too have the file for a moment, while it still names its former owner.
  void see_taken(const std::optional<LockOwner>& owner) {
    const auto now = std::chrono::steady_clock::now();
    if (!taken_since_) taken_since_ = now;
    const bool is_moment = owner && owner->machine != machine_name() && now - *taken_since_ < std::chrono::seconds(1);
    if (!is_moment) end();
  }
  bool may_last() const { return time_ && !is_broken_; }

 private:
  std::optional<std::pair<time_t, long>> time_;
  std::chrono::steady_clock::time_point since_;
  bool is_broken_ = false;
  std::optional<std::chrono::steady_clock::time_point> taken_since_;
};

class DirectoryLock::Touching {
 public:
  explicit Touching(int descriptor) {
    start_without_signals([&] {
      thread_ =
          start_thread<std::jthread>("to keep the lock of the directory", [descriptor](const std::stop_token& stop) {
            while (!stops_within(stop, kBetweenTouches)) static_cast<void>(::futimens(descriptor, nullptr));
          });
    });
  }

 private:
  std::jthread thread_;
};

class DirectoryLock::File {
 public:
  File(const OutputPath& path, const std::string& what) : file_(open_own(path, O_RDWR)) {
    struct stat status {};
    if (!file_.is_open()) refuse(what, "cannot create " + path.name() + ": " + why_not_written(errno, path));
    if (::fstat(number(), &status) == 0 && status.st_size > kMostBytes)
      refuse(what, path.name() + " is there, and is no lock of eave's; move it away");
  }
  int number() const { return file_.number(); }

 private:
  static constexpr off_t kMostBytes = 1024;
  Descriptor file_;
};

DirectoryLock::DirectoryLock(const OutputFolder& directory, const std::string& name, const std::string& what,
                             std::chrono::seconds patience, const Tell& tell)
    : path_(directory / name), text_(text_of(this_process())) {
  const auto end = std::chrono::steady_clock::now() + patience;
  Silence silence;
  bool is_told = !tell;
  while (!take(what, silence)) {
    file_.reset();  // others who wait need the file too
    const bool is_late = std::chrono::steady_clock::now() > end;
    if (is_late && !silence.may_last()) refuse(what, describe_refusal(former_));
    if (is_late && !std::exchange(is_told, true)) tell(what + ": " + describe_silence(*former_));
    std::this_thread::sleep_for(std::chrono::milliseconds(is_late ? 200 : 20));
  }
  folder_ = open_folder(directory, O_PATH);
  write_owner(file_->number(), text_, what);
  touching_ = std::make_unique<Touching>(file_->number());
}

// An owner removes its file when it ends. If this process opened the file before that, its lock is on a removed file,
// and it tries again.
bool DirectoryLock::take(const std::string& what, Silence& silence) {
  do {
    file_ = std::make_unique<File>(path_, what);
    const bool is_taken = ::flock(file_->number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const std::string content = content_of(file_->number());
    require_known_format(content, path_.path());
    former_ = read_lock_owner(content);
    if (is_taken) silence.see_taken(former_);
    if (is_taken) return false;
  } while (!is_at(path_, file_->number()));
  if (!former_) return true;
  if (former_->machine != machine_name()) return silence.seconds(path_, file_->number()) >= kDeadAfterSeconds;
  silence.end();
  return start_of_process(former_->pid) != former_->started;
}

bool DirectoryLock::is_replaced() const {
  const Descriptor folder = open_folder(path_.folder(), O_PATH);
  if (!folder.is_open()) return false;
  if (folder_.is_open() && !is_same_file(folder.number(), folder_.number())) return true;
  if (is_there(path_) && !is_at(path_, file_->number())) return true;
  const std::string text = content_of(file_->number());
  return text != text_ && read_lock_owner(text);  // without locks across hosts, its new owner writes to the same file
}

DirectoryLock::~DirectoryLock() {
  touching_.reset();
  if (is_at(path_, file_->number()) && content_of(file_->number()) == text_) remove_output(path_);
}

}  // namespace eave
