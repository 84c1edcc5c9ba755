#include "data/loading/staging_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "base/hash.h"

namespace eave {
namespace {

constexpr const char* kName = "eave-staged";
constexpr const char* kFirstLine = "eave staged 1";

std::string text_of(const FileState& state) {
  std::string text;
  for (const std::int64_t number : {state.size, state.inode, state.modified_ns, state.changed_ns})
    text += " " + std::to_string(number);
  return text;
}

std::string line_of(const std::string& key, const StagedCopy& copy) {
  return key + " " + copy.hash + text_of(copy.original) + text_of(copy.copy) + " " + std::to_string(copy.looked_at_s) +
         " .\n";
}

std::string content_of(const Descriptor& file) {
  std::string content;
  std::array<char, 1 << 16> piece;
  for (ssize_t count = 1; file.is_open() && count > 0;) {
    count = ::read(file.number(), piece.data(), piece.size());
    if (count > 0) content.append(piece.data(), static_cast<std::size_t>(count));
  }
  return content;
}

std::istream& operator>>(std::istream& in, FileState& state) {
  return in >> state.size >> state.inode >> state.modified_ns >> state.changed_ns;
}

std::map<std::string, StagedCopy> copies_in(const std::string& content) {
  std::map<std::string, StagedCopy> copies;
  std::istringstream lines(content);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) return copies;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string key, end;
    StagedCopy copy;
    if (words >> key >> copy.hash >> copy.original >> copy.copy >> copy.looked_at_s >> end && end == ".")
      copies[key] = copy;
  }
  return copies;
}

}  // namespace

FileState state_of_file(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return {};
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {status.st_size, static_cast<std::int64_t>(status.st_ino), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

// Writes the file anew, so that replaced lines do not accumulate from start to start.
StagingRecord::StagingRecord(StagedFolder& folder)
    : copies_(copies_in(content_of(folder.open(kName)))), folder_(folder) {
  const std::string partial = std::string(kName) + ".partial";
  std::string content = std::string(kFirstLine) + "\n";
  for (const auto& [key, copy] : copies_) content += line_of(key, copy);
  file_ = folder_.create(partial);
  write_all(file_, content, folder_.path() / partial);
  folder_.move(partial, kName);
}

const StagedCopy* StagingRecord::find(const std::string& name) const {
  const auto found = copies_.find(hash_of(name).text());
  return found == copies_.end() ? nullptr : &found->second;
}

void StagingRecord::add(const std::string& name, const StagedCopy& copy) {
  const std::string key = hash_of(name).text();
  copies_[key] = copy;
  write_all(file_, line_of(key, copy), folder_.path() / kName);
}

}  // namespace eave
