#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <map>
#include <optional>
#include <system_error>

#include "app/doctor/doctor_probes.h"
#include "base/host.h"
#include "base/options/quantities.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Prefixes of file names of Open MPI 4 and 5, and of MPICH.
constexpr std::array kSegments = {"vader_segment.", "sm_segment.", "mpich_shm_", "mpich_vci_", "mpich_shar_tmp"};
constexpr std::array kLaunchers = {"prterun.", "mpirun.", "mpiexec.", "prte.", "prted."};

bool has_plain_letters(const std::string& name) {
  return std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '.' || letter == '_' || letter == '-';
  });
}

bool belongs_to_user(const fs::path& path, mode_t kind) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind && status.st_uid == geteuid();
}

// Whether a process has the file open for writing, or mapped for writing. The kernel grants a read lease only if none
// has. Also true if the kernel cannot tell. The lease's signal is SIGURG, which is ignored by default.
bool is_in_use(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return true;
  const bool is_free = fcntl(file, F_SETSIG, SIGURG) == 0 && fcntl(file, F_SETLEASE, F_RDLCK) == 0;
  if (is_free) fcntl(file, F_SETLEASE, F_UNLCK);
  close(file);
  return !is_free;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (has_plain_letters(entry->path().filename().string())) names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

bool begins_with_one_of(const std::string& name, const auto& beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* each) { return name.starts_with(each); });
}

// The name without the rank's number at the end: the common part of a job's segments.
std::string pattern_of_job(const std::string& name) {
  const std::size_t dot = name.find_last_of('.');
  return name.starts_with("mpich") || dot == std::string::npos ? name : name.substr(0, dot) + ".*";
}

// A job still runs if one of its segments is in use.
void find_segments(const fs::path& directory, std::vector<std::string>& found) {
  std::map<std::string, bool> is_used;
  for (const std::string& name : names_in(directory)) {
    const fs::path path = directory / name;
    if (!begins_with_one_of(name, kSegments) || !belongs_to_user(path, S_IFREG)) continue;
    bool& is_running = is_used[pattern_of_job(name)];
    is_running = is_running || is_in_use(path);
  }
  for (const auto& [pattern, is_running] : is_used)
    if (!is_running) found.push_back((directory / pattern).string());
}

std::optional<long long> number_in(const std::string& text) {
  const auto number = parse_number<long long>(text);
  return number && *number > 0 ? number : std::nullopt;
}

// Whether no file in the directory is in use, even by a process that this one cannot see.
bool is_left(const fs::path& directory) {
  constexpr int kMost = 200;
  if (!belongs_to_user(directory, S_IFDIR)) return false;
  std::error_code error;
  int count = 0;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (++count > kMost) return false;
    if (belongs_to_user(entry->path(), S_IFREG) && is_in_use(entry->path())) return false;
  }
  return !error;
}

bool is_left(const fs::path& directory, long long launcher) {
  return !start_of_process(launcher) && is_left(directory);
}

bool holds_nothing(const fs::path& directory) {
  std::error_code error;
  return fs::is_empty(directory, error) && !error;
}

// A starting process may have just created a directory that is still empty.
bool is_older_than_a_minute(const fs::path& directory) {
  struct stat status {};
  return lstat(directory.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > 60;
}

// The family of jobs of a launcher: the upper 16 bits of the job number in its segment's name, smseg-NUMBER-0.
std::optional<long long> family_of(const fs::path& session) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(session, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("smseg-") && !name.starts_with("smlockseg-")) continue;
    const std::size_t begin = name.find('-') + 1;
    if (const auto job = number_in(name.substr(begin, name.find('-', begin) - begin))) return *job >> 16;
  }
  return std::nullopt;
}

// Open MPI 4: ompi.HOST.USER has pid.NUMBER of a launcher. It has jf.FAMILY of a rank without a launcher, or of a
// launcher's helper on another host. A family has no process of its own. It counts as running if a launcher of the same
// family runs, or one whose family is unknown.
void find_sessions_in(const fs::path& directory, bool with_empty, std::vector<std::string>& found) {
  std::vector<std::optional<long long>> running;
  const std::vector<std::string> names = names_in(directory);
  for (const std::string& name : names) {
    if (!name.starts_with("pid.")) continue;
    const auto launcher = number_in(name.substr(4));
    if (launcher && is_left(directory / name, *launcher)) {
      found.push_back((directory / name).string());
    } else {
      running.push_back(family_of(directory / name));
    }
  }
  for (const std::string& name : names) {
    const auto family = name.starts_with("jf.") ? number_in(name.substr(3)) : std::nullopt;
    const fs::path path = directory / name;
    if (!family || !is_older_than_a_minute(path) || !is_left(path)) continue;
    const bool runs = std::ranges::any_of(running, [&](const auto& one) { return !one || *one == *family; });
    if (holds_nothing(path) ? with_empty : !runs) found.push_back(path.string());
  }
}

// Open MPI 5: prterun.HOST.NUMBER.USER, prted.HOST.NUMBER.USER.
void find_sessions(const fs::path& directory, bool with_empty, std::vector<std::string>& found) {
  const std::string host = host_name(), user = "." + std::to_string(geteuid());
  const std::string short_host = host.substr(0, host.find('.'));
  const auto take = [&](const fs::path& path, const std::string& number) {
    const auto launcher = number_in(number);
    if (launcher && is_left(path, *launcher)) found.push_back(path.string());
  };
  for (const std::string& name : names_in(directory)) {
    if (!name.ends_with(user) || name.find("." + short_host) == std::string::npos) continue;
    const std::string rest = name.substr(0, name.size() - user.size());
    if (begins_with_one_of(name, kLaunchers)) take(directory / name, rest.substr(rest.find_last_of('.') + 1));
    if (name.starts_with("ompi.")) find_sessions_in(directory / name, with_empty, found);
  }
}

}  // namespace

StaleFilePlaces stale_file_places() {
  StaleFilePlaces places;
  for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {  // in the order in which Open MPI looks
    const char* const value = std::getenv(name);
    if (value && places.temporary.empty()) places.temporary = value;
  }
  if (places.temporary.empty()) places.temporary = "/tmp";
  return places;
}

std::vector<std::string> find_stale_files(const StaleFilePlaces& places, bool with_empty) {
  std::vector<std::string> found;
  find_segments(places.shared_memory, found);
  if (has_plain_letters(places.temporary.filename().string())) find_sessions(places.temporary, with_empty, found);
  return found;
}

std::string describe_stale_files(const std::string& host, const std::vector<std::string>& patterns) {
  constexpr std::size_t kMost = 8;
  if (patterns.empty()) return "";
  std::string text = "MPI jobs of yours that were killed have left files on host " + host + "; to remove them: rm -r";
  for (std::size_t i = 0; i < std::min(kMost, patterns.size()); ++i) text += " " + patterns[i];
  if (patterns.size() > kMost)
    text += " (" + std::to_string(patterns.size() - kMost) + " more will be listed once these are removed)";
  return text;
}

std::vector<std::string> gather_stale_files(Transport& transport, const std::vector<std::string>& hosts) {
  const std::string& mine = hosts[static_cast<std::size_t>(transport.rank())];
  const bool is_lowest = std::ranges::find(hosts, mine) - hosts.begin() == transport.rank();
  std::vector<std::string> told =
      transport.gather(is_lowest ? describe_stale_files(mine, find_stale_files(stale_file_places(), false)) : "");
  std::erase(told, "");
  return told;
}

}  // namespace eave
