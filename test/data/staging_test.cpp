#include "data/loading/staging.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/files/input_file.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

ino_t inode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

class Staging : public ::testing::Test {
 protected:
  Staging() {
    fs::create_directory(from_);
    write_set(from_, small_idx_set());
    for (const auto& [name, content] : small_idx_set()) names_.push_back(name);
  }
  fs::path stage() const { return stage_files(from_, names_, to_); }

  TemporaryDirectory place_;
  const fs::path from_ = place_.path() / "set", to_ = place_.path() / "local" / "disk";
  std::vector<std::string> names_;
};

TEST_F(Staging, copies_what_is_asked_for_and_nothing_else) {
  write_bytes(from_ / "other", {1, 2, 3});
  const fs::path copy = stage();
  EXPECT_EQ(copy.parent_path(), to_);
  for (const std::string& name : names_) EXPECT_EQ(read_file(copy / name), read_file(from_ / name));
  EXPECT_FALSE(fs::exists(copy / "other"));
  EXPECT_EQ(open_dataset("mnist", {{"data-dir", from_.string()}, {"stage-to", to_.string()}}).train->size(), 30);
}

TEST_F(Staging, leaves_a_copy_that_is_there_and_replaces_one_of_another_time_or_size) {
  const fs::path copy = stage() / names_[0];
  const ino_t first = inode_of(copy);
  stage();
  EXPECT_EQ(inode_of(copy), first);
  fs::last_write_time(from_ / names_[0], fs::last_write_time(from_ / names_[0]) + std::chrono::hours(1));
  stage();
  const ino_t second = inode_of(copy);
  EXPECT_NE(second, first);
  fs::resize_file(copy, 5);
  fs::last_write_time(copy, fs::last_write_time(from_ / names_[0]));
  stage();
  EXPECT_EQ(read_file(copy), read_file(from_ / names_[0]));
}

// A changed copy or original is noticed even if its size and modification time stay the same.
TEST_F(Staging, replaces_a_copy_of_equal_size_and_time_and_other_bytes) {
  const fs::path copy = stage() / names_[0], original = from_ / names_[0];
  const auto spoil = [](const fs::path& path) {
    const auto time = fs::last_write_time(path);
    const auto size = fs::file_size(path);
    write_bytes(path, Bytes(size, 7));
    fs::last_write_time(path, time);
  };
  const std::string content = read_file(original);
  spoil(copy);
  stage();
  EXPECT_EQ(read_file(copy), content) << "of the copy";
  spoil(original);
  stage();
  EXPECT_EQ(read_file(copy), read_file(original)) << "of the original";
  EXPECT_NE(read_file(copy), content);
}

TEST_F(Staging, replaces_a_copy_of_which_nothing_is_known) {
  const fs::path copy = stage() / names_[0];
  fs::remove(copy.parent_path() / "eave-staged");
  const ino_t first = inode_of(copy);
  stage();
  EXPECT_NE(inode_of(copy), first);
  write_bytes(copy.parent_path() / "eave-staged",
              {'e', 'a', 'v', 'e', ' ', 's', 't', 'a', 'g', 'e', 'd', ' ', '1', 10, 'x'});
  stage();
  EXPECT_EQ(read_file(copy), read_file(from_ / names_[0]));
}

TEST_F(Staging, follows_no_link_that_stands_among_the_copies) {
  const fs::path folder = stage(), precious = place_.path() / "precious";
  write_bytes(precious, {1, 2, 3});
  for (const std::string& name : {names_[0] + ".partial", names_[0], std::string("eave-staged.partial")}) {
    fs::remove(folder / names_[0]);
    fs::remove(folder / name);
    fs::create_symlink(precious, folder / name);
    stage();
    EXPECT_EQ(read_file(precious), std::string("\1\2\3")) << name;
    EXPECT_EQ(read_file(folder / names_[0]), read_file(from_ / names_[0])) << name;
    EXPECT_FALSE(fs::is_symlink(folder / names_[0])) << name;
  }
  fs::rename(folder, place_.path() / "aside");
  fs::create_directory_symlink(place_.path() / "aside", folder);
  expect_refusal(refusal_of([&] { stage(); }), ExitCode::kCannotCreate,
                 {folder.string(), "is a link, or no directory"});
}

TEST_F(Staging, keeps_sets_of_one_name_apart) {
  const fs::path first = stage();
  fs::create_directories(place_.path() / "elsewhere" / "set");
  write_set(place_.path() / "elsewhere" / "set", small_idx_set());
  EXPECT_NE(stage_files(place_.path() / "elsewhere" / "set", names_, to_), first);
}

// Eight threads stage at once, like the ranks of one host.
TEST_F(Staging, is_done_by_one_of_several) {
  std::vector<std::thread> ranks;
  std::vector<ino_t> seen(8);
  for (ino_t& each : seen) ranks.emplace_back([&] { each = inode_of(stage() / names_[0]); });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(seen, std::vector<ino_t>(8, seen[0]));
}

TEST_F(Staging, says_where_it_cannot_write) {
  write_bytes(place_.path() / "file", {1});
  expect_refusal(refusal_of([&] { stage_files(from_, names_, place_.path() / "file"); }), ExitCode::kCannotCreate,
                 {"--stage-to", "file"});
}

// The file has a hole and is larger than the free space.
TEST_F(Staging, says_that_there_is_no_room) {
  const std::uintmax_t size = fs::space(from_).available + (std::uintmax_t{1} << 32);
  fs::resize_file(from_ / names_[0], size);
  expect_refusal(refusal_of([&] { stage(); }), ExitCode::kCannotCreate,
                 {"no room for " + (from_ / names_[0]).string(), std::to_string(size) + " bytes"});
}

TEST(IdxImages, that_are_not_packed_stay_in_their_file) {
  const TemporaryDirectory place;
  write_set(place.path(), small_idx_set());
  const DataSplit split = open_dataset("mnist", {{"data-dir", place.path().string()}});
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(split.train->shape().size()));
  split.train->read(29, pixels);
  fs::resize_file(place.path() / "train-images-idx3-ubyte", 16 + 29 * pixels.size());
  split.train->read(28, pixels);
  expect_refusal(refusal_of([&] { split.train->read(29, pixels); }), ExitCode::kBadData, {"became shorter"});
}

}  // namespace
}  // namespace eave
