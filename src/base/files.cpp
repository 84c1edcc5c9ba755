#include "base/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

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
  if (std::filesystem::file_size(path, error) > limit_bytes) {
    throw Error(ExitCode::kBadData, path.string() + " is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file && !file.eof()) {
    throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + std::strerror(errno));
  }
  return content;
}

}  // namespace eave
