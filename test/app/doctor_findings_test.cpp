// Tests which findings `eave doctor` derives from crafted facts about a job.
#include "app/doctor/doctor_findings.h"

#include <gtest/gtest.h>

#include "test/expectations.h"

namespace eave {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

DoctorFacts healthy(const std::string& host, const std::string& cores, int address) {
  DoctorFacts rank;
  rank.host = host;
  rank.eave_version = "1.0";
  rank.mpi_library = "Open MPI v4.1.4";
  rank.cores = cores;
  rank.cores_of_host = 4;
  rank.gpus = {host, {}, "there is no driver"};
  rank.memory_available_bytes = 64 * kGiB;
  rank.open_files_limit = 1024;
  rank.locked_memory_limit_bytes = 65536;
  rank.interfaces = {{"eth0", "10.0.0." + std::to_string(address) + "/24", 1000}};
  rank.run_directory = {"/home/runs", "", true, 100 * kGiB};
  return rank;
}

// Facts of a job on two hosts with two ranks each, in which nothing is wrong.
JobFacts healthy_job() {
  JobFacts job;
  for (const auto& [host, address] : {std::pair{"a", 1}, std::pair{"b", 2}}) {
    job.ranks.push_back(healthy(host, "0", address));
    job.ranks.push_back(healthy(host, "1", address));
  }
  job.ranks[2].clock_ahead_s = 0.001;
  job.devices.resize(4);
  job.links = {{0, 1, 1e-6, 5e9}, {2, 3, 2e-6, 4e9}, {0, 2, 50e-6, 115e6}};
  return job;
}

std::string texts(const std::vector<Finding>& findings) { return describe(findings); }

// Expects exactly one problem or note: of this severity and topic, with these words, and with the exit code `code` if
// it is a problem.
void expect_only(const JobFacts& job, Severity severity, const std::string& topic,
                 const std::vector<std::string>& words, ExitCode code = ExitCode::kConfiguration) {
  const std::vector<Finding> findings = judge(job);
  SCOPED_TRACE(texts(findings));
  ASSERT_GE(findings.size(), 2U);
  EXPECT_EQ(findings[0].severity, severity);
  EXPECT_EQ(findings[0].topic, topic);
  EXPECT_EQ(findings[1].severity, Severity::kOk) << "only one thing is wrong";
  for (const std::string& word : words) EXPECT_NE(findings[0].text.find(word), std::string::npos) << word;
  EXPECT_EQ(exit_code_of(findings), severity == Severity::kProblem ? code : ExitCode::kDone);
}
void expect_problem(const JobFacts& job, const std::string& topic, const std::vector<std::string>& words,
                    ExitCode code = ExitCode::kConfiguration) {
  expect_only(job, Severity::kProblem, topic, words, code);
}
void expect_note(const JobFacts& job, const std::string& topic, const std::vector<std::string>& words) {
  expect_only(job, Severity::kNote, topic, words);
}

TEST(Doctor, finds_nothing_wrong_where_nothing_is) {
  const std::vector<Finding> findings = judge(healthy_job());
  const std::string text = texts(findings);
  for (const Finding& finding : findings) EXPECT_EQ(finding.severity, Severity::kOk) << finding.text;
  EXPECT_EQ(exit_code_of(findings), ExitCode::kDone);
  expect_parts(text, {"eave 1.0, Open MPI v4.1.4, on all ranks", "4 ranks on 2 hosts, at least one core for each",
                      "32.0 GiB free", "hosts meet over 10.0.0.0/24", "on the CPU: there is no driver",
                      "takes 50 us, and 115 MB/s go each way; 1 pair", "worst 2 us, ranks 2 and 3 on b",
                      "worst 4000 MB/s, ranks 2 and 3 on b", "all ranks see and write /home/runs", "agree to 1.0 ms",
                      "\n0 problems, 0 notes\n"});
}

TEST(Doctor, finds_too_many_ranks_for_the_cores_of_a_host) {
  JobFacts job = healthy_job();
  job.ranks[3].cores = "0";
  expect_note(job, "cores", {"host b", "2 ranks share 1 core,", "at most 1 there"});
  job = healthy_job();
  job.ranks[1].core_quota = job.ranks[0].core_quota = 1.5;
  expect_note(job, "cores", {"host a", "2 ranks", "1.5 cores"});
  job.ranks[1].core_quota = job.ranks[0].core_quota = 2;
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kDone);
}

TEST(Doctor, finds_ranks_bound_to_one_core_beside_free_ones) {
  JobFacts job = healthy_job();
  job.ranks.push_back(healthy("b", "1", 2));
  job.ranks.push_back(healthy("b", "2-3", 2));
  job.devices.resize(6);
  expect_problem(job, "cores", {"host b", "ranks 3, 4", "same cores, 1", "--bind-to"});
}

TEST(Doctor, finds_ranks_that_openmp_binds_to_one_core) {
  JobFacts job = healthy_job();
  for (const std::size_t rank : {2U, 3U}) {
    job.ranks[rank].cores = "0";
    job.ranks[rank].openmp_binding = "OMP_PROC_BIND in the environment binds";
  }
  expect_problem(job, "cores", {"host b", "OMP_PROC_BIND"});
}

TEST(Doctor, finds_nothing_wrong_with_openmp_if_each_rank_has_cores_of_its_own) {
  JobFacts job = healthy_job();
  for (DoctorFacts& rank : job.ranks) rank.openmp_binding = "OMP_PROC_BIND in the environment binds";
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kDone) << texts(judge(job));
  for (const char* host : {"note      cores      host a: OMP_PROC_BIND", "note      cores      host b: OMP_PROC_BIND"})
    EXPECT_NE(texts(judge(job)).find(host), std::string::npos) << "the threads of a rank share its core";
}

TEST(Doctor, compares_a_limit_of_each_process_with_no_share_of_the_host) {
  JobFacts job = healthy_job();
  for (DoctorFacts& rank : job.ranks) rank.address_space_left_bytes = 400 << 20;
  job.ranks[2].address_space_limit_bytes = kGiB / 2;
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kDone) << texts(judge(job));
  EXPECT_TRUE(texts(judge(job)).find("host b: 0.4 GiB of free memory for each rank") != std::string::npos);
  job.ranks[3].address_space_left_bytes = 100 << 20;
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kResource) << texts(judge(job));
}

TEST(Doctor, notes_a_control_group_that_limits_memory) {
  JobFacts job = healthy_job();
  job.ranks[2].group_memory_bytes = 3 * kGiB;
  expect_note(job, "memory", {"host b", "control group", "3.0 GiB", "137"});
}

TEST(Doctor, notes_hosts_that_others_work_on) {
  JobFacts job = healthy_job();
  job.ranks[2].load = 9.5;
  expect_note(job, "cores", {"host b", "9.5 processes", "4 cores"});
}

TEST(Doctor, finds_different_programs) {
  JobFacts job = healthy_job();
  job.ranks[3].eave_version = "2.0";
  expect_problem(job, "versions", {"eave is 1.0 on ranks 0, 1, 2, 2.0 on rank 3", "install"});
  job = healthy_job();
  job.ranks[1].mpi_library = "MPICH 4.0";
  expect_problem(job, "versions", {"MPICH 4.0 on rank 1"});
}

TEST(Doctor, finds_little_memory_and_low_limits) {
  JobFacts job = healthy_job();
  job.ranks[2].memory_available_bytes = kGiB / 4;
  expect_problem(job, "memory", {"host b", "0.1 GiB"}, ExitCode::kResource);
  job.ranks[2].memory_available_bytes = kGiB;
  expect_note(job, "memory", {"host b", "0.5 GiB"});
  job = healthy_job();
  job.ranks[1].address_space_limit_bytes = 8 * kGiB;
  expect_note(job, "memory", {"ulimit -v", "8.0 GiB"});
  job = healthy_job();
  job.ranks[2].open_files_limit = 67;
  const std::string says = "4 ranks may need 68; ";
  expect_problem(job, "limits", {"host b", "ulimit -n allows 67", says + "raise it there: ulimit -n 68"},
                 ExitCode::kResource);
  job.ranks[2].open_files_hard_limit = 67;
  expect_problem(job, "limits",
                 {"host b", says + "the hard limit there is 67: ask the administrator to raise it (nofile"},
                 ExitCode::kResource);
  job.ranks[2].open_files_hard_limit = 68;
  expect_problem(job, "limits", {says + "raise it there"}, ExitCode::kResource);
  job.ranks[2].open_files_limit = -1;
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kDone);
}

TEST(Doctor, asks_for_locked_memory_only_where_an_adapter_needs_it) {
  JobFacts job = healthy_job();
  job.ranks[0].has_rdma = true;
  expect_problem(job, "limits", {"host a", "RDMA", "ulimit -l allows 0.1 MiB"}, ExitCode::kResource);
  job.ranks[0].locked_memory_limit_bytes = -1;
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kDone);
}

TEST(Doctor, tells_where_ranks_compute) {
  JobFacts job = healthy_job();
  job.ranks[0].gpus.ids = {"GPU-1"};
  for (DevicePlan& plan : job.devices) plan.why_not_gpu = "on rank 2, b: there is no driver";
  expect_note(job, "devices", {"on the CPU: on rank 2, b: there is no driver"});
  for (DevicePlan& plan : job.devices) plan.is_cuda = true;
  expect_parts(texts(judge(job)), {"not CUDA-aware"});
  EXPECT_EQ(judge(job)[0].severity, Severity::kOk);
  for (DevicePlan& plan : job.devices) plan.is_own = false;
  expect_note(job, "devices", {"not CUDA-aware", "pinned host memory"});
  for (DoctorFacts& rank : job.ranks) rank.mpi_takes_gpu_memory = true;
  expect_parts(texts(judge(job)), {"MPI is CUDA-aware"});
  job.devices.clear();
  job.why_no_devices = "no GPU is left for rank 1";
  job.code_without_devices = ExitCode::kUsage;
  expect_problem(job, "devices", {"no GPU is left for rank 1"}, ExitCode::kUsage);
}

TEST(Doctor, finds_no_gpus_for_nccl) {
  JobFacts job = healthy_job();
  job.wants_nccl = true;
  expect_problem(job, "transport", {"--transport nccl", "on the CPU", "--transport mpi"}, ExitCode::kUsage);
  for (DevicePlan& plan : job.devices) plan.is_cuda = true;
  for (DoctorFacts& rank : job.ranks) rank.mpi_takes_gpu_memory = true;
  EXPECT_EQ(exit_code_of(judge(job)), ExitCode::kDone);
  for (DevicePlan& plan : job.devices) plan.is_own = false;
  expect_problem(job, "transport", {"ranks share GPUs"}, ExitCode::kUsage);
}

TEST(Doctor, finds_a_run_directory_that_is_not_shared_full_or_closed) {
  JobFacts job = healthy_job();
  job.ranks[2].run_directory.sees_first_rank = job.ranks[3].run_directory.sees_first_rank = false;
  job.ranks[2].run_directory.why_not_written = "Permission denied";
  job.ranks[3].run_directory.free_bytes = 0;
  expect_note(job, "run-dir", {"ranks 2, 3 (host b) do not see", "rank 0 (host a)", "/home/runs", "through rank 0"});
  job = healthy_job();
  job.ranks[1].run_directory.why_not_written = "Permission denied";
  expect_problem(job, "run-dir", {"rank 1 (host a)", "Permission denied"}, ExitCode::kCannotCreate);
  job = healthy_job();
  job.ranks[1].run_directory.free_bytes = 1000;
  expect_problem(job, "run-dir", {"no space left"}, ExitCode::kInputOutput);
  job.ranks[1].run_directory.free_bytes = kGiB;
  expect_note(job, "run-dir", {"1.0 GiB left"});
}

TEST(Doctor, finds_data_that_a_host_lacks_or_has_otherwise) {
  JobFacts job = healthy_job();
  job.ranks[0].data = job.ranks[2].data = "mnist: 60000 samples";
  expect_parts(texts(judge(job)), {"mnist: 60000 samples, on all hosts"});
  job.ranks[2].data = "mnist: 59999 samples";
  expect_problem(job, "data", {"59999 samples on b", "60000 samples on a", "copy"});
  job.ranks[2].data = "";
  job.ranks[2].why_no_data = "no directory /data";
  expect_problem(job, "data", {"host b: no directory /data"}, ExitCode::kInputMissing);
}

TEST(Doctor, notes_clocks_that_differ) {
  JobFacts job = healthy_job();
  job.ranks[2].clock_ahead_s = -3;
  expect_note(job, "clocks", {"host b is 3.0 s behind that of host a"});
  job.ranks[2].clock_ahead_s = 2;
  expect_note(job, "clocks", {"host b is 2.0 s ahead of"});
}

TEST(Doctor, names_the_network_where_open_mpi_may_take_another) {
  JobFacts job = healthy_job();
  for (DoctorFacts& rank : job.ranks) rank.interfaces.insert(rank.interfaces.begin(), {"docker0", "172.17.0.1/16", 0});
  expect_note(job, "network",
              {"docker0 172.17.0.1/16, eth0 10.0.0.1/24 (1000 Mbit/s)", "--mca btl_tcp_if_include 10.0.0.0/24"});
  for (const std::string setting : {"btl_tcp_if_include=eth0", "btl_tcp_if_include=10.0.0.0/16",
                                    "btl_tcp_if_exclude=lo,docker0", "btl_tcp_if_exclude=172.17.0.0/16"}) {
    for (DoctorFacts& rank : job.ranks) rank.network_settings = {setting};
    const std::vector<Finding> findings = judge(job);
    EXPECT_EQ(findings[0].severity, Severity::kOk) << texts(findings);
    expect_parts(texts(findings), {"hosts meet over 10.0.0.0/24"});
  }
  for (DoctorFacts& rank : job.ranks) rank.network_settings = {"btl_tcp_if_include=ib0"};
  expect_problem(job, "network", {"host a has no interface", "docker0", "btl_tcp_if_include"});
}

TEST(Doctor, notes_hosts_without_a_network_in_common) {
  JobFacts job = healthy_job();
  job.ranks[2].interfaces[0].address = "10.0.1.2/24";
  expect_note(job, "network", {"no network in common", "b: eth0 10.0.1.2/24"});
}

TEST(Doctor, notes_a_link_that_is_much_slower_than_the_others_or_its_card) {
  JobFacts job = healthy_job();
  job.ranks.push_back(healthy("c", "0", 3));
  job.devices.resize(5);
  job.links = {{0, 2, 50e-6, 115e6}, {0, 4, 50e-6, 110e6}, {2, 4, 50e-6, 50e6}};
  expect_note(job, "links", {"50 MB/s go between ranks 2 and 4 on b and c, and 110 MB/s between others"});
  job.links = {{0, 2, 50e-6, 115e6}, {0, 4, 50e-6, 5e6}, {2, 4, 50e-6, 4e6}};
  expect_note(job, "links", {"at most 5.0 MB/s go between host c and any other, and 115 MB/s between others"});
  for (LinkTime& link : job.links) link.bytes_per_second = 12e6;
  expect_note(job, "links", {"between hosts go at most 12 MB/s", "for 125 MB/s"});
}

TEST(Doctor, ends_with_the_code_of_its_problems_where_they_have_one) {
  const Finding full{Severity::kProblem, "", "", ExitCode::kInputOutput},
      lacks{Severity::kProblem, "", "", ExitCode::kInputMissing}, note{Severity::kNote, "", ""};
  EXPECT_EQ(exit_code_of({note}), ExitCode::kDone);
  EXPECT_EQ(exit_code_of({full, full, note}), ExitCode::kInputOutput);
  EXPECT_EQ(exit_code_of({full, lacks}), ExitCode::kConfiguration);
}

TEST(Doctor, tells_problems_first) {
  JobFacts job = healthy_job();
  job.ranks[2].clock_ahead_s = 3;
  job.ranks[2].run_directory.why_not_written = "Permission denied";
  const std::string text = texts(judge(job));
  EXPECT_TRUE(text.starts_with("problem   run-dir ")) << text;
  EXPECT_LT(text.find("\nnote      clocks "), text.find("\nok        versions ")) << text;
  EXPECT_TRUE(text.ends_with("\n1 problem, 1 note\n")) << text;
}

TEST(Doctor, names_stale_files_of_killed_jobs_with_the_command) {
  JobFacts job = healthy_job();
  job.ranks[2].stale_files = {"/dev/shm/vader_segment.b.0.5c.*"};
  expect_note(job, "leftovers", {"on host b", "rm -r /dev/shm/vader_segment.b.0.5c.*"});
}

}  // namespace
}  // namespace eave
