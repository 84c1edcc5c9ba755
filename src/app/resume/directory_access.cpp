#include <chrono>
#include <iterator>
#include <random>
#include <sstream>
#include <system_error>
#include <thread>

#include "app/resume/checkpoint_location.h"
#include "base/files/output_file.h"
#include "base/options/number_text.h"
#include "report/record/run_directory.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoAccess = "no access";
constexpr std::size_t kTokenDigits = 16;

// Creates an empty file, which can be created even on a full disk; its name is the message. A file that is left behind
// is not taken for a lock. If the file cannot be created, no rank sees it, and all checkpoints go through rank 0.
void make_mark(const OutputPath& path) {
  FileCalls& calls = system_file_calls();
  const Descriptor file(calls.create(path, FileCalls::Existing::kRefuse));
}

bool is_mark(const std::string& name) {
  const std::string begin = std::string(kRunLock) + ".";
  return name.starts_with(begin) && name.size() == begin.size() + kTokenDigits &&
         name.find_first_not_of("0123456789abcdef", begin.size()) == std::string::npos;
}

}  // namespace

std::string make_token() {
  std::random_device random;
  return format("%08x%08x", random(), random());
}

bool appears(const fs::path& file) {
  constexpr std::chrono::seconds kPatience{3};
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::error_code error;
  while (!fs::exists(file, error)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::vector<int> find_ranks_without_access(Transport& transport, const fs::path& directory) {
  const bool is_first = transport.rank() == 0;
  std::error_code error;
  std::string name;
  if (is_first && fs::is_directory(directory, error)) {
    name = std::string(kRunLock) + "." + make_token();
    make_mark(OutputFolder(directory) / name);
  }
  name = transport.broadcast_text(name);
  if (name.empty()) return {};
  const bool sees = is_first || appears(directory / name);
  std::string without_access;  // rank 0's list; mostly empty, so the broadcast does not grow with the number of ranks
  const std::vector<std::string> all = transport.gather(sees ? "" : kNoAccess);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == kNoAccess) without_access += std::to_string(rank) + ' ';
  }
  if (is_first) remove_output(OutputFolder(directory) / name);
  std::istringstream ranks(transport.broadcast_text(without_access));
  return {std::istream_iterator<int>(ranks), std::istream_iterator<int>()};
}

// Compares times of the file system alone: the lock's owner touches it every 10 s. A younger mark may be of a job that
// starts now.
void remove_stale_marks(const OutputFolder& directory) {
  constexpr std::chrono::minutes kAge{1};
  std::error_code error;
  const auto now = fs::last_write_time(directory.path() / kRunLock, error);
  if (error) return;
  int unread = 0;
  for (const std::string& name : names_in(directory, unread)) {
    if (!is_mark(name)) continue;
    const auto made = fs::last_write_time(directory.path() / name, error);
    if (!error && now - made > kAge) remove_output(directory / name);
  }
}

std::string describe_ranks_without_access(const std::vector<int>& without_access, const std::vector<std::string>& hosts,
                                          const std::string& directory) {
  const auto first = static_cast<std::size_t>(without_access.front());
  return std::to_string(without_access.size()) + " of " + count_text(std::ssize(hosts), "rank") + " do not see " +
         directory + " on rank 0's host " + hosts[0] + ", first rank " + std::to_string(first) + " on " + hosts[first];
}

}  // namespace eave
