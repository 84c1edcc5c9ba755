// Tests which ranks see rank 0's directory. The ranks are threads, and each gives a path of its own.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/resume/checkpoint_location.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Rank 2's path stands for an equally named directory on another file system. Rank 3's path does not exist.
TEST(DirectoryAccess, tells_rank_0s_directory_from_others) {
  const TemporaryDirectory first, other;
  on_ranks({"threads", 4}, [&](Transport& transport) {
    const std::vector<fs::path> seen = {first.path(), first.path(), other.path(), other.path() / "none"};
    const std::vector<int> without_access =
        find_ranks_without_access(transport, seen[static_cast<std::size_t>(transport.rank())]);
    EXPECT_EQ(without_access, (std::vector<int>{2, 3}));
  });
  EXPECT_TRUE(fs::is_empty(first.path()) && fs::is_empty(other.path()));
}

TEST(DirectoryAccess, is_of_all_where_rank_0_has_no_directory_and_of_none_where_it_cannot_write) {
  const TemporaryDirectory other;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const bool is_first = transport.rank() == 0;
    EXPECT_TRUE(find_ranks_without_access(transport, is_first ? other.path() / "none" : other.path()).empty());
    EXPECT_EQ(find_ranks_without_access(transport, is_first ? fs::path("/proc") : other.path()), std::vector<int>{1});
  });
}

TEST(DirectoryAccess, leaves_no_marks_of_jobs_that_were_killed_in_its_check) {
  const TemporaryDirectory directory;
  const auto make = [&](const std::string& name, std::chrono::minutes age) {
    std::ofstream(directory.path() / name) << "x";
    fs::last_write_time(directory.path() / name, fs::file_time_type::clock::now() - age);
  };
  const std::string old = "run.lock.0123456789abcdef", fresh = "run.lock.00000000ffffffff";
  make(old, std::chrono::minutes(2));
  remove_stale_marks(directory.path());
  EXPECT_TRUE(fs::exists(directory.path() / old)) << "there is no lock";
  make("run.lock", std::chrono::minutes(0));
  make(fresh, std::chrono::minutes(0));
  for (const std::string other : {"run.lock.notes", "run.lock.0123456789ABCDEF"}) make(other, std::chrono::minutes(2));
  remove_stale_marks(directory.path());
  EXPECT_FALSE(fs::exists(directory.path() / old));
  EXPECT_TRUE(fs::exists(directory.path() / fresh)) << "a job may be starting";
  for (const std::string other : {"run.lock", "run.lock.notes", "run.lock.0123456789ABCDEF"})
    EXPECT_TRUE(fs::exists(directory.path() / other)) << other;
}

}  // namespace
}  // namespace eave
