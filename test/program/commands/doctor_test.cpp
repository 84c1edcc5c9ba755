// Tests what `eave doctor` says about this machine, and about two hosts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

bool says(const Ended& ended, const std::string& pattern) {
  return std::regex_search(ended.output, std::regex(pattern, std::regex::multiline));
}

// Expects that doctor examined all ranks. The only problem that it may find on this machine is too little memory.
void expect_examined(const Ended& ended, int ranks) {
  SCOPED_TRACE(ended.output + ended.errors);
  EXPECT_TRUE(says(ended, "^ *" + std::to_string(ranks - 1) + "   [^ ]+ +cpu +[0-9]"));
  EXPECT_FALSE(says(ended, "^ *" + std::to_string(ranks) + "   [^ ]+ +cpu +[0-9]"));
  EXPECT_TRUE(says(ended, "^ok +versions +eave [0-9]"));
  EXPECT_TRUE(says(ended, "^ok +run-dir +all ranks see and write /"));
  EXPECT_TRUE(says(ended, "^ok +devices +all ranks compute on the CPU"));
  EXPECT_EQ(says(ended, "^ok +links +within hosts: .* takes [0-9]+ us"), ranks > 1);
  EXPECT_FALSE(says(ended, "^problem   (?!memory)"));
  const bool is_well = !says(ended, "^problem");
  EXPECT_EQ(is_well, says(ended, "^0 problems"));
  EXPECT_EQ(ended.code == 0, is_well);
  EXPECT_EQ(ended.messages().size(), is_well ? 0U : 1U);
}

TEST(Doctor, examines_one_rank_threads_and_processes) {
  const Place place;
  expect_examined(place.eave("doctor --device cpu"), 1);
  expect_examined(place.eave("doctor --device cpu --transport threads --ranks 3"), 3);
  if (!has_mpirun()) return;
  for (const int ranks : {2, 4}) expect_examined(place.eave("doctor --device cpu", {ranks}), ranks);
  EXPECT_TRUE(std::filesystem::is_empty(place.path()));
}

TEST(Doctor, finds_more_ranks_than_any_machine_of_this_size_has_cores_for) {
  const Place place;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const Ended ended = place.eave("doctor --transport threads --ranks " + std::to_string(cores + 1));
  EXPECT_EQ(ended.code, 0) << ended.output << "train only warns of it";
  EXPECT_TRUE(says(ended, "^note +cores +host [^ ]+: " + std::to_string(cores + 1) + " ranks")) << ended.output;
}

TEST(Doctor, looks_at_the_data_that_is_named) {
  const Place place;
  write_fashion_mnist(place, "good", [](const std::string&, std::string&) {});
  const Ended good = expect_end(0, place.eave("doctor --data fashion-mnist --data-dir good"));
  EXPECT_TRUE(says(good, "^ok +data +fashion-mnist: 12 training and 11 test samples")) << good.output;
  const Ended set = expect_end(0, place.eave("doctor --data fashion-mnist", {0, "EAVE_DATA_DIR=good"}));
  EXPECT_TRUE(says(set, "^ok +data +fashion-mnist: 12 training and 11 test samples")) << set.output;
  const Ended lacks = expect_end(66, place.eave("doctor --data fashion-mnist --data-dir nowhere"));
  EXPECT_TRUE(says(lacks, "^problem +data +host .*no directory nowhere")) << lacks.output;
}

TEST(Doctor, ends_with_73_where_no_run_directory_can_be_made) {
  const Place place;
  const Ended ended = place.eave("doctor --run-dir /proc/eave --transport threads --ranks 2");
  EXPECT_TRUE(says(ended, "^problem +run-dir +ranks 0, 1 .* cannot write in /proc")) << ended.output;
  EXPECT_EQ(ended.code, 73) << ended.output;
}

TEST(Doctor, refuses_options_that_mean_nothing_to_it) {
  const Place place;
  for (const auto& [words, text] : std::vector<std::pair<std::string, std::string>>{
           {"doctor --tau 3", "unknown option --tau"},
           {"doctor --data-dir here", "--data-dir (command line) has no effect"},
           {"doctor --data minst", "did you mean mnist?"},
           {"docter", "did you mean doctor?"}}) {
    expect_end(64, place.eave(words), {text});
  }
}

// Two hosts of a netlab, which share the file system (see bench/README.md).
class TwoHosts {
 public:
  TwoHosts() {
    const char* const lab = std::getenv("EAVE_LAB");
    const std::filesystem::path directory = lab ? lab : EAVE_SOURCE "/../shared/lab";
    std::error_code error;
    program_ = directory / "netlab";
    why_not_ = !std::filesystem::exists(program_, error) ? "no program " + program_.string() + ": set EAVE_LAB"
               : geteuid() != 0                          ? "network namespaces need root"
               : !has_mpirun()                           ? "built without MPI"
                                                         : "";
    if (!why_not_.empty()) return;
    const Ended up = place.run(netlab("up 2 --rate 100mbit"));
    if (up.code != 0) why_not_ = "the hosts cannot be made: " + up.output + up.errors;
  }
  ~TwoHosts() {
    if (why_not_.empty()) place.run(netlab("down"));
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  const std::string& why_not() const { return why_not_; }
  Ended eave(const std::string& words) const { return place.run("timeout -k 5 60 " + netlab("mpirun -n 2 " + words)); }

  const Place place;

 private:
  // Hosts need TCP between ranks, which the environment of other tests turns off.
  std::string netlab(const std::string& words) const {
    return "env -u OMPI_MCA_btl NETLAB_NAME=eave-test-" + std::to_string(getpid()) + " '" + program_.string() + "' " +
           words;
  }
  std::filesystem::path program_;
  std::string why_not_;
};

TEST(DoctorOnTwoHosts, finds_the_network_between_them_and_a_run_directory_that_one_does_not_share) {
  const TwoHosts hosts;
  if (!hosts.why_not().empty()) GTEST_SKIP() << hosts.why_not();
  const Ended well = hosts.eave(program() + " doctor --device cpu");
  EXPECT_TRUE(says(well, "^ok +network +hosts meet over 10\\.77\\.0\\.0/24 \\(node0: [^ ]+ 10\\.77\\.0\\.1/24"))
      << well.output;
  EXPECT_TRUE(says(well, "^ok +run-dir +all ranks see and write")) << well.output;
  EXPECT_TRUE(says(well, "^ok +clocks +of all hosts agree")) << well.output;
  std::smatch rate;
  const std::regex between(
      "links +between hosts: a sum of one value over two ranks takes [0-9]+ us, and ([0-9.]+) MB/s");
  ASSERT_TRUE(std::regex_search(well.output, rate, between)) << well.output << well.errors;
  EXPECT_GE(std::stod(rate[1]), 1) << "12.5 where nothing else runs";
  EXPECT_LE(std::stod(rate[1]), 14);

  // One host gets a file system of its own at the same path.
  std::filesystem::create_directory(hosts.place.path() / "runs");
  const std::string apart =
      "unshare -m sh -c 'if [ $(hostname) = node1 ]; then mount -t tmpfs none runs; fi; exec \"$0\" "
      "doctor --device cpu --run-dir runs' ";
  const Ended alone = expect_end(0, hosts.eave(apart + program()));
  EXPECT_TRUE(says(alone, "^note +run-dir +rank 1 \\(host node1\\) does not see what rank 0 \\(host node0\\) writes"))
      << alone.output;
}

// Returns the names of Open MPI's shared-memory segments on this machine.
std::set<std::string> segments() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("vader_segment.") || name.starts_with("sm_segment.")) found.insert(name);
  }
  return found;
}

TEST(Doctor, names_what_a_killed_mpirun_has_left_and_nothing_of_a_living_one) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  if (place.run(program() + " doctor").output.find(" more will be listed once these are removed)") !=
      std::string::npos) {
    GTEST_SKIP() << "killed jobs have left more files here than doctor names at a time";
  }
  const std::set<std::string> before = segments();
  const Ended told =
      place.run("sh -c 'export TMPDIR=\"$PWD\"; " + mpirun(2) +
                " \"$@\" >/dev/null 2>&1 & p=$!; until test -s run/metrics.jsonl; " +
                "do sleep 0.05; done; \"$1\" doctor; echo killed; kill -9 $p; sleep 1.5; \"$1\" doctor' sh " +
                program() + " " + quick("--run-dir run --checkpoint off --epochs 100000"));
  std::string own;
  for (const std::string& name : segments()) {
    if (before.contains(name)) continue;
    const std::string job = name.substr(0, name.find_last_of('.'));
    if (told.output.find("/dev/shm/" + job + ".*") != std::string::npos) own = "/dev/shm/" + job + ".*";
  }
  if (own.empty() && segments() == before) GTEST_SKIP() << "this MPI leaves no segments";
  ASSERT_NE(own, "") << told.output;
  EXPECT_GT(told.output.find(own), told.output.find("killed\n")) << "named while it ran\n" << told.output;
  place.run("rm -r " + own);
}

}  // namespace
}  // namespace eave
