// Tests that doctor names what killed MPI jobs have left behind, and nothing that belongs to a running job.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "app/doctor/doctor_probes.h"
#include "base/host.h"
#include "test/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// The places lie in shared memory, where MPI keeps its segments. Some other file systems cannot tell whether a file is
// in use.
class StaleJobFiles : public testing::Test {
 protected:
  StaleJobFiles() : places{root_ / "shm", root_ / "tmp"} {
    fs::create_directories(places.shared_memory);
    fs::create_directories(places.temporary);
  }
  ~StaleJobFiles() override { fs::remove_all(root_); }

  fs::path make(const fs::path& path) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(4096, 'x');
    return path;
  }
  std::vector<std::string> found() const { return find_stale_files(places); }

 private:
  const fs::path root_ = "/dev/shm/eave-stale-files-test-" + std::to_string(getpid());

 protected:
  const StaleFilePlaces places;
};

// Returns the number (pid) of a process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST_F(StaleJobFiles, are_segments_that_no_process_has_open_of_each_kind_of_mpi) {
  for (const char* name : {"vader_segment.a.0.5c6b0001.0", "vader_segment.a.0.5c6b0001.1", "sm_segment.a.0.7f.0",
                           "mpich_shm_5c_0", "mpich_shar_tmpXyZ", "of-somebody-else", "vader_segment.a; rm x.0"})
    make(places.shared_memory / name);
  const std::string shm = places.shared_memory.string() + "/";
  EXPECT_EQ(found(), (std::vector<std::string>{shm + "mpich_shar_tmpXyZ", shm + "mpich_shm_5c_0",
                                               shm + "sm_segment.a.0.7f.*", shm + "vader_segment.a.0.5c6b0001.*"}));
}

// A running job maps its segments and closes the files. A process in another container does not show in /proc.
TEST_F(StaleJobFiles, are_none_where_one_segment_of_the_job_is_mapped) {
  make(places.shared_memory / "vader_segment.a.0.5c6b0001.0");
  const int file = open(make(places.shared_memory / "vader_segment.a.0.5c6b0001.1").c_str(), O_RDWR);
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(memory, MAP_FAILED);
  close(file);
  EXPECT_EQ(found(), std::vector<std::string>());
  munmap(memory, 4096);
  EXPECT_EQ(found().size(), 1u);
}

TEST_F(StaleJobFiles, are_session_directories_of_launchers_that_are_gone) {
  const std::string user = std::to_string(geteuid()), gone = std::to_string(ended_process()),
                    living = std::to_string(getpid());
  const fs::path old = places.temporary / ("ompi." + host_name() + "." + user);
  for (const std::string& number : {gone, living}) {
    make(old / ("pid." + number) / "contact.txt");
    make(places.temporary / ("prterun." + host_name() + "." + number + "." + user) / "contact.txt");
  }
  make(places.temporary / ("ompi.another-host." + user) / ("pid." + gone) / "contact.txt");
  EXPECT_EQ(found(), (std::vector<std::string>{
                         (old / ("pid." + gone)).string(),
                         (places.temporary / ("prterun." + host_name() + "." + gone + "." + user)).string()}));
  const int used = open((old / ("pid." + gone) / "contact.txt").c_str(), O_RDWR);  // a process that /proc does not show
  EXPECT_EQ(found().size(), 1u);
  close(used);
}

// The name of a job family (jf.N) holds no process number. So such a directory is stale only if none of its files
// is in use and no launcher of that family lives.
TEST_F(StaleJobFiles, are_session_directories_of_families_whose_launcher_is_gone) {
  const std::string user = std::to_string(geteuid());
  const fs::path sessions = places.temporary / ("ompi." + host_name() + "." + user);
  const auto made_long_ago = [&](const std::string& name, const std::string& within) {
    fs::create_directories(sessions / name / within);
    fs::last_write_time(sessions / name, fs::file_time_type::clock::now() - std::chrono::minutes(2));
    return (sessions / name).string();
  };
  const std::string gone = made_long_ago("jf.28233", "1/0"), empty = made_long_ago("jf.7", "");
  made_long_ago("jf.28234", "1/0");
  fs::create_directories(sessions / "jf.9/1/0");  // too young to be stale
  const fs::path launcher = sessions / ("pid." + std::to_string(getpid()));
  make(launcher / "pmix_dstor_ds21_1/smseg-1850343425-0");  // the number is 28234 << 16 | 1, so the family is 28234
  EXPECT_EQ(found(), (std::vector<std::string>{gone, empty}));
  EXPECT_EQ(find_stale_files(places, false), (std::vector<std::string>{gone}));
  fs::remove_all(launcher);
  EXPECT_EQ(found().size(), 3u);
  make(launcher / "contact.txt");  // a living launcher whose family is unknown
  EXPECT_EQ(found(), (std::vector<std::string>{empty}));
  fs::remove_all(launcher);
  const int used = open(make(sessions / "jf.28233/1/0/mapped").c_str(), O_RDWR);
  fs::last_write_time(sessions / "jf.28233", fs::file_time_type::clock::now() - std::chrono::minutes(2));
  EXPECT_EQ(found().size(), 2u);
  close(used);
}

TEST_F(StaleJobFiles, are_session_directories_of_helpers_on_other_hosts) {
  const std::string name =
      "prted." + host_name() + "." + std::to_string(ended_process()) + "." + std::to_string(geteuid());
  make(places.temporary / name / "contact.txt");
  EXPECT_EQ(found(), (std::vector<std::string>{(places.temporary / name).string()}));
}

TEST_F(StaleJobFiles, are_told_with_the_host_and_the_command_that_removes_them) {
  EXPECT_EQ(describe_stale_files("a", {}), "");
  const std::string text = describe_stale_files("a", {"/dev/shm/x.*", "/tmp/y"});
  expect_parts(text, {"on host a; to remove them: rm -r /dev/shm/x.* /tmp/y"});
}

}  // namespace
}  // namespace eave
