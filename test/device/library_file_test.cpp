// Shared libraries whose files were cut short. Opening one may kill the process, so eave checks the file first.
#include "device/library_file.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_bytes(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

// Whether dlopen of `file` kills the process; tried in a child process.
bool opening_kills(const fs::path& file) {
  const pid_t child = fork();
  if (child == 0) _exit(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

class LibraryFile : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const fs::path file_ = directory_.path() / "library.so";
  const std::string whole_ = bytes_of_file(EAVE_FAKE_DRIVER);
};

TEST_F(LibraryFile, that_is_whole_is_not_damaged) {
  EXPECT_EQ(why_library_is_damaged(EAVE_FAKE_DRIVER), "");
  EXPECT_EQ(why_library_is_damaged("/proc/self/exe"), "");
  EXPECT_EQ(why_library_is_damaged(directory_.path() / "not there"), "");
  EXPECT_EQ(why_library_is_damaged(directory_.path()), "");
  EXPECT_EQ(why_library_is_damaged("libcuda.so.1"), "");
}

TEST_F(LibraryFile, that_was_cut_short_anywhere_is_told_or_does_no_harm) {
  int told = 0;
  for (std::size_t size = 0; size < whole_.size(); size += size < 1024 ? 61 : 997) {
    write_bytes(file_, whole_.substr(0, size));
    const std::string damage = why_library_is_damaged(file_);
    if (damage.empty()) {
      EXPECT_FALSE(opening_kills(file_)) << size;
    } else {
      ++told;
      EXPECT_NE(damage.find("library.so is cut short: " + std::to_string(size) + " of"), std::string::npos) << damage;
    }
  }
  EXPECT_GT(told, 5);
}

TEST_F(LibraryFile, with_any_byte_changed_is_read_without_harm) {
  std::string bytes = whole_.substr(0, 4096);
  for (std::size_t at = 0; at < bytes.size(); at += 41) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string changed = bytes + whole_.substr(bytes.size());
      changed[at] = value;
      write_bytes(file_, changed);
      static_cast<void>(why_library_is_damaged(file_));
    }
  }
}

// Damage is also found in libraries that the file needs, such as libcudnn.so.9, and in those that cuDNN opens later.
TEST_F(LibraryFile, whose_needs_are_cut_short_names_them) {
  const fs::path user = directory_.path() / "user.so", needed = directory_.path() / "libcudnn.so.99";
  fs::copy_file(EAVE_FAKE_MODULE, user);
  fs::copy_file(EAVE_FAKE_CUDNN, needed);
  EXPECT_EQ(why_library_is_damaged(user), "");
  const fs::path later = directory_.path() / "libcudnn_ops.so.99";
  for (const fs::path& cut : {needed, later}) {
    const std::string bytes = bytes_of_file(EAVE_FAKE_CUDNN);
    write_bytes(cut, bytes.substr(0, 2000));
    EXPECT_NE(why_library_is_damaged(user).find(cut.string() + " is cut short"), std::string::npos)
        << why_library_is_damaged(user);
    write_bytes(cut, bytes);
  }
  EXPECT_EQ(why_library_is_damaged(user), "");
  const std::vector<fs::path> versions = libraries_named(user, "libcudnn.so.");  // includes those of this machine
  EXPECT_EQ(std::ranges::count(versions, needed), 1);
}

}  // namespace
}  // namespace eave
