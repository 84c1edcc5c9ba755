// eave never follows a link under a name that it chose itself. It does follow a path that a person named.
#include "base/files/output_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "base/files/directory_lock.h"
#include "base/files/file_errors.h"
#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/files/user_path.h"
#include "eave/check.h"
#include "test/base/failing_calls.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class Outputs : public testing::Test {
 protected:
  Outputs() {
    write_file_atomically(precious_, "precious");
    fs::create_directory(elsewhere_);
    fs::create_directory(run_);
  }
  // Things that somebody may have put in the place of a file that eave is about to write.
  std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> plants() const {
    return {{"link", [this](const fs::path& place) { fs::create_symlink(precious_, place); }},
            {"dangling link", [this](const fs::path& place) { fs::create_symlink(elsewhere_ / "new", place); }},
            {"link to a directory", [this](const fs::path& place) { fs::create_symlink(elsewhere_, place); }},
            {"hard link", [this](const fs::path& place) { fs::create_hard_link(precious_, place); }},
            {"pipe", [](const fs::path& place) { ASSERT_EQ(::mkfifo(place.c_str(), 0600), 0); }},
            {"device", [](const fs::path& place) { fs::create_symlink("/dev/full", place); }},
            {"socket", [](const fs::path& place) {
               const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
               sockaddr_un address{};
               address.sun_family = AF_UNIX;
               ASSERT_LT(place.string().size(), sizeof address.sun_path);
               std::strcpy(address.sun_path, place.c_str());
               ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
               ::close(socket);
             }}};
  }
  void expect_untouched(const std::string& what) const {
    EXPECT_EQ(read_file(precious_), "precious") << what;
    EXPECT_TRUE(fs::is_empty(elsewhere_)) << what;
  }
  void expect_refused(const std::function<void()>& action, const std::string& words) const {
    expect_error(ExitCode::kCannotCreate, words, action);
  }

  TemporaryDirectory directory_;
  const fs::path precious_ = directory_.path() / "precious", elsewhere_ = directory_.path() / "elsewhere",
                 run_ = directory_.path() / "run";
};

TEST_F(Outputs, written_whole_take_the_name_from_whatever_has_it) {
  for (const auto& [what, plant] : plants()) {
    for (const std::string name : {"file", "file.partial"}) {
      plant(run_ / name);
      write_file_atomically(run_ / "file", "new");
      EXPECT_EQ(read_file(run_ / "file"), "new") << what;
      EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(run_ / "file"))) << what;
      EXPECT_FALSE(fs::exists(fs::symlink_status(run_ / "file.partial"))) << what;
      expect_untouched(what + " as " + name);
      fs::remove(run_ / "file");
    }
  }
}

TEST_F(Outputs, that_are_added_to_are_eaves_own_files_or_refused) {
  for (const auto& [what, plant] : plants()) {
    plant(run_ / "log");
    EXPECT_FALSE(open_own(run_ / "log", O_WRONLY | O_APPEND).is_open()) << what;
    expect_refused([&] { DirectoryLock(run_, "log", "--run-dir run"); }, "cannot create log");
    expect_untouched(what);
    fs::remove(run_ / "log");
  }
  EXPECT_TRUE(open_own(run_ / "log", O_WRONLY | O_APPEND).is_open());
}

TEST_F(Outputs, a_lock_is_not_written_over_what_is_no_lock) {
  const std::string text(2000, 'x');
  write_file_atomically(run_ / "run.lock", text);
  expect_refused([&] { DirectoryLock(run_, "run.lock", "--run-dir run"); }, "no lock of eave's");
  EXPECT_EQ(read_file(run_ / "run.lock"), text);
}

TEST_F(Outputs, in_a_chosen_directory_do_not_go_through_a_link) {
  fs::create_symlink(elsewhere_, run_ / "checkpoint");
  const OutputFolder inside = OutputFolder(run_).below("checkpoint");
  expect_refused([&] { write_file_atomically(inside / "file", "x"); },
                 "run/checkpoint is a symbolic link to " + elsewhere_.string());
  expect_refused([&] { make_directory(inside); }, "symbolic link");
  expect_refused([&] { make_directory(inside.below("step-1")); }, "symbolic link");
  EXPECT_EQ(code_of([&] { flush_directory(inside); }), ExitCode::kInputOutput);
  write_file_atomically(elsewhere_ / "theirs", "kept");
  EXPECT_NE(remove_output(inside / "theirs"), 0);
  EXPECT_FALSE(remove_tree(inside / "theirs") && !fs::exists(elsewhere_ / "theirs"));
  EXPECT_EQ(read_file(elsewhere_ / "theirs"), "kept");
}

TEST_F(Outputs, go_through_a_link_that_a_person_named) {
  fs::create_symlink(elsewhere_, directory_.path() / "named");
  for (const std::string name : {"named", "named/", "named//"}) {
    write_file_atomically(OutputFolder(directory_.path() / name) / "file", name);
    EXPECT_EQ(read_file(elsewhere_ / "file"), name);
  }
}

TEST_F(Outputs, a_file_that_a_person_named_is_the_target_of_its_links) {
  const fs::path link = directory_.path() / "link", second = run_ / "second";
  fs::create_symlink("run/second", link);
  fs::create_symlink("../elsewhere/target", second);
  for (const std::string text : {"made", "replaced"}) {
    write_file_atomically(OutputPath::of_person(link), text);
    EXPECT_EQ(read_file(elsewhere_ / "target"), text);
    EXPECT_TRUE(fs::is_symlink(fs::symlink_status(link)) && fs::is_symlink(fs::symlink_status(second)));
  }
  EXPECT_TRUE(may_be_new(directory_.path() / "none"));
  EXPECT_FALSE(may_be_new(link));
}

TEST_F(Outputs, a_pipe_that_a_person_named_is_written_to) {
  const fs::path pipe = run_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] {
    const int file = ::open(pipe.c_str(), O_RDONLY);
    std::string text;
    std::array<char, 64> part{};
    for (ssize_t count = 0; (count = ::read(file, part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(count));
    ::close(file);
    return text;
  });
  write_file_atomically(OutputPath::of_person(pipe), "through");
  EXPECT_EQ(reader.get(), "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  write_file_atomically(OutputPath::of_person("/dev/null"), "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// As with a shell's `> file`: earlier output stays, and later output follows it.
TEST_F(Outputs, to_a_stream_of_this_process_follow_what_was_written_there) {
  const Descriptor file = open_named(precious_, O_WRONLY | O_APPEND);
  write_file_atomically(OutputPath::of_person("/dev/fd/" + std::to_string(file.number())), " and more");
  EXPECT_EQ(read_file(precious_), "precious and more");
  EXPECT_TRUE(is_standard_output("/dev/stdout") && is_standard_output("/dev/fd/1"));
  EXPECT_FALSE(is_standard_output(precious_));
}

TEST_F(Outputs, that_cannot_be_made_name_what_is_in_the_way_and_what_to_do) {
  const fs::path dangling = directory_.path() / "dangling", loop = directory_.path() / "loop";
  fs::create_symlink("gone", dangling);
  fs::create_symlink("loop", loop);
  const auto make = [](const fs::path& path) { return [path] { make_named_directory(path, "--run-dir x"); }; };
  expect_refused(make(dangling), "dangling is a symbolic link to gone, which is not there; make that directory");
  expect_refused(make(dangling / "run"), "dangling is a symbolic link to gone");
  expect_refused(make(loop), "loop is a loop of symbolic links; name another directory");
  expect_refused(make(precious_), "precious is a file, no directory; name another directory");
  expect_refused(make(precious_ / "run"), "precious is a file, no directory; name another directory");
  expect_refused(make("/dev/null"), "/dev/null is a device, no directory; name another directory");
  expect_refused(make("/dev/null/run"), "/dev/null is a device, no directory; name another directory");
  expect_refused(make(run_ / std::string(300, 'x')), "File name too long; choose a shorter name");
  expect_refused([&] { write_file_atomically(OutputPath::of_person(run_), "x"); }, "it is a directory; name a file");
  expect_refused([&] { write_file_atomically(OutputPath::of_person(loop), "x"); }, "loop of symbolic links");
  expect_refused([&] { write_file_atomically(OutputPath::of_person(run_ / "no/file"), "x"); },
                 "run/no is not there; make it, or name another");
  expect_refused([&] { write_file_atomically(OutputPath::of_person(dangling / "file"), "x"); },
                 "symbolic link to gone");
  make(run_ / "a/b")();
  make(run_ / "a/b/")();
  EXPECT_TRUE(fs::is_directory(run_ / "a/b"));
}

TEST_F(Outputs, that_fail_say_what_to_do_about_a_disk_a_quota_and_a_server) {
  using Failure = FailingCalls::Kind;
  for (const auto& [kind, words] : {std::pair{Failure::kNoSpace, "No space left on device; make room there"},
                                    {Failure::kQuota, "uota exceeded; remove files of yours there"},
                                    {Failure::kStale, "tale file handle; the file server no longer knows this place"},
                                    {Failure::kInputOutput, "Input/output error; the disk or the way to it fails"}}) {
    for (const int first : {1, 2}) {
      FailingCalls calls({first, kind, true});
      const Error error = error_of([&] { write_file_atomically(run_ / "file", "x", calls); });
      EXPECT_EQ(error.code(), first == 1 ? ExitCode::kCannotCreate : ExitCode::kInputOutput);
      EXPECT_TRUE(says(error.what(), words));
      EXPECT_TRUE(says(error.what(), "run/file"));
    }
  }
}

}  // namespace
}  // namespace eave
