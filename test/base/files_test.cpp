#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

class Files : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::filesystem::path folder_ = directory_.path();
};

TEST_F(Files, what_was_written_is_read_and_nothing_else_is_left) {
  const std::string content("a\0b\n", 4);
  write_file_atomically(folder_ / "file", "old");
  write_file_atomically(folder_ / "file", content);
  EXPECT_EQ(read_file(folder_ / "file"), content);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, missing_large_and_unwritable_files_have_their_codes) {
  EXPECT_EQ(code_of([&] { read_file(folder_ / "none"); }), ExitCode::kInputMissing);
  EXPECT_EQ(code_of([&] { read_file(folder_); }), ExitCode::kBadData);
  write_file_atomically(folder_ / "file", "12345");
  EXPECT_EQ(code_of([&] { read_file(folder_ / "file", 4); }), ExitCode::kBadData);
  EXPECT_EQ(code_of([&] { write_file_atomically(folder_ / "no" / "file", "x"); }), ExitCode::kCannotCreate);
}

TEST_F(Files, a_file_that_says_it_is_empty_is_read_whole) {
  if (!std::filesystem::exists("/proc/self/status")) GTEST_SKIP() << "no /proc on this system";
  ASSERT_EQ(std::filesystem::file_size("/proc/self/status"), 0u);
  const std::string status = read_file("/proc/self/status");
  EXPECT_TRUE(status.starts_with("Name:")) << status;
  EXPECT_TRUE(status.ends_with("\n")) << status;
}

TEST_F(Files, a_full_disk_is_an_input_output_error) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  EXPECT_EQ(code_of([&] { write_file_atomically(OutputPath::of_person("/dev/full"), "x"); }), ExitCode::kInputOutput);
}

}  // namespace
}  // namespace eave
