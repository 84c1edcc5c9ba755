#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/durable.h"
#include "eave/check.h"

namespace eave {

void write_file_atomically(const std::filesystem::path& path, const std::string& content, FileCalls& calls) {
  write_file_atomically(path, std::vector<std::string_view>{content}, calls);
}

void write_file_atomically(const std::filesystem::path& path, const std::vector<std::string_view>& pieces,
                           FileCalls& calls) {
  const std::filesystem::path beside = path.string() + ".partial";
  OutputFile file(beside, FileCalls::Existing::kReplace, calls);
  try {
    for (const std::string_view piece : pieces) file.write(piece);
    file.finish();
    rename_file(beside, path, calls);
  } catch (const Error&) {
    remove_tree(beside, calls);
    throw;
  }
  flush_directory(path.has_parent_path() ? path.parent_path() : ".", calls);
}

std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ExitCode::kInputMissing, "no file " + path.string());
  }
  const std::uintmax_t expected = std::filesystem::file_size(path, error);
  if (expected > limit_bytes) {
    throw Error(ExitCode::kBadData, path.string() + " is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  std::ifstream file(path, std::ios::binary);
  // Files of the system say that they are empty.
  std::string content(std::max<std::size_t>(error ? 0 : expected + 1, 1024), '\0');
  std::size_t size = 0;
  while (file.read(content.data() + size, static_cast<std::streamsize>(content.size() - size))) {
    size = content.size();
    content.resize(2 * size);
  }
  content.resize(size + static_cast<std::size_t>(file.gcount()));
  if (!file.eof()) {
    throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + std::strerror(errno));
  }
  return content;
}

}  // namespace eave
