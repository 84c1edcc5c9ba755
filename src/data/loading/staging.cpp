#include "data/loading/staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/files/file_errors.h"
#include "base/hash.h"
#include "base/options/number_text.h"
#include "data/files/byte_source.h"
#include "data/loading/staged_folder.h"
#include "data/loading/staging_record.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& to, const std::string& what) {
  throw Error(ExitCode::kCannotCreate, "--stage-to " + to.string() + ": " + what +
                                           "; name a directory with room on a disk of each host, or leave it out");
}

// Held by the rank that copies, one per host. The system frees it when the process ends.
class StagingLock {
 public:
  explicit StagingLock(const fs::path& to) {
    const OutputPath path = OutputFolder(to) / "eave-stage.lock";
    file_ = open_own(path, O_RDWR);
    if (!file_.is_open()) refuse(to, "cannot write there: " + why_not_written(errno, path));
    if (uninterrupted([&] { return ::flock(file_.number(), LOCK_EX); }) != 0)
      refuse(to, "cannot lock " + path.string() + ": " + std::strerror(errno));
  }

 private:
  Descriptor file_;
};

// Checks for room first: running out of it later gives a misleading system error, often "Input/output error".
void require_room(const fs::path& original, const fs::path& to) {
  const std::uintmax_t needed = fs::file_size(original), free = fs::space(to).available;
  if (free < needed)
    refuse(to, "no room for " + original.string() + ", which has " + count_text(needed, "byte") + " and " +
                   std::to_string(free) + " are free");
}

constexpr std::size_t kAtOnce = std::size_t{1} << 20;

std::int64_t now_s() { return static_cast<std::int64_t>(std::time(nullptr)); }

std::string hash_of_file(const Descriptor& file, const fs::path& path) {
  Hasher hasher;
  std::vector<char> piece(kAtOnce);
  while (true) {
    const ssize_t count = uninterrupted([&] { return ::read(file.number(), piece.data(), piece.size()); });
    if (count < 0) throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + std::strerror(errno));
    if (count == 0) return hasher.hash().text();
    hasher.add({piece.data(), static_cast<std::size_t>(count)});
  }
}

// Whether the copy has the content that the original had when it was copied, and the original has not changed since.
// The ranks of a host come here one after another. A copy that one of them has just read is not read again unless it
// changed.
bool is_copied(const FileSource& original, const std::string& name, const StagedFolder& folder, StagingRecord& record) {
  constexpr std::int64_t kFresh = 600;
  const StagedCopy* const known = record.find(name);
  if (known == nullptr || known->original != state_of_file(original.descriptor())) return false;
  const Descriptor file = folder.open(name);
  if (!file.is_open()) return false;
  StagedCopy found = *known;
  found.copy = state_of_file(file.number());
  const std::int64_t age = now_s() - known->looked_at_s;
  if (found.copy == known->copy && age >= 0 && age < kFresh) return true;
  if (found.copy.size != known->original.size || hash_of_file(file, folder.path() / name) != known->hash) return false;
  found.looked_at_s = now_s();
  record.add(name, found);
  return true;
}

std::string copy_bytes(const FileSource& original, const Descriptor& file, const fs::path& path) {
  Hasher hasher;
  std::vector<std::uint8_t> piece(kAtOnce);
  for (std::uint64_t offset = 0;;) {
    const std::size_t count = original.read_at(offset, piece);
    if (count == 0) return hasher.hash().text();
    const std::string_view bytes(reinterpret_cast<const char*>(piece.data()), count);
    hasher.add(bytes);
    write_all(file, bytes, path);
    offset += count;
  }
}

// Copies the file under another name, and gives it its own name only when it is whole.
void copy_whole(const FileSource& original, const std::string& name, StagedFolder& folder, StagingRecord& record) {
  const std::string partial = name + ".partial";
  const Descriptor file = folder.create(partial);
  StagedCopy copy;
  try {
    copy.original = state_of_file(original.descriptor());
    copy.hash = copy_bytes(original, file, folder.path() / partial);
    if (copy.original != state_of_file(original.descriptor()))
      throw Error(ExitCode::kInputOutput, original.name() + " was changed while it was copied");
  } catch (...) {
    folder.remove(partial);
    throw;
  }
  const timespec time{copy.original.modified_ns / 1'000'000'000, copy.original.modified_ns % 1'000'000'000};
  const timespec times[2] = {time, time};
  ::futimens(file.number(), times);  // only for people who list the folder
  folder.move(partial, name);
  copy.copy = state_of_file(file.number());
  copy.looked_at_s = now_s();
  record.add(name, copy);
}

}  // namespace

fs::path stage_files(const fs::path& from, const std::vector<std::string>& names, const fs::path& to) {
  try {
    make_named_directory(to, "--stage-to " + to.string());
    const fs::path original = fs::canonical(from);
    const StagingLock lock(to);
    StagedFolder folder(to, original.filename().string() + "-" + hash_of(original.string()).text().substr(0, 8));
    StagingRecord record(folder);
    for (const std::string& name : names) {
      const FileSource file(original / name);
      if (is_copied(file, name, folder, record)) continue;
      require_room(original / name, to);
      copy_whole(file, name, folder, record);
    }
    return folder.path();
  } catch (const StagedFolderError& error) {
    refuse(to, error.what());
  } catch (const fs::filesystem_error& error) {
    refuse(to, describe_filesystem_error(error));
  }
}

}  // namespace eave
