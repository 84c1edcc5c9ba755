// Checks that all writing goes through src/base/files/output_path.cpp, which follows no link under a name that eave
// chose.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

// Files that may open for writing: output_path.cpp itself, and code that opens no file of a run (a stream in place of a
// closed one, a terminal, shared memory).
const std::set<std::string> kMayOpen = {"base/files/output_path.cpp", "app/main/main.cpp", "report/text/terminal.cpp",
                                        "transport/core/shared_memory.cpp"};
// Files that may make directories: those that a person named.
const std::set<std::string> kMayMakeDirectories = {"base/files/file_errors.cpp"};

bool is_source(const fs::path& path) { return path.extension() == ".cpp" || path.extension() == ".h"; }

TEST(Writing, goes_through_one_door) {
  const std::regex opens(
      R"(std::(ofstream|fstream)\b|\bfopen\([^)]*"[wa]|"r\+|\bmkstemp|::creat\(|::open(at)?\(.*O_(WRONLY|RDWR|CREAT)|(fs|filesystem)::(remove|remove_all|rename|copy|copy_file|resize_file|create_symlink|create_hard_link)\(|::(unlink|unlinkat|rename|renameat|truncate|mkdir|mkdirat|link|symlink|mkfifo)\(|\bstd::remove\()");
  const std::regex makes(R"((fs|filesystem)::create_director)");
  const fs::path root = fs::path(EAVE_SOURCE_DIR) / "src";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!is_source(entry.path())) continue;
    ++files;
    const std::string name = fs::relative(entry.path(), root).string();
    std::ifstream stream(entry.path());
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      EXPECT_TRUE(kMayOpen.contains(name) || !std::regex_search(line, opens)) << name << ":" << number << ": " << line;
      EXPECT_TRUE(kMayMakeDirectories.contains(name) || !std::regex_search(line, makes))
          << name << ":" << number << ": " << line;
    }
  }
  EXPECT_GT(files, 200);
}

}  // namespace
