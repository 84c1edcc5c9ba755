// Writing files that a fault leaves old or new but never in part, removing directories, reading, and hashing.
#include "base/files/output_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/input_file.h"
#include "base/hash.h"
#include "test/base/failing_calls.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

using Kind = FailingCalls::Kind;

int calls_without_fault(const TemporaryDirectory& directory) {
  FailingCalls calls({});
  write_file_atomically(directory.path() / "file", std::vector<std::string_view>{"first", "second"}, calls);
  return calls.count();
}

TEST(WritingAFile, leaves_the_old_or_the_new_one_whatever_call_fails) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "file";
  const int count = calls_without_fault(directory);
  EXPECT_GE(count, 8);
  for (const Kind kind : {Kind::kNoSpace, Kind::kInputOutput, Kind::kStale, Kind::kQuota}) {
    for (const bool persists : {false, true}) {
      for (int first = 1; first <= count; ++first) {
        write_file_atomically(path, "old");
        FailingCalls calls({first, kind, persists});
        const ExitCode code = code_of([&] {
          write_file_atomically(path, std::vector<std::string_view>{"new", "er"}, calls);
        });
        const std::string content = read_file(path);
        EXPECT_TRUE(content == "old" || content == "newer") << first;
        EXPECT_TRUE(code != ExitCode::kDone || content == "newer") << first;
        EXPECT_TRUE(persists || !std::filesystem::exists(directory.path() / "file.partial")) << first;
      }
    }
  }
}

TEST(WritingAFile, goes_on_where_it_was_interrupted_or_cut_short) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "file";
  const int count = calls_without_fault(directory);
  for (int first = 1; first <= count; ++first) {
    for (const auto& [kind, persists] :
         {std::pair{Kind::kInterrupted, false}, {Kind::kShortWrite, false}, {Kind::kShortWrite, true}}) {
      FailingCalls calls({first, kind, persists});
      const std::string text = "new" + std::to_string(first);
      write_file_atomically(path, std::vector<std::string_view>{text, "er"}, calls);
      EXPECT_EQ(read_file(path), text + "er");
    }
  }
}

TEST(WritingAFile, that_is_always_interrupted_ends_with_an_error) {
  const TemporaryDirectory directory;
  FailingCalls calls({1, Kind::kInterrupted, true});
  EXPECT_EQ(code_of([&] { write_file_atomically(directory.path() / "file", "x", calls); }), ExitCode::kCannotCreate);
}

TEST(RemovingADirectory, removes_links_and_not_what_they_point_to) {
  const TemporaryDirectory directory;
  const auto inside = directory.path() / "inside";
  std::filesystem::create_directories(inside / "deeper");
  write_file_atomically(directory.path() / "kept", "kept");
  std::filesystem::create_directories(directory.path() / "others");
  write_file_atomically(directory.path() / "others/kept", "kept");
  std::filesystem::create_symlink(directory.path() / "kept", inside / "deeper/link");
  std::filesystem::create_directory_symlink(directory.path() / "others", inside / "others");
  EXPECT_TRUE(remove_tree(inside));
  EXPECT_FALSE(std::filesystem::exists(inside));
  EXPECT_EQ(read_file(directory.path() / "kept"), "kept");
  EXPECT_EQ(read_file(directory.path() / "others/kept"), "kept");
}

TEST(InputFiles, are_no_links_pipes_or_directories) {
  const TemporaryDirectory directory;
  write_file_atomically(directory.path() / "file", "content");
  std::filesystem::create_symlink(directory.path() / "file", directory.path() / "link");
  EXPECT_EQ(InputFile(directory.path() / "file").read_whole(7), "content");
  EXPECT_EQ(code_of([&] { InputFile(directory.path() / "file").read_whole(6); }), ExitCode::kBadData);
  EXPECT_EQ(code_of([&] { InputFile file(directory.path()); }), ExitCode::kBadData);
  for (const auto& path : {directory.path() / "link", directory.path() / "none"}) {
    EXPECT_EQ(code_of([&] { InputFile file(path); }), ExitCode::kInputMissing) << path;
  }
}

// The published XXH3-128 hash of an empty input with seed 0.
TEST(Hash, is_xxh3_and_the_same_in_parts) {
  EXPECT_EQ(hash_of("").text(), "99aa06d3014798d86001c324468d497f");
  Hasher parts;
  parts.add("ab");
  parts.add("c");
  EXPECT_EQ(parts.hash(), hash_of("abc"));
}

// Python's xxhash and a libxxhash built without wide vectors give this hash. It must not depend on the instruction set,
// because files are also read on other machines.
TEST(Hash, of_many_bytes_is_that_of_every_processor) {
  std::string bytes;
  std::uint32_t state = 1;
  for (int i = 0; i < 100003; ++i) bytes.push_back(static_cast<char>((state = state * 1664525u + 1013904223u) >> 24));
  EXPECT_EQ(hash_of(bytes).text(), "2838023f37dbb50448ace114702c07a4");
  Hasher parts;
  parts.add(std::string_view(bytes).substr(0, 777));
  parts.add(std::string_view(bytes).substr(777));
  EXPECT_EQ(parts.hash(), hash_of(bytes));
}

}  // namespace
}  // namespace eave
